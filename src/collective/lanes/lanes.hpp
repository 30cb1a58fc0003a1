#pragma once
// What the ranks of a team on one node tell each other through memory that all of them map: a lane for each rank, which it alone writes
// (but `claims`) and all others read.
//
//   lane     `finished`, `uses`, some slots and no more payloads. Operation n of the team uses slot and payload n modulo their numbers.
//   slot     four lines: how far the rank is in its operation, and what it offers: up to 240 bytes in the slot itself, up to `payload_bytes`
//            in the payload, or where its buffers are (lent); or a table of such (lane_tables.hpp).
//
// A rank may run ahead of others: it writes a slot, or a payload, again when all have finished the operation that used it before. So a
// broadcast does not wait for its receivers, which counts most where ranks share a core: a change of ranks serves many operations. All
// ranks do the same operations in the same order, one at a time each.
//
// What a rank lent is its caller's again when the operation has ended there. While all goes well, it stays until the others are at stage 2.
// Who fails takes back what it lent: it writes `failed` over its offer, then waits until nobody is in the middle of using it. A rank says in
// `uses` that it is, before it looks at what is lent, and waits for nobody meanwhile; so a failed rank does not wait for who never comes.
//
// Stages only grow: n * 4 + 1, 2, 3. Whoever waits for a stage of operation n is content with any later one.

