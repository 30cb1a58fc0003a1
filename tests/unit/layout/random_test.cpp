// Random nested datatypes against the naive model: bounds, counts, and every way of moving their bytes.

#include "layout/external32.hpp"
#include "layout/stream.hpp"
#include "model.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace {

using namespace towline;
using namespace towline::layout;
using model::i64;

/// A datatype and what it should be.
struct both {
    datatype real;
    model::type naive;
};

constexpr std::size_t most_entries = 600;
constexpr i64 most_bytes = 200'000;

class maker {
public:
    explicit maker(unsigned seed) : random_(seed) {}

    i64 pick(i64 from, i64 to) { return std::uniform_int_distribution<i64>(from, to)(random_); }

    both make(int depth)
    {
        for (;;) {
            both made = depth == 0 ? basic() : derived(depth);
            if (made.naive.map.size() <= most_entries && made.naive.true_ub() - made.naive.true_lb() < most_bytes &&
                std::abs(made.naive.extent()) < most_bytes)
                return made;
        }
    }

private:
    both basic()
    {
        auto const k = static_cast<kind>(pick(0, static_cast<i64>(kinds) - 1));
        return {datatype::of(k), model::of(k)};
    }

    std::vector<i64> list(std::size_t n, i64 from, i64 to)
    {
        std::vector<i64> all(n);
        for (i64& v : all)
            v = pick(from, to);
        return all;
    }

    /// Displacements: often with equal steps or in rising order, as programs have them.
    std::vector<i64> displacements(std::size_t n)
    {
        auto all = list(n, -20, 20);
        switch (pick(0, 3)) {
        case 0:
            for (std::size_t i = 1; i < n; ++i)
                all[i] = all[0] + static_cast<i64>(i) * all.back();
            break;
        case 1: std::sort(all.begin(), all.end()); break;
        case 2:
            for (std::size_t i = 1; i < n; ++i)
                all[i] = all[i - 1] + 1 + (i % 7 == 0);
            break;
        default: break;
        }
        return all;
    }

    static std::vector<i64> times(std::vector<i64> all, i64 by)
    {
        for (i64& v : all)
            v *= by;
        return all;
    }

    both derived(int depth)
    {
        both const old = make(static_cast<int>(pick(0, depth - 1)));
        i64 const extent = old.naive.extent();
        switch (pick(0, 10)) {
        case 0: {
            i64 const n = pick(0, 6);
            return {contiguous(n, old.real), model::hvector(1, n, 0, old.naive)};
        }
        case 1: {
            i64 const n = pick(0, 6), b = pick(0, 4), s = pick(-7, 7);
            return {vector(n, b, s, old.real), model::hvector(n, b, s * extent, old.naive)};
        }
        case 2: {
            i64 const n = pick(0, 6), b = pick(0, 4), s = pick(-60, 60);
            return {hvector(n, b, s, old.real), model::hvector(n, b, s, old.naive)};
        }
        case 3:
        case 4: {
            auto const n = static_cast<std::size_t>(pick(0, 24));
            auto const lengths = pick(0, 1) == 0 ? list(n, 0, 3) : list(n, 1, 1);
            auto const at = displacements(n);
            if (pick(0, 1) == 0)
                return {indexed(lengths, at, old.real), model::hindexed(lengths, times(at, extent), old.naive)};
            return {hindexed(lengths, at, old.real), model::hindexed(lengths, at, old.naive)};
        }
        case 5: {
            auto const n = static_cast<std::size_t>(pick(0, 24));
            i64 const b = pick(0, 3);
            std::vector<i64> const lengths(n, b);
            auto const at = displacements(n);
            if (pick(0, 1) == 0)
                return {indexed_block(b, at, old.real), model::hindexed(lengths, times(at, extent), old.naive)};
            return {hindexed_block(b, at, old.real), model::hindexed(lengths, at, old.naive)};
        }
        case 6: {
            auto const n = static_cast<std::size_t>(pick(0, 4));
            std::vector<datatype> types;
            std::vector<model::type> naive;
            for (std::size_t i = 0; i < n; ++i) {
                both one = pick(0, 2) == 0 ? old : make(static_cast<int>(pick(0, depth - 1)));
                types.push_back(one.real);
                naive.push_back(one.naive);
            }
            auto const lengths = list(n, 0, 3);
            auto const at = times(displacements(n), pick(1, 8));
            return {structure(lengths, at, types), model::structure(lengths, at, naive)};
        }
        case 7: {
            i64 const lb = pick(-30, 30), to = pick(-40, 90);
            return {resized(old.real, lb, to), model::resized(old.naive, lb, to)};
        }
        case 8: {
            auto const n = static_cast<std::size_t>(pick(1, 3));
            auto const sizes = list(n, 1, 5);
            std::vector<i64> sub, starts;
            for (i64 const s : sizes) {
                sub.push_back(pick(1, s));
                starts.push_back(pick(0, s - sub.back()));
            }
            bool const c = pick(0, 1) == 0;
            return {subarray(sizes, sub, starts, c ? array_order::c : array_order::fortran, old.real),
                    model::of_array(sizes, c, old.naive, [&](std::vector<i64> const& at) {
                        for (std::size_t i = 0; i < at.size(); ++i)
                            if (at[i] < starts[i] || at[i] >= starts[i] + sub[i])
                                return false;
                        return true;
                    })};
        }
        default: return distributed(old);
        }
    }

