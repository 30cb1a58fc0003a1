#pragma once
// Notices of memory that goes back to the kernel or to glibc, from the allocators that give it back: a registration of its pages with a
// network is stale from then on. Notices come from
//   the arena          when it gives pages back to the kernel (not when a block is freed: its pages and their registration stay valid)
//   malloc under the launcher   blocks from `least_plain` bytes on that are not in the arena, when they are freed or moved by realloc
// There are none of memory that the program maps and unmaps by itself: nobody may keep a registration of it.
//
// Subscribed functions run inside free(), under locks of the allocator: they must not allocate, free, or wait for a thread that does.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::heap {

/// Notices come of malloc's blocks of at least this many bytes.
inline constexpr std::size_t least_plain = std::size_t{64} << 10;

struct release_watcher {
    void (*function)(void* context, void const* begin, std::size_t bytes) noexcept = nullptr;
    void* context = nullptr;
};

/// Subscribes; false if all places are taken. Any thread may call the function until `unwatch_releases` returns.
/// Thread-safe.
[[nodiscard]] bool watch_releases(release_watcher) noexcept;
/// Unsubscribes. Waits for calls under way on other threads; not from inside the function.
void unwatch_releases(release_watcher) noexcept;

/// The blocks that free() and realloc() under the launcher handle specially: those of the shared heap, or all while releases are watched.
/// One compare answers both questions, because every free() of a program pays for it.
struct closer_look {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::size_t> bytes{0};
    [[nodiscard]] bool at(void const* block) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(block) - begin.load(std::memory_order_relaxed) < bytes.load(std::memory_order_relaxed);
    }
};
extern constinit closer_look takes_closer_look;
/// The heap has opened; before its first block is given out.
void look_closer_at_heap() noexcept;

/// Whether releases are watched.
extern constinit std::atomic<unsigned> release_watchers;
/// In a forked child: ends all subscriptions; locks may be held by threads that the child does not have.
void forget_release_watchers() noexcept;
void tell_release_slow(void const* begin, std::size_t bytes) noexcept;
inline void tell_release(void const* begin, std::size_t bytes) noexcept
{
    if (release_watchers.load(std::memory_order_relaxed) != 0) [[unlikely]]
        tell_release_slow(begin, bytes);
}

} // namespace towline::heap
