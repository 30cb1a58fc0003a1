// Arrays by rank: zeros at first, whole objects afterwards, and no memory for those that nobody wrote.

#include "base/sparse_array.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace {

using towline::base::sparse_array;

struct holder {
    std::unique_ptr<std::shared_ptr<int>> held;
    std::atomic<int> count{0};
};

TEST(sparse_array, elements_begin_as_zeros_and_are_destroyed)
{
    auto const witness = std::make_shared<int>(1);
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1'000'000}}) {
        {
            sparse_array<holder> all(size);
            EXPECT_EQ(all.size(), size);
            for (std::size_t i = 0; i < size; i += 10'007) {
                EXPECT_EQ(all[i].held, nullptr);
                all[i].held = std::make_unique<std::shared_ptr<int>>(witness);
                all[i].count = static_cast<int>(i) + 1;
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&all[i]) % alignof(holder), 0u);
            }
        }
        EXPECT_EQ(witness.use_count(), 1) << size;
    }
}

TEST(sparse_array, elements_that_do_not_begin_as_zeros_are_refused)
{
    struct one {
        int value = 1;
    };
    EXPECT_THROW(sparse_array<one>(3), std::logic_error);
    EXPECT_THROW(sparse_array<one>(1'000'000), std::logic_error);
}

TEST(sparse_array, reading_costs_no_memory)
{
    auto const resident = [] {
        std::ifstream f("/proc/self/statm");
        std::size_t all = 0, pages = 0;
        f >> all >> pages;
        return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    };
    constexpr std::size_t size = 1'000'000;
    [[maybe_unused]] std::size_t const before = resident();
    sparse_array<std::array<std::uint64_t, 32>> all(size);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i)
        sum += all[i][7];
    EXPECT_EQ(sum, 0u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow counts, too
    EXPECT_LE(resident() - before, std::size_t{4} << 20);
#endif
}

} // namespace
