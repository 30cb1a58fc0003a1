#pragma once
// How the ranks of a team on one node communicate through memory that all of them map: each rank has a lane, which it alone writes (but for
// `claims`) and all others read.
//
//   lane     `finished`, `uses`, some slots, and at most as many payloads. Operation n of the team uses slot and payload n modulo their
//            numbers.
//   slot     four cache lines: the stage of the rank in its operation, and what it offers: up to `slot_bytes` in the slot itself, up to
//            `payload_bytes` in the payload, or the addresses of its buffers (lent); or a table of such (lane_tables.hpp).
//
// A rank may run ahead of others: it overwrites a slot, or a payload, when all ranks have finished the operation that used it before. So a
// broadcast does not wait for its receivers, which matters most in an oversubscribed job: one change of ranks serves many operations. All
// ranks do the same operations in the same order, one at a time each.
//
// Buffers that a rank lent are its caller's again when the operation has ended there. Unless something fails, the rank stays in the
// operation until the others are at stage 2. A rank that fails takes back what it lent: it writes `failed` over its offer, then waits until
// no rank is in the middle of using it. A rank sets `uses` before it looks at what is lent, and clears it before it waits for anything; so
// a failed rank never waits for a rank that never comes.
//
// Stages only grow: n * 4 + 1, 2, 3. A wait for a stage of operation n is over at any later stage, too.

#include "base/event_count.hpp"
#include "collective/called.hpp"
#include "collective/lanes/node_memory.hpp"
#include "collective/thresholds.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace towline::collective {

class lanes {
public:
    static constexpr std::uint64_t slot_bytes = 240;
    static constexpr std::uint64_t payload_bytes = 16384;
    static constexpr int stages = 4;

    enum class offer : std::uint64_t { nothing, in_slot, behind, lent, failed, table_in_slot, table_behind, table_lent };

    struct alignas(64) slot {
        std::atomic<std::uint64_t> stage;
        /// `terms`: which operation << 48 | bytes, or entries, of what is offered << 3 | offer. A rank that fails overwrites it while
        /// others read; the bytes that it had offered stay where they are.
        std::atomic<std::uint64_t> word;
        std::uint64_t send;   ///< in the slot: the bytes begin here. lent: where the send buffer is, or the table
        std::uint64_t receive; ///< lent: where the receive buffer is, 0: nobody may write there
        std::uint64_t receive_size;
        std::atomic<std::uint64_t> claims;  ///< lent: of a block that two ranks move (lane_offers::claim_units); the other adds, too
        std::uint64_t is_copy; ///< lent: 1: the send buffer is a copy, which its owner writes anew in the next such operation
        std::byte rest[slot_bytes - 40];

        struct terms {
            offer what;
            std::uint64_t bytes;  ///< below 2^45
            called operation;
            [[nodiscard]] std::uint64_t word() const noexcept
            {
                return std::uint64_t{operation.word()} << 48 | bytes << 3 | static_cast<std::uint64_t>(what);
            }
        };
        [[nodiscard]] terms offers() const noexcept
        {
            std::uint64_t const w = word.load(std::memory_order_relaxed);
            return {static_cast<offer>(w & 7), w << 16 >> 19, called::from_word(static_cast<std::uint16_t>(w >> 48))};
        }
        [[nodiscard]] bool offers(terms const& t) const noexcept { return word.load(std::memory_order_relaxed) == t.word(); }
        void set(terms const& t) noexcept { word.store(t.word(), std::memory_order_relaxed); }
        [[nodiscard]] std::byte* contents() noexcept { return reinterpret_cast<std::byte*>(&send); }
    };
    static_assert(sizeof(slot) == 16 + slot_bytes);

    struct lane {
        alignas(64) std::atomic<std::uint64_t> finished;  ///< operations
        std::atomic<std::uint32_t> users;                 ///< ranks that have not let go; the last gives the memory back
        /// What another rank found that did not fit what this one gave, which may have ended well here: `complain`. 0: nothing. The owner
        /// takes it out.
        std::atomic<std::uint64_t> complaint;
        /// The operation in which this rank now reads or writes what others lent; 0: none. In a cache line of its own, which only failed
        /// ranks read.
        alignas(64) std::atomic<std::uint64_t> uses;
        // limits::slots slots follow, then limits::payloads of payload_bytes
    };
    static_assert(sizeof(lane) == 128);

