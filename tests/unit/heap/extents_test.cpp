#include "heap/extents.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using towline::heap::extents;
using kind = extents::kind;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t granule = extents::granule;

struct arena {
    explicit arena(std::size_t bytes, std::size_t keep = ~std::size_t{0}, std::size_t cool = mib) : size(bytes)
    {
        fd = memfd_create("arena", MFD_CLOEXEC);
        EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
        void* const reserved = mmap(nullptr, bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto const address = (reinterpret_cast<std::uintptr_t>(reserved) + granule - 1) / granule * granule;
        begin =
            static_cast<std::byte*>(mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0));
        EXPECT_TRUE(memory.start(begin, bytes, keep, cool));
    }
    ~arena()
    {
        memory.stop();
        munmap(begin, size);
        close(fd);
    }
    [[nodiscard]] std::size_t resident() const
    {
        struct stat about {};
        fstat(fd, &about);
        return static_cast<std::size_t>(about.st_blocks) * 512;
    }
    std::size_t size;
    int fd;
    std::byte* begin;
    extents memory;
};

#define EXPECT_SOUND(a) EXPECT_STREQ((a).memory.check(), nullptr)

} // namespace

TEST(extents, a_freed_block_is_handed_out_again_warm)
{
    arena a(64 * mib);
    auto const first = a.memory.allocate(mib, 64, kind::block);
    ASSERT_NE(first.begin, nullptr);
    EXPECT_TRUE(first.clean);
    EXPECT_TRUE(a.memory.release(first.begin, kind::block));
    auto const second = a.memory.allocate(mib, 64, kind::block);
    EXPECT_EQ(second.begin, first.begin);
    EXPECT_FALSE(second.clean);
    EXPECT_EQ(a.memory.in_use(), mib);
    EXPECT_SOUND(a);
}

TEST(extents, refuses_what_is_not_an_extent)
{
    arena a(16 * mib);
    auto* const block = static_cast<std::byte*>(a.memory.allocate(4 * granule, 64, kind::block).begin);
    EXPECT_FALSE(a.memory.release(block + granule, kind::block));
    EXPECT_FALSE(a.memory.release(block + 64, kind::block));
    EXPECT_FALSE(a.memory.release(block + 4 * granule, kind::block));
    EXPECT_FALSE(a.memory.release(block, kind::region));
    EXPECT_TRUE(a.memory.release(block, kind::block));
    EXPECT_FALSE(a.memory.release(block, kind::block));
    EXPECT_SOUND(a);
}

TEST(extents, is_full_when_it_is_full_and_whole_again_after)
{
    arena a(8 * mib);
    std::vector<void*> blocks;
    while (void* const block = a.memory.allocate(granule, 64, kind::block).begin)
        blocks.push_back(block);
    EXPECT_EQ(blocks.size(), 8 * mib / granule);
    EXPECT_EQ(a.memory.allocate(1, 64, kind::region).begin, nullptr);
    EXPECT_SOUND(a);
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        EXPECT_TRUE(a.memory.release(blocks[i], kind::block));
    EXPECT_EQ(a.memory.allocate(2 * granule, 64, kind::block).begin, nullptr);
    EXPECT_SOUND(a);
    for (std::size_t i = 1; i < blocks.size(); i += 2)
        EXPECT_TRUE(a.memory.release(blocks[i], kind::block));
    EXPECT_SOUND(a);
    EXPECT_EQ(a.memory.allocate(8 * mib, 64, kind::block).begin, a.begin);
    EXPECT_EQ(a.memory.allocate(~std::size_t{0}, 64, kind::block).begin, nullptr);
}

TEST(extents, joins_warm_and_clean_before_it_says_full)
{
    arena a(8 * mib);
    void* const low = a.memory.allocate(2 * mib, 64, kind::block).begin;
    EXPECT_TRUE(a.memory.release(low, kind::block));  // 2 MiB warm, 6 clean
    auto const all = a.memory.allocate(7 * mib + 5 * granule, 64, kind::block);
    EXPECT_EQ(all.begin, a.begin);
    EXPECT_FALSE(all.clean);
    EXPECT_SOUND(a);
}

TEST(extents, aligns)
{
    arena a(64 * mib);
    for (std::size_t alignment = 64; alignment <= 8 * mib; alignment *= 2) {
        (void)a.memory.allocate(granule, 64, kind::block);
        void* const block = a.memory.allocate(3 * granule, alignment, kind::block).begin;
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % std::max(alignment, granule), 0u);
        EXPECT_SOUND(a);
    }
}

