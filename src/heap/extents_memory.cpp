// Where the memory of free extents comes from, and where it goes: the table grows with the arena, hidden extents are shown, warm ones go
// back to the kernel.

#include "heap/extents.hpp"
#include "heap/releases.hpp"

#include <algorithm>
#include <bit>
#include <sys/mman.h>

namespace towline::heap {

namespace {
constexpr std::size_t page = 4096;
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
    // Inaccessible until it is used, as the arena: mlockall would populate it.
    void* table = mmap(nullptr, count * sizeof(entry), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return false;
    begin_ = begin;
    count_ = count;
    keep_ = static_cast<std::uint32_t>(std::min(keep, bytes) / granule);
    cool_ = std::min(static_cast<std::uint32_t>(cool / granule), keep_ / 2);
    table_ = static_cast<entry*>(table);
    from_ = from;
    // Every hidden hole may be a mapping of its own, and a process has at most 65530.
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

/// Makes that many entries of the table accessible. Under the lock.
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

/// Shows at least `size` granules from `at` on, of `have` hidden ones that are in no bin. Returns how many; 0 if that fails. Steps count
/// from the arena's begin: what is hidden next begins as staggered as the arena (core.cpp, stagger_of).
std::uint32_t extents::show(std::uint32_t at, std::uint32_t have, std::uint32_t size) noexcept
{
    std::uint32_t const shown = std::min(have, (at + size + step - 1) / step * step - at);
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

/// Joins free neighbours of any state: the last resort before the arena counts as full. Those for which the kernel has no memory stay as
/// they are.
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
        set(at, size, state::none);  // in no list: nobody joins, releases or hands it out meanwhile
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

} // namespace towline::heap
