#include "heap/heap.hpp"

#include "heap/returns.hpp"
#include "ranks.hpp"
#include "towline/error.hpp"
#include "towline/rma_allocator.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <signal.h>
#include <string>

namespace heap = towline::heap;
using namespace ranks;

namespace {
constexpr std::size_t mib = std::size_t{1} << 20;

bool aligned(void const* pointer, std::size_t to)
{
    return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}
} // namespace

TEST(heap, knows_nothing_before_it_is_used)
{
    int here = 0;
    EXPECT_FALSE(heap::contains(&here));
    EXPECT_FALSE(heap::contains(nullptr));
    EXPECT_EQ(heap::find(&here, 4), std::nullopt);
    EXPECT_EQ(heap::usable_size(&here), 0u);
    EXPECT_EQ(heap::stats().arena_bytes, 0u);
    bool clean = true;
    EXPECT_EQ(heap::allocate_if_launched(1 << 20, 64, clean), nullptr);
}

TEST(heap, serves_a_world_of_one)
{
    EXPECT_EQ(status_of(spawn([] {
                  unsetenv("TOWLINE_JOB");
                  auto* const block = static_cast<char*>(heap::allocate(mib));
                  std::memset(block, 1, mib);
                  CHECK_THAT(heap::contains(block));
                  heap::deallocate(block);
              })),
              0);
}

TEST(heap, allocates_every_size_with_every_alignment)
{
    run_one([] {
        std::mt19937 random(1);
        for (std::size_t alignment = 1; alignment <= 4 * mib; alignment *= 2)
            for (std::size_t size :
                 {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 8000ul, 8129ul, 32767ul, 32768ul, 65536ul, 100000ul, mib, 3 * mib + 1}) {
                auto* const block = static_cast<unsigned char*>(heap::allocate(size, alignment));
                CHECK_THAT(block != nullptr);
                CHECK_THAT(aligned(block, std::max(alignment, std::size_t{64})));
                CHECK_THAT(heap::usable_size(block) >= size);
                CHECK_THAT(heap::contains(block));
                std::memset(block, 0xa5, size);
                if (random() % 2 == 0)
                    heap::deallocate(block);
            }
        heap::deallocate(nullptr);
        CHECK_THAT(heap::try_allocate(64, 3) == nullptr);
        CHECK_THAT(heap::try_allocate(~std::size_t{0}) == nullptr);
        CHECK_THAT(heap::try_allocate(~std::size_t{0} / 2, 4096) == nullptr);
    });
}

TEST(heap, freed_big_blocks_come_back_warm)
{
    run_one([] {
        for (std::size_t size = 32 << 10; size <= 64 * mib; size *= 4) {
            heap::deallocate(heap::allocate(size));
            void* const first = heap::allocate(size);
            heap::deallocate(first);
            auto const before = heap::stats().extents;
            for (int i = 0; i < 100; ++i) {
                void* const again = heap::allocate(size);
                CHECK_THAT(again == first);
                heap::deallocate(again);
            }
            CHECK_THAT(heap::stats().extents == before && heap::stats().in_use == 0);
        }
    });
}

TEST(heap, says_how_to_enlarge_a_full_arena)
{
    run(1, 16 * mib, [](int) {
        std::vector<void*> blocks;
        std::string said;
        try {
            for (;;)
                blocks.push_back(heap::allocate(mib));
        } catch (std::bad_alloc const& e) {
            said = e.what();
        }
        CHECK_THAT(blocks.size() >= 14 && blocks.size() < 16);
        CHECK_THAT(said.find("TOWLINE_SEGMENT") != std::string::npos);
        std::vector<void*> small;
        for (int i = 0; i < 4; ++i) {
            heap::deallocate(blocks.back());
            blocks.pop_back();
        }
        while (void* const block = heap::try_allocate(5000))
            small.push_back(block);
        CHECK_THAT(!small.empty());
        for (void* const block : small)
            heap::deallocate(block);
        for (void* const block : blocks)
            heap::deallocate(block);
        CHECK_THAT(heap::try_allocate(4 * mib) != nullptr);
    });
}

