// Remembers the sizes of peers' blocks that objects of this process own.

#include "heap/foreign.hpp"

#include <sys/mman.h>

namespace towline::heap {

/// The entry where the block is noted, or would be. There is a table, and it is not full.
std::size_t foreign_blocks::place(std::uintptr_t block) const noexcept
{
    std::size_t at = home(block);
    while (table_[at].block != 0 && table_[at].block != block)
        at = (at + 1) & (size_ - 1);
    return at;
}

bool foreign_blocks::grow() noexcept
{
    std::size_t const had = size_;
    std::size_t const size = had == 0 ? 256 : 2 * had;
    void* const fresh = mmap(nullptr, size * sizeof(note), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return false;
    note* const old = table_;
    table_ = static_cast<note*>(fresh);
    size_ = size;
    for (std::size_t i = 0; i < had; ++i)
        if (old[i].block != 0)
            table_[place(old[i].block)] = old[i];
    if (old != nullptr)
        munmap(old, had * sizeof(note));
    return true;
}

void foreign_blocks::add(void const* block, std::size_t bytes) noexcept
{
    std::lock_guard const guard(mutex_);
    auto const key = reinterpret_cast<std::uintptr_t>(block);
    std::size_t const count = count_.load(std::memory_order_relaxed);
    if (2 * (count + 1) > size_ && !grow())
        return;
    note& n = table_[place(key)];
    if (n.block == 0)
        count_.store(count + 1, std::memory_order_relaxed);
    n = {key, bytes};
}

void foreign_blocks::remove_noted(void const* block) noexcept
{
    std::lock_guard const guard(mutex_);
    std::size_t hole = place(reinterpret_cast<std::uintptr_t>(block));
    if (table_[hole].block == 0)
        return;
    // Entries behind move up while the hole lies between their home and their place.
    for (std::size_t at = (hole + 1) & (size_ - 1); table_[at].block != 0; at = (at + 1) & (size_ - 1)) {
        std::size_t const from_home = (at - home(table_[at].block)) & (size_ - 1);
        if (from_home >= ((at - hole) & (size_ - 1))) {
            table_[hole] = table_[at];
            hole = at;
        }
    }
    table_[hole] = {};
    count_.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t foreign_blocks::bytes_of(void const* block) const noexcept
{
    if (count() == 0)
        return 0;
    std::lock_guard const guard(mutex_);
    return table_[place(reinterpret_cast<std::uintptr_t>(block))].bytes;
}

} // namespace towline::heap
