#pragma once
// Cuts an arena into extents of whole granules: big blocks for programs, and regions for the pool of small blocks.
// Good fit through size bins (M. Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", 2004), immediate joining
// of free neighbours. All bookkeeping lies in private memory beside the arena, so nobody else can damage it.
//
// Free extents are *warm* (their pages were touched, their content is stale), *clean* (holes in the file: they read as zeros and cost a
// page fault per page) or *hidden* (holes, too, but not yet shown: see `supply`). Warm ones are handed out first, hidden ones last. Warm
// memory beyond a bound is given back to the kernel.
// A few freed blocks are *parked* in lock-free slots by size, unsplit, for the next request of that size.
// Blocks that come back from a peer *cool* first, in the order in which they came: their lines are in the peer's caches, and a write to a
// line that another core has read recently costs several times as much as one to a line that the other core has evicted (write and the
// peer's read of 64 KiB: 9.8 us and 5; of 1 MiB: 140 and 61).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace towline::heap {

class extents {
public:
    static constexpr std::size_t granule = std::size_t{16} << 10;
    static constexpr std::size_t max_bytes = granule << 29;

    enum class kind : std::uint32_t { none = 0, free = 1, block = 4, region = 5 };
    struct piece {
        void* begin = nullptr;
        bool clean = false;  ///< reads as zeros
    };

    /// Where the arena's memory comes from. Functions run under the lock, except `commit` of a new extent.
    struct supply {
        /// Makes hidden memory accessible; false if that fails.
        bool (*show)(std::byte* begin, std::size_t bytes) noexcept = nullptr;
        /// Told of long holes: may exclude them from core dumps and the like. They stay accessible.
        void (*hide)(std::byte* begin, std::size_t bytes) noexcept = nullptr;
        /// Allocates the pages of clean memory before it is handed out; false if there are none. Null: pages are allocated by first touch.
        bool (*commit)(std::byte* begin, std::size_t bytes) noexcept = nullptr;
    };

    constexpr extents() = default;
    extents(extents const&) = delete;
    extents& operator=(extents const&) = delete;

    /// Takes over [begin, begin + bytes), a hidden MAP_SHARED mapping; both multiples of the granule (in addresses, too).
    /// At most `keep` bytes stay warm while free; `cool` of them (less than half of `keep`) may wait to cool. Once, before anything else.
    /// False if there is no memory for the bookkeeping. With an empty `supply` all is accessible from the start.
    [[nodiscard]] bool start(std::byte* begin, std::size_t bytes, std::size_t keep, std::size_t cool, supply from) noexcept;
    [[nodiscard]] bool start(std::byte* begin, std::size_t bytes, std::size_t keep, std::size_t cool = 0) noexcept
    {
        return start(begin, bytes, keep, cool, supply{});
    }

    /// Forgets everything. There is no destructor: the heap lives as long as the process.
    void stop() noexcept;

    /// An extent of at least `bytes` (not 0), aligned to the granule or to `alignment` (a power of two); null if there is no room, or no
    /// memory. `commits`: by the supply's `commit`, where it has one.
    [[nodiscard]] piece allocate(std::size_t bytes, std::size_t alignment, kind what, bool commits = true) noexcept;
    /// Frees an extent that begins at `begin`; false (and nothing happens) if there is no such extent. `by_peer`: another process has used
    /// it last.
    bool release(void* begin, kind what, bool by_peer = false) noexcept;
    /// Resizes the block at `begin` in place to at least `bytes`: frees its end, or takes from a free neighbour. False if that is not
    /// possible.
    bool resize(void* begin, std::size_t bytes) noexcept;

    /// The region that contains the byte at `pointer` (in the arena), if there is one; else what begins at its granule.
    [[nodiscard]] kind kind_at(void const* pointer) const noexcept;
    /// True if the pointer is the very beginning of the extent that begins at its granule.
    [[nodiscard]] bool begins(void const* pointer) const noexcept
    {
        return static_cast<std::size_t>(static_cast<std::byte const*>(pointer) - begin_) % granule == 0;
    }
    /// Bytes of the block that begins at `begin`.
    [[nodiscard]] std::size_t bytes_of(void const* begin) const noexcept;

    [[nodiscard]] std::size_t in_use() const noexcept;
    [[nodiscard]] std::size_t warm() const noexcept;
    /// Calls f(begin, bytes) for every block and region, by address. Under the lock, or in a child that has it to itself.
    template <class F>
    void for_each_used(F&& f) const
    {
        for (std::uint32_t i = 0; i < count_; i += table_[i].size())
            if (table_[i].what() == kind::block || table_[i].what() == kind::region)
                f(begin_ + std::size_t{i} * granule, std::size_t{table_[i].size()} * granule);
    }

    /// For fork: no thread changes anything between the two. Tests that look inside use them, too.
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