    both distributed(both const& old)
    {
        auto const n = static_cast<std::size_t>(pick(1, 3));
        std::vector<distributed_dimension> dimensions(n);
        std::vector<i64> sizes;
        i64 processes = 1;
        for (auto& d : dimensions) {
            d.size = pick(1, 7);
            d.how = static_cast<distribution>(pick(0, 2));
            d.processes = d.how == distribution::none ? 1 : pick(1, 3);
            if (d.how == distribution::cyclic && pick(0, 1) == 0)
                d.argument = pick(1, 9);
            if (d.how == distribution::block && pick(0, 1) == 0)
                d.argument = (d.size + d.processes - 1) / d.processes + pick(0, 3);
            processes *= d.processes;
            sizes.push_back(d.size);
        }
        i64 const rank = pick(0, processes - 1);
        std::vector<i64> place(n);
        i64 rest = rank, left = processes;
        for (std::size_t i = 0; i < n; ++i) {
            left /= dimensions[i].processes;
            place[i] = rest / left;
            rest %= left;
        }
        bool const c = pick(0, 1) == 0;
        return {darray(processes, rank, dimensions, c ? array_order::c : array_order::fortran, old.real),
                model::of_array(sizes, c, old.naive, [&](std::vector<i64> const& at) {
                    for (std::size_t i = 0; i < n; ++i) {
                        auto const& d = dimensions[i];
                        i64 const block = d.how == distribution::none ? d.size
                                          : d.argument                ? *d.argument
                                          : d.how == distribution::cyclic ? 1 : (d.size + d.processes - 1) / d.processes;
                        if (at[i] / block % d.processes != place[i])
                            return false;
                    }
                    return true;
                })};
    }

    std::mt19937 random_;
};

/// Memory for `count` elements, no byte more, so that the address sanitizer sees every step outside.
struct memory {
    memory(model::type const& t, i64 count, maker& random)
    {
        if (t.map.empty() || count == 0)
            return;
        i64 const last = (count - 1) * t.extent();
        low = t.true_lb() + std::min<i64>(0, last);
        bytes.resize(static_cast<std::size_t>(t.true_ub() + std::max<i64>(0, last) - low));
        for (std::byte& b : bytes)
            b = static_cast<std::byte>(random.pick(0, 255));
    }
    std::byte* buffer()
    {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(bytes.data()) - static_cast<std::uintptr_t>(low));
    }
    i64 low = 0;
    std::vector<std::byte> bytes;
};

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
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const first = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    unsigned const rounds = given != nullptr ? 1 : 1500;
    for (unsigned i = 0; i < rounds; ++i) {
        unsigned const seed = first + i;
        SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
        maker random(seed);
        both const t = random.make(static_cast<int>(random.pick(0, 4)));
        SCOPED_TRACE(t.real.describe().substr(0, 500));
        compare_facts(t);
        compare_moves(t, random);
        compare_external(t, random);
        if (testing::Test::HasFatalFailure())
            return;
    }
}

} // namespace
