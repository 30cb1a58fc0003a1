#pragma once
// A cache of memory ranges that were expensive to prepare: attached from a peer (XPMEM), or registered with a network. A buffer that is
// used again costs a look-up.
//
// A range belongs to a *space*: an address space, by a number that the user of the cache chooses (say 0 the own one, 1 + rank a peer's).
// Ranges of different spaces never meet. Inside a space the ranges that can be found are disjoint: a request that overlaps what is there
// makes one range over both, and the old ones retire.
//
//   found      may be leased again
//   retired    covered by a larger one, or invalidated: found no more, dropped when its last lease ends
//   in use     leased at least once: never dropped, whatever else happens
//
// The cache is bounded in ranges and in bytes, retired ones included. To make room it drops ranges that are not in use, the oldest first
// (FIFO: in the order in which they were made; a buffer that was used early and often is made anew once in a while, and nothing is written
// on a hit). Where that is not enough, a request is refused, and its user takes another way.
//
// What makes a range stale, and who reports that:
//   own memory, registered with a network   The registration holds the pages that were there when it was made. When the memory goes back
//                                            to the kernel, the addresses may come again with other pages. The allocator says so itself
//                                            (heap/releases.hpp): whoever keeps such ranges subscribes there and calls `invalidate`. No
//                                            function of the program's is patched: memory that the program maps and unmaps by itself is
//                                            registered for one transfer only, never kept.
//   a peer's memory, attached by XPMEM       Nothing needs to be said. An attachment shows a range of the peer's *addresses*, not of its
//                                            pages: when the peer frees memory and the kernel takes the pages, the driver, which watches
//                                            the peer's page tables, takes them out of every attachment, and the next access here finds
//                                            what lies at that address of the peer then. What is read through it is what process_vm_readv
//                                            would read at that moment; so a stale page cannot be seen, and a peer's free needs no message.
//   a peer that is gone                      `invalidate_space`.
//
// Thread-safe. The back-end is called with the cache locked, one call at a time; it must not call the cache.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace towline::heap {

class registration_cache {
public:
    using space = std::uint32_t;
    using handle = std::uintptr_t;

    /// What prepares ranges.
    class back_end {
    public:
        virtual ~back_end() = default;
        /// Makes a range usable. Nothing where that is refused. `bytes` is not 0, and the range does not wrap.
        [[nodiscard]] virtual std::optional<handle> make(space, std::uintptr_t begin, std::size_t bytes) noexcept = 0;
        /// The end of what `make` gave.
        virtual void drop(space, std::uintptr_t begin, std::size_t bytes, handle) noexcept = 0;
    };

    struct limits {
        std::size_t ranges = 1024;
        std::size_t bytes = std::size_t{1} << 34;
        /// Ranges are made a little larger, from a multiple of this to another (a power of two), so that neighbouring buffers share one.
        /// Where the back-end refuses that, it is asked for whole pages.
        std::size_t granule = 4096;
    };

    struct statistics {
        std::uint64_t hits = 0;
        std::uint64_t made = 0;
        std::uint64_t evicted = 0;      ///< for want of room
        std::uint64_t invalidated = 0;
        std::uint64_t merged = 0;       ///< retired because a larger one covers them
        std::uint64_t refused = 0;      ///< requests
        std::size_t ranges = 0;         ///< now, retired ones included
        std::size_t bytes = 0;
    };

    class lease;

    /// Throws nothing. The back-end must outlive the cache.
    explicit registration_cache(back_end& b) noexcept : registration_cache(b, limits{}) {}
    registration_cache(back_end&, limits) noexcept;
    /// Drops everything; every lease must have ended.
    ~registration_cache();
    registration_cache(registration_cache const&) = delete;
    registration_cache& operator=(registration_cache const&) = delete;

    /// A range that covers [begin, begin + bytes); empty where there is no room, the back-end refuses, or the request is empty or wraps.
    [[nodiscard]] lease acquire(space, std::uintptr_t begin, std::size_t bytes) noexcept;

    /// Overlapping ranges are found no more; those in use are dropped when their last lease ends, and stay as usable as the back-end can
    /// promise. Returns the number of ranges. One load while the cache is empty; may be called from inside free().
    std::size_t invalidate(space, std::uintptr_t begin, std::size_t bytes) noexcept;
    std::size_t invalidate_space(space) noexcept;

    [[nodiscard]] statistics stats() const;
    /// Checks every invariant; null, or what is wrong. For tests.
    [[nodiscard]] char const* check() const;

private:
    struct range {
        space of;
        std::uintptr_t begin;
        std::size_t bytes;
        handle made;
        std::uint32_t users;
        bool found;  ///< stands in `index_`
        [[nodiscard]] std::uintptr_t end() const noexcept { return begin + bytes; }
    };
    using place = std::list<range>::iterator;
    using key = std::pair<space, std::uintptr_t>;
    using index = std::map<key, place>;

    [[nodiscard]] index::iterator first_overlap(space, std::uintptr_t begin, std::uintptr_t end);
    [[nodiscard]] std::optional<place> try_make(space, std::uintptr_t begin, std::uintptr_t end);
    [[nodiscard]] bool make_room(std::size_t bytes);
    void retire(index::iterator);
    void drop(place) noexcept;
    void release(place) noexcept;
    std::size_t invalidate_between(key first, key last, std::uintptr_t begin) noexcept;

    back_end& back_end_;
    limits const limits_;
    mutable std::mutex mutex_;
    std::list<range> all_;  ///< in the order in which they were made
    index index_;           ///< by space and begin
    std::size_t bytes_ = 0;
    statistics counts_;
    std::atomic<std::size_t> kept_{0};  ///< of index_, for who looks without the lock
};

/// The right to use a range. Moves; ends with its object. Not thread-safe by itself.
class registration_cache::lease {
public:
    lease() noexcept = default;
    lease(lease&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), at_(other.at_) {}
    lease& operator=(lease&& other) noexcept
    {
        if (this != &other) {
            end();
            owner_ = std::exchange(other.owner_, nullptr);
            at_ = other.at_;
        }
        return *this;
    }
    ~lease() { end(); }

    explicit operator bool() const noexcept { return owner_ != nullptr; }
    [[nodiscard]] handle made() const noexcept { return at_->made; }
    [[nodiscard]] std::uintptr_t begin() const noexcept { return at_->begin; }  ///< of the whole range
    [[nodiscard]] std::size_t bytes() const noexcept { return at_->bytes; }
    void end() noexcept
    {
        if (auto* const owner = std::exchange(owner_, nullptr))
            owner->release(at_);
    }

private:
    friend class registration_cache;
    lease(registration_cache& owner, place at) noexcept : owner_(&owner), at_(at) {}
    registration_cache* owner_ = nullptr;
    place at_{};
};

} // namespace towline::heap
