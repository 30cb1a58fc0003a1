// Views of arrays: what they refer to, copies between them, and their way through an archive.

#include "unit/archive/round_trip.hpp"

#include <towline/strided_view.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace towline;
using ::testing::HasSubstr;

namespace {

/// What std::mdspan with layout_left is to its users.
template <class T, std::size_t Rank>
class like_mdspan {
public:
    using element_type = T;
    struct mapping_type {
        std::array<std::size_t, Rank> extents;
        [[nodiscard]] constexpr std::size_t stride(std::size_t i) const
        {
            std::size_t s = 1;
            for (std::size_t k = 0; k < i; ++k)
                s *= extents[k];
            return s;
        }
    };
    like_mdspan(T* data, std::array<std::size_t, Rank> extents) : data_(data), mapping_{extents} {}
    [[nodiscard]] static constexpr std::size_t rank() noexcept { return Rank; }
    [[nodiscard]] T* data_handle() const { return data_; }
    [[nodiscard]] std::size_t extent(std::size_t i) const { return mapping_.extents[i]; }
    [[nodiscard]] mapping_type const& mapping() const { return mapping_; }

private:
    T* data_;
    mapping_type mapping_;
};

std::vector<int> counted(std::size_t n)
{
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), 0);
    return v;
}

/// In row-major order.
template <class T, std::size_t N>
std::vector<std::remove_const_t<T>> elements(strided_view<T, N> v)
{
    std::vector<std::remove_const_t<T>> all;
    if (v.empty())
        return all;
    std::array<std::size_t, N> at{};
    while (true) {
        all.push_back(v[at]);
        std::size_t i = N;
        while (i > 0 && ++at[i - 1] == v.extent(i - 1))
            at[--i] = 0;
        if (i == 0)
            return all;
    }
}

template <class F>
std::string refusal(F&& f)
{
    try {
        f();
    } catch (usage_error const& e) {
        return e.what();
    }
    return "accepted";
}

static_assert(std::is_trivially_copyable_v<strided_view<int, 3>>);
static_assert(std::is_convertible_v<strided_view<int, 2>, strided_view<int const, 2>>);
static_assert(!std::is_convertible_v<strided_view<int const, 2>, strided_view<int, 2>>);
static_assert(!std::is_convertible_v<strided_view<int, 2>, strided_view<int, 3>>);
static_assert(!std::is_convertible_v<strided_view<int, 2>, strided_view<unsigned, 2>>);
static_assert(std::is_convertible_v<std::vector<int>&, strided_view<int, 1>>);
static_assert(!std::is_convertible_v<std::vector<int> const&, strided_view<int, 1>>);
static_assert(!std::is_convertible_v<std::vector<int>&, strided_view<int, 2>>);
static_assert(mdspan_like<like_mdspan<int, 2>> && !mdspan_like<strided_view<int, 2>> && !mdspan_like<std::vector<int>>);
static_assert(std::is_convertible_v<like_mdspan<int, 2>, strided_view<int const, 2>>);
static_assert(!std::is_convertible_v<like_mdspan<int, 2>, strided_view<int, 3>>);

} // namespace

TEST(strided_view, an_array)
{
    auto data = counted(24);
    strided_view const v(data.data(), std::array<std::size_t, 3>{2, 3, 4});
    EXPECT_EQ(v.size(), 24u);
    EXPECT_EQ(v.stride(0), 12);
    EXPECT_EQ(v.stride(1), 4);
    EXPECT_EQ(v.stride(2), 1);
    EXPECT_EQ(v(1, 2, 3), 23);
    EXPECT_TRUE(v.is_contiguous());
    v(0, 1, 0) = 99;
    EXPECT_EQ(data[4], 99);
    EXPECT_EQ(strided_view(data).extent(0), 24u);
    EXPECT_TRUE((strided_view<int, 2>().empty()));
}

