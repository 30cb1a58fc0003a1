#pragma once
// Memory of this process that goes back to where it came from, told by the allocators that give it back: what was registered by its pages
// (with a network) is wrong from then on. Told are
//   the arena          when it gives pages back to the kernel (not when a block is freed: its pages stay, and so does what is registered)
//   malloc under the launcher   blocks from `least_plain` bytes on that are not in the arena, when they are freed or moved by realloc
// Memory that the program maps and unmaps by itself is not: nobody may keep a registration of it.
//
// Functions that are told run inside free(), under locks of the allocator: they must not allocate, free or wait for who does.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace towline::heap {

/// Blocks of malloc of at least this are told.
inline constexpr std::size_t least_plain = std::size_t{64} << 10;

struct release_watcher {
    void (*function)(void* context, void const* begin, std::size_t bytes) noexcept = nullptr;
    void* context = nullptr;
};

/// Subscribes; false where all places are taken. From now on until `unwatch_releases` returns the function is called by any thread.
/// Thread-safe.
[[nodiscard]] bool watch_releases(release_watcher) noexcept;
/// Ends it. Waits for calls that are under way on other threads; not from inside the function.
void unwatch_releases(release_watcher) noexcept;

/// What free() and realloc() under the launcher look at closer: blocks of the shared heap, or, while anybody wants to know of releases,
/// all. One compare for both questions, because every free() of a program pays for it.
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

/// Whether anybody wants to know.
extern constinit std::atomic<unsigned> release_watchers;
/// In a forked child: nobody wants to know any more, and locks may be held by threads that it does not have.
void forget_release_watchers() noexcept;
void tell_release_slow(void const* begin, std::size_t bytes) noexcept;
inline void tell_release(void const* begin, std::size_t bytes) noexcept
{
    if (release_watchers.load(std::memory_order_relaxed) != 0) [[unlikely]]
        tell_release_slow(begin, bytes);
}

} // namespace towline::heap
