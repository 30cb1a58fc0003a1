// The functions of the heap, on its one object.

#include "heap/heap.hpp"

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "heap/core.hpp"
#include "job/job.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace towline::heap {

namespace {

/// A bad_alloc that says why there is no memory.
class arena_full : public std::bad_alloc {
public:
    explicit arena_full(std::size_t size) noexcept
    {
        auto const now = stats();
        if (size < now.arena_bytes && now.in_use < now.arena_bytes - size)
            std::snprintf(text_, sizeof text_,
                          "no memory for %zu bytes in the shared heap, which holds %llu MiB: %s", size,
                          static_cast<unsigned long long>(now.in_use >> 20),
                          the_core.limited && !the_core.commits ? "they do not fit into the cgroup's memory limit"
                          : the_core.limited ? "the kernel commits no more (vm.overcommit_memory), or the cgroup's memory limit is reached"
                                             : "the kernel commits no more (vm.overcommit_memory, ulimit -v)");
        else
            std::snprintf(
            text_, sizeof text_,
            "no room for %zu bytes in the shared heap: %llu of %llu MiB in use; TOWLINE_SEGMENT (a power of two, like 128G) enlarges it",
            size, static_cast<unsigned long long>(now.in_use >> 20), static_cast<unsigned long long>(now.arena_bytes >> 20));
    }
    [[nodiscard]] char const* what() const noexcept override { return text_; }

private:
    char text_[224];
};

/// How the heap is opened. Keeps TOWLINE_HEAP_KEEP warm, or a quarter of the memory of the machine (or cgroup), divided by the ranks.
/// Throws usage_error for this and the heap's other settings, which the preload allocator reads where it cannot report them.
core::options options_for(job::membership const& who)
{
    (void)base::setting_switch("TOWLINE_HEAP", true);
    (void)base::setting_bytes("TOWLINE_HEAP_THRESHOLD", 0);
    constexpr std::uint64_t least = std::uint64_t{64} << 20;
    auto const limit = base::memory_limit();
    std::uint64_t const memory = std::min(base::total_memory(), limit.value_or(~std::uint64_t{0}));
    core::options how;
    how.keep = base::setting_bytes("TOWLINE_HEAP_KEEP", std::max(memory / 4 / static_cast<unsigned>(who.size()), least));
    // Without overcommit, the first touch of a page that the kernel cannot grant is SIGBUS.
    how.commit = base::setting_switch("TOWLINE_HEAP_COMMIT", base::first_line("/proc/sys/vm/overcommit_memory") == "2");
    how.limited = limit.has_value();
    return how;
}

/// The heap; opens it on the first call.
core& opened()
{
    if (the_core.now.load(std::memory_order_acquire) == core::phase::none) [[unlikely]] {
        char const* failed = nullptr;
        auto const& who = job::membership::instance();
        if (int const error = the_core.start(who, options_for(who), &failed); error != 0)
            throw system_error(failed, error);
    }
    return the_core;
}

bool forked() noexcept
{
    return the_core.now.load(std::memory_order_relaxed) == core::phase::forked;
}

/// Memory of a forked child.
void* allocate_plain(std::size_t size, std::size_t alignment) noexcept
{
    void* block = nullptr;
    return posix_memalign(&block, std::max(alignment, std::size_t{64}), size) == 0 ? block : nullptr;
}

} // namespace

void* try_allocate(std::size_t size, std::size_t alignment) noexcept
try {
    core& heap = opened();
    if (forked()) [[unlikely]]
        return allocate_plain(size, alignment);
    return heap.allocate(size, alignment, nullptr);
} catch (...) {
    return nullptr;
}

void* allocate(std::size_t size, std::size_t alignment)
{
    core& heap = opened();
    if (forked()) [[unlikely]] {
        if (void* const block = allocate_plain(size, alignment))
            return block;
        throw std::bad_alloc();
    }
    if (void* const block = heap.allocate(size, alignment, nullptr))
        return block;
    throw arena_full(size);
}

void* allocate_if_launched(std::size_t size, std::size_t alignment, bool& clean) noexcept
{
    switch (the_core.now.load(std::memory_order_acquire)) {
    case core::phase::ready: break;
    case core::phase::forked: return nullptr;
    case core::phase::none: {
        static constinit std::atomic<bool> refused{false};
        if (refused.load(std::memory_order_relaxed))
            return nullptr;
        auto const* const who = job::membership::instance_if_launched();
        if (who == nullptr)
            return nullptr;
        bool opened = false;
        try {
            char const* failed = nullptr;
            opened = the_core.start(*who, options_for(*who), &failed) == 0;
        } catch (std::exception const&) {
            // an explicit user of the heap is told why
        }
        if (!opened)
            refused.store(true, std::memory_order_relaxed);
        if (the_core.now.load(std::memory_order_acquire) != core::phase::ready)
            return nullptr;
    }
    }
    return the_core.allocate(size, alignment, &clean);
}

