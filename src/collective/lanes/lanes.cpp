// The lanes of a team's ranks: their memory, and how far each is.

#include "collective/lanes/lanes.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <new>
#include <string>

namespace towline::collective {

lanes::lanes(node_memory& memory, int rank, std::vector<matching::peer> peers, limits l, std::vector<int> names)
    : memory_(memory), rank_(rank), peers_(std::move(peers)), names_(std::move(names)),
      limits_{std::min({l.posted, l.shown, payload_bytes}), std::min(l.shown, payload_bytes),
              std::bit_floor(std::max(l.slots, std::uint64_t{1})),
              std::bit_floor(std::clamp(l.payloads, std::uint64_t{1}, std::max(l.slots, std::uint64_t{1})))},
      fences_(memory.fences()), is_tight_(memory.is_tight())
{
    void* const block = memory_.allocate(lane_bytes());
    if (block == nullptr)
        return;
    // Payloads are not initialized: no rank reads bytes that were not written.
    own_ = static_cast<lane*>(block);
    new (&own_->finished) std::atomic<std::uint64_t>(0);
    new (&own_->complaint) std::atomic<std::uint64_t>(0);
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
    hear();
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
    // A rank that takes back what it lent may sleep until now.
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

void lanes::hear() noexcept
{
    constexpr int most = 10;
    if (own_->complaint.load(std::memory_order_relaxed) == 0 || complaints_ == most) [[likely]]
        return;
    std::uint64_t const word = own_->complaint.exchange(0, std::memory_order_relaxed);
    auto const half_word = [word](int nth) { return static_cast<std::uint16_t>(word >> 16 * nth); };
    auto const failed_here = [this, number = half_word(3)](int parts_later) {
        std::uint64_t const before = static_cast<std::uint16_t>(failed_ - number - parts_later);
        return before < 64 && (failures_ >> before & 1) != 0;
    };
    // Of a team on several nodes, the operation may have failed here in another of its parts.
    if (failed_here(0) || (!names_.empty() && (failed_here(1) || failed_here(-1))))
        return;
    ++complaints_;
    different_calls const d{name_of(half_word(2)), called::from_word(half_word(1)), called::from_word(half_word(0))};
    try {
        std::string const what =
            d.theirs != d.ours ? text_of(d)
                               : fmt::format("{} failed on rank {}: what it gave does not fit what this rank gave", d.ours.text(), d.rank);
        base::log(base::log_level::warning, "{}; the call of this rank had ended well before that was known", what);
    } catch (...) {  // no memory for a line
    }
}

bool lanes::is_anybody_gone() const noexcept
{
    for (int r = 0; r < size(); ++r)
        if (r != rank_ && is_gone(r))
            return true;
    return false;
}

// The texts of errors that name what ranks call.

std::string called::text() const
{
    int const root = (word_ >> routine_bits) - 1;
    if (what() == 0 || what() > static_cast<unsigned>(routine::exchange))
        return "another operation";
    char const* const name = name_of(static_cast<routine>(what()));
    return root < 0 ? std::string(name) : fmt::format("{} with root {}", name, root);
}

std::string text_of(different_calls const& d)
{
    return fmt::format("rank {} called {}, this rank {}: all ranks call the same operations in the same order", d.rank, d.theirs.text(),
                       d.ours.text());
}

} // namespace towline::collective
