#include "base/copy.hpp"

#include "base/copy_ways.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace {

using towline::base::copy_block;
namespace copy_ways = towline::base::copy_ways;

std::vector<std::uint8_t> pattern(std::size_t n)
{
    std::vector<std::uint8_t> v(n);
    std::uint32_t x = 1;
    for (auto& b : v)
        b = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
    return v;
}

TEST(copy_block, nothing_may_be_nowhere)
{
    copy_block(nullptr, nullptr, 0);
}

/// Copies from and to every alignment; nothing around the target changes.
template <typename F>
void check_alignments(std::vector<std::size_t> const& sizes, F copy)
{
    auto const source = pattern(*std::max_element(sizes.begin(), sizes.end()) + 200);
    std::vector<std::uint8_t> target(source.size() + 300);
    auto const untouched = [](std::uint8_t b) { return b == 0xcc; };
    for (std::size_t const size : sizes)
        for (std::size_t const to : {0, 1, 31, 32, 63})
            for (std::size_t const from : {0, 1, 8, 16, 63}) {
                std::fill(target.begin(), target.end(), std::uint8_t{0xcc});
                copy(target.data() + 64 + to, source.data() + from, size);
                ASSERT_EQ(std::memcmp(target.data() + 64 + to, source.data() + from, size), 0) << size << " " << to << " " << from;
                ASSERT_TRUE(std::all_of(target.begin(), target.begin() + 64 + to, untouched)) << size << " " << to;
                ASSERT_TRUE(std::all_of(target.begin() + 64 + to + size, target.end(), untouched)) << size << " " << to;
            }
}

TEST(copy_block, copies_every_byte_and_no_other_at_every_alignment)
{
    check_alignments({1, 63, 64, 65, 1023, 1024, 1025, 1151, 1152, 2000, 4096, 8192, 65535, 65536, 65537}, copy_block);
}

class every_way : public testing::TestWithParam<copy_ways::way> {};

