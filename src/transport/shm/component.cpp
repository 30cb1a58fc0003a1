// The shared-memory transport: peers, rings, doorbells, polls.

#include "base/sparse_array.hpp"
#include "transport/handlers.hpp"
#include "transport/shm/environment.hpp"
#include "transport/shm/outbound.hpp"
#include "transport/shm/ring.hpp"

#include "towline/error.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <mutex>
#include <utility>
#include <vector>

namespace towline::transport::shm {

namespace {

/// Rings that an idle poll looks at before it looks at the last used one again.
constexpr std::size_t slice = 8;
/// Vain polls before the cell behind the front one is prefetched, too: about as long as messages of cores that share caches travel. In a
/// burst, and among such cores, the producer writes that cell soon, and would wait for it.
constexpr std::uint32_t vain_before_quiet = 64;

struct inbound {
    ring_reader reader;
    peer source = 0;
};

class shm_component final : public component {
public:
    explicit shm_component(std::unique_ptr<environment> env)
        : env_(std::move(env)), rank_(env_->rank()), size_(env_->size()), inbox_(env_->inbox(rank_)),
          outbound_(size_), senders_(size_)
    {
        caps_ = {.max_inline = short_bytes, .max_eager = max_eager, .can_get = false, .can_map = true, .reliable = true, .ordered = true,
                 .latency_ns = 115, .bandwidth = 6};
        if (inbox_.size() < inbox_bytes(size_))
            throw error(
                fmt::format("the inbox of rank {} has {} bytes; {} ranks need {}", rank_, inbox_.size(), size_, inbox_bytes(size_)));
        if (env_->has_doorbells())
            rung_.resize((size_ + 63) / 64);
    }

    ~shm_component() override
    {
        if (env_->gone(rank_))
            return;  // peers may have freed their rings
        // Peers may still read what was sent, so the rings stay; the arena lives as long as the job.
        for (peer p = 0; p < size_; ++p)
            outbound_[p].park();
        for (inbound& in : inbound_)
            in.reader.publish();
    }

    std::string_view name() const noexcept override { return "shm"; }
    capabilities const& caps() const noexcept override { return caps_; }

    std::string why_not(peer p) const override
    {
        if (p >= size_)
            return fmt::format("rank {} is not one of the {} ranks of the job", p, size_);
        if (p == rank_)
            return "the own rank is reached by the self transport";
        if (!env_->shares_memory(p))
            return fmt::format("rank {} is on another node", p);
        return env_->gone(p) ? fmt::format("rank {} is gone", p) : std::string{};
    }

    void set_handler(handler_id id, handler function, void* context) override { handlers_.set(id, function, context); }

    base::sleeper sleeper(peer p) noexcept override { return {&env_->event(p), env_->fences()}; }

    void one_thread() noexcept override
    {
        alone_ = true;
        for (peer p = 0; p < size_; ++p)
            outbound_[p].one_thread();
    }

    send_status try_send(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body) override
    {
        check_eager(*this, max_eager, head.size(), body.size());
        if (to >= size_ || to == rank_) [[unlikely]]
            return send_status::unreachable;
        send_status const status = outbound_[to].send(*env_, to, id, head, body, alone_, vain_polls_);
        if (status == send_status::unreachable) [[unlikely]]
            note_loss(to);
        return status;
    }

    bool try_send_inline(peer to, inline_shape s, std::byte const* head, std::byte const* body) override
    {
        return outbound_[to].send_few(s, head, body);
    }

    int poll(int budget) override
    {
        if (announced(inbox_).count.load(std::memory_order_acquire) != announced_seen_) [[unlikely]]
            look_for_rings();
        if (losses_pending_.load(std::memory_order_relaxed)) [[unlikely]]
            report_losses();
        if (forgettable_ != 0) [[unlikely]]
            forget();
        if (inbound_.empty() || budget <= 0)
            return 0;
        int const run = rung_.empty() ? poll_all(budget) : poll_rung(budget);
        if (run == 0)
            note_vain_poll();
        else
            note_message();
        return run;
    }

    bool peek(peer from, next_message& next) override
    {
        if (inbound_.empty() || forgettable_ != 0 || (inbound_[0].source != from && !bring_to_front(from)) ||
            inbound_[0].reader.look(peeked_) != ring_reader::found::message) {
            if (!inbound_.empty())
                note_vain_poll();
            return false;
        }
        note_message();
        next = {peeked_.handler, peeked_.payload};
        return true;
    }

    void pass() noexcept override { inbound_[0].reader.pass(peeked_); }

    bool pending() const noexcept override
    {
        return announced(inbox_).count.load(std::memory_order_acquire) != announced_seen_ ||
               losses_pending_.load(std::memory_order_relaxed) ||
               std::ranges::any_of(inbound_, [](inbound const& in) { return in.reader.ready(); });
    }