#include "base/event_count.hpp"
#include "base/prefetch.hpp"
#include "collective/called.hpp"
#include "collective/lanes/node_memory.hpp"

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
    static constexpr std::uint64_t inline_bytes = 240;
    static constexpr std::uint64_t payload_bytes = 16384;
    static constexpr int stages = 4;

    enum class offer : std::uint64_t { nothing, in_slot, behind, lent, failed, table_in_slot, table_behind, table_lent };

    struct alignas(64) slot {
        std::atomic<std::uint64_t> stage;
        /// `terms`: which operation << 48 | bytes, or entries, of what is offered << 3 | offer. A rank that fails writes it again while others
        /// read: what it had offered stays where it is.
        std::atomic<std::uint64_t> word;
        std::uint64_t send;   ///< in the slot: the bytes begin here. lent: where the send buffer is, or the table
        std::uint64_t receive; ///< lent: where the receive buffer is, 0: nobody may write there
        std::uint64_t receive_size;
        std::atomic<std::uint64_t> claims;  ///< lent: of a block that two ranks move (lane_offers::claim_units); the other adds, too
        std::byte rest[inline_bytes - 32];

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
    static_assert(sizeof(slot) == 16 + inline_bytes);

    struct lane {
        alignas(64) std::atomic<std::uint64_t> finished;  ///< operations
        std::atomic<std::uint32_t> users;                 ///< ranks that have not let go; the last gives the memory back
        /// The operation in which this rank reads or writes now what others lent; 0: none. In a line of its own, which nobody looks at but
        /// who failed.
        alignas(64) std::atomic<std::uint64_t> uses;
        // limits::slots slots follow, then limits::payloads of payload_bytes
    };
    static_assert(sizeof(lane) == 128);

    /// How many bytes are offered in which way; the same on all ranks.
    struct limits {
        std::uint64_t posted = payload_bytes;  ///< up to so many by copy, twice as many where they go one way: nobody waits for readers
        std::uint64_t shown = payload_bytes;   ///< up to so many where they are, if others reach them there, else by copy; more are lent
        std::uint64_t slots = 32;              ///< a rank may be so many operations ahead of others; a power of two
        std::uint64_t payloads = 32;           ///< the same, where its copies lie in payloads; a power of two, at most `slots`
    };

    /// This rank's lane. The peers are those of the ranks in their order.
    lanes(node_memory&, int rank, std::vector<matching::peer> peers, limits);
    ~lanes();
    lanes(lanes const&) = delete;
    lanes& operator=(lanes const&) = delete;

    /// By what the others find this rank's lane; 0: there is no memory for one.
    [[nodiscard]] std::uint64_t own_word() const noexcept;
    /// Of all ranks, in their order. Throws error for a word that none can have told. False: somebody has no lane, so that nobody may use
    /// them.
    [[nodiscard]] bool open(std::span<std::uint64_t const> words);

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(peers_.size()); }
    [[nodiscard]] node_memory& memory() const noexcept { return memory_; }

    /// As of node_memory.
    [[nodiscard]] bool is_tight() const noexcept { return is_tight_; }
    /// So many bytes are offered by copy. `one_way`: only the root, or lower ranks, offer any.
    [[nodiscard]] bool are_posted(std::uint64_t bytes, bool one_way = false) const noexcept
    {
        return bytes <= (one_way ? std::min(2 * limits_.posted, limits_.shown) : limits_.posted);
    }
    /// So many bytes are offered by copy or, where others reach them, lent to be read. More are lent in any case.
    [[nodiscard]] bool are_shown(std::uint64_t bytes) const noexcept { return bytes <= limits_.shown; }

    /// Never opened here, but perhaps by others: they find that this rank has failed in every operation, and why (a lane_run::state). Its
    /// memory stays until the job ends, since nobody knows who looks at it.
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
        wake(everybody);  // who lent something, or runs ahead, may wait for that
    }
    /// The same, where nobody waits for that but who runs ahead. To wake all would take longer than the operation, and who cannot go on gets
    /// several operations for it: until then this rank needs nothing of it.
    void finish_quietly(std::uint64_t number) noexcept
    {
        end(number);
        if (number % std::max<std::uint64_t>(limits_.payloads / 4, 1) == 0)
            wake(everybody);
    }

    [[nodiscard]] slot& mine(std::uint64_t number) noexcept { return slot_at(own_, number); }
    [[nodiscard]] slot& of(int rank, std::uint64_t number) noexcept { return slot_at(all_[static_cast<std::size_t>(rank)], number); }

    [[nodiscard]] std::byte* my_payload(std::uint64_t number) noexcept { return payload_at(own_, number); }
    [[nodiscard]] std::byte* payload_of(int rank, std::uint64_t number) noexcept
    {
        return payload_at(all_[static_cast<std::size_t>(rank)], number);
    }

    /// Nobody reads any more what the own slot for this operation held before; with `payload`, what that held, too.
    [[nodiscard]] bool may_write(std::uint64_t number, bool payload) noexcept
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

    /// Everything that this rank wrote before is visible to who sees the stage. `whom` is woken, or all if negative.
    void publish(std::uint64_t number, int stage, int whom) noexcept
    {
        mine(number).stage.store(number * stages + static_cast<std::uint64_t>(stage), std::memory_order_release);
        base::prefetch_to_write(&mine(number + 1));  // others have read it; here is a wait, most of the time
        wake(whom);
    }
    /// Tells the others that nothing comes from this rank, and why (a lane_run::state). They get on: a failed rank has reached every stage.
    /// What it lent is used by nobody who does not use it already (is_used_by).
    void fail(std::uint64_t number, std::uint64_t why, called operation) noexcept
    {
        mine(number).set({offer::failed, why, operation});
        publish(number, stages - 1, everybody);
        base::heavy_fence(fences_);
    }
    /// The rank may be in the middle of using what this one lent in the operation.
    [[nodiscard]] bool is_used_by(int rank, std::uint64_t number) const noexcept
    {
        return all_[static_cast<std::size_t>(rank)]->uses.load(std::memory_order_acquire) == number;
    }
    /// This rank is about to look at what `rank` lent. True: it said so now, so that offers are to be looked at once more.
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
    /// It uses nothing any more of what was lent. Before it waits, and before it ends.
    void end_use(std::uint64_t number) noexcept
    {
        if (used_ != nobody)
            leave_lent(number);
    }
    [[nodiscard]] bool has_reached(int rank, std::uint64_t number, int stage) noexcept
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
    /// What was noted since the last call. Any thread.
    [[nodiscard]] std::optional<different_calls> take_difference() noexcept
    {
        std::uint64_t const d = difference_.exchange(0, std::memory_order_relaxed);
        if (d == 0)
            return {};
        return different_calls{static_cast<int>(d >> 32), called::from_word(static_cast<std::uint16_t>(d >> 16)),
                               called::from_word(static_cast<std::uint16_t>(d))};
    }
    void count_posted(std::uint64_t bytes) noexcept { counts_.posted += bytes; }
    void count_moved(std::uint64_t bytes) noexcept { counts_.moved += bytes; }
    [[nodiscard]] bool is_gone(int rank) const noexcept { return memory_.is_gone(peers_[static_cast<std::size_t>(rank)]); }
    [[nodiscard]] bool is_anybody_gone() const noexcept;

private:
    static constexpr int everybody = -1, nobody = -2;
    void wake(int whom) const noexcept
    {
        if (whom >= 0)
            return sleepers_[static_cast<std::size_t>(whom)].notify();
        for (base::sleeper const& s : sleepers_)
            s.notify();
    }
    void leave_lent(std::uint64_t number) noexcept;
    [[nodiscard]] std::uint64_t look_for_finished() noexcept;
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
    void end(std::uint64_t number) noexcept
    {
        if ((++counts_.operations & 63) == 0)
            publish_counts();
        own_->finished.store(number, std::memory_order_release);
        finished_.store(number, std::memory_order_release);
    }
    void let_go(lane*) noexcept;
    void publish_counts() noexcept { memory_.note(std::exchange(counts_, {})); }

    node_memory& memory_;
    int const rank_;
    std::vector<matching::peer> const peers_;
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
    std::atomic<std::uint64_t> difference_{0};  ///< different_calls: rank << 32 | theirs << 16 | ours; 0: none
};

} // namespace towline::collective