TEST(extents, gives_memory_beyond_the_bound_back)
{
    arena a(64 * mib, 8 * mib);
    std::vector<void*> blocks;
    for (int i = 0; i < 8; ++i) {
        blocks.push_back(a.memory.allocate(4 * mib, 64, kind::block).begin);
        std::memset(blocks.back(), 1, 4 * mib);
    }
    EXPECT_GE(a.resident(), 32 * mib);
    for (void* const block : blocks)
        EXPECT_TRUE(a.memory.release(block, kind::block));
    EXPECT_LE(a.memory.warm(), 8 * mib);
    EXPECT_LE(a.resident(), 9 * mib);
    EXPECT_SOUND(a);
    bool seen_clean = false;
    for (int i = 0; i < 15; ++i) {
        auto const piece = a.memory.allocate(4 * mib, 64, kind::block);
        ASSERT_NE(piece.begin, nullptr);
        auto const* const words = static_cast<std::uint64_t*>(piece.begin);
        seen_clean |= piece.clean;
        for (std::size_t w = 0; piece.clean && w < 4 * mib / 8; ++w)
            ASSERT_EQ(words[w], 0u);
    }
    EXPECT_TRUE(seen_clean);
}

TEST(extents, resizes_where_it_is)
{
    arena a(16 * mib);
    auto* const block = static_cast<std::byte*>(a.memory.allocate(mib, 64, kind::block).begin);
    void* const wall = a.memory.allocate(granule, 64, kind::block).begin;
    EXPECT_FALSE(a.memory.resize(block, 2 * mib));
    EXPECT_TRUE(a.memory.release(wall, kind::block));
    EXPECT_TRUE(a.memory.resize(block, 3 * mib));  // over the warm hole into the clean rest
    EXPECT_EQ(a.memory.bytes_of(block), 3 * mib);
    EXPECT_SOUND(a);
    EXPECT_TRUE(a.memory.resize(block, 5 * granule));
    EXPECT_EQ(a.memory.bytes_of(block), 5 * granule);
    EXPECT_SOUND(a);
    EXPECT_TRUE(a.memory.resize(block, 16 * mib));
    EXPECT_FALSE(a.memory.resize(block, 16 * mib + 1));
    EXPECT_FALSE(a.memory.resize(block + granule, granule));
    EXPECT_SOUND(a);
    EXPECT_TRUE(a.memory.release(block, kind::block));
    EXPECT_SOUND(a);
}

TEST(extents, holds_its_invariants_under_random_use)
{
    for (unsigned seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        arena a(32 * mib, seed % 2 == 0 ? 4 * mib : 64 * mib);
        struct block {
            std::size_t bytes;
            kind what;
            std::uint64_t mark;
        };
        std::map<std::byte*, block> live;
        auto const marks = [](std::byte* at, std::size_t bytes) {
            return std::pair{reinterpret_cast<std::uint64_t*>(at), reinterpret_cast<std::uint64_t*>(at + bytes - 8)};
        };
        for (int step = 0; step < 4000; ++step) {
            auto const dice = random() % 10;
            if (dice < 5) {
                std::size_t const bytes = (std::size_t{1} << (random() % 21 + 3)) + random() % 4096 / 8 * 8;
                kind const what = random() % 4 == 0 ? kind::region : kind::block;
                std::size_t const alignment = random() % 8 == 0 ? granule << random() % 8 : 64;
                auto* const at = static_cast<std::byte*>(a.memory.allocate(bytes, alignment, what).begin);
                if (at == nullptr)
                    continue;
                auto const after = live.upper_bound(at);
                ASSERT_TRUE(after == live.end() || at + bytes <= after->first);
                ASSERT_TRUE(after == live.begin() || std::prev(after)->first + std::prev(after)->second.bytes <= at);
                ASSERT_LE(at + bytes, a.begin + a.size);
                std::uint64_t const mark = random();
                auto const [first, last] = marks(at, bytes);
                *first = *last = mark;
                live[at] = {bytes, what, mark};
                ASSERT_EQ(a.memory.kind_at(at), what);
                ASSERT_GE(a.memory.bytes_of(at), bytes);
            } else if (!live.empty()) {
                auto it = live.lower_bound(a.begin + random() % a.size);
                if (it == live.end())
                    it = live.begin();
                auto const [first, last] = marks(it->first, it->second.bytes);
                ASSERT_EQ(*first, it->second.mark);
                ASSERT_EQ(*last, it->second.mark);
                if (dice < 7 && it->second.what == kind::block) {
                    std::size_t const bytes = (random() % (2 * mib) + 8) / 8 * 8;
                    if (a.memory.resize(it->first, bytes)) {
                        ASSERT_GE(a.memory.bytes_of(it->first), bytes);
                        ASSERT_TRUE(std::next(it) == live.end() || it->first + bytes <= std::next(it)->first);
                        it->second.bytes = bytes;
                        auto const [begin, end] = marks(it->first, bytes);
                        *begin = *end = it->second.mark;
                    }
                } else {
                    ASSERT_TRUE(a.memory.release(it->first, it->second.what, random() % 2 == 0));
                    live.erase(it);
                }
            }
            if (step % 64 == 0) {
                char const* const wrong = a.memory.check();
                ASSERT_EQ(wrong, nullptr) << wrong;
            }
        }
        std::size_t listed = 0;
        a.memory.for_each_used([&](std::byte* at, std::size_t) { listed += live.count(at); });
        EXPECT_EQ(listed, live.size());
        for (auto const& [at, b] : live)
            EXPECT_TRUE(a.memory.release(at, b.what));
        EXPECT_SOUND(a);
        EXPECT_EQ(a.memory.in_use(), 0u);
        EXPECT_EQ(a.memory.allocate(a.size, 64, kind::block).begin, a.begin);
    }
}