    /// How many bytes are offered in which way; the same on all ranks.
    struct limits {
        std::uint64_t posted = payload_bytes;  ///< up to so many by copy, twice as many one way: no rank waits for its readers then
        std::uint64_t shown = payload_bytes;   ///< up to so many where they are, if others reach them there, else by copy; more are lent
        std::uint64_t slots = 32;              ///< a rank may be so many operations ahead of others; a power of two
        std::uint64_t payloads = 32;           ///< the same, where its copies lie in payloads; a power of two, at most `slots`
    };

    /// This rank's lane. The peers are those of the ranks in their order. `names`, not empty: what the ranks are called in texts, and by
    /// name_of: members of one node of a team.
    lanes(node_memory&, int rank, std::vector<matching::peer> peers, limits, std::vector<int> names = {});
    ~lanes();
    lanes(lanes const&) = delete;
    lanes& operator=(lanes const&) = delete;

    /// The word by which the others find this rank's lane; 0: there is no memory for one.
    [[nodiscard]] std::uint64_t own_word() const noexcept;
    /// Attaches the lanes of all ranks, in their order. Throws error for an impossible word. False: a rank has no lane, so that none may be
    /// used.
    [[nodiscard]] bool open(std::span<std::uint64_t const> words);

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(peers_.size()); }
    [[nodiscard]] node_memory& memory() const noexcept { return memory_; }
    [[nodiscard]] int name_of(int rank) const noexcept
    {
        return rank < 0 || names_.empty() ? rank : names_[static_cast<std::size_t>(rank)];
    }

    /// As of node_memory.
    [[nodiscard]] bool is_tight() const noexcept { return is_tight_; }
    /// So many bytes are offered by copy. `one_way`: only the root, or lower ranks, offer any.
    [[nodiscard]] bool are_posted(std::uint64_t bytes, bool one_way = false) const noexcept
    {
        return bytes <= (one_way ? std::min(2 * limits_.posted, limits_.shown) : limits_.posted);
    }
    /// So many bytes are offered by copy or, where others reach them, lent to be read. More are lent in any case.
    [[nodiscard]] bool are_shown(std::uint64_t bytes) const noexcept { return bytes <= limits_.shown; }

    /// Gives up lanes that others may have opened: they find that this rank has failed in every operation, and why (a lane_run::state). The
    /// memory stays until the job ends, as any rank may still read it.
    static void abandon(std::unique_ptr<lanes>, std::uint64_t why) noexcept;

    // Operations. One thread at a time.

    /// The number of this rank's next operation; they run in this order.
    [[nodiscard]] std::uint64_t begin() noexcept { return ++begun_; }
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
    [[nodiscard]] bool is_turn_of(std::uint64_t number) const noexcept { return finished_.load(std::memory_order_acquire) + 1 == number; }
    /// The rank looks at nobody's slot for this operation any more.
    void finish(std::uint64_t number) noexcept
    {
        end(number);
        wake(everybody);  // ranks that lent something, or run ahead, may wait for that
    }
    /// The same, where only ranks that run ahead wait for that. To wake all would take longer than the operation, and a rank that cannot go
    /// on then gets several operations for it: until then this rank needs nothing of that one.
    [[gnu::always_inline]] void finish_quietly(std::uint64_t number) noexcept
    {
        end(number);
        if ((number & (std::max<std::uint64_t>(limits_.payloads / 4, 1) - 1)) == 0)
            wake(everybody);
    }

    [[nodiscard]] slot& mine(std::uint64_t number) noexcept { return slot_at(own_, number); }
    [[nodiscard, gnu::always_inline]] slot& of(int rank, std::uint64_t number) noexcept
    {
        return slot_at(all_[static_cast<std::size_t>(rank)], number);
    }

    [[nodiscard]] std::byte* my_payload(std::uint64_t number) noexcept { return payload_at(own_, number); }
    [[nodiscard]] std::byte* payload_of(int rank, std::uint64_t number) noexcept
    {
        return payload_at(all_[static_cast<std::size_t>(rank)], number);
    }

    /// No rank reads any more what this rank's slot for the operation held before; with `payload`, nor what its payload held.
    [[nodiscard, gnu::always_inline]] bool may_write(std::uint64_t number, bool payload) noexcept
    {
        std::uint64_t const ahead = payload ? limits_.payloads : limits_.slots;
        return number <= all_finished_ + ahead || number <= look_for_finished() + ahead;
    }
    /// All ranks have begun this operation.
    void all_are_at(std::uint64_t number) noexcept
    {
        if (all_finished_ < number - 1)
            all_finished_ = number - 1;
    }

    /// Sets the stage, with release: a rank that sees it sees all that this rank wrote before. Wakes `whom`, or all if negative.
    [[gnu::always_inline]] void publish(std::uint64_t number, int stage, int whom) noexcept
    {
        mine(number).stage.store(number * stages + static_cast<std::uint64_t>(stage), std::memory_order_release);
        wake(whom);
    }
    /// Tells the others that nothing comes from this rank, and why (a lane_run::state). They go on: a failed rank counts as at every stage.
    /// From now on no rank begins to use what this one lent; those in the middle of it: is_used_by.
    void fail(std::uint64_t number, std::uint64_t why, called operation) noexcept
    {
        failures_ = number - failed_ < 64 ? failures_ << (number - failed_) | 1 : 1;
        failed_ = number;
        mine(number).set({offer::failed, why, operation});
        publish(number, stages - 1, everybody);
        base::heavy_fence(fences_);
    }
    /// The rank may be in the middle of using what this one lent in the operation.
    [[nodiscard]] bool is_used_by(int rank, std::uint64_t number) const noexcept
    {
        return all_[static_cast<std::size_t>(rank)]->uses.load(std::memory_order_acquire) == number;
    }
    /// This rank is about to look at what `rank` lent. True: `uses` was set just now, so that the offer must be read once more.
    bool begin_use(int rank, std::uint64_t number) noexcept
    {
        if (used_ != nobody) {
            used_ = used_ == rank ? rank : everybody;
            return false;
        }
        used_ = rank;
        own_->uses.store(number, std::memory_order_relaxed);
        base::light_fence(fences_);
        return true;
    }
    /// This rank uses nothing any more of what was lent. Called before it waits, and before it ends.
    void end_use(std::uint64_t number) noexcept
    {
        if (used_ != nobody)
            leave_lent(number);
    }
    [[nodiscard, gnu::always_inline]] bool has_reached(int rank, std::uint64_t number, int stage) noexcept
    {
        return of(rank, number).stage.load(std::memory_order_acquire) >= number * stages + static_cast<std::uint64_t>(stage);
    }
    /// The rank needs nothing any more of others in this operation.
    [[nodiscard]] bool has_left(int rank, std::uint64_t number) noexcept
    {
        return has_reached(rank, number, 2) || all_[static_cast<std::size_t>(rank)]->finished.load(std::memory_order_acquire) >= number;
    }
    [[nodiscard]] bool has_finished(int rank, std::uint64_t number) const noexcept
    {
        return all_[static_cast<std::size_t>(rank)]->finished.load(std::memory_order_acquire) >= number;
    }
    /// A rank was found to be in another operation; for the text of the error.
    void note(different_calls const& d) noexcept
    {
        difference_.store(static_cast<std::uint64_t>(d.rank) << 32 | static_cast<std::uint64_t>(d.theirs.word()) << 16 | d.ours.word(),
                          std::memory_order_relaxed);
    }
    /// What that rank gave does not fit what this one did, which called `ours`; `theirs`: what that one called, as far as this rank knows.
    /// That rank may have ended the operation before, because it looked at nobody (the root of a small broadcast): it is told in a line
    /// then, at one of its next operations or at the end.
    void complain(int rank, std::uint64_t number, called theirs, called ours) noexcept
    {
        std::uint64_t none = 0;
        if (rank != rank_)
            all_[static_cast<std::size_t>(rank)]->complaint.compare_exchange_strong(
                none, number << 48 | static_cast<std::uint64_t>(rank_) << 32 | static_cast<std::uint64_t>(ours.word()) << 16 | theirs.word(),
                std::memory_order_relaxed);
    }
    /// What was noted since the last call. Any thread.
    [[nodiscard]] std::optional<different_calls> take_difference() noexcept
    {
        std::uint64_t const d = difference_.exchange(0, std::memory_order_relaxed);
        if (d == 0)
            return {};
        return different_calls{name_of(static_cast<int>(d >> 32)), called::from_word(static_cast<std::uint16_t>(d >> 16)),
                               called::from_word(static_cast<std::uint16_t>(d))};
    }
    void count_posted(std::uint64_t bytes) noexcept { counts_.posted += bytes; }
    void count_moved(std::uint64_t bytes) noexcept { counts_.moved += bytes; }
    [[nodiscard]] bool is_gone(int rank) const noexcept { return memory_.is_gone(peers_[static_cast<std::size_t>(rank)]); }
    [[nodiscard]] bool is_anybody_gone() const noexcept;
    /// As of node_memory.
    [[nodiscard]] std::atomic<std::uint64_t> const& sleeps() const noexcept { return memory_.sleeps(); }