    /// Checks every invariant; null or what is wrong. For tests.
    [[nodiscard]] char const* check() const;

private:
    // One per granule; heads may be read without the lock. Only the first entry of an extent has a head (and links, if free), only the last
    // has `back`; inside a region every head says so.
    enum class state : std::uint32_t { none = 0, hidden = 1, clean = 2, warm = 3, block = 4, region = 5 };
    [[nodiscard]] static constexpr state state_of(kind what) noexcept { return static_cast<state>(what); }  ///< not of free
    struct entry {
        std::atomic<std::uint32_t> head;  ///< size in granules | state << 29
        std::uint32_t back;
        std::uint32_t next;
        std::uint32_t previous;
        [[nodiscard]] std::uint32_t word() const noexcept { return head.load(std::memory_order_relaxed); }
        [[nodiscard]] std::uint32_t size() const noexcept { return word() & ((1u << 29) - 1); }
        [[nodiscard]] state is() const noexcept { return static_cast<state>(word() >> 29); }
        [[nodiscard]] bool warm() const noexcept { return is() == state::warm; }
        [[nodiscard]] kind what() const noexcept
        {
            std::uint32_t const s = word() >> 29;
            return s - 1 < 3 ? kind::free : static_cast<kind>(s);
        }
    };
    static constexpr std::uint32_t nil = ~0u;
    static constexpr unsigned slots = 16;  ///< for parked blocks, and one more for a really big one
    static constexpr unsigned places = 128;  ///< for blocks that cool
    static constexpr unsigned bins = 27 * 32;
    static constexpr std::uint32_t step = (std::uint32_t{2} << 20) / granule;  ///< granules that one `show` makes accessible, at least
    struct bin_set {
        std::uint32_t any = 0;
        std::array<std::uint64_t, (bins + 63) / 64> map{};
        std::array<std::uint32_t, bins> first{};  ///< index + 1; 0: empty
    };

    static unsigned bin_of(std::uint32_t size) noexcept;
    static std::uint32_t bin_ceiling(std::uint32_t size) noexcept;

    void set(std::uint32_t at, std::uint32_t size, state is) noexcept;
    void insert(std::uint32_t at, std::uint32_t size, state is) noexcept;
    void remove(std::uint32_t at) noexcept;
    std::uint32_t find(bin_set const&, std::uint32_t size) const noexcept;
    std::uint32_t find_exactly(bin_set const&, std::uint32_t size) const noexcept;
    static std::uint32_t word_for(std::uint32_t size, state is) noexcept { return size | static_cast<std::uint32_t>(is) << 29; }
    [[nodiscard]] bin_set& bins_of(state is) noexcept { return free_bins_[static_cast<std::uint32_t>(is) - 1]; }
    [[nodiscard]] bin_set const& bins_of(state is) const noexcept { return free_bins_[static_cast<std::uint32_t>(is) - 1]; }
    [[nodiscard]] std::atomic<std::uint64_t>& slot_for(std::uint32_t size) noexcept;
    bool park(std::uint32_t at, std::uint32_t size) noexcept;
    std::uint32_t unpark(std::uint32_t size) noexcept;
    bool unpark_all() noexcept;
    [[nodiscard]] std::uint32_t parked() const noexcept;
    void let_cool(std::uint32_t at, std::uint32_t size) noexcept;
    void take_coolest() noexcept;
    std::uint32_t insert_joined(std::uint32_t at, std::uint32_t size, state is) noexcept;
    void join_all() noexcept;
    std::uint32_t carve(std::uint32_t size, std::uint32_t align, kind what, bool& clean) noexcept;
    std::uint32_t carve_from(std::uint32_t at, std::uint32_t size, std::uint32_t align, kind what) noexcept;
    [[nodiscard]] bool reach(std::uint32_t entries) noexcept;
    std::uint32_t show(std::uint32_t at, std::uint32_t have, std::uint32_t size) noexcept;
    void insert_behind(std::uint32_t at, std::uint32_t shown, std::uint32_t have, std::uint32_t used) noexcept;
    [[nodiscard]] bool commit(std::uint32_t at, std::uint32_t size) const noexcept
    {
        return from_.commit == nullptr || from_.commit(begin_ + std::size_t{at} * granule, std::size_t{size} * granule);
    }
    void hide(std::uint32_t at) noexcept;
    void trim() noexcept;
    [[nodiscard]] std::uint32_t index(void const* pointer) const noexcept
    {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<std::byte const*>(pointer) - begin_) / granule);
    }

    std::byte* begin_ = nullptr;
    std::uint32_t count_ = 0;
    entry* table_ = nullptr;
    std::atomic<std::uint32_t> reached_{0};  ///< entries of the table that are accessible, from the first on; besides these the last
    std::uint32_t long_hole_ = 0;            ///< granules; shorter holes are not hidden again
    supply from_{};
    std::uint32_t warm_ = 0;  ///< granules, free
    std::uint32_t used_ = 0;  ///< granules
    std::uint32_t keep_ = 0;  ///< granules
    std::array<bin_set, 3> free_bins_{};  ///< hidden, clean, warm
    struct extent {
        std::uint32_t at, size;
    };
    std::array<extent, places> cooling_{};  ///< a ring buffer; the oldest has cooled longest
    std::uint32_t coolest_ = 0;
    std::uint32_t cooling_blocks_ = 0;
    std::uint32_t cooling_granules_ = 0;
    std::uint32_t cool_ = 0;  ///< granules
    mutable std::mutex mutex_;
    /// index << 32 | size in granules; 0: empty. The thread that exchanges a word for 0 owns the block.
    alignas(64) std::array<std::atomic<std::uint64_t>, slots + 1> parked_{};
};

} // namespace towline::heap