TEST(extents, what_a_peer_had_is_used_again_when_it_is_cool)
{
    arena a(64 * mib, 32 * mib, 2 * mib);
    constexpr std::size_t size = 256 << 10;
    constexpr std::size_t places = 2 * mib / size;
    auto const take = [&] { return a.memory.allocate(size, 64, kind::block); };
    std::vector<void*> order;
    for (std::size_t i = 0; i <= places; ++i) {
        auto const fresh = take();
        EXPECT_TRUE(fresh.clean);
        EXPECT_TRUE(a.memory.release(fresh.begin, kind::block, true));
        EXPECT_FALSE(a.memory.release(fresh.begin, kind::block, true));
        EXPECT_EQ(a.memory.in_use(), 0u);
        order.push_back(fresh.begin);
    }
    EXPECT_EQ(std::set<void*>(order.begin(), order.end()).size(), places + 1);
    EXPECT_EQ(a.memory.warm(), (places + 1) * size);
    EXPECT_SOUND(a);
    // From now on the one that waited longest, and no new memory.
    for (std::size_t i = 0; i < 4 * places; ++i) {
        auto const again = take();
        EXPECT_FALSE(again.clean);
        EXPECT_EQ(again.begin, order[i % (places + 1)]);
        EXPECT_TRUE(a.memory.release(again.begin, kind::block, true));
    }
    // What this process freed itself is in its own caches, and comes first.
    auto const own = take();
    EXPECT_TRUE(a.memory.release(own.begin, kind::block));
    EXPECT_EQ(take().begin, own.begin);
    EXPECT_TRUE(a.memory.release(own.begin, kind::block));
    // Blocks that are too big do not wait; others of other sizes push those out that wait.
    void* const big = a.memory.allocate(3 * mib, 64, kind::block).begin;
    EXPECT_TRUE(a.memory.release(big, kind::block, true));
    EXPECT_EQ(a.memory.allocate(3 * mib, 64, kind::block).begin, big);
    EXPECT_TRUE(a.memory.release(big, kind::block, true));
    void* const middle = a.memory.allocate(2 * mib, 64, kind::block).begin;
    EXPECT_TRUE(a.memory.release(middle, kind::block, true));
    EXPECT_SOUND(a);
    EXPECT_EQ(a.memory.in_use(), 0u);
    // And all of it is there when nothing else is.
    EXPECT_EQ(a.memory.allocate(a.size, 64, kind::block).begin, a.begin);
    EXPECT_SOUND(a);
}

TEST(extents, serves_threads)
{
    arena a(256 * mib, 16 * mib);
    std::vector<std::thread> threads;
    std::atomic<int> bad{0};
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<std::pair<std::uint64_t*, std::size_t>> mine;
            for (int i = 0; i < 3000; ++i) {
                std::size_t const words = (granule << random() % 8) / 8;
                if (auto* const at = static_cast<std::uint64_t*>(a.memory.allocate(words * 8, 64, kind::block).begin)) {
                    at[0] = at[words - 1] = t;
                    mine.emplace_back(at, words);
                }
                if (mine.size() > 12) {
                    auto const i_out = random() % mine.size();
                    auto const [at, n] = mine[i_out];
                    if (at[0] != t || at[n - 1] != t || !a.memory.release(at, kind::block, random() % 2 == 0))
                        ++bad;
                    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i_out));
                }
            }
            for (auto const& [at, n] : mine)
                a.memory.release(at, kind::block);
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(bad, 0);
    EXPECT_SOUND(a);
    EXPECT_EQ(a.memory.in_use(), 0u);
}
