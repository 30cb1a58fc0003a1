// Who is told that memory goes back to the kernel, and when.

#include "heap/heap.hpp"
#include "heap/registration_cache.hpp"
#include "heap/releases.hpp"
#include "ranks.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace heap = towline::heap;
using namespace ranks;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct counter {
    std::atomic<int> calls{0};
    std::atomic<std::size_t> bytes{0};
    heap::release_watcher watcher{[](void* self, void const*, std::size_t number) noexcept {
                                      static_cast<counter*>(self)->calls += 1;
                                      static_cast<counter*>(self)->bytes += number;
                                  },
                                  this};
};

/// Makes nothing; hands out numbers.
struct numbers final : heap::registration_cache::back_end {
    std::optional<heap::registration_cache::handle> make(heap::registration_cache::space, std::uintptr_t, std::size_t) noexcept override
    {
        return ++last;
    }
    void drop(heap::registration_cache::space, std::uintptr_t, std::size_t, heap::registration_cache::handle) noexcept override {}
    heap::registration_cache::handle last = 0;
};

} // namespace

TEST(releases, are_told_to_those_who_watch)
{
    counter a, b;
    heap::tell_release(&a, 5);
    ASSERT_TRUE(heap::watch_releases(a.watcher));
    ASSERT_TRUE(heap::watch_releases(b.watcher));
    heap::tell_release(&a, 7);
    heap::unwatch_releases(a.watcher);
    heap::unwatch_releases(a.watcher);
    heap::tell_release(&a, 9);
    heap::unwatch_releases(b.watcher);
    heap::tell_release(&a, 11);
    EXPECT_EQ(a.bytes, 7u);
    EXPECT_EQ(b.bytes, 16u);
    EXPECT_EQ(heap::release_watchers.load(), 0u);
}

TEST(releases, have_so_many_places)
{
    std::vector<counter> many(20);
    std::size_t taken = 0;
    while (taken < many.size() && heap::watch_releases(many[taken].watcher))
        ++taken;
    EXPECT_EQ(taken, 8u);
    for (auto& c : many)
        heap::unwatch_releases(c.watcher);
    EXPECT_EQ(heap::release_watchers.load(), 0u);
}

TEST(releases, end_when_unwatch_returns)
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            while (!stop)
                heap::tell_release(&stop, 1);
        });
    for (int round = 0; round < 300; ++round) {
        auto c = std::make_unique<counter>();
        ASSERT_TRUE(heap::watch_releases(c->watcher));
        heap::unwatch_releases(c->watcher);
    }
    stop = true;
    for (auto& t : threads)
        t.join();
}

TEST(releases, of_the_arena_are_those_of_pages)
{
    run_one([] {
        setenv("TOWLINE_HEAP_KEEP", "8M", 1);
        counter c;
        CHECK_THAT(heap::watch_releases(c.watcher));
        void* const one = heap::allocate(2 * mib);
        std::memset(one, 1, 2 * mib);
        heap::deallocate(one);
        CHECK_THAT(c.calls == 0);  // its pages stay
        std::vector<void*> blocks;
        for (int i = 0; i < 20; ++i)
            std::memset(blocks.emplace_back(heap::allocate(2 * mib)), 1, 2 * mib);
        CHECK_THAT(c.calls == 0);
        for (void* const block : blocks)
            heap::deallocate(block);
        CHECK_THAT(c.bytes >= 20 * mib);
        heap::unwatch_releases(c.watcher);
    });
}

TEST(releases, invalidate_what_a_cache_keeps)
{
    run_one([] {
        setenv("TOWLINE_HEAP_KEEP", "8M", 1);
        numbers back;
        heap::registration_cache cache(back);
        heap::release_watcher const watcher{[](void* c, void const* begin, std::size_t bytes) noexcept {
                                                (void)static_cast<heap::registration_cache*>(c)->invalidate(
                                                    0, reinterpret_cast<std::uintptr_t>(begin), bytes);
                                            },
                                            &cache};
        CHECK_THAT(heap::watch_releases(watcher));
        std::vector<void*> blocks;
        for (int i = 0; i < 20; ++i) {
            std::memset(blocks.emplace_back(heap::allocate(2 * mib)), 1, 2 * mib);
            CHECK_THAT(static_cast<bool>(cache.acquire(0, reinterpret_cast<std::uintptr_t>(blocks.back()), 2 * mib)));
        }
        for (void* const block : blocks)
            heap::deallocate(block);
        auto const left = cache.stats();
        CHECK_THAT(left.invalidated > 0);
        CHECK_THAT(left.bytes <= 10 * mib);  // what stays registered has its pages still
        heap::unwatch_releases(watcher);
    });
}

TEST(releases, are_forgotten_by_a_child)
{
    run_one([] {
        counter c;
        CHECK_THAT(heap::watch_releases(c.watcher));
        CHECK_THAT(status_of(spawn([&] {
            heap::tell_release(&c, 1);
            if (c.calls != 0 || heap::release_watchers.load() != 0)
                throw std::runtime_error("the child was told");
        })) == 0);
        heap::unwatch_releases(c.watcher);
    });
}