TEST(strided_view, parts)
{
    auto data = counted(24);
    strided_view<int, 3> const v(data.data(), {2, 3, 4});
    EXPECT_EQ(elements(v.subview({0, 1, 1}, {2, 2, 2})), (std::vector{5, 6, 9, 10, 17, 18, 21, 22}));
    EXPECT_EQ(elements(v.slice(2, 3)), (std::vector{3, 7, 11, 15, 19, 23}));
    EXPECT_EQ(elements(v.slice(0, 1).slice(0, 2)), (std::vector{20, 21, 22, 23}));
    EXPECT_FALSE(v.slice(2, 3).is_contiguous());
    EXPECT_TRUE(v.slice(0, 1).is_contiguous());
    EXPECT_TRUE(v.subview({1, 0, 0}, {1, 2, 4}).is_contiguous());
    EXPECT_FALSE(v.subview({0, 0, 0}, {2, 1, 4}).is_contiguous());
    EXPECT_TRUE(v.subview({2, 3, 4}, {0, 0, 0}).empty());
    EXPECT_TRUE(v.subview({0, 1, 1}, {2, 0, 2}).is_contiguous());
    EXPECT_THAT(refusal([&] { (void)v.subview({0, 2, 0}, {1, 2, 1}); }),
                HasSubstr("2 elements from 2 on in dimension 1, where there are 3"));
    EXPECT_THAT(refusal([&] { (void)v.subview({0, 4, 0}, {1, ~std::size_t{0}, 1}); }), HasSubstr("in dimension 1"));
    EXPECT_THAT(refusal([&] { (void)v.slice(3, 0); }), HasSubstr("in dimension 3"));
    EXPECT_THAT(refusal([&] { (void)v.slice(0, 2); }), HasSubstr("in dimension 0, where there are 2"));
    EXPECT_THAT(refusal([&] { (void)strided_view<int, 2>(data.data(), {std::size_t{1} << 40, std::size_t{1} << 22}); }),
                HasSubstr("more elements of 4 bytes than there can be in memory"));
}