void deallocate(void* block) noexcept
{
    if (block == nullptr)
        return;
    core& heap = the_core;
    if (forked()) [[unlikely]] {
        if (!contains(block))
            std::free(block);
        return;
    }
    if (!contains(block) || reinterpret_cast<std::uintptr_t>(block) % 64 != 0) {
        if (!heap.complained.exchange(true))
            base::log(base::log_level::error, "heap::deallocate of {}, which is not a block of the shared heap", block);
        return;
    }
    std::uint32_t const arena = heap.addresses.arena_of(block);
    if (arena == heap.arena) [[likely]] {
        heap.deallocate_own(block);
        return;
    }
    if (heap.addresses.map(arena, std::max(heap.page_offset + sizeof(arena_page), heap.addresses.offset_of(block))) != 0)
        return;
    auto* const page = reinterpret_cast<arena_page*>(heap.addresses.segment(arena) + heap.page_offset);
    heap.foreign.remove(block);
    order_reuse();
    page->returns.push(heap.addresses.offset_of(block), static_cast<std::uint64_t*>(block), heap.arena);
}

void note_owned(void const* block, std::size_t size) noexcept
{
    if (contains(block) && the_core.addresses.arena_of(block) != the_core.arena)
        the_core.foreign.add(block, size);
}

std::size_t usable_size(void const* block) noexcept
{
    if (block == nullptr || !contains(block))
        return 0;
    return the_core.addresses.arena_of(block) == the_core.arena ? the_core.usable(block) : the_core.foreign.bytes_of(block);
}

bool try_resize(void* block, std::size_t size) noexcept
{
    core& heap = the_core;
    if (usable_size(block) == 0)
        return false;
    if (heap.addresses.arena_of(block) != heap.arena)
        return size <= usable_size(block);
    if (heap.memory.kind_at(block) == extents::kind::block && !forked())
        return size >= core::big && heap.memory.resize(block, size);
    return size <= heap.usable(block);
}

bool contains(void const* pointer) noexcept
{
    return the_core.addresses.contains(pointer);
}

bool reaches(void const* pointer) noexcept
{
    return contains(pointer) || the_core.adopted.find(pointer, 1) != nullptr;
}

std::optional<address> find(void const* pointer, std::size_t size) noexcept
{
    window const& all = the_core.addresses;
    if (!all.contains(pointer)) {
        pointer = the_core.adopted.find(pointer, size);
        if (pointer == nullptr)
            return std::nullopt;
    }
    address const where{all.arena_of(pointer), 0, all.offset_of(pointer)};
    if (size > all.segment_bytes() - where.offset)
        return std::nullopt;
    order_reuse();  // it is about to go to another process
    return where;
}

void* attach(address where, std::size_t size)
{
    window& all = opened().addresses;
    if (where.arena >= all.arenas() || where.offset > all.segment_bytes() || size > all.segment_bytes() - where.offset) [[unlikely]]
        throw error(fmt::format("{} bytes at offset {} of arena {} are not shared memory of this job ({} arenas of {} bytes)", size,
                                where.offset, where.arena, all.arenas(), all.arenas() == 0 ? 0 : all.segment_bytes()));
    if (int const number = all.map(where.arena, where.offset + size); number != 0) [[unlikely]]
        throw system_error(fmt::format("mapping the shared memory of rank {}", where.arena), number);
    order_reuse();
    return all.segment(where.arena) + where.offset;
}

std::span<std::byte> inbox(int rank)
{
    auto const bytes = static_cast<std::size_t>(job::membership::instance().header().inbox_bytes);
    auto* const begin = static_cast<std::byte*>(attach({static_cast<std::uint32_t>(rank), 0, 0}, bytes));
    if (the_core.commits && !forked() && !the_core.addresses.commit(begin, bytes))
        throw system_error("memory for messages between ranks, of which the kernel commits no more (vm.overcommit_memory)", ENOMEM);
    return {begin, bytes};
}

void prefault(void* pointer, std::size_t size) noexcept
{
    constexpr std::uintptr_t page = 4096;
    auto const begin = reinterpret_cast<std::uintptr_t>(pointer) / page * page;
    auto const end = (reinterpret_cast<std::uintptr_t>(pointer) + size + page - 1) / page * page;
    int const saved = errno;
    if (size > 0 && contains(pointer))
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
    errno = saved;
}

statistics stats() noexcept
{
    statistics s;
    if (the_core.now.load(std::memory_order_acquire) == core::phase::none || the_core.segment == nullptr)
        return s;
    s.arena_bytes = the_core.addresses.segment_bytes() - the_core.arena_begin;
    s.in_use = the_core.memory.in_use();
    s.extents = s.in_use + the_core.memory.warm();
    for (auto const& range : the_core.adopted.all())
        s.adopted += range.bytes;
    s.returned_by_peers = the_core.returned.load(std::memory_order_relaxed);
    s.attached = the_core.addresses.attached();
    return s;
}

} // namespace towline::heap
