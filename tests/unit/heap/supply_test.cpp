// Where the memory of an arena comes from: what is shown, what is refused, and what a process has of its peers' segments.

#include "heap/core.hpp"
#include "heap/extents.hpp"
#include "heap/heap.hpp"
#include "ranks.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <vector>

namespace heap = towline::heap;
using namespace ranks;
using heap::extents;
using kind = extents::kind;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// An arena that counts what is shown, and refuses what it is told to.
struct arena {
    static constexpr std::size_t bytes = 512 * mib;
    static inline std::size_t shown, hidden, committed;
    static inline bool may_show, may_commit;
    static inline std::byte* begin;

    explicit arena(std::size_t keep = ~std::size_t{0}, std::size_t stagger = 0)
    {
        shown = hidden = committed = 0;
        may_show = may_commit = true;
        void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        begin = static_cast<std::byte*>(reserved);
        extents::supply const from{
            [](std::byte* at, std::size_t size) noexcept {
                shown += may_show ? size : 0;
                return may_show && mprotect(at, size, PROT_READ | PROT_WRITE) == 0;
            },
            [](std::byte*, std::size_t size) noexcept { hidden += size; },
            [](std::byte*, std::size_t size) noexcept {
                committed += may_commit ? size : 0;
                return may_commit;
            },
        };
        EXPECT_TRUE(memory.start(begin + stagger, bytes - stagger, keep, 0, from));
    }
    ~arena()
    {
        memory.stop();
        munmap(begin, bytes);
    }
    extents memory;
};

#define EXPECT_SOUND(a) EXPECT_STREQ((a).memory.check(), nullptr)

/// Of the views of the job's file: bytes that are accessible, and bytes that a core dump writes.
struct views {
    std::size_t accessible = 0;
    std::size_t dumped = 0;
};
views own_views()
{
    views sum;
    std::ifstream maps("/proc/self/smaps");
    std::size_t size = 0;
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
        std::size_t begin = 0;
        std::size_t end = 0;
        char mode[8];
        if (std::sscanf(line.c_str(), "%zx-%zx %7s", &begin, &end, mode) == 3) {
            ours = line.find("towline-job") != std::string::npos;
            size = end - begin;
            sum.accessible += ours && mode[0] == 'r' ? size : 0;
        } else if (ours && line.starts_with("VmFlags:") && line.find(" dd") == std::string::npos) {
            sum.dumped += size;
        }
    }
    return sum;
}

std::size_t shared_memory_of_this_process()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssShmem:"))
            return std::stoul(line.substr(9)) << 10;
    return 0;
}

} // namespace

TEST(supply, shows_what_is_used)
{
    arena a;
    EXPECT_EQ(a.shown, 0u);
    auto const block = a.memory.allocate(5 * mib, 64, kind::block);
    ASSERT_NE(block.begin, nullptr);
    EXPECT_TRUE(block.clean);
    std::memset(block.begin, 1, 5 * mib);
    EXPECT_LE(a.shown, 8 * mib);
    EXPECT_GE(a.shown, 5 * mib);
    EXPECT_EQ(a.memory.kind_at(a.begin + 400 * mib), kind::none);
    EXPECT_FALSE(a.memory.release(a.begin + 400 * mib, kind::block));
    ASSERT_TRUE(a.memory.resize(block.begin, 50 * mib));
    std::memset(block.begin, 1, 50 * mib);
    EXPECT_LE(a.shown, 54 * mib);
    auto const aligned = a.memory.allocate(mib, 64 * mib, kind::block);
    ASSERT_NE(aligned.begin, nullptr);
    std::memset(aligned.begin, 1, mib);
    EXPECT_LE(a.shown, 58 * mib);
    EXPECT_SOUND(a);
}

TEST(supply, blocks_of_any_size_are_as_staggered_as_their_arenas)
{
    constexpr std::size_t apart = 9 * extents::granule;
    std::array<std::vector<std::ptrdiff_t>, 2> places;  // of the same blocks, in the arenas of two ranks
    for (std::size_t rank : {0, 1}) {
        arena a(~std::size_t{0}, rank * apart);
        for (std::size_t const bytes : {100 * extents::granule, 64 * mib, mib, 8 * mib, 3 * mib})
            places[rank].push_back(static_cast<std::byte*>(a.memory.allocate(bytes, 64, kind::block).begin) - a.begin);
    }
    for (std::size_t i = 0; i < places[0].size(); ++i)
        EXPECT_EQ(places[1][i] - places[0][i], static_cast<std::ptrdiff_t>(apart));
}

TEST(supply, what_cannot_be_shown_is_not_handed_out)
{
    arena a;
    auto const first = a.memory.allocate(mib, 64, kind::block);
    ASSERT_NE(first.begin, nullptr);
    a.may_show = false;
    EXPECT_EQ(a.memory.allocate(64 * mib, 64, kind::block).begin, nullptr);
    EXPECT_FALSE(a.memory.resize(first.begin, 64 * mib));
    EXPECT_SOUND(a);
    EXPECT_EQ(a.memory.in_use(), mib);
    a.may_show = true;
    EXPECT_NE(a.memory.allocate(64 * mib, 64, kind::block).begin, nullptr);
    EXPECT_SOUND(a);
}