TEST(strided_view, strides_of_any_sign)
{
    auto data = counted(12);
    strided_view<int, 2> const backwards(data.data() + 11, {3, 4}, {-4, -1});
    EXPECT_EQ(elements(backwards), (std::vector{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
    EXPECT_FALSE(backwards.is_contiguous());
    EXPECT_EQ(elements(backwards.subview({1, 1}, {2, 2})), (std::vector{6, 5, 2, 1}));
    strided_view<int const, 2> const repeated(data.data() + 2, {2, 3}, {0, 1});
    EXPECT_EQ(elements(repeated), (std::vector{2, 3, 4, 2, 3, 4}));
    strided_view<int, 2> const transposed(data.data(), {4, 3}, {1, 4});
    EXPECT_EQ(elements(transposed), (std::vector{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(strided_view, of_what_mdspan_will_be)
{
    auto data = counted(6);
    like_mdspan<int, 2> const columns(data.data(), {2, 3});
    strided_view const v(columns);
    EXPECT_EQ(elements(v), (std::vector{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(v.stride(1), 2);
    strided_view<int const, 2> const read = columns;
    EXPECT_EQ(read(1, 2), 5);
}

TEST(strided_view, copies)
{
    auto data = counted(24);
    strided_view<int, 3> const v(data.data(), {2, 3, 4});
    std::vector<int> target(100, -1);
    strided_view<int, 2> const to(target.data() + 99, {2, 3}, {-30, -7});
    copy(to, v.slice(2, 1));
    EXPECT_EQ(elements(to), (std::vector{1, 5, 9, 13, 17, 21}));
    EXPECT_EQ(std::ranges::count(target, -1), 94);
    std::vector<int> row(6);
    copy(row, to);
    EXPECT_EQ(row, (std::vector{1, 5, 9, 13, 17, 21}));
    std::ranges::reverse(row);
    copy(to, row);
    EXPECT_EQ(elements(to), row);
    copy(to.subview({0, 0}, {0, 3}), v.slice(2, 1).subview({0, 0}, {0, 3}));
    EXPECT_THAT(refusal([&] { copy(to, v.slice(1, 1)); }), HasSubstr("the extents of dimension 1"));
    EXPECT_THAT(refusal([&] { copy(to, std::vector<int>(5)); }), HasSubstr("a strided_view of 6 elements and a row of 5"));
    EXPECT_THAT(refusal([&] { copy(strided_view<int, 1>(target.data(), {6}, {0}), strided_view(row)); }),
                HasSubstr("stride in dimension 0 is 0 has 6 elements in one place"));
}

TEST(strided_view, copies_of_many_shapes)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    std::mt19937 random(seed);
    auto const pick = [&](std::size_t from, std::size_t to) { return std::uniform_int_distribution<std::size_t>(from, to)(random); };
    for (int round = 0; round < 5000; ++round) {
        std::array<std::size_t, 3> whole{pick(1, 12), pick(1, 12), pick(1, 40)}, extents{}, from_at{}, to_at{};
        for (std::size_t i = 0; i < 3; ++i) {
            extents[i] = pick(0, whole[i]);
            from_at[i] = pick(0, whole[i] - extents[i]);
            to_at[i] = pick(0, whole[i] - extents[i]);
        }
        auto source = counted(whole[0] * whole[1] * whole[2]);
        std::vector<int> target(source.size(), -1), packed(extents[0] * extents[1] * extents[2]);
        auto const from = strided_view<int, 3>(source.data(), whole).subview(from_at, extents);
        auto const to = strided_view<int, 3>(target.data(), whole).subview(to_at, extents);
        copy(to, from);
        auto const wanted = elements(from);
        ASSERT_EQ(elements(to), wanted) << "seed " << seed << ", round " << round;
        ASSERT_EQ(std::ranges::count(target, -1), std::ssize(target) - std::ssize(wanted)) << "seed " << seed << ", round " << round;
        copy(packed, from);
        ASSERT_EQ(packed, wanted) << "seed " << seed << ", round " << round;
    }
}

TEST(strided_view, in_an_archive)
{
    auto data = counted(24);
    strided_view<int, 3> const v(data.data(), {2, 3, 4});
    strided_view<int const, 2> const parts[]{v.slice(2, 3), v.slice(0, 1), v.slice(0, 1).subview({0, 0}, {0, 4})};
    for (std::size_t const threshold : {std::size_t{64}, std::size_t{4096}}) {
        for (strided_view<int const, 2> const part : parts) {
            test::packed a(part, threshold);
            auto r = a.reader();
            auto const got = r.read<strided_view<int const, 2>>();
            r.finish();
            EXPECT_EQ(got.extents(), part.extents());
            EXPECT_EQ(elements(got), elements(part));
            EXPECT_TRUE(got.is_contiguous());
        }
    }
}

namespace {

/// An archive of a view with two dimensions and `there` numbers, its words as they are given.
std::string read_forged(std::vector<std::uint64_t> const& extents, int form, std::vector<std::uint64_t> const& strided, std::size_t there)
{
    std::vector<std::byte> bytes{std::byte{1}};
    auto const put = [&](std::uint64_t word) {
        for (int i = 0; i < 8; ++i)
            bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
    };
    std::ranges::for_each(extents, put);
    bytes.push_back(static_cast<std::byte>(form));
    std::ranges::for_each(strided, put);
    bytes.push_back(static_cast<std::byte>(there));
    while (bytes.size() % 4 != 0)
        bytes.push_back(std::byte{0});
    bytes.resize(bytes.size() + there * 4);
    try {
        archive_reader r(bytes);
        auto const v = r.read<strided_view<int const, 2>>();
        r.finish();
        return "read " + std::to_string(elements(v).size());
    } catch (archive_error const& e) {
        return e.what();
    }
}

} // namespace

TEST(strided_view, archives_that_nobody_wrote)
{
    constexpr std::uint64_t back = ~std::uint64_t{0}, half = std::uint64_t{1} << 63;
    EXPECT_EQ(read_forged({2, 3}, 0, {}, 6), "read 6");
    EXPECT_EQ(read_forged({2, 3}, 1, {0, 3, 1}, 6), "read 6");
    EXPECT_EQ(read_forged({2, 3}, 1, {5, back - 2, back}, 6), "read 6");
    EXPECT_EQ(read_forged({200, 300}, 1, {0, 0, 0}, 1), "read 60000");
    EXPECT_EQ(read_forged({0, 300}, 1, {77, half, half}, 0), "read 0");
    EXPECT_THAT(read_forged({2, 3}, 0, {}, 5), HasSubstr("found 5 elements, allowed is as many as its extents say"));
    EXPECT_THAT(read_forged({2, 3}, 2, {}, 6), HasSubstr("form 2"));
    EXPECT_THAT(read_forged({half, 2}, 0, {}, 0), HasSubstr("extents of more elements than there can be"));
    EXPECT_THAT(read_forged({half, half}, 1, {0, 0, 0}, 1), HasSubstr("extents of more elements than there can be"));
    EXPECT_THAT(read_forged({2, 3}, 1, {1, 3, 1}, 6), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({2, 3}, 1, {0, back, 1}, 6), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({2, 3}, 1, {6, back, back}, 6), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({3, 3}, 1, {0, half - 1, 1}, 6), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({2, 3}, 1, {half, 1, 1}, 6), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({2, 3}, 1, {0, 3, 1}, 0), HasSubstr("elements outside"));
    EXPECT_THAT(read_forged({2}, 0, {}, 0), HasSubstr("truncated"));
    EXPECT_THAT(read_forged({2, 3}, 1, {0}, 0), HasSubstr("truncated"));
}