    void peer_died(peer p) override
    {
        if (p >= size_)
            return;
        outbound_[p].close(*env_, p);
        if (std::exchange(senders_[p].dead, true) == false)
            ++forgettable_;
    }

private:
    struct sender {
        bool known = false;  ///< its mailbox was seen
        bool lost = false;   ///< what it wrote is corrupt: nothing of it is looked at any more
        bool dead = false;   ///< its ring is forgotten once it is empty
        std::uint32_t place = 0;  ///< of its ring: 1 + the index in inbound_; 0: none
    };

    void note_vain_poll() noexcept
    {
        ++vain_polls_;
        if (vain_polls_ % 4 == 0 && static_cast<std::int32_t>(vain_polls_ - quiet_from_) >= 0)
            inbound_[0].reader.prefetch_second();
    }
    void note_message() noexcept { quiet_from_ = vain_polls_ + vain_before_quiet; }

    /// Polls without doorbells: each rank has a core.
    int poll_all(int budget)
    {
        std::size_t const n = inbound_.size();
        // The last used ring is the likeliest to be used next, so it is first, and looked at more often than the others. But a ring that
        // never runs dry must not starve the others: after a poll that took messages from it, the next one begins with the others.
        if (!had_turn_) {
            if (int const run = drain(0, budget); run != 0 || n == 1) {
                had_turn_ = n > 1;
                return run;
            }
        }
        had_turn_ = false;
        for (std::size_t looked = 0; looked < n; ++looked) {
            if (looked % slice == slice - 1) {
                if (int const run = drain(0, budget); run != 0)
                    return run;
            }
            if (cursor_ >= inbound_.size())
                cursor_ = 0;
            std::size_t const i = cursor_++;
            if (int const run = drain(i, budget); run != 0) {
                to_front(i);
                return run;
            }
        }
        return 0;
    }

    /// Polls with doorbells: each ring whose bell was rung is read until it is empty, round robin, so that a ring that never runs dry does
    /// not starve the others.
    int poll_rung(int budget)
    {
        for (std::size_t w = 0; w < rung_.size(); ++w) {
            doorbells& bells = bells_of(inbox_, w);
            if (bells.load(std::memory_order_relaxed) != 0)
                rung_[w] |= bells.exchange(0, std::memory_order_acquire);
        }
        int run = 0;
        while (run < budget && find_rung()) {
            std::size_t const bell = cursor_++;
            std::uint32_t const place = bell < size_ ? senders_[bell].place : 0;
            if (place != 0)
                run += drain(place - 1, budget - run);
            if (run < budget)  // it is empty
                rung_[bell / 64] &= ~(std::uint64_t{1} << bell % 64);
        }
        return run;
    }

    /// Moves the cursor to the next sender whose bell was rung.
    bool find_rung() noexcept
    {
        // The first word is looked at twice: for the bits from the cursor on, and in the end for all its bits.
        for (std::size_t i = 0; i <= rung_.size(); ++i) {
            std::size_t const w = cursor_ / 64 % rung_.size();
            std::uint64_t const rest = rung_[w] & ~std::uint64_t{0} << cursor_ % 64;
            if (rest != 0) {
                cursor_ = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                return true;
            }
            cursor_ = (w + 1) * 64;
        }
        return false;
    }

    /// Runs the handlers of one ring's messages.
    int drain(std::size_t i, int budget)
    {
        int run = 0;
        if (senders_[inbound_[i].source].lost) [[unlikely]]
            return 0;
        ring_reader& reader = inbound_[i].reader;  // handlers change no element and add none
        peer const source = inbound_[i].source;
        ring_reader::view view;
        while (run < budget) {
            switch (reader.look(view)) {
            case ring_reader::found::nothing:
                return run;
            case ring_reader::found::message:
                if (run != 0)
                    reader.prefetch();
                if (!handlers_.run(view.handler, source, view.payload)) [[unlikely]] {
                    lose(source, fmt::format("rank {} sent a message for handler {}, which is not installed", source, view.handler));
                    return run;
                }
                if (run != 0)
                    reader.take(view);
                reader.pass(view);
                ++run;
                break;
            case ring_reader::found::moved:
                if (!follow(i, view.moved_to))
                    return run;
                break;
            case ring_reader::found::corrupt:
                lose(source, fmt::format("rank {} wrote what is no message into its ring", source));
                return run;
            }
        }
        return run;
    }

    /// Continues in the ring that this one moved to.
    bool follow(std::size_t i, std::uint64_t offset)
    {
        inbound& in = inbound_[i];
        try {
            auto const [header, capacity] = attach_ring(*env_, in.source, rank_, offset);
            if (header != nullptr && header != in.reader.header()) {
                ring_header* const old = in.reader.header();
                in.reader = ring_reader(header, capacity);
                box_of(inbox_, in.source).ring.store(offset, std::memory_order_release);
                old->done.store(1, std::memory_order_release);
                return true;
            }
            lose(in.source, fmt::format("rank {} moved to a ring at offset {} of its segment, where none is", in.source, offset));
        } catch (error const& e) {
            lose(in.source, e.what());
        }
        return false;
    }

