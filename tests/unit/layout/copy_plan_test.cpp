// Copy plans against an interpreter of the type maps, byte by byte: random pairs of types, pairs that are made to fit, and what the plans
// look like.

#include "layout/copy_plan.hpp"
#include "random_types.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using namespace towline;
using namespace random_types;

/// Where the bytes of the stream lie, one by one.
std::vector<i64> bytes_of(model::type const& t, i64 count)
{
    std::vector<i64> at;
    i64 const extent = t.extent();
    for (i64 i = 0; i < count; ++i)
        for (auto const& e : t.map)
            for (i64 k = 0; k < static_cast<i64>(info(e.unit).size); ++k)
                at.push_back(i * extent + e.displacement + k);
    return at;
}

/// A count whose stream is not much longer than `most` bytes.
i64 count_for(both const& t, i64 wanted, i64 most)
{
    return t.naive.size() == 0 ? wanted : std::min(wanted, 1 + most / t.naive.size());
}

void compare(both const& to, i64 to_count, both const& from, i64 from_count, maker& random)
{
    copy_plan const plan(elements_of(to.real, to_count), elements_of(from.real, from_count));
    SCOPED_TRACE(plan.describe().substr(0, 600));
    auto const there = bytes_of(to.naive, to_count), here = bytes_of(from.naive, from_count);
    i64 const size = static_cast<i64>(std::min(there.size(), here.size()));
    ASSERT_EQ(plan.size(), size);
    memory const before(to.naive, to_count, random);
    memory source(from.naive, from_count, random);
    auto const expected = [&](i64 first, i64 last) {
        memory result = before;
        std::byte *const to_buffer = result.buffer(), *const from_buffer = source.buffer();
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            to_buffer[there[i]] = from_buffer[here[i]];
        return result.bytes;
    };
    {
        memory got = before;
        plan.copy(got.buffer(), source.buffer());
        ASSERT_EQ(got.bytes, expected(0, size));
    }
    for (int i = 0; i < 12; ++i) {
        i64 const a = random.pick(0, size), b = random.pick(0, 3) == 0 ? std::min(size, a + random.pick(0, 20)) : random.pick(0, size);
        memory got = before;
        plan.copy(got.buffer(), source.buffer(), std::min(a, b), std::max(a, b));
        ASSERT_EQ(got.bytes, expected(std::min(a, b), std::max(a, b))) << std::min(a, b) << " to " << std::max(a, b);
    }
    // In shares, one after the other.
    memory got = before;
    for (i64 at = 0; at < size;) {
        i64 const end = std::min(size, at + random.pick(1, 1 + size / 4));
        plan.copy(got.buffer(), source.buffer(), at, end);
        at = end;
    }
    ASSERT_EQ(got.bytes, expected(0, size));
}

TEST(copy_plans, of_random_types_move_what_their_maps_say)
{
    with_seeds(1500, [](maker& random) {
        both const to = random.make(static_cast<int>(random.pick(0, 4))), from = random.make(static_cast<int>(random.pick(0, 4)));
        i64 const t = random.pick(0, 40), f = random.pick(0, 40);
        compare(to, count_for(to, t, 2000), from, count_for(from, f, 2000), random);
    });
}

/// The model's own constructors take a time that grows with the square of the bytes.
model::type blocks_at(std::vector<i64> const& at, std::vector<i64> const& lengths)
{
    model::type made;
    for (std::size_t i = 0; i < at.size(); ++i)
        for (i64 k = 0; k < lengths[i]; ++k)
            made.map.push_back({at[i] + k, kind::byte});
    return made;
}

/// The same bytes in another form: blocks of a size that divides the stream's, or lists.
both of_bytes(i64 bytes, maker& random)
{
    datatype const byte = datatype::of(kind::byte);
    std::vector<i64> divisors;
    for (i64 d = 1; d <= bytes; ++d)
        if (bytes % d == 0 && bytes / d <= 600)
            divisors.push_back(d);
    i64 const block = divisors[static_cast<std::size_t>(random.pick(0, static_cast<i64>(divisors.size()) - 1))], n = bytes / block;
    switch (random.pick(0, 3)) {
    case 0: {
        i64 const stride = random.pick(0, 2) == 0 ? -block - random.pick(0, 9) : block + random.pick(0, 9);
        std::vector<i64> at;
        for (i64 i = 0; i < n; ++i)
            at.push_back(i * stride);
        return {hvector(n, block, stride, byte), blocks_at(at, std::vector<i64>(at.size(), block))};
    }
    case 1: {  // a nest
        i64 m = 1;
        for (i64 d = 2; d <= n; ++d)
            if (n % d == 0 && random.pick(0, 1) == 0)
                m = d;
        i64 const inner = block + random.pick(1, 9), outer = inner * (n / m) + random.pick(1, 30);
        std::vector<i64> at;
        for (i64 i = 0; i < n; ++i)
            at.push_back(i / (n / m) * outer + i % (n / m) * inner);
        return {hvector(m, 1, outer, hvector(n / m, block, inner, byte)), blocks_at(at, std::vector<i64>(at.size(), block))};
    }
    case 2: {
        std::vector<i64> at, lengths(static_cast<std::size_t>(n), block);
        for (i64 i = 0, end = 0; i < n; ++i, end += block)
            at.push_back(end += random.pick(0, 5));
        if (random.pick(0, 1) == 0)
            std::reverse(at.begin(), at.end());
        return {hindexed(lengths, at, byte), blocks_at(at, lengths)};
    }
    default: {  // blocks of any size
        std::vector<i64> at, lengths;
        for (i64 left = bytes, end = 0; left > 0; end += lengths.back(), left -= lengths.back()) {
            lengths.push_back(std::min(left, random.pick(1, 2 * block)));
            at.push_back(end += random.pick(0, 5));
        }
        return {hindexed(lengths, at, byte), blocks_at(at, lengths)};
    }
    }
}

