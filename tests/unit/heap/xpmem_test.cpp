// Peers' address spaces by XPMEM, against a driver that is played; and the real one's absence.

#include "heap/xpmem.hpp"
#include "fake_xpmem.hpp"
#include "towline/error.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace heap = towline::heap;

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t mib = std::size_t{1} << 20;

/// Two processes that see each other.
struct pair {
    fake::world world;
    std::unique_ptr<heap::xpmem> of[2];
    explicit pair(heap::registration_cache::limits l = heap::xpmem::usual)
    {
        for (std::uint32_t i = 0; i < 2; ++i)
            of[i] = std::make_unique<heap::xpmem>(
                std::make_unique<fake::device>(world, i),
                [this](std::uint32_t peer) { return peer < 2 && of[peer] ? of[peer]->segment() : 0; }, l);
    }
    [[nodiscard]] heap::xpmem::view see(std::byte const* p, std::size_t bytes) const
    {
        return of[1]->look(0, reinterpret_cast<std::uintptr_t>(p), bytes);
    }
};

bool is_mapped(void const* p)
{
    unsigned char resident = 0;
    return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) / page * page), page, &resident) == 0;
}

} // namespace

TEST(xpmem, shows_what_the_peer_has)
{
    pair p;
    std::byte* const data = p.world.allocate(0, mib);
    std::memset(data, 7, mib);
    auto const v = p.see(data + 5000, 100'000);
    ASSERT_TRUE(v);
    EXPECT_NE(v.data(), data + 5000);
    EXPECT_EQ(std::memcmp(v.data(), data + 5000, 100'000), 0);
    data[5000] = std::byte{9};
    EXPECT_EQ(*static_cast<std::byte*>(v.data()), std::byte{9});
    static_cast<std::byte*>(v.data())[1] = std::byte{11};
    EXPECT_EQ(data[5001], std::byte{11});
}

TEST(xpmem, attaches_once_what_is_used_again)
{
    pair p;
    std::byte* const data = p.world.allocate(0, 4 * mib);
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(p.see(data + 1000, mib));
    EXPECT_TRUE(p.see(data + 2000, 10));
    EXPECT_EQ(p.world.gets, 1);
    EXPECT_EQ(p.world.attaches, 1);
    EXPECT_EQ(p.world.attached(), 1u);
}

TEST(xpmem, nothing_stale_is_seen)
{
    pair p;
    std::byte* const data = p.world.allocate(0, mib);
    std::memset(data, 1, mib);
    EXPECT_EQ(*static_cast<std::byte*>(p.see(data, mib).data()), std::byte{1});
    p.world.remap(data);  // freed and allocated anew at the same place
    std::memset(data, 2, mib);
    EXPECT_EQ(*static_cast<std::byte*>(p.see(data, mib).data()), std::byte{2});
    EXPECT_EQ(p.world.attaches, 1);
}

TEST(xpmem, leaves_nothing_behind)
{
    fake::world w;
    {
        auto const segment = [](std::uint32_t) { return heap::xpmem_device::number{101}; };
        heap::xpmem a(std::make_unique<fake::device>(w, 0), segment);
        ASSERT_EQ(a.segment(), 101);
        heap::xpmem b(std::make_unique<fake::device>(w, 1), segment);
        EXPECT_TRUE(b.look(0, reinterpret_cast<std::uintptr_t>(w.allocate(0, mib)), mib));
        EXPECT_EQ(w.attached(), 1u);
    }
    EXPECT_EQ(w.attached(), 0u);
    EXPECT_EQ(w.segments(), 0u);
    EXPECT_EQ(w.accesses(), 0u);
    EXPECT_EQ(w.wrong, 0);
}

TEST(xpmem, detaches_only_what_is_not_in_use)
{
    pair p;
    std::byte* const data = p.world.allocate(0, mib);
    auto v = p.see(data, mib);
    void* const at = v.data();
    p.of[1]->forget(0);
    EXPECT_TRUE(is_mapped(at));
    EXPECT_EQ(p.world.detaches, 0);
    v = heap::xpmem::view();
    EXPECT_FALSE(is_mapped(at));
    EXPECT_EQ(p.world.detaches, 1);
    EXPECT_EQ(p.world.wrong, 0);
}

TEST(xpmem, is_bounded)
{
    pair p({.ranges = 4, .bytes = 16 * mib, .granule = page});
    std::vector<std::byte*> all;
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(p.see(all.emplace_back(p.world.allocate(0, mib)), mib));
    EXPECT_LE(p.world.attached(), 4u);
    EXPECT_FALSE(p.see(all[0], 17 * mib));
    EXPECT_EQ(p.world.wrong, 0);
}

TEST(xpmem, a_device_that_refuses_is_told)
{
    fake::world w;
    w.make_fails = ENOSYS;
    try {
        heap::xpmem x(std::make_unique<fake::device>(w, 0), [](std::uint32_t) { return 1; });
        FAIL();
    } catch (towline::system_error const& e) {
        EXPECT_EQ(e.code(), ENOSYS);
    }
    EXPECT_EQ(w.wrong, 0);
}

TEST(xpmem, a_peer_that_refuses_is_asked_once)
{
    for (int const error : {EACCES, ENOENT, ENOSYS}) {
        pair p;
        std::byte* const data = p.world.allocate(0, page);
        p.world.get_fails = error;
        EXPECT_FALSE(p.see(data, page));
        p.world.get_fails = 0;
        EXPECT_FALSE(p.see(data, page));
        EXPECT_EQ(p.world.gets, 1);
        EXPECT_EQ(p.world.attaches, 0);
    }
}

TEST(xpmem, a_wrong_segment_is_refused)
{
    fake::world w;
    heap::xpmem x(std::make_unique<fake::device>(w, 1), [](std::uint32_t) { return 4711; });
    EXPECT_FALSE(x.look(0, reinterpret_cast<std::uintptr_t>(w.allocate(0, page)), page));
    EXPECT_EQ(w.attaches, 0);
}

TEST(xpmem, a_peer_without_a_segment_may_get_one)
{
    fake::world w;
    heap::xpmem owner(std::make_unique<fake::device>(w, 0), [](std::uint32_t) { return 0; });
    heap::xpmem_device::number told = 0;
    heap::xpmem x(std::make_unique<fake::device>(w, 1), [&](std::uint32_t) { return told; });
    auto const data = reinterpret_cast<std::uintptr_t>(w.allocate(0, page));
    EXPECT_FALSE(x.look(0, data, page));
    told = owner.segment();
    EXPECT_TRUE(x.look(0, data, page));
}

TEST(xpmem, attaches_less_where_more_is_refused)
{
    pair p;
    p.world.largest = 8 * page;  // less than the granule
    std::byte* const data = p.world.allocate(0, mib);
    EXPECT_TRUE(p.see(data + 100, page));
    EXPECT_FALSE(p.see(data, mib));
    p.world.attach_fails = ENOMEM;
    EXPECT_FALSE(p.see(data + 64 * page, page));
    p.world.attach_fails = 0;
    EXPECT_TRUE(p.see(data + 64 * page, page));  // a range that was refused is asked for again
    EXPECT_EQ(p.world.wrong, 0);
}

TEST(xpmem, refuses_what_is_no_range)
{
    pair p;
    EXPECT_FALSE(p.of[1]->look(0, 4096, 0));
    EXPECT_FALSE(p.of[1]->look(0, ~std::uintptr_t{0} - 5, 100));
    EXPECT_FALSE(p.of[1]->look(5, 4096, 100));
}

TEST(xpmem, serves_threads)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    pair p({.ranges = 6, .bytes = 64 * mib, .granule = 16 * page});
    constexpr std::size_t blocks = 12;
    std::byte* data[blocks];
    for (std::size_t i = 0; i < blocks; ++i)
        std::memset(data[i] = p.world.allocate(0, 40 * page), static_cast<int>(i + 1), 40 * page);
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(seed + t);
            for (int step = 0; step < 1500; ++step) {
                std::size_t const i = random() % blocks;
                std::size_t const offset = random() % (30 * page);
                if (auto const v = p.see(data[i] + offset, 1 + random() % (10 * page)))
                    bad += *static_cast<std::byte*>(v.data()) == static_cast<std::byte>(i + 1) ? 0 : 1;
                if (random() % 200 == 0)
                    p.of[1]->forget(0);
            }
        });
    for (auto& t : threads)
        t.join();
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(p.world.wrong, 0);
}

TEST(xpmem_driver, that_is_not_there)
{
    int failed = 0;
    EXPECT_EQ(heap::open_xpmem(failed, "/no/such/device"), nullptr);
    EXPECT_EQ(failed, ENOENT);
    EXPECT_EQ(heap::open_xpmem(failed, "/dev/null"), nullptr);  // another device
    EXPECT_EQ(failed, ENOTTY);
    errno = 5;
    (void)heap::open_xpmem(failed, "/no/such/device");
    EXPECT_EQ(errno, 5);
}

TEST(xpmem_driver, where_it_is)
{
    int failed = 0;
    auto device = heap::open_xpmem(failed);
    if (device == nullptr)
        GTEST_SKIP() << "/dev/xpmem: " << std::strerror(failed);
    heap::xpmem_device::number own = 0;
    heap::xpmem x(std::move(device), [&](std::uint32_t) { return own; });
    own = x.segment();
    std::vector<char> data(mib, 3);
    auto const v = x.look(0, reinterpret_cast<std::uintptr_t>(data.data()), data.size());
    ASSERT_TRUE(v);
    EXPECT_EQ(std::memcmp(v.data(), data.data(), data.size()), 0);
}
