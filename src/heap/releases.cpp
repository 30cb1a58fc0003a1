// The watchers of released memory.

#include "heap/releases.hpp"

#include "heap/core.hpp"

#include <array>
#include <new>
#include <shared_mutex>

namespace towline::heap {

constinit std::atomic<unsigned> release_watchers{0};
constinit closer_look takes_closer_look;

void look_closer_at_heap() noexcept
{
    unsigned seen = 0;
    do {  // until the bound fits the present number of watchers
        seen = release_watchers.load(std::memory_order_seq_cst);
        window const& heap = the_core.addresses;
        bool const open = heap.arenas() != 0;
        // Meanwhile free() may handle more blocks specially than needed, never fewer.
        takes_closer_look.bytes.store(~std::size_t{0}, std::memory_order_seq_cst);
        std::uintptr_t const begin = seen != 0 || !open ? 0 : reinterpret_cast<std::uintptr_t>(heap.segment(0));
        takes_closer_look.begin.store(begin, std::memory_order_seq_cst);
        if (seen == 0)
            takes_closer_look.bytes.store(open ? heap.segment_bytes() * heap.arenas() : 0, std::memory_order_seq_cst);
    } while (release_watchers.load(std::memory_order_seq_cst) != seen);
}

void forget_release_watchers() noexcept
{
    release_watchers.store(0, std::memory_order_seq_cst);
    look_closer_at_heap();
}

namespace {

/// Never destroyed: free() may come after every destructor.
struct watchers {
    std::shared_mutex mutex;
    std::array<release_watcher, 8> all{};
};
watchers& the_watchers() noexcept
{
    alignas(watchers) static std::byte room[sizeof(watchers)];
    static watchers* const one = ::new (room) watchers;
    return *one;
}

bool same(release_watcher const& a, release_watcher const& b) noexcept
{
    return a.function == b.function && a.context == b.context;
}

} // namespace

bool watch_releases(release_watcher w) noexcept
{
    auto& w_all = the_watchers();
    std::unique_lock const lock(w_all.mutex);
    for (auto& place : w_all.all) {
        if (place.function != nullptr)
            continue;
        place = w;
        release_watchers.fetch_add(1, std::memory_order_seq_cst);
        look_closer_at_heap();
        return true;
    }
    return false;
}

void unwatch_releases(release_watcher w) noexcept
{
    auto& w_all = the_watchers();
    std::unique_lock const lock(w_all.mutex);
    for (auto& place : w_all.all) {
        if (!same(place, w))
            continue;
        place = {};
        release_watchers.fetch_sub(1, std::memory_order_seq_cst);
        look_closer_at_heap();
        return;
    }
}

void tell_release_slow(void const* begin, std::size_t bytes) noexcept
{
    auto& w_all = the_watchers();
    std::shared_lock const lock(w_all.mutex);
    for (auto const& w : w_all.all)
        if (w.function != nullptr)
            w.function(w.context, begin, bytes);
}

} // namespace towline::heap