TEST(heap, threads_free_what_others_allocated)
{
    run_one([] {
        constexpr unsigned threads = 4;
        std::array<std::atomic<unsigned char*>, 64> shelf{};
        std::atomic<int> bad{0};
        auto const work = [&](unsigned seed) {
            std::mt19937 random(seed);
            for (int i = 0; i < 20'000; ++i) {
                std::size_t const size = random() % 4 == 0 ? random() % 200'000 + 16 : random() % 4000 + 16;
                auto* const block = static_cast<unsigned char*>(heap::allocate(size));
                auto const mark = static_cast<unsigned char>(random());
                std::memcpy(block, &size, sizeof size);
                block[sizeof size] = mark;
                block[size - 1] = mark;
                if (unsigned char* const old = shelf[random() % shelf.size()].exchange(block)) {
                    std::size_t its = 0;
                    std::memcpy(&its, old, sizeof its);
                    if (its >= 16 && old[sizeof its] != old[its - 1] && its != sizeof its + 1)
                        ++bad;
                    heap::deallocate(old);
                }
            }
        };
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t)
            all.emplace_back(work, t + 1);
        for (auto& thread : all)
            thread.join();
        for (auto& slot : shelf)
            heap::deallocate(slot.load());
        CHECK_THAT(bad == 0);
    });
}

