// Random nested datatypes against the naive model: bounds, counts, and every way of moving their bytes.

#include "layout/external32.hpp"
#include "layout/short_plan.hpp"
#include "layout/stream.hpp"
#include "random_types.hpp"

#include <gtest/gtest.h>

namespace {

using namespace towline;
using namespace towline::layout;
using namespace random_types;

void compare_facts(both const& t)
{
    ASSERT_EQ(t.real.size(), t.naive.size());
    ASSERT_EQ(t.real.elements(), static_cast<i64>(t.naive.map.size()));
    ASSERT_EQ(t.real.lb(), t.naive.lb());
    ASSERT_EQ(t.real.ub(), t.naive.ub());
    ASSERT_EQ(t.real.extent(), t.naive.extent());
    ASSERT_EQ(t.real.true_lb(), t.naive.true_lb());
    ASSERT_EQ(t.real.true_ub(), t.naive.true_ub());

    // Is it one block? By the map: each entry begins where the last ended.
    bool block = true;
    for (std::size_t i = 1; i < t.naive.map.size(); ++i)
        block = block && t.naive.map[i].displacement == t.naive.map[i - 1].displacement + info(t.naive.map[i - 1].unit).size;
    ASSERT_EQ(t.real.is_block(), block);
    ASSERT_EQ(t.real.is_contiguous(), block && (t.naive.map.empty() || t.naive.size() == t.naive.extent()));

    // Elements in any prefix of two elements' stream, and back.
    i64 bytes = 0, elements = 0;
    for (int copy = 0; copy < 2; ++copy)
        for (auto const& e : t.naive.map) {
            ASSERT_EQ(t.real.elements_in(bytes), elements);
            ASSERT_EQ(t.real.bytes_of(elements), bytes);
            if (info(e.unit).size > 1) {
                ASSERT_EQ(t.real.elements_in(bytes + 1), std::nullopt);
                ASSERT_EQ(t.real.elements_in(bytes + info(e.unit).size - 1), std::nullopt);
            }
            bytes += info(e.unit).size;
            ++elements;
        }
    ASSERT_EQ(t.real.elements_in(bytes), elements);
}

void compare_moves(both const& t, maker& random)
{
    i64 const count = random.pick(0, 4);
    memory source(t.naive, count, random);
    auto const packed = t.naive.pack(source.buffer(), count);
    auto const size = static_cast<i64>(packed.size());
    stream const s(t.real, count);
    ASSERT_EQ(s.size(), size);

    // Whole, in two halves at every position (in a big stream: at some), and in random pieces.
    auto pack = [&](i64 first, i64 last) {
        std::vector<std::byte> out(static_cast<std::size_t>(last - first));
        s.pack(source.buffer(), first, last, out.data());
        return std::equal(out.begin(), out.end(), packed.begin() + first);
    };
    ASSERT_TRUE(pack(0, size));
    i64 const step = 1 + size / 200;
    for (i64 at = 0; at <= size; at += step) {
        ASSERT_TRUE(pack(0, at));
        ASSERT_TRUE(pack(at, size));
    }
    for (int i = 0; i < 30; ++i) {
        i64 const a = random.pick(0, size), b = random.pick(0, size);
        ASSERT_TRUE(pack(std::min(a, b), std::max(a, b)));
    }

    memory expected(t.naive, count, random), got = expected, pieces = expected;
    t.naive.unpack(expected.buffer(), count, packed.data());
    s.unpack(got.buffer(), 0, size, packed.data());
    ASSERT_EQ(got.bytes, expected.bytes);
    for (i64 at = 0; at < size;) {
        i64 const to = std::min(size, at + random.pick(1, 1 + size / 3));
        std::vector<std::byte> const part(packed.begin() + at, packed.begin() + to);
        s.unpack(pieces.buffer(), at, to, part.data());
        at = to;
    }
    ASSERT_EQ(pieces.bytes, expected.bytes);

    // A short plan says the same of one element.
    short_plan brief;
    brief.make(t.real);
    if (brief.holds() && count == 1) {
        ASSERT_EQ(brief.bytes(), size);
        std::vector<std::byte> row(packed.size());
        brief.pack(source.buffer(), row.data());
        ASSERT_EQ(row, packed);
        memory back(t.naive, count, random), naive = back;
        t.naive.unpack(naive.buffer(), count, packed.data());
        brief.unpack(back.buffer(), packed.data());
        ASSERT_EQ(back.bytes, naive.bytes);
    }

    // The list of blocks says the same.
    std::vector<std::byte> gathered;
    block out[5];
    for (i64 next = 0; next < size;) {
        std::size_t const n = s.blocks(next, size, {out, 1 + static_cast<std::size_t>(random.pick(0, 4))}, next);
        ASSERT_GT(n, 0u);
        for (std::size_t i = 0; i < n; ++i)
            gathered.insert(gathered.end(), source.buffer() + out[i].displacement, source.buffer() + out[i].displacement + out[i].bytes);
    }
    ASSERT_EQ(gathered, packed);
    if (s.is_block() && size != 0) {
        ASSERT_TRUE(std::equal(packed.begin(), packed.end(), source.buffer() + s.displacement()));
    }
}

/// external32 of any type is that of its elements one by one.
void compare_external(both const& t, maker& random)
{
    i64 const count = random.pick(0, 3);
    memory source(t.naive, count, random);
    std::vector<std::byte> expected;
    for (i64 i = 0; i < count; ++i)
        for (auto const& e : t.naive.map) {
            std::vector<std::byte> one(info(e.unit).external_size);
            std::byte const* const at = source.buffer() + i * t.naive.extent() + e.displacement;
            static_cast<void>(pack_external32(datatype::of(e.unit), 1, at, one.data()));
            expected.insert(expected.end(), one.begin(), one.end());
        }
    ASSERT_EQ(external32_size(t.real, count), static_cast<i64>(expected.size()));
    std::vector<std::byte> got(expected.size());
    static_cast<void>(pack_external32(t.real, count, source.buffer(), got.data()));
    ASSERT_EQ(got, expected);

    memory there(t.naive, count, random), one_by_one = there;
    unpack_external32(t.real, count, there.buffer(), got.data());
    std::byte const* from = got.data();
    for (i64 i = 0; i < count; ++i)
        for (auto const& e : t.naive.map) {
            unpack_external32(datatype::of(e.unit), 1, one_by_one.buffer() + i * t.naive.extent() + e.displacement, from);
            from += info(e.unit).external_size;
        }
    ASSERT_EQ(there.bytes, one_by_one.bytes);
}

TEST(random_datatypes, agree_with_the_model)
{
    with_seeds(1500, [](maker& random) {
        both const t = random.make(static_cast<int>(random.pick(0, 4)));
        SCOPED_TRACE(t.real.describe().substr(0, 500));
        compare_facts(t);
        compare_moves(t, random);
        compare_external(t, random);
    });
}

} // namespace