    /// False: that peer has no ring yet.
    bool bring_to_front(peer source) noexcept
    {
        auto const at = std::ranges::find(inbound_, source, &inbound::source);
        if (at == inbound_.end())
            return false;
        to_front(static_cast<std::size_t>(at - inbound_.begin()));
        return true;
    }
    void to_front(std::size_t i) noexcept
    {
        std::swap(inbound_[0], inbound_[i]);
        senders_[inbound_[0].source].place = 1;
        senders_[inbound_[i].source].place = static_cast<std::uint32_t>(i) + 1;
    }
    /// Looks at the ring once even without its bell: the peer may have written, and not rung.
    void ring_for(peer source) noexcept
    {
        if (!rung_.empty())
            rung_[source / 64] |= std::uint64_t{1} << source % 64;
    }

    void look_for_rings()
    {
        // Acquire: rings that were announced before this count are seen below. Later ones bump it again.
        announced_seen_ = announced(inbox_).count.load(std::memory_order_acquire);
        for (peer p = 0; p < size_; ++p) {
            if (p == rank_ || senders_[p].known || senders_[p].lost || !env_->shares_memory(p))  // reading a mailbox takes its page
                continue;
            std::uint64_t const offset = box_of(inbox_, p).ring.load(std::memory_order_acquire);
            if (offset == 0)
                continue;
            senders_[p].known = true;
            try {
                auto const [header, capacity] = attach_ring(*env_, p, rank_, offset);
                if (header != nullptr) {
                    inbound_.push_back({ring_reader(header, capacity), p});
                    senders_[p].place = static_cast<std::uint32_t>(inbound_.size());
                    ring_for(p);  // its bell may have been heard before
                } else {
                    lose(p, fmt::format("rank {} announced a ring at offset {} of its segment, where none is", p, offset));
                }
            } catch (error const& e) {
                lose(p, e.what());
            }
        }
    }

    /// Gives the peer up: nothing is sent to it or read from it any more, and the engine is told why.
    void lose(peer p, std::string_view why)
    {
        if (std::exchange(senders_[p].lost, true))
            return;
        ++forgettable_;
        outbound_[p].close(*env_, p);
        report_failure(p, why);
    }

    void forget()
    {
        for (inbound const& in : inbound_)
            senders_[in.source].place = 0;
        std::erase_if(inbound_, [&](inbound const& in) {
            sender const& s = senders_[in.source];
            return s.lost || (s.dead && !in.reader.ready());
        });
        forgettable_ = 0;
        for (std::uint32_t i = 0; i < inbound_.size(); ++i) {
            sender& s = senders_[inbound_[i].source];
            s.place = i + 1;
            if (s.dead) {  // its ring is not empty yet: look again
                ++forgettable_;
                ring_for(inbound_[i].source);
            }
        }
        cursor_ = 0;
        had_turn_ = false;
    }

    /// A sending thread found the peer's half of a ring corrupt; the next poll reports it.
    void note_loss(peer p)
    {
        if (!outbound_[p].take_loss())
            return;
        std::scoped_lock const lock(losses_mutex_);
        losses_.push_back(p);
        losses_pending_.store(true, std::memory_order_relaxed);
    }

    void report_losses()
    {
        std::vector<peer> lost;
        {
            std::scoped_lock const lock(losses_mutex_);
            lost.swap(losses_);
            losses_pending_.store(false, std::memory_order_relaxed);
        }
        for (peer p : lost)
            lose(p, fmt::format("rank {} wrote what cannot be into its mailbox, or the ring that leads to it", p));
    }

    std::unique_ptr<environment> env_;
    peer const rank_;
    peer const size_;
    std::span<std::byte> const inbox_;
    capabilities caps_;
    handler_table handlers_;
    base::sparse_array<outbound> outbound_;
    bool alone_ = false;  ///< one thread at a time sends
    // touched by the polling thread only
    std::vector<inbound> inbound_;  ///< the last used first
    base::sparse_array<sender> senders_;
    std::vector<std::uint64_t> rung_;  ///< a bit for each sender whose bell was rung and whose ring may not be empty; empty without bells
    ring_reader::view peeked_;      ///< of inbound_[0]
    std::uint64_t announced_seen_ = 0;
    std::size_t cursor_ = 0;       ///< index into inbound_, or, with bells, a rank
    std::size_t forgettable_ = 0;  ///< senders that were lost or died since the last `forget`, or whose rings were not empty then
    bool had_turn_ = false;
    std::uint32_t vain_polls_ = 1;  ///< also read by outbound::own_ahead, where one thread at a time calls
    std::uint32_t quiet_from_ = 0;  ///< vain_polls_ from which on the last message is long ago
    // losses that sending threads found and the polling thread reports
    alignas(64) std::atomic<bool> losses_pending_{false};
    std::mutex losses_mutex_;
    std::vector<peer> losses_;
};

} // namespace

std::unique_ptr<component> make(std::unique_ptr<environment> env)
{
    return std::make_unique<shm_component>(std::move(env));
}

} // namespace towline::transport::shm