TEST(supply, what_is_not_to_be_had_is_refused_before_it_is_touched)
{
    arena a;
    auto const first = a.memory.allocate(mib, 64, kind::block);
    ASSERT_NE(first.begin, nullptr);
    EXPECT_EQ(a.committed, mib);
    a.may_commit = false;
    EXPECT_EQ(a.memory.allocate(4 * mib, 64, kind::block).begin, nullptr);
    EXPECT_EQ(a.memory.allocate(4 * mib, 64, kind::region).begin, nullptr);
    EXPECT_FALSE(a.memory.resize(first.begin, 4 * mib));
    EXPECT_EQ(a.memory.in_use(), mib);
    EXPECT_SOUND(a);
    EXPECT_TRUE(a.memory.release(first.begin, kind::block));
    EXPECT_EQ(a.memory.allocate(mib, 64, kind::block).begin, first.begin) << "what was had once is still there";
    a.may_commit = true;
    EXPECT_NE(a.memory.allocate(4 * mib, 64, kind::block).begin, nullptr);
    EXPECT_SOUND(a);
}

TEST(supply, long_holes_are_hidden_again)
{
    arena a(4 * mib);
    void* const big = a.memory.allocate(100 * mib, 64, kind::block).begin;
    void* const behind = a.memory.allocate(mib, 64, kind::block).begin;
    std::memset(big, 1, 100 * mib);
    ASSERT_TRUE(a.memory.release(big, kind::block));
    EXPECT_GE(a.hidden, 100 * mib);
    std::size_t const shown = a.shown;
    auto const again = a.memory.allocate(50 * mib, 64, kind::block);
    EXPECT_EQ(again.begin, big);
    EXPECT_TRUE(again.clean);
    EXPECT_GE(a.shown, shown + 50 * mib);
    EXPECT_TRUE(a.memory.release(behind, kind::block));
    EXPECT_SOUND(a);
}

TEST(supply, stays_sound_whatever_is_refused)
{
    char const* const asked = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 1;
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    arena a(16 * mib);
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (int i = 0; i < 4000; ++i) {
        a.may_show = random() % 4 != 0;
        a.may_commit = random() % 4 != 0;
        std::size_t const size = random() % (random() % 8 == 0 ? 40 * mib : mib) + 1;
        if (blocks.empty() || random() % 2 == 0) {
            auto const made = a.memory.allocate(size, random() % 8 == 0 ? 4 * mib : 64, kind::block);
            if (made.begin == nullptr)
                continue;
            if (made.clean) {
                ASSERT_EQ(*static_cast<unsigned char*>(made.begin), 0);
            }
            std::memset(made.begin, 1, 1);
            std::memset(static_cast<std::byte*>(made.begin) + size - 1, 1, 1);
            blocks.push_back({made.begin, size});
        } else {
            auto& block = blocks[random() % blocks.size()];
            if (random() % 4 == 0) {
                if (a.memory.resize(block.first, size))
                    std::memset(static_cast<std::byte*>(block.first) + size - 1, 1, 1);
                continue;
            }
            ASSERT_TRUE(a.memory.release(block.first, kind::block));
            block = blocks.back();
            blocks.pop_back();
        }
        if (i % 64 == 0) {
            ASSERT_STREQ(a.memory.check(), nullptr) << i;
        }
    }
    EXPECT_SOUND(a);
}

TEST(supply, a_process_has_as_much_of_each_segment_as_it_uses)
{
    board words;
    run(2, std::uint64_t{4} << 30, [&](int rank) {
        auto* const block = static_cast<unsigned char*>(heap::allocate(20 * mib));
        std::memset(block, 7, 20 * mib);
        views mine = own_views();
        CHECK_THAT(mine.dumped >= 20 * mib && mine.dumped < 40 * mib);
        CHECK_THAT(mine.accessible < 40 * mib);
        heap::address const where = heap::find(block, 20 * mib).value();
        words[static_cast<std::size_t>(rank) + 2].store(where.offset);
        words[static_cast<std::size_t>(rank)].store(1);
        words.wait(static_cast<std::size_t>(1 - rank));
        heap::address const other{static_cast<std::uint32_t>(1 - rank), 0, words[static_cast<std::size_t>(1 - rank) + 2].load()};
        auto const* const theirs = static_cast<unsigned char const*>(heap::attach(other, 20 * mib));
        CHECK_THAT(theirs[0] == 7 && theirs[20 * mib - 1] == 7);
        views const both = own_views();
        CHECK_THAT(both.dumped == mine.dumped);
        CHECK_THAT(both.accessible < 80 * mib);
        // Addresses that nobody uses can be looked at all the same, here and there: a peer may name them.
        CHECK_THAT(*static_cast<unsigned char*>(heap::attach({0, 0, 1ul << 31}, 1)) == 0);
        CHECK_THAT(*static_cast<unsigned char*>(heap::attach({1, 0, (4ul << 30) - 1}, 1)) == 0);
        (void)heap::attach({1, 0, 4ul << 30}, 0);
        words[4].fetch_add(1);
        words.wait(4, 2);
    });
}

TEST(supply, locking_all_memory_takes_no_more_than_is_used)
{
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY)
        GTEST_SKIP() << "ulimit -l";
    board words;
    run(2, std::uint64_t{4} << 30, [&](int rank) {
        std::memset(heap::allocate(mib), 1, mib);
        (void)heap::attach({static_cast<std::uint32_t>(1 - rank), 0, 0}, 1);
        std::size_t const before = shared_memory_of_this_process();
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            CHECK_THAT(errno == EPERM || errno == ENOMEM);
            words[1].store(1);
        } else {
            CHECK_THAT(shared_memory_of_this_process() < before + 32 * mib);
            std::memset(heap::allocate(40 * mib), 1, 40 * mib);
            CHECK_THAT(shared_memory_of_this_process() < before + 100 * mib);
        }
        words[0].fetch_add(1);
        words.wait(0, 2);
    });
    if (words[1].load() != 0)
        GTEST_SKIP() << "this process may not lock its memory";
}
