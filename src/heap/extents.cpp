// Cuts the arena into extents, and joins them again.

#include "heap/extents.hpp"

#include <algorithm>
#include <bit>

namespace towline::heap {

// Sizes below 32 granules have a bin each; above, 32 bins per power of two. So rounding up wastes at most 1/32 of address space,
// and a freed block lies in the very bin that the same request looks into first.
unsigned extents::bin_of(std::uint32_t size) noexcept
{
    if (size < 32)
        return size;
    unsigned const log = static_cast<unsigned>(std::bit_width(size)) - 1;
    return (log - 4) * 32 + (size >> (log - 5) & 31);
}

std::uint32_t extents::bin_ceiling(std::uint32_t size) noexcept
{
    if (size < 64)
        return size;
    std::uint32_t const width = 1u << (std::bit_width(size) - 6);
    return (size + width - 1) & ~(width - 1);
}

void extents::set(std::uint32_t at, std::uint32_t size, state is) noexcept
{
    table_[at].head.store(word_for(size, is), std::memory_order_relaxed);
    table_[at + size - 1].back = size;
}

void extents::insert(std::uint32_t at, std::uint32_t size, state is) noexcept
{
    set(at, size, is);
    bin_set& set_of = bins_of(is);
    unsigned const bin = bin_of(size);
    std::uint32_t const first = set_of.first[bin];
    table_[at].previous = nil;
    table_[at].next = first == 0 ? nil : first - 1;
    if (first != 0)
        table_[first - 1].previous = at;
    set_of.first[bin] = at + 1;
    set_of.map[bin / 64] |= std::uint64_t{1} << (bin % 64);
    set_of.any |= 1u << (bin / 64);
    if (is == state::warm)
        warm_ += size;
}

void extents::remove(std::uint32_t at) noexcept
{
    entry& e = table_[at];
    bin_set& set_of = bins_of(e.is());
    unsigned const bin = bin_of(e.size());
    if (e.next != nil)
        table_[e.next].previous = e.previous;
    if (e.previous != nil)
        table_[e.previous].next = e.next;
    else {
        set_of.first[bin] = e.next == nil ? 0 : e.next + 1;
        if (e.next == nil) {
            set_of.map[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
            if (set_of.map[bin / 64] == 0)
                set_of.any &= ~(1u << (bin / 64));
        }
    }
    if (e.warm())
        warm_ -= e.size();
    e.head.store(0, std::memory_order_relaxed);
}

/// The first extent of the lowest bin in which every extent is large enough.
std::uint32_t extents::find(bin_set const& set_of, std::uint32_t size) const noexcept
{
    unsigned const bin = bin_of(bin_ceiling(size));
    unsigned word = bin / 64;
    std::uint64_t bits = set_of.map[word] >> (bin % 64) << (bin % 64);
    if (bits == 0) {
        std::uint32_t const words = static_cast<std::uint32_t>(std::uint64_t{set_of.any} >> (word + 1) << (word + 1));
        if (words == 0)
            return nil;
        word = static_cast<unsigned>(std::countr_zero(words));
        bits = set_of.map[word];
    }
    return set_of.first[word * 64 + static_cast<unsigned>(std::countr_zero(bits))] - 1;
}

/// If `find` fails: a large enough extent in the bin that also has smaller ones.
std::uint32_t extents::find_exactly(bin_set const& set_of, std::uint32_t size) const noexcept
{
    unsigned const bin = bin_of(size);
    int patience = 64;
    for (std::uint32_t at = set_of.first[bin] - 1; at != nil && patience > 0; at = table_[at].next, --patience)
        if (table_[at].size() >= size)
            return at;
    return nil;
}

/// Inserts an extent and joins it with free neighbours of the same state. Returns where the joined extent begins.
std::uint32_t extents::insert_joined(std::uint32_t at, std::uint32_t size, state is) noexcept
{
    if (at > 0) {
        std::uint32_t const before = at - table_[at - 1].back;
        if (table_[before].is() == is) {
            size += table_[before].size();
            remove(before);
            at = before;
        }
    }
    if (std::uint32_t const after = at + size; after < count_ && table_[after].is() == is) {
        size += table_[after].size();
        remove(after);
    }
    insert(at, size, is);
    return at;
}

// Parking. A parked block's head says kind::none, so it is neither released twice, nor joined, nor copied at fork.

std::atomic<std::uint64_t>& extents::slot_for(std::uint32_t size) noexcept
{
    if (size > keep_ / (2 * slots))
        return parked_[slots];
    return parked_[(bin_of(size) * 2654435761u) >> 28];
}

/// Parks a block of the caller's, if there is a free slot.
bool extents::park(std::uint32_t at, std::uint32_t size) noexcept
{
    auto& slot = slot_for(size);
    if (size > keep_ / 4 || slot.load(std::memory_order_relaxed) != 0)
        return false;
    std::uint64_t nothing = 0;
    return slot.compare_exchange_strong(nothing, std::uint64_t{at} << 32 | size, std::memory_order_acq_rel, std::memory_order_relaxed);
}

/// A parked block of the bin of `size` (as bin_ceiling gave it); nil if there is none.
std::uint32_t extents::unpark(std::uint32_t size) noexcept
{
    auto& slot = slot_for(size);
    std::uint64_t word = slot.load(std::memory_order_relaxed);
    auto const has = static_cast<std::uint32_t>(word);
    if (has < size || bin_of(has) != bin_of(size) ||
        !slot.compare_exchange_strong(word, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
        return nil;
    auto const at = static_cast<std::uint32_t>(word >> 32);
    table_[at].head.store(word_for(has, state::block), std::memory_order_relaxed);
    return at;
}

/// Frees all parked blocks. Under the lock. False if there were none.
bool extents::unpark_all() noexcept
{
    bool any = false;
    for (auto& slot : parked_) {
        if (slot.load(std::memory_order_relaxed) == 0)
            continue;
        std::uint64_t const word = slot.exchange(0, std::memory_order_acq_rel);
        if (word == 0)
            continue;
        auto const size = static_cast<std::uint32_t>(word);
        used_ -= size;
        insert_joined(static_cast<std::uint32_t>(word >> 32), size, state::warm);
        any = true;
    }
    return any;
}

// Cooling. As parked blocks; under the lock.

void extents::let_cool(std::uint32_t at, std::uint32_t size) noexcept
{
    while (cooling_blocks_ == places || cooling_granules_ + size > cool_)
        take_coolest();
    cooling_[(coolest_ + cooling_blocks_) % places] = {at, size};
    ++cooling_blocks_;
    cooling_granules_ += size;
}

/// Frees the block that has cooled longest.
void extents::take_coolest() noexcept
{
    extent const e = cooling_[coolest_];
    coolest_ = (coolest_ + 1) % places;
    --cooling_blocks_;
    cooling_granules_ -= e.size;
    if (park(e.at, e.size))
        return;
    used_ -= e.size;
    insert_joined(e.at, e.size, state::warm);
}

/// Granules, parked and cooling. Under the lock.
std::uint32_t extents::parked() const noexcept
{
    std::uint32_t sum = cooling_granules_;
    for (auto const& slot : parked_)
        sum += static_cast<std::uint32_t>(slot.load(std::memory_order_relaxed));
    return sum;
}

/// Cuts `size` granules at a multiple of `align` granules (counted from address zero) out of a free extent; nil if there is none.
std::uint32_t extents::carve(std::uint32_t size, std::uint32_t align, kind what, bool& clean) noexcept
{
    std::uint32_t const wanted = size + (align - 1);
    clean = false;
    auto const look = [&](state is) {
        std::uint32_t const at = find(bins_of(is), wanted);
        return at != nil ? at : find_exactly(bins_of(is), wanted);
    };
    do {
        if (std::uint32_t const at = look(state::warm); at != nil)
            return carve_from(at, size, align, what);
    } while (unpark_all());  // before new pages are touched
    clean = true;
    for (state const is : {state::clean, state::hidden})
        if (std::uint32_t const at = look(is); at != nil)
            return carve_from(at, size, align, what);
    return nil;
}

/// Nil if the extent is hidden and cannot be shown.
std::uint32_t extents::carve_from(std::uint32_t at, std::uint32_t size, std::uint32_t align, kind what) noexcept
{
    state const was = table_[at].is();
    std::uint32_t have = table_[at].size();
    auto const number = reinterpret_cast<std::uintptr_t>(begin_) / granule + at;
    auto const front = static_cast<std::uint32_t>((align - number % align) % align);
    std::uint32_t shown = have - front;
    if (was == state::hidden && (shown = show(at + front, have - front, size)) == 0)
        return nil;
    remove(at);
    if (front > 0) {
        insert(at, front, was);
        at += front;
        have -= front;
    }
    set(at, size, state_of(what));
    used_ += size;
    // The free neighbour behind, if any, is of another state, so that there is nothing to join with.
    if (was == state::hidden)
        insert_behind(at, shown, have, size);
    else if (have > size)
        insert(at + size, have - size, was);
    return at;
}

extents::piece extents::allocate(std::size_t bytes, std::size_t alignment, kind what, bool commits) noexcept
{
    std::size_t const granules = (bytes + granule - 1) / granule;
    std::size_t const align = std::max(alignment / granule, std::size_t{1});
    if (bytes > std::size_t{count_} * granule || align > count_)
        return {};
    auto size = static_cast<std::uint32_t>(granules);
    if (what == kind::block) {
        size = std::min(bin_ceiling(size), count_);
        if (align == 1)
            if (std::uint32_t const at = unpark(size); at != nil)
                return {begin_ + std::size_t{at} * granule, false};
    }
    std::unique_lock guard(mutex_);
    bool clean = false;
    std::uint32_t at = carve(size, static_cast<std::uint32_t>(align), what, clean);
    if (at == nil) {
        while (cooling_blocks_ > 0)
            take_coolest();
        unpark_all();
        join_all();
        at = carve(static_cast<std::uint32_t>(granules), static_cast<std::uint32_t>(align), what, clean);
        if (at == nil)
            return {};
        size = static_cast<std::uint32_t>(granules);
    }
    if (clean && commits && from_.commit != nullptr) {
        guard.unlock();  // the system call may take long
        bool const ours = commit(at, size);
        guard.lock();
        if (!ours) {
            used_ -= size;
            set(at, size, state::none);
            insert_joined(at, size, state::clean);
            return {};
        }
    }
    if (what == kind::region)
        for (std::uint32_t i = at + 1; i < at + size; ++i)
            table_[i].head.store(word_for(0, state::region), std::memory_order_relaxed);
    return {begin_ + std::size_t{at} * granule, clean};
}

bool extents::release(void* begin, kind what, bool by_peer) noexcept
{
    std::uint32_t const at = index(begin);
    if (at >= reached_.load(std::memory_order_relaxed))
        return false;
    std::uint32_t word = table_[at].word();
    std::uint32_t const size = table_[at].size();
    if (word != word_for(size, state_of(what)) || size == 0 || !begins(begin))
        return false;
    // Of two threads that release the same block, one wins.
    if (!table_[at].head.compare_exchange_strong(word, word_for(size, state::none), std::memory_order_relaxed))
        return false;
    bool const cools = what == kind::block && by_peer && size <= cool_;
    if (what == kind::block && !cools && park(at, size))
        return true;
    std::unique_lock guard(mutex_);
    if (what == kind::region)
        for (std::uint32_t i = at + 1; i < at + size; ++i)
            table_[i].head.store(0, std::memory_order_relaxed);
    if (cools) {
        let_cool(at, size);
    } else {
        used_ -= size;
        insert_joined(at, size, state::warm);
    }
    if (warm_ + parked() > keep_) {
        guard.unlock();
        trim();
    }
    return true;
}

bool extents::resize(void* begin, std::size_t bytes) noexcept
{
    std::lock_guard const guard(mutex_);
    std::uint32_t const at = index(begin);
    if (at >= reached_.load(std::memory_order_relaxed) || table_[at].what() != kind::block ||
        begin != begin_ + std::size_t{at} * granule || bytes > std::size_t{count_} * granule)
        return false;
    std::uint32_t const have = table_[at].size();
    auto const want = std::max(static_cast<std::uint32_t>((bytes + granule - 1) / granule), 1u);
    if (want < have) {
        if (bin_ceiling(want) >= have)
            return true;
        set(at, want, state::block);
        used_ -= have - want;
        insert_joined(at + want, have - want, state::warm);
        return true;
    }
    if (want == have)
        return true;
    unpark_all();
    // Free neighbours of different states may follow each other.
    std::uint32_t end = at + have;
    while (end < count_ && end - at < want && table_[end].what() == kind::free)
        end += table_[end].size();
    if (end - at < want)
        return false;
    for (std::uint32_t i = at + have; i < at + want;) {
        std::uint32_t const size = table_[i].size();
        std::uint32_t const wanted = std::min(size, at + want - i);
        if (table_[i].is() == state::hidden) {
            std::uint32_t const shown = show(i, size, wanted);
            if (shown == 0)
                return false;
            remove(i);
            set(i, shown, state::none);  // joined with nothing yet
            if (size > shown)
                insert(i + shown, size - shown, state::hidden);
            insert_joined(i, shown, state::clean);
            i = at + have;  // the joined extent may begin earlier than `i`
            continue;
        }
        if (table_[i].is() == state::clean && !commit(i, wanted))
            return false;
        i += size;
    }
    for (std::uint32_t i = at + have; i < at + want;) {
        std::uint32_t const size = table_[i].size();
        state const is = table_[i].is();
        remove(i);
        if (i + size > at + want)
            insert(at + want, i + size - (at + want), is);
        i += size;
    }
    set(at, want, state::block);
    used_ += want - have;
    return true;
}

extents::kind extents::kind_at(void const* pointer) const noexcept
{
    std::uint32_t const at = index(pointer);
    return at < reached_.load(std::memory_order_relaxed) ? table_[at].what() : kind::none;
}

std::size_t extents::bytes_of(void const* begin) const noexcept
{
    return std::size_t{table_[index(begin)].size()} * granule;
}

} // namespace towline::heap