TEST(copy_plans, of_types_that_fit_together_move_what_their_maps_say)
{
    with_seeds(1500, [](maker& random) {
        i64 const bytes = 8 * random.pick(1, 9) * random.pick(1, 9) * random.pick(1, 12);
        both const to = of_bytes(bytes, random), from = random.pick(0, 3) == 0 ? to : of_bytes(bytes, random);
        i64 const n = random.pick(1, 3);
        compare(to, n, from, n, random);
    });
}

/// Long lists that fit nowhere are walked together.
TEST(copy_plans, of_long_lists_move_what_their_maps_say)
{
    with_seeds(12, [](maker& random) {
        auto const list = [&](i64 most) -> both {
            std::vector<i64> at, lengths;
            i64 left = 30'000;
            for (i64 end = 0; left > 0; end += lengths.back(), left -= lengths.back()) {
                lengths.push_back(std::min(left, most < 0 ? -most : random.pick(1, most)));
                at.push_back(end += random.pick(1, 4));
            }
            return {hindexed(lengths, at, datatype::of(kind::byte)), blocks_at(at, lengths)};
        };
        i64 const sizes[]{2, 9, 30, -1, -4, -8, -12};
        both const to = list(sizes[random.pick(0, 6)]), from = list(sizes[random.pick(0, 6)]);
        compare(to, 1, from, 1, random);
    });
}

TEST(copy_plans, are_loops_down_to_blocks_that_both_sides_have)
{
    datatype const d = datatype::of(kind::double_c);
    auto const plan = [](datatype const& to, i64 n, datatype const& from, i64 m) {
        return copy_plan(elements_of(to, n), elements_of(from, m)).describe();
    };
    EXPECT_EQ(plan(d, 0, d, 5), "nothing");
    EXPECT_EQ(plan(d, 7, d, 5), "block 40");
    EXPECT_EQ(plan(vector(8, 4, 8, d), 1, d, 32), "loop 8, 64 and 32 apart, of block 32");
    EXPECT_EQ(plan(d, 32, vector(8, 4, 8, d), 1), "loop 8, 32 and 64 apart, of block 32");
    EXPECT_EQ(plan(vector(8, 4, 8, d), 1, vector(32, 1, 3, d), 1), "loop 8, 64 and 96 apart, of loop 4, 8 and 24 apart, of block 8");
    EXPECT_EQ(plan(vector(8, 4, 8, d), 1, vector(8, 4, 8, d), 1), "alike at 0: loop 8 x 64 of block 32");
    EXPECT_EQ(plan(vector(8, 4, 8, d), 2, vector(4, 4, 8, d), 1), "alike at 0: loop 4 x 64 of block 32");
    EXPECT_EQ(plan(vector(6, 2, 5, d), 1, vector(4, 3, 4, d), 1).substr(0, 6), "loop 2");
}

TEST(copy_plans, may_begin_at_absolute_addresses)
{
    std::vector<int> from(64), to(64, -1);
    for (int i = 0; i < 64; ++i)
        from[static_cast<std::size_t>(i)] = i;
    auto const absolute = [](std::vector<int> const& v, i64 count, i64 step) {
        i64 const one[]{1}, at[]{static_cast<i64>(reinterpret_cast<std::uintptr_t>(v.data()))};
        datatype const of[]{hvector(count, 1, step, datatype::of(kind::int_c))};
        return structure(one, at, of);
    };
    copy_plan const plan(elements_of(absolute(to, 16, 16), 1), elements_of(absolute(from, 16, 8), 1));
    plan.copy(nullptr, nullptr);
    for (std::size_t i = 0; i < 16; ++i)
        EXPECT_EQ(to[4 * i], static_cast<int>(2 * i));
    EXPECT_EQ(to[1], -1);
}

TEST(copy_plans, of_trees_that_share_their_parts_are_made_at_once)
{
    // Each struct has the one before it twice: walking all of one to compare it would take as long as copying it.
    auto const deep = [] {
        datatype t = datatype::of(kind::byte);
        for (int i = 0; i < 24; ++i) {
            i64 const ones[]{1, 1, 1}, at[]{0, t.true_ub() + 1, 2 * t.true_ub() + 4};
            datatype const parts[]{t, t, resized(datatype::of(kind::byte), 0, 1)};
            t = structure(ones, at, parts);
        }
        return t;
    };
    datatype const a = deep(), b = deep();
    EXPECT_GT(a.size(), i64{1} << 24);
    copy_plan const plan(elements_of(a, 1), elements_of(b, 1));
    EXPECT_EQ(plan.size(), a.size());
    EXPECT_LT(plan.weight(), std::size_t{1} << 20);
}

} // namespace
