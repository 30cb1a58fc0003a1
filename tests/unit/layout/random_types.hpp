#pragma once
// Random nested datatypes, each with what it should be, and memory for them.

#include "layout/datatype.hpp"
#include "model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace random_types {

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

/// As many times `rounds` as TOWLINE_TEST_TYPES in the environment is times the 1500 types of an ordinary test.
inline unsigned as_many_as_asked(unsigned rounds)
{
    char const* const wanted = std::getenv("TOWLINE_TEST_TYPES");
    return wanted == nullptr ? rounds : static_cast<unsigned>(std::max(1.0, std::strtod(wanted, nullptr) / 1500 * rounds));
}

/// Calls test(maker) with a new seed each time; with TOWLINE_TEST_SEED in the environment once, with that one. Stops at a failure.
template <class Test>
void with_seeds(unsigned rounds, Test test)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const first = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    unsigned const all = given != nullptr ? 1 : as_many_as_asked(rounds);
    for (unsigned i = 0; i < all; ++i) {
        unsigned const seed = first + i;
        SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
        maker random(seed);
        test(random);
        if (testing::Test::HasFatalFailure())
            return;
    }
}

} // namespace random_types
