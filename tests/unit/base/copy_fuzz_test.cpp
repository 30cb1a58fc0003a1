// Every way of copying at random sizes and alignments, between blocks whose neighbours cannot be touched: pages without access stand on
// both sides, so that a kernel that reads or writes one byte too many dies. Repeat a run with TOWLINE_TEST_SEED.

#include "base/copy.hpp"
#include "base/copy_ways.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace copy_ways = towline::base::copy_ways;
using copy_ways::way;

constexpr std::size_t page = 4096;

/// Memory between two pages that nobody may touch.
class guarded {
public:
    explicit guarded(std::size_t pages) : bytes_(pages * page), all_(map(bytes_ + 2 * page))
    {
        EXPECT_EQ(mprotect(all_, page, PROT_NONE), 0);
        EXPECT_EQ(mprotect(all_ + page + bytes_, page, PROT_NONE), 0);
    }
    guarded(guarded const&) = delete;
    guarded& operator=(guarded const&) = delete;
    ~guarded() { munmap(all_, bytes_ + 2 * page); }
    [[nodiscard]] std::byte* begin() const { return all_ + page; }
    [[nodiscard]] std::byte* end() const { return begin() + bytes_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    /// So many bytes, `from_edge` bytes away from one of the two edges.
    [[nodiscard]] std::byte* at_edge(bool last, std::size_t bytes, std::size_t from_edge) const
    {
        return last ? end() - bytes - from_edge : begin() + from_edge;
    }

private:
    static std::byte* map(std::size_t n)
    {
        void* const p = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            std::abort();
        return static_cast<std::byte*>(p);
    }
    std::size_t bytes_;
    std::byte* all_;
};

std::uint64_t seed()
{
    char const* const text = std::getenv("TOWLINE_TEST_SEED");
    static std::uint64_t const chosen = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device{}();
    return chosen;
}

constexpr std::byte canary{0xcc};

/// Copies at the edges given; nothing but the target changes, and it is what the source is.
void copy_once(guarded const& from, guarded const& to, way w, std::size_t bytes, std::array<std::size_t, 2> from_edge,
               std::array<bool, 2> last)
{
    std::byte const* const source = from.at_edge(last[0], bytes, from_edge[0]);
    std::byte* const target = to.at_edge(last[1], bytes, from_edge[1]);
    std::size_t const around = 256;
    std::byte* const first = std::max(to.begin(), target - std::min<std::size_t>(around, static_cast<std::size_t>(target - to.begin())));
    std::byte* const beyond = target + bytes + std::min<std::size_t>(around, static_cast<std::size_t>(to.end() - target - bytes));
    std::fill(first, beyond, canary);
    copy_ways::copy(w, target, source, bytes);
    auto const where = [&] {
        auto const edge = [&](int i) { return std::to_string(from_edge[i]) + " from the " + (last[i] ? "end" : "beginning"); };
        return "way " + std::to_string(static_cast<int>(w)) + ", " + std::to_string(bytes) + " bytes, " + edge(0) + " to " + edge(1) +
               ", seed " + std::to_string(seed());
    };
    ASSERT_TRUE(bytes == 0 || std::memcmp(target, source, bytes) == 0) << where();
    auto const untouched = [](std::byte b) { return b == canary; };
    ASSERT_TRUE(std::all_of(first, target, untouched)) << where();
    ASSERT_TRUE(std::all_of(target + bytes, beyond, untouched)) << where();
}

class copy_fuzz : public testing::TestWithParam<way> {
protected:
    guarded from{20}, to{20};
    std::mt19937_64 random{seed()};
    copy_fuzz()
    {
        for (std::byte* p = from.begin(); p != from.end(); ++p)
            *p = static_cast<std::byte>(random() >> 13);
    }
};

TEST_P(copy_fuzz, small_sizes_at_every_alignment_and_edge)
{
    for (std::size_t bytes = 0; bytes <= 520; ++bytes)
        for (std::size_t const edge : {0, 1, 2})
            for (bool const last_from : {false, true})
                for (bool const last_to : {false, true}) {
                    std::array<std::size_t, 2> const away{edge == 0 ? 0 : random() % 64, edge == 1 ? 0 : random() % 64};
                    ASSERT_NO_FATAL_FAILURE(copy_once(from, to, GetParam(), bytes, away, {last_from, last_to}));
                }
    for (std::size_t a = 0; a < 64; ++a)
        for (std::size_t b = 0; b < 64; ++b)
            ASSERT_NO_FATAL_FAILURE(copy_once(from, to, GetParam(), 192 + random() % 300, {a, b}, {random() % 2 == 0, random() % 2 == 0}));
}

TEST_P(copy_fuzz, sizes_of_many_lines)
{
    for (int i = 0; i < 1500; ++i) {
        std::size_t const most = from.size() - 128;
        // Around whole pages and turns, and anywhere.
        std::size_t const bytes = i % 3 == 0 ? random() % most : std::min(most, (1 + random() % 18) * page - 130 + random() % 260);
        std::array<std::size_t, 2> const away{random() % 3 == 0 ? 0 : random() % 128, random() % 3 == 0 ? 0 : random() % 128};
        ASSERT_NO_FATAL_FAILURE(copy_once(from, to, GetParam(), bytes, away, {random() % 2 == 0, random() % 2 == 0}));
    }
}

TEST_P(copy_fuzz, parts_of_a_block_in_any_order)
{
    for (int i = 0; i < 20; ++i) {
        std::size_t const bytes = to.size() - random() % 200;
        std::byte* const target = to.end() - bytes;
        std::byte const* const source = from.begin();
        std::fill(to.begin(), to.end(), canary);
        std::vector<std::pair<std::size_t, std::size_t>> parts;
        for (std::size_t at = 0; at < bytes;) {
            std::size_t const n = std::min(bytes - at, 1 + random() % 9000);
            parts.emplace_back(at, n);
            at += n;
        }
        std::shuffle(parts.begin(), parts.end(), random);
        for (auto const& [at, n] : parts)
            towline::base::copy_part(target + at, source + at, n, GetParam());
        ASSERT_EQ(std::memcmp(target, source, bytes), 0) << "seed " << seed();
        ASSERT_TRUE(std::all_of(to.begin(), target, [](std::byte b) { return b == canary; })) << "seed " << seed();
    }
}

TEST(copy_fuzz_taking, lines_are_taken_in_the_block_alone)
{
    guarded const block(2);
    std::mt19937_64 random(seed());
    for (std::byte* p = block.begin(); p != block.end(); ++p)
        *p = static_cast<std::byte>(random() >> 13);
    std::vector<std::byte> const before(block.begin(), block.end());
    for (int i = 0; i < 4000; ++i) {
        std::size_t const bytes = random() % (i % 2 == 0 ? 300 : block.size() - 64);
        copy_ways::take_lines(block.at_edge(random() % 2 == 0, bytes, random() % 64), bytes);
    }
    EXPECT_TRUE(std::equal(before.begin(), before.end(), block.begin())) << "seed " << seed();
}

// The guards work: one byte more, and the process dies; so the tests above cannot pass by chance.
TEST(copy_fuzz_guards, one_byte_too_many_is_the_end)
{
    for (bool const reads : {false, true}) {
        pid_t const child = fork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            guarded const from(1), to(2);
            copy_ways::copy(way::string, reads ? to.begin() : to.end() - 1, reads ? from.end() - 1 : from.begin(), 2);
            _exit(0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

#if defined(__SANITIZE_ADDRESS__)
// The kernels tell the sanitizer what they touch: it finds what lies in a freed or foreign block although no instruction of theirs is seen.
TEST(copy_fuzz_guards, the_address_sanitizer_sees_every_way)
{
    for (way const w : {way::memcpy, way::string, way::loop, way::past, way::taking})
        for (bool const reads : {false, true}) {
            pid_t const child = fork();
            if (child == 0) {
                std::unique_ptr<std::byte[]> const small(new std::byte[3000]{}), big(new std::byte[4000]{});
                copy_ways::copy(w, reads ? big.get() : small.get(), reads ? small.get() : big.get(), 3100);
                _exit(0);
            }
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << static_cast<int>(w);
        }
}
#endif

std::string name_of(testing::TestParamInfo<way> const& w)
{
    constexpr std::array names{"memcpy", "string", "loop", "past", "taking"};
    return names[static_cast<std::size_t>(w.param)];
}
INSTANTIATE_TEST_SUITE_P(by, copy_fuzz, testing::Values(way::memcpy, way::string, way::loop, way::past, way::taking), name_of);

} // namespace