private:
    static constexpr int everybody = -1, nobody = -2;
    [[gnu::always_inline]] void wake(int whom) const noexcept
    {
        if (whom >= 0)
            return sleepers_[static_cast<std::size_t>(whom)].notify();
        for (base::sleeper const& s : sleepers_)
            s.notify();
    }
    void leave_lent(std::uint64_t number) noexcept;
    [[nodiscard]] std::uint64_t look_for_finished() noexcept;
    /// Tells of a complaint, unless the operation failed here as well.
    void hear() noexcept;
    [[nodiscard]] std::size_t lane_bytes() const noexcept
    {
        return sizeof(lane) + limits_.slots * sizeof(slot) + limits_.payloads * payload_bytes;
    }
    [[nodiscard]] slot& slot_at(lane* l, std::uint64_t number) const noexcept
    {
        return reinterpret_cast<slot*>(l + 1)[number & (limits_.slots - 1)];
    }
    [[nodiscard]] std::byte* payload_at(lane* l, std::uint64_t number) const noexcept
    {
        return reinterpret_cast<std::byte*>(l + 1) + limits_.slots * sizeof(slot) + (number & (limits_.payloads - 1)) * payload_bytes;
    }
    [[gnu::always_inline]] void end(std::uint64_t number) noexcept
    {
        if ((++counts_.operations & (thresholds::operations_per_publication - 1)) == 0) [[unlikely]]
            publish_and_hear();
        own_->finished.store(number, std::memory_order_release);
        finished_.store(number, std::memory_order_release);
    }
    void let_go(lane*) noexcept;
    [[gnu::noinline]] void publish_and_hear() noexcept
    {
        publish_counts();
        hear();
    }
    void publish_counts() noexcept { memory_.note(std::exchange(counts_, {})); }

    node_memory& memory_;
    int const rank_;
    std::vector<matching::peer> const peers_;
    std::vector<int> const names_;
    limits const limits_;
    lane* own_ = nullptr;
    std::vector<lane*> all_;  ///< empty until they are open
    std::vector<base::sleeper> sleepers_;  ///< likewise; nobody at this rank
    std::uint64_t begun_ = 0;
    std::atomic<std::uint64_t> finished_{0};
    std::uint64_t all_finished_ = 0;  ///< operations, as far as this rank knows
    base::fence_side const fences_;
    bool const is_tight_;
    int used_ = nobody;  ///< whose buffers this rank uses now
    node_memory::counts counts_;
    std::uint64_t failed_ = 0;    ///< the last operation that failed here
    std::uint64_t failures_ = 0;  ///< bit i: so did the one i before it
    int complaints_ = 0;          ///< told
    std::atomic<std::uint64_t> difference_{0};  ///< different_calls: rank << 32 | theirs << 16 | ours; 0: none
};

} // namespace towline::collective
