#include "heap/returns.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

using towline::heap::return_box;

namespace {

/// Blocks of one word, at offsets 64, 128, ...
struct blocks {
    explicit blocks(std::size_t number) : words(number) {}
    std::uint64_t* link(std::uint64_t offset)
    {
        return offset % 64 == 0 && offset / 64 - 1 < words.size() ? &words[offset / 64 - 1] : nullptr;
    }
    std::vector<std::uint64_t> words;
};

} // namespace

TEST(return_box, gives_each_block_once)
{
    return_box box{};
    blocks all(100);
    EXPECT_FALSE(box.any());
    for (std::uint64_t i = 1; i <= 100; ++i)
        box.push(64 * i, all.link(64 * i), 3);
    EXPECT_TRUE(box.any());
    std::vector<int> seen(101);
    EXPECT_EQ(box.take([&](std::uint64_t o) { return all.link(o); }, [&](std::uint64_t o) { ++seen[o / 64]; }), 100u);
    for (std::size_t i = 1; i <= 100; ++i)
        EXPECT_EQ(seen[i], 1);
    EXPECT_FALSE(box.any());
}

TEST(return_box, drops_what_is_impossible)
{
    return_box box{};
    blocks all(4);
    box.slots[0].store(63);
    box.slots[1].store(~std::uint64_t{0});
    box.slots[2].store(64);
    box.list.store(128);
    *all.link(128) = 192;
    *all.link(192) = 7;
    std::vector<std::uint64_t> given;
    EXPECT_EQ(box.take([&](std::uint64_t o) { return all.link(o); }, [&](std::uint64_t o) { given.push_back(o); }), 3u);
    EXPECT_EQ(given, (std::vector<std::uint64_t>{64, 128, 192}));
    EXPECT_FALSE(box.any());
}

TEST(return_box, loses_nothing_between_threads)
{
    constexpr std::uint64_t per_thread = 5000;
    constexpr unsigned threads = 4;
    auto box = std::make_unique<return_box>();
    blocks all(per_thread * threads);
    std::vector<std::atomic<int>> seen(per_thread * threads + 1);
    std::atomic<unsigned> done{0};
    std::vector<std::thread> pushers;
    for (unsigned t = 0; t < threads; ++t)
        pushers.emplace_back([&, t] {
            for (std::uint64_t i = 1; i <= per_thread; ++i) {
                std::uint64_t const offset = 64 * (t * per_thread + i);
                box->push(offset, all.link(offset), t);
            }
            ++done;
        });
    std::size_t taken = 0;
    auto const take = [&] { taken += box->take([&](std::uint64_t o) { return all.link(o); }, [&](std::uint64_t o) { ++seen[o / 64]; }); };
    while (done < threads)
        take();
    for (auto& thread : pushers)
        thread.join();
    take();
    EXPECT_EQ(taken, per_thread * threads);
    for (std::size_t i = 1; i < seen.size(); ++i)
        ASSERT_EQ(seen[i], 1) << i;
}