TEST_P(every_way, copies_every_byte_and_no_other_at_every_alignment)
{
    auto const by = [](void* to, void const* from, std::size_t bytes) {
        copy_ways::copy(GetParam(), static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
    };
    check_alignments({0, 1, 63, 64, 127, 128, 129, 191, 192, 193, 255, 256, 257, 319, 320, 1000, 1024, 4095, 4096, 65535, 65536, 65537},
                     by);
}

TEST_P(every_way, parts_make_a_whole)
{
    // As two sides take them: from the front and from the back, in units of a page.
    std::size_t const whole = (std::size_t{256} << 10) + 77;
    auto const source = pattern(whole);
    std::vector<std::uint8_t> target(whole + 1, 0xcc);
    std::size_t front = 0, back = whole;
    for (std::size_t share = 4096; front < back; share = share * 5 % 61440 + 4096) {
        std::size_t const n = std::min(share, back - front);
        towline::base::copy_part(target.data() + front, source.data() + front, n, GetParam());
        front += n;
        std::size_t const m = std::min(share, back - front);
        back -= m;
        towline::base::copy_part(target.data() + back, source.data() + back, m, GetParam());
    }
    EXPECT_EQ(std::memcmp(target.data(), source.data(), whole), 0);
    EXPECT_EQ(target[whole], 0xcc);
}

// What follows a copy is seen after it, however it was made.
TEST_P(every_way, is_seen_by_who_sees_the_next_store)
{
    std::size_t const size = 64 << 10;
    std::vector<std::uint8_t> source(size), target(size);
    std::atomic<int> ready{0}, seen{0};
    std::thread reader([&] {
        for (int i = 1; i <= 200; ++i) {
            while (ready.load(std::memory_order_acquire) != i)
                std::this_thread::yield();
            EXPECT_TRUE(std::all_of(target.rbegin(), target.rend(), [i](auto b) { return b == static_cast<std::uint8_t>(i); })) << i;
            seen.store(i, std::memory_order_release);
        }
    });
    for (int i = 1; i <= 200; ++i) {
        std::fill(source.begin(), source.end(), static_cast<std::uint8_t>(i));
        towline::base::copy_part(target.data(), source.data(), size, GetParam());
        ready.store(i, std::memory_order_release);
        while (seen.load(std::memory_order_acquire) != i)
            std::this_thread::yield();
    }
    reader.join();
}

std::string name_of(testing::TestParamInfo<copy_ways::way> const& way)
{
    constexpr std::array names{"memcpy", "string", "loop", "past", "taking"};
    return names[static_cast<std::size_t>(way.param)];
}
INSTANTIATE_TEST_SUITE_P(copy, every_way,
                         testing::Values(copy_ways::way::memcpy, copy_ways::way::string, copy_ways::way::loop, copy_ways::way::past,
                                         copy_ways::way::taking),
                         name_of);

// Taking.

/// Pages, of which the first, the third and so on cannot be written, or not even read.
class striped_pages {
public:
    static constexpr std::size_t page = 4096;
    explicit striped_pages(std::size_t count, int outer = PROT_READ) : bytes_(count * page), begin_(static_cast<std::uint8_t*>(map(bytes_)))
    {
        for (std::size_t i = 0; i < count; i += 2)
            EXPECT_EQ(mprotect(begin_ + i * page, page, outer), 0);
    }
    striped_pages(striped_pages const&) = delete;
    striped_pages& operator=(striped_pages const&) = delete;
    ~striped_pages() { munmap(begin_, bytes_); }
    [[nodiscard]] std::uint8_t* page_at(std::size_t i) const { return begin_ + i * page; }

private:
    static void* map(std::size_t bytes)
    {
        void* const there = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(there, MAP_FAILED);
        return there;
    }
    std::size_t bytes_;
    std::uint8_t* begin_;
};

TEST(taking, writes_in_the_block_alone)
{
    striped_pages const memory(3);  // what is beside the middle cannot be written
    std::uint8_t* const block = memory.page_at(1);
    std::size_t const page = striped_pages::page;
    auto const source = pattern(page);
    std::memcpy(block, source.data(), page);
    std::vector<std::uint8_t> target(page);
    for (std::size_t const first : {0, 1, 63, 64, 65, 1000})
        for (std::size_t const last : {0, 1, 63, 64, 65, 1000}) {
            std::size_t const size = page - first - last;
            towline::base::copy_taking(target.data(), block + first, size);
            towline::base::take_lines(block + first, size);
            copy_ways::take_lines(reinterpret_cast<std::byte*>(block) + first, size);
            ASSERT_EQ(std::memcmp(target.data(), source.data() + first, size), 0) << first << " " << last;
        }
    copy_ways::take_lines(reinterpret_cast<std::byte*>(block) + 7, 0);
    EXPECT_EQ(std::memcmp(block, source.data(), page), 0);
}

TEST(taking, what_shares_a_line_with_the_block_stays_its_writers)
{
    constexpr int times = 20000;
    alignas(64) std::array<std::uint8_t, 1024> memory{};
    std::size_t const first = 21, size = 960;
    std::atomic<bool> over{false};
    std::thread taker([&] {
        std::array<std::uint8_t, 1024> target;
        while (!over.load(std::memory_order_relaxed)) {
            towline::base::copy_taking(target.data(), memory.data() + first, size);
            copy_ways::take_lines(reinterpret_cast<std::byte*>(memory.data()) + first, size);
        }
    });
    int wrong = 0;
    std::atomic_ref before(memory[first - 1]), behind(memory[first + size]);
    for (int i = 0; i < times; ++i) {
        wrong += before.load(std::memory_order_relaxed) != static_cast<std::uint8_t>(i);
        before.store(static_cast<std::uint8_t>(i + 1), std::memory_order_relaxed);
        wrong += behind.load(std::memory_order_relaxed) != static_cast<std::uint8_t>(i);
        behind.store(static_cast<std::uint8_t>(i + 1), std::memory_order_relaxed);
    }
    over = true;
    taker.join();
    EXPECT_EQ(wrong, 0);
}

TEST(taking, copies_between_blocks_that_share_places_of_a_cache)
{
    std::size_t const apart = std::size_t{1} << 28, size = (std::size_t{16} << 10) + 77;
    void* const there = mmap(nullptr, apart + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(there, MAP_FAILED);
    auto* const from = static_cast<std::uint8_t*>(there) + 8192;
    auto const source = pattern(size);
    std::memcpy(from, source.data(), size);
    for (int const off : {-4097, -4096, -1, 0, 1, 64, 4095, 4096, 4097})
        for (std::size_t const n : {size, size - 77, std::size_t{4096}, std::size_t{200}}) {
            auto* const to = from + apart + off;
            std::memset(to, 0xcc, size + 1);
            towline::base::copy_taking(to, from, n);
            ASSERT_EQ(std::memcmp(to, source.data(), n), 0) << off << " " << n;
            ASSERT_EQ(to[n], 0xcc);
        }
    EXPECT_EQ(std::memcmp(from, source.data(), size), 0);
    munmap(there, apart + 65536);
}

// Blocks of their own, so that the address sanitizer sees what is read beside them.
TEST(sample, of_blocks_of_any_size)
{
    for (std::size_t const size : {0, 1, 7, 8, 9, 63, 64, 255, 256, 257, 4096}) {
        std::vector<std::byte> const block(size, std::byte{1});
        std::vector<std::byte> other = block;
        EXPECT_EQ(towline::base::sample(block.data(), size), towline::base::sample(other.data(), size)) << size;
        if (size != 0) {
            other[0] = std::byte{2};
            EXPECT_NE(towline::base::sample(block.data(), size), towline::base::sample(other.data(), size)) << size;
        }
    }
}

TEST(is_rewritten, what_comes_again_with_other_bytes)
{
    auto block = pattern(262144);
    for (std::size_t const at : {0, 131072 + 13}) {
        auto* const begin = block.data() + at;
        for (std::size_t const size : {100, 1024, 2048, 32768}) {
            EXPECT_FALSE(towline::base::is_rewritten(begin + size, size)) << size;
            EXPECT_FALSE(towline::base::is_rewritten(begin + size, size)) << size;
            bool const pays_here = [&] {
                std::fill_n(begin + size, size, std::uint8_t{1});
                return towline::base::is_rewritten(begin + size, size);
            }();
            EXPECT_TRUE(size != 100 || !pays_here);
            EXPECT_FALSE(towline::base::is_rewritten(begin + size, size)) << size;
            // A byte of each line is enough.
            for (std::size_t i = 0; i < size; i += 64)
                begin[size + i] = 2;
            EXPECT_EQ(towline::base::is_rewritten(begin + size, size), pays_here) << size;
        }
    }
}

TEST(is_rewritten, reads_in_the_block_alone)
{
    striped_pages const memory(3, PROT_NONE);
    for (std::size_t const first : {0, 1, 63, 64, 65, 3000})
        for (std::size_t const last : {0, 1, 63, 64, 65}) {
            (void)towline::base::is_rewritten(memory.page_at(1) + first, striped_pages::page - first - last);
        }
}

// Sizes around those at which another way is taken, to memory that comes again and again and to memory that does not.
TEST(way_of_copy, any_answer_is_right)
{
    std::size_t const most = std::size_t{40} << 20;
    auto const source = pattern(std::size_t{4} << 20);
    auto const target = std::make_unique_for_overwrite<std::uint8_t[]>(most);
    std::memset(target.get(), 0, most);
    std::size_t at = 0;
    for (int i = 0; i < 400; ++i)
        for (std::size_t const size : {65535, 65536, 65537, 262144, 262145, 1 << 20}) {
            at = i % 3 == 0 ? 4096 : (at + 777777) % (most - size);
            copy_block(target.get() + at, source.data() + i, size);
            ASSERT_EQ(std::memcmp(target.get() + at, source.data() + i, size), 0) << size << " " << at;
        }
}

TEST(copy_block, copies_big_blocks)
{
    // Sizes on both sides of those from which on it goes other ways.
    std::size_t const most = (std::size_t{48} << 20) + 77;
    auto const source = pattern(most + 3);
    auto const target = std::make_unique_for_overwrite<std::uint8_t[]>(most + 130);
    for (std::size_t const size : {(std::size_t{256} << 10) + 1, (std::size_t{16} << 20) - 1, std::size_t{16} << 20, most}) {
        std::memset(target.get(), 0xcc, most + 130);
        copy_block(target.get() + 65, source.data() + 3, size);
        EXPECT_EQ(std::memcmp(target.get() + 65, source.data() + 3, size), 0) << size;
        EXPECT_EQ(target[64], 0xcc);
        EXPECT_EQ(target[65 + size], 0xcc);
    }
}

} // namespace
