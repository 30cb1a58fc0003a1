#include "collective/lanes/lanes.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace towline::collective {

lanes::lanes(node_memory& memory, int rank, std::vector<matching::peer> peers, limits l)
    : memory_(memory), rank_(rank), peers_(std::move(peers)),
      limits_{std::min({l.posted, l.shown, payload_bytes}), std::min(l.shown, payload_bytes),
              std::bit_floor(std::max(l.slots, std::uint64_t{1})),
              std::bit_floor(std::clamp(l.payloads, std::uint64_t{1}, std::max(l.slots, std::uint64_t{1})))},
      fences_(memory.fences()), is_tight_(memory.is_tight())
{
    void* const block = memory_.allocate(lane_bytes());
    if (block == nullptr)
        return;
    // Payloads stay as they are: nobody reads what was not written.
    own_ = static_cast<lane*>(block);
    new (&own_->finished) std::atomic<std::uint64_t>(0);
    new (&own_->uses) std::atomic<std::uint64_t>(0);
    new (&own_->users) std::atomic<std::uint32_t>(static_cast<std::uint32_t>(peers_.size()));
    for (std::uint64_t n = 0; n < limits_.slots; ++n) {
        new (&mine(n).stage) std::atomic<std::uint64_t>(0);
        mine(n).set({offer::nothing, 0, {}});
    }
}

void lanes::abandon(std::unique_ptr<lanes> l, std::uint64_t why) noexcept
{
    if (l->own_ == nullptr)
        return;
    for (std::uint64_t n = 0; n < l->limits_.slots; ++n) {
        l->mine(n).set({offer::failed, why, {}});
        l->mine(n).stage.store(~std::uint64_t{0}, std::memory_order_release);
    }
    l->own_->finished.store(~std::uint64_t{0}, std::memory_order_release);
    l->own_ = nullptr;  // left behind
    for (matching::peer const p : l->peers_)
        l->memory_.sleeper(p).notify();
}

lanes::~lanes()
{
    if (all_.empty()) {
        if (own_ != nullptr)
            memory_.deallocate(own_);
        return;
    }
    publish_counts();
    for (lane* const l : all_)
        let_go(l);
}

void lanes::let_go(lane* l) noexcept
{
    if (l->users.fetch_sub(1, std::memory_order_acq_rel) == 1)
        memory_.deallocate(l);
}

std::uint64_t lanes::own_word() const noexcept
{
    return own_ == nullptr ? 0 : memory_.find(own_, lane_bytes());
}

bool lanes::open(std::span<std::uint64_t const> words)
{
    if (std::ranges::find(words, std::uint64_t{0}) != words.end())
        return false;
    std::vector<lane*> found;
    std::vector<base::sleeper> sleepers;
    found.reserve(words.size());
    sleepers.reserve(words.size());
    for (std::size_t r = 0; r < words.size(); ++r) {
        bool const own = static_cast<int>(r) == rank_;
        found.push_back(own ? own_ : reinterpret_cast<lane*>(memory_.attach(words[r], lane_bytes())));
        sleepers.push_back(own ? base::sleeper{} : memory_.sleeper(peers_[r]));
    }
    all_ = std::move(found);
    sleepers_ = std::move(sleepers);
    return true;
}

void lanes::leave_lent(std::uint64_t number) noexcept
{
    own_->uses.store(0, std::memory_order_release);
    base::light_fence(fences_);
    // Who took back what it lent may sleep until now.
    for (int r = used_ == everybody ? 0 : used_, last = used_ == everybody ? size() - 1 : used_; r <= last; ++r)
        if (r != rank_ && of(r, number).offers().what == offer::failed)
            wake(r);
    used_ = nobody;
}

std::uint64_t lanes::look_for_finished() noexcept
{
    std::uint64_t least = finished_.load(std::memory_order_relaxed);
    for (lane const* const l : all_)
        least = std::min(least, l->finished.load(std::memory_order_acquire));
    return all_finished_ = std::max(all_finished_, least);
}

bool lanes::is_anybody_gone() const noexcept
{
    for (int r = 0; r < size(); ++r)
        if (r != rank_ && is_gone(r))
            return true;
    return false;
}

} // namespace towline::collective