TEST(heap, addresses_go_round)
{
    board words;
    run(3, 64 * mib, [&](int rank) {
        auto* const block = static_cast<std::uint64_t*>(heap::allocate(100'000));
        block[0] = static_cast<std::uint64_t>(rank) * 1000 + 7;
        auto const where = heap::find(block, 100'000);
        CHECK_THAT(where.has_value() && where->arena == static_cast<std::uint32_t>(rank));
        CHECK_THAT(heap::attach(*where, 100'000) == block);
        CHECK_THAT(heap::find(block, 64 * mib) == std::nullopt);
        auto const mine = static_cast<std::size_t>(rank);
        words[mine].store(where->offset);
        for (std::size_t peer = 0; peer < 3; ++peer) {
            std::uint64_t const offset = words.wait(peer);
            auto* const theirs = static_cast<std::uint64_t*>(heap::attach({static_cast<std::uint32_t>(peer), 0, offset}, 100'000));
            CHECK_THAT(theirs[0] == peer * 1000 + 7);
            CHECK_THAT(heap::contains(theirs));
            CHECK_THAT(heap::find(theirs, 100'000) == (heap::address{static_cast<std::uint32_t>(peer), 0, offset}));
            CHECK_THAT(peer == mine || heap::usable_size(theirs) == 0);
        }
        CHECK_THAT(heap::stats().attached == 2);
        words[10].fetch_add(1);
        words.wait(10, 3);
    });
}

// Data at the same offset of their segments would evict each other from a cache whose ways are predicted (core.cpp).
TEST(heap, ranks_that_allocate_alike_do_not_collide)
{
    constexpr std::uint32_t ranks = 5;
    constexpr std::uint64_t bytes = 96 << 10, place = 1 << 20;
    board words;
    run(ranks, 64 * mib, [&](int rank) {
        words[static_cast<std::size_t>(rank)].store(heap::find(heap::allocate(bytes), bytes)->offset);
    });
    for (std::size_t a = 0; a < ranks; ++a)
        for (std::size_t b = 0; b < a; ++b) {
            std::uint64_t const apart = (words[a] + place - words[b]) % place;
            EXPECT_TRUE(apart >= bytes && apart <= place - bytes) << "ranks " << b << " and " << a << ": " << apart << " bytes apart";
        }
}

TEST(heap, refuses_hostile_addresses)
{
    run(2, 64 * mib, [](int) {
        auto const refuses = [](heap::address where, std::size_t size) {
            try {
                (void)heap::attach(where, size);
            } catch (towline::error const& e) {
                return std::string(e.what()).find("not shared memory") != std::string::npos;
            }
            return false;
        };
        CHECK_THAT(refuses({2, 0, 0}, 1));
        CHECK_THAT(refuses({~0u, 0, 0}, 1));
        CHECK_THAT(refuses({0, 0, 64 * mib}, 1));
        CHECK_THAT(refuses({1, 0, 64 * mib - 1}, 2));
        CHECK_THAT(refuses({1, 0, ~std::uint64_t{0}}, 1));
        CHECK_THAT(refuses({1, 0, ~std::uint64_t{0}}, ~std::size_t{0}));
        CHECK_THAT(refuses({1, 0, 8}, ~std::size_t{0} - 7));
        CHECK_THAT(!refuses({1, 0, 64 * mib - 1}, 1));
        CHECK_THAT(!refuses({1, 0, 64 * mib}, 0));
    });
}

TEST(heap, inboxes_are_zero_and_shared)
{
    board words;
    run(2, 64 * mib, [&](int rank) {
        auto const mine = heap::inbox(rank);
        auto const theirs = heap::inbox(1 - rank);
        CHECK_THAT(mine.size() == towline::job::inbox_bytes_for(2));
        CHECK_THAT(mine.front() == std::byte{0} && mine.back() == std::byte{0});
        words[0].fetch_add(1);
        words.wait(0, 2);
        theirs.back() = std::byte{7};
        words[1].fetch_add(1);
        words.wait(1, 2);
        CHECK_THAT(mine.back() == std::byte{7});
        // the inbox is outside of what the heap hands out
        for (int i = 0; i < 100; ++i)
            CHECK_THAT(static_cast<std::byte*>(heap::allocate(i % 2 == 0 ? 100 : 100'000)) >= mine.data() + mine.size());
    });
}

TEST(heap, peers_give_blocks_back)
{
    board words;
    run(2, 256 * mib, [&](int rank) {
        if (rank == 0) {
            std::mt19937 random(3);
            for (std::uint64_t round = 1; round <= 500; ++round) {
                std::size_t const size = round % 3 == 0 ? 3000 : mib + random() % mib;
                auto* const block = static_cast<std::uint64_t*>(heap::allocate(size));
                block[0] = round;
                words[1].store(heap::find(block, size)->offset);
                words[0].store(round);
                words.wait(2, round);
            }
            (void)heap::allocate(64);
            CHECK_THAT(heap::stats().returned_by_peers == 500);
            CHECK_THAT(heap::stats().extents < 64 * mib);  // reused, not grown: 500 MiB went by; how many cool depends on the caches
        } else {
            for (std::uint64_t round = 1; round <= 500; ++round) {
                words.wait(0, round);
                auto* const block = static_cast<std::uint64_t*>(heap::attach({0, 0, words[1].load()}, 8));
                CHECK_THAT(block[0] == round);
                heap::deallocate(block);
                words[2].store(round);
            }
        }
    });
}

TEST(heap, many_returned_at_once_are_all_found)
{
    board words;
    run(2, 256 * mib, [&](int rank) {
        constexpr std::size_t number = 400;
        if (rank == 0) {
            for (std::size_t i = 0; i < number; ++i) {
                words[1].store(heap::find(heap::allocate(i % 2 == 0 ? 128 : 40'000), 128)->offset);
                words[0].store(i + 1);
                words.wait(2, i + 1);
            }
            std::size_t const before = heap::stats().in_use;
            (void)heap::allocate(64);
            CHECK_THAT(heap::stats().returned_by_peers == number);
            CHECK_THAT(heap::stats().in_use + 200 * 40'000 <= before);
        } else {
            std::vector<void*> blocks;
            for (std::size_t i = 0; i < number; ++i) {
                words.wait(0, i + 1);
                blocks.push_back(heap::attach({0, 0, words[1].load()}, 128));
                if (i + 1 == number)
                    for (void* const block : blocks)
                        heap::deallocate(block);
                words[2].store(i + 1);
            }
        }
    });
}

TEST(heap, survives_hostile_returns)
{
    board words;
    run(2, 64 * mib, [&](int rank) {
        if (rank == 0) {
            setenv("TOWLINE_LOG", "off", 1);
            auto* const block = static_cast<std::uint64_t*>(heap::allocate(100'000));
            block[0] = 99;
            (void)heap::allocate(100);
            words[1].store(heap::find(block, 1)->offset);
            words[0].store(1);
            for (std::uint64_t wave = 1; wave <= 2; ++wave) {
                words.wait(2, wave);
                for (int i = 0; i < 100; ++i)
                    heap::deallocate(heap::allocate(i % 2 == 0 ? 100 : 100'000));
                CHECK_THAT(heap::stats().in_use <= 4 * mib);
                // It was given back, once. What came back is used last: until it cooled there is new memory.
                std::vector<void*> all;
                while (void* const another = heap::try_allocate(100'000))
                    all.push_back(another);
                CHECK_THAT(std::count(all.begin(), all.end(), block) == 1);
                std::erase(all, block);
                for (void* const another : all)
                    heap::deallocate(another);
                words[3].store(wave);
            }
        } else {
            words.wait(0);
            std::uint64_t const offset = words[1].load();
            std::uint64_t const inbox = towline::job::inbox_bytes_for(2);
            auto& box = *static_cast<heap::return_box*>(heap::attach({0, 0, inbox}, sizeof(heap::return_box)));
            auto* const block = static_cast<std::uint64_t*>(heap::attach({0, 0, offset}, 8));
            std::uint64_t nowhere = 0;
            std::uint64_t const lies[] = {8, inbox, offset + 16384, offset + 1, offset, offset, 64 * mib - 64, 64 * mib, ~std::uint64_t{0}};
            for (unsigned i = 0; i < std::size(lies); ++i)
                box.push(lies[i], &nowhere, i);
            *block = offset;  // a list that leads back to itself
            box.list.store(offset);
            words[2].store(1);
            words.wait(3);
            *block = ~std::uint64_t{0} - 63;  // and one that leads out of the arena
            box.list.store(offset);
            heap::deallocate(reinterpret_cast<char*>(block) + 1);
            words[2].store(2);
        }
    });
}

TEST(heap, memory_of_the_dead_stays_readable)
{
    auto const file = towline::job::create_job_file(2, {.segment_bytes = 64 * mib});
    board words;
    pid_t const victim = spawn_rank(file.get(), 0, [&](int) {
        auto* const block = static_cast<unsigned char*>(heap::allocate(8 * mib));
        std::memset(block, 0x5a, 8 * mib);
        words[1].store(heap::find(block, 1)->offset);
        words[0].store(1);
        pause();
    });
    words.wait(0);
    kill(victim, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(victim)));
    EXPECT_EQ(status_of(spawn_rank(file.get(), 1, [&](int) {
                  auto* const block = static_cast<unsigned char*>(heap::attach({0, 0, words[1].load()}, 8 * mib));
                  CHECK_THAT(std::all_of(block, block + 8 * mib, [](unsigned char c) { return c == 0x5a; }));
                  heap::deallocate(block);  // forgotten
              })),
              0);
}

TEST(heap, grows_blocks_where_they_are)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(100'000));
        std::memset(block, 3, 100'000);
        CHECK_THAT(heap::try_resize(block, 10 * mib));
        CHECK_THAT(heap::usable_size(block) >= 10 * mib);
        CHECK_THAT(std::all_of(block, block + 100'000, [](unsigned char c) { return c == 3; }));
        CHECK_THAT(heap::try_resize(block, 100'000));
        CHECK_THAT(heap::usable_size(block) < 200'000);
        void* const small = heap::allocate(100);
        CHECK_THAT(heap::try_resize(small, 100) && !heap::try_resize(small, 100'000));
        CHECK_THAT(!heap::try_resize(block, std::size_t{1} << 40));
    });
}

TEST(heap, refuses_wrong_settings)
{
    for (char const* name : {"TOWLINE_HEAP_KEEP", "TOWLINE_HEAP_THRESHOLD", "TOWLINE_HEAP"})
        run_one([=] {
            setenv(name, "plenty", 1);
            std::string said;
            try {
                (void)heap::allocate(100);
            } catch (towline::usage_error const& e) {
                said = e.what();
            }
            CHECK_THAT(said.find(name) != std::string::npos);
            unsetenv(name);
            heap::deallocate(heap::allocate(100));
        });
}

TEST(heap, keeps_no_more_than_it_may)
{
    run_one([] {
        setenv("TOWLINE_HEAP_KEEP", "8M", 1);
        for (int round = 0; round < 3; ++round) {
            std::vector<void*> blocks;
            for (int i = 0; i < 20; ++i)
                std::memset(blocks.emplace_back(heap::allocate(2 * mib)), 1, 2 * mib);
            for (void* const block : blocks)
                heap::deallocate(block);
            CHECK_THAT(heap::stats().in_use == 0);
            CHECK_THAT(heap::stats().extents <= 10 * mib);
        }
    });
}

TEST(heap, prefault_is_a_hint)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(4 * mib));
        heap::prefault(block, 4 * mib);
        heap::prefault(block + 5, 1);
        heap::prefault(nullptr, 100);
        heap::prefault(block, 0);
        CHECK_THAT(block[123] == 0);
    });
}

TEST(rma_allocator, makes_vectors_of_shared_memory)
{
    run_one([] {
        std::vector<double, towline::rma_allocator<double>> v(100'000, 2.0);
        CHECK_THAT(heap::contains(v.data()) && aligned(v.data(), 64));
        auto const* const data = v.data();
        auto moved = std::move(v);
        CHECK_THAT(moved.data() == data);
        std::vector<double, towline::rma_allocator<double>> other(10);
        other = std::move(moved);
        CHECK_THAT(other.data() == data && other[99'999] == 2.0);
        CHECK_THAT(towline::rma_allocator<int>() == towline::rma_allocator<char>());
        bool thrown = false;
        try {
            (void)towline::rma_allocator<double>().allocate(std::size_t{1} << 62);
        } catch (std::bad_array_new_length const&) {
            thrown = true;
        }
        CHECK_THAT(thrown);
        struct alignas(4096) wide {
            char c[4096];
        };
        std::vector<wide, towline::rma_allocator<wide>> wides(3);
        CHECK_THAT(aligned(wides.data(), 4096));
    });
}
