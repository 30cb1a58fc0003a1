#include "heap/extents.hpp"

#include "heap/releases.hpp"

#include <algorithm>
#include <bit>
#include <sys/mman.h>

namespace towline::heap {

namespace {
constexpr std::size_t page = 4096;
}

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
    std::uint32_t const step = 1u << (std::bit_width(size) - 6);
    return (size + step - 1) & ~(step - 1);
}

void extents::stop() noexcept
{
    munmap(table_, count_ * sizeof(entry));
    table_ = nullptr;
    count_ = 0;
    reached_.store(0, std::memory_order_relaxed);
}

bool extents::start(std::byte* begin, std::size_t bytes, std::size_t keep, std::size_t cool, supply from) noexcept
{
    auto const count = static_cast<std::uint32_t>(std::min(bytes, max_bytes - granule) / granule);
    // Inaccessible as long as it is not used, as the arena: mlockall would populate it.
    void* table = mmap(nullptr, count * sizeof(entry), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    begin_ = begin;
    count_ = count;
    keep_ = static_cast<std::uint32_t>(std::min(keep, bytes) / granule);
    cool_ = std::min(static_cast<std::uint32_t>(cool / granule), keep_ / 2);
    table_ = static_cast<entry*>(table);
    from_ = from;
    // Every hidden hole may be a mapping of its own, and a process has 65530.
    long_hole_ = std::max(4 * step, count / 8192);
    std::size_t const last = (count * sizeof(entry) - 1) / page * page;
    if (mprotect(static_cast<std::byte*>(table) + last, count * sizeof(entry) - last, PROT_READ | PROT_WRITE) != 0 || !reach(1)) {
        stop();
        return false;
    }
    insert(0, count, from.show != nullptr ? state::hidden : state::clean);
    if (from.show == nullptr && !reach(count)) {
        stop();
        return false;
    }
    return true;
}

/// Makes so many entries of the table accessible. Under the lock.
bool extents::reach(std::uint32_t entries) noexcept
{
    std::uint32_t const had = reached_.load(std::memory_order_relaxed);
    if (entries <= had)
        return true;
    constexpr std::size_t at_once = 16 * page;
    std::size_t const bytes = std::min((entries * sizeof(entry) + at_once - 1) / at_once * at_once, count_ * sizeof(entry));
    std::size_t const from = had * sizeof(entry) / page * page;
    if (mprotect(reinterpret_cast<std::byte*>(table_) + from, bytes - from, PROT_READ | PROT_WRITE) != 0)
        return false;
    reached_.store(static_cast<std::uint32_t>(bytes / sizeof(entry)), std::memory_order_relaxed);
    return true;
}

/// Shows at least `size` granules from `at` on, of `have` hidden ones that are in no bin. How many; 0 if that cannot be.
std::uint32_t extents::show(std::uint32_t at, std::uint32_t have, std::uint32_t size) noexcept
{
    auto const number = reinterpret_cast<std::uintptr_t>(begin_) / granule + at;
    auto const whole = static_cast<std::uint32_t>((number + size + step - 1) / step * step - number);
    std::uint32_t const shown = std::min(have, whole);
    if (!reach(std::min(at + shown + 1, count_)) || !from_.show(begin_ + std::size_t{at} * granule, std::size_t{shown} * granule))
        return 0;
    return shown;
}

/// Inserts what is left of `have` granules from `at` on, of which `shown` are shown and `used` are taken.
void extents::insert_behind(std::uint32_t at, std::uint32_t shown, std::uint32_t have, std::uint32_t used) noexcept
{
    if (have > shown)
        insert(at + shown, have - shown, state::hidden);
    if (shown > used)
        insert_joined(at + used, shown - used, state::clean);
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

/// The first extent of the lowest bin in which all are large enough.
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

/// For when `find` has nothing: an extent that is large enough among those of the same bin.
std::uint32_t extents::find_exactly(bin_set const& set_of, std::uint32_t size) const noexcept
{
    unsigned const bin = bin_of(size);
    int patience = 64;
    for (std::uint32_t at = set_of.first[bin] - 1; at != nil && patience > 0; at = table_[at].next, --patience)
        if (table_[at].size() >= size)
            return at;
    return nil;
}

/// Inserts and joins with free neighbours of the same state. Where the extent begins then.
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

/// Joins free neighbours whatever their state: the last resort before saying that the arena is full. Those whose memory is not to be had
/// stay as they are.
void extents::join_all() noexcept
{
    for (std::uint32_t at = 0; at < count_;) {
        std::uint32_t end = at;
        while (end < count_ && table_[end].what() == kind::free) {
            std::uint32_t const size = table_[end].size();
            state const is = table_[end].is();
            if ((is == state::hidden && show(end, size, size) != size) || (is != state::warm && !commit(end, size)))
                break;
            end += size;
        }
        if (end > at && end > at + table_[at].size()) {
            for (std::uint32_t i = at; i < end;) {
                std::uint32_t const size = table_[i].size();
                remove(i);
                i += size;
            }
            insert(at, end - at, state::warm);
        }
        at = end == at ? at + table_[at].size() : end;
    }
}

// Parking. A parked block's head says kind::none, so it is neither released twice, nor joined, nor copied at fork.

std::atomic<std::uint64_t>& extents::slot_for(std::uint32_t size) noexcept
{
    if (size > keep_ / (2 * slots))
        return parked_[slots];
    return parked_[(bin_of(size) * 2654435761u) >> 28];
}

/// Takes a block of the caller's, if there is a place for it.
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

/// Frees what is parked. Under the lock. False if there was nothing.
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

/// The coolest is free from now on, like any block that was released.
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
    } while (unpark_all());  // rather than to touch new pages
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

extents::piece extents::allocate(std::size_t bytes, std::size_t alignment, kind what) noexcept
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
    if (clean && from_.commit != nullptr) {
        guard.unlock();  // it may take long
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
    // Of two who release the same block, one wins.
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
            i = at + have;  // it may begin earlier now
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

/// Gives warm extents back to the kernel, the largest first, until three quarters of what may be kept are left (parked blocks count, but
/// stay). No lock while the kernel works.
void extents::trim() noexcept
{
    std::unique_lock guard(mutex_);
    while (warm_ > 0 && warm_ + parked() > keep_ - keep_ / 4) {
        std::uint32_t const at = [&] {
            bin_set const& warm = bins_of(state::warm);
            auto const word = static_cast<unsigned>(std::bit_width(warm.any)) - 1;
            auto const bit = static_cast<unsigned>(std::bit_width(warm.map[word])) - 1;
            return warm.first[word * 64 + bit] - 1;
        }();
        std::uint32_t const size = table_[at].size();
        remove(at);
        set(at, size, state::none);  // nobody's: neither joined nor released nor handed out meanwhile
        guard.unlock();
        tell_release(begin_ + std::size_t{at} * granule, std::size_t{size} * granule);
        bool const clean = madvise(begin_ + std::size_t{at} * granule, std::size_t{size} * granule, MADV_REMOVE) == 0;
        guard.lock();
        if (!clean)
            keep_ = count_;  // this kernel does not take memory back: do not ask again
        hide(insert_joined(at, size, clean ? state::clean : state::warm));
    }
}

/// Hides an extent, if it is a long hole. Under the lock.
void extents::hide(std::uint32_t at) noexcept
{
    std::uint32_t const size = table_[at].size();
    if (from_.hide == nullptr || table_[at].is() != state::clean || size < long_hole_)
        return;
    from_.hide(begin_ + std::size_t{at} * granule, std::size_t{size} * granule);
    remove(at);
    insert_joined(at, size, state::hidden);
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

std::size_t extents::in_use() const noexcept
{
    std::lock_guard const guard(mutex_);
    std::uint32_t const waiting = parked();  // a moment's value, as the sum
    return std::size_t{used_ - std::min(used_, waiting)} * granule;
}

std::size_t extents::warm() const noexcept
{
    std::lock_guard const guard(mutex_);
    return std::size_t{warm_ + parked()} * granule;
}

char const* extents::check() const
{
    std::lock_guard const guard(mutex_);
    std::uint32_t warm = 0;
    std::uint32_t used = 0;
    std::uint32_t none = 0;
    std::uint32_t free_extents = 0;
    state was = state::none;
    for (std::uint32_t at = 0; at < count_; at += table_[at].size()) {
        entry const& e = table_[at];
        if (e.size() == 0 || e.size() > count_ - at)
            return "an extent has an impossible size";
        if (table_[at + e.size() - 1].back != e.size())
            return "an extent's end does not know its size";
        bool const is_free = e.what() == kind::free;
        if (is_free && was == e.is())
            return "free neighbours were not joined";
        if (is_free)
            ++free_extents;
        else
            used += e.size();
        if (e.what() == kind::none)
            none += e.size();
        if (is_free && e.warm())
            warm += e.size();
        std::uint32_t const readable = std::min(at + e.size(), reached_.load(std::memory_order_relaxed));
        for (std::uint32_t i = at + 1; i < readable; ++i)
            if (table_[i].what() != (e.what() == kind::region ? kind::region : kind::none))
                return "a granule inside an extent claims to be another";
        was = e.is();
    }
    if (warm != warm_ || used != used_ || none != parked())
        return "the sums are wrong";
    std::uint32_t listed = 0;
    for (bin_set const& set_of : free_bins_)
        for (unsigned bin = 0; bin < bins; ++bin) {
            bool const bit = (set_of.map[bin / 64] >> (bin % 64) & 1) != 0;
            if (bit != (set_of.first[bin] != 0) || (bit && (set_of.any >> (bin / 64) & 1) == 0))
                return "a bin's bit is wrong";
            std::uint32_t previous = nil;
            for (std::uint32_t at = set_of.first[bin] - 1; at != nil; at = table_[at].next) {
                if (table_[at].what() != kind::free || bin_of(table_[at].size()) != bin || table_[at].previous != previous ||
                    &bins_of(table_[at].is()) != &set_of)
                    return "a bin lists a wrong extent";
                previous = at;
                ++listed;
            }
        }
    return listed == free_extents ? nullptr : "a free extent is in no bin";
}

} // namespace towline::heap
