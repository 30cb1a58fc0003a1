// Every kernel of every table against a copy byte by byte: sizes of blocks, steps, lists, nests.

#include "layout/rows.hpp"
#include "layout/transposes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace towline::layout;
using i64 = std::int64_t;

std::vector<row_tables const*> tables()
{
    std::vector<row_tables const*> all{&baseline_rows};
    if (&best_rows() != &baseline_rows)
        all.push_back(&best_rows());
    return all;
}

class source_of_numbers {
public:
    explicit source_of_numbers(unsigned seed) : random_(seed) {}
    i64 pick(i64 from, i64 to) { return std::uniform_int_distribution<i64>(from, to)(random_); }
    /// Where n blocks lie, none over another, in any order.
    std::vector<i64> places(i64 n, i64 bytes)
    {
        std::vector<i64> at(static_cast<std::size_t>(n));
        i64 end = 0;
        for (i64& d : at) {
            d = end += pick(0, 9);
            end += bytes;
        }
        if (pick(0, 1) == 0)
            std::shuffle(at.begin(), at.end(), random_);
        return at;
    }
    /// A step from block to block, none over another.
    i64 step(i64 bytes)
    {
        i64 const any[]{bytes, 2 * bytes, bytes + pick(1, 40), 8, 16};
        i64 const s = std::max(bytes, any[pick(0, 4)]);
        return pick(0, 3) == 0 ? -s : s;
    }
    std::vector<std::byte> bytes(i64 n)
    {
        std::vector<std::byte> all(static_cast<std::size_t>(n));
        for (std::byte& b : all)
            b = static_cast<std::byte>(pick(0, 255));
        return all;
    }

private:
    std::mt19937 random_;
};

/// Memory for blocks of `bytes` at these places, and no byte more.
struct room {
    room(std::vector<i64> const& at, i64 bytes, source_of_numbers& numbers)
    {
        auto const [least, most] = std::minmax_element(at.begin(), at.end());
        low = at.empty() ? 0 : *least;
        data = numbers.bytes(at.empty() ? 0 : *most + bytes - *least);
    }
    std::byte* base()
    {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data.data()) - static_cast<std::uintptr_t>(low));
    }
    i64 low = 0;
    std::vector<std::byte> data;
};

std::vector<i64> steps(i64 n, i64 step)
{
    std::vector<i64> at;
    for (i64 i = 0; i < n; ++i)
        at.push_back(i * step);
    return at;
}

/// The bytes of `to` after a copy of each block, by the byte.
std::vector<std::byte> by_bytes(room to, std::vector<i64> const& to_at, room from, std::vector<i64> const& from_at, i64 bytes)
{
    for (std::size_t i = 0; i < to_at.size(); ++i)
        for (i64 k = 0; k < bytes; ++k)
            to.data[static_cast<std::size_t>(to_at[i] - to.low + k)] = from.data[static_cast<std::size_t>(from_at[i] - from.low + k)];
    return to.data;
}

template <class Test>
void with_seeds(unsigned rounds, Test test)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    unsigned const first = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    for (unsigned i = 0; i < (given != nullptr ? 1 : rounds); ++i) {
        SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(first + i));
        source_of_numbers numbers(first + i);
        test(numbers);
        if (testing::Test::HasFatalFailure())
            return;
    }
}

TEST(rows, of_any_size_and_step_are_copied_byte_by_byte)
{
    with_seeds(800, [](source_of_numbers& numbers) {
        i64 const bytes = numbers.pick(0, 9) == 0 ? numbers.pick(65, 9000) : numbers.pick(1, 70), n = numbers.pick(0, 70);
        SCOPED_TRACE(std::to_string(n) + " blocks of " + std::to_string(bytes));
        auto const to_step = numbers.step(bytes), from_step = numbers.pick(0, 9) == 0 ? numbers.pick(-3, 3) : numbers.step(bytes);
        auto const to_steps = steps(n, to_step), from_steps = steps(n, from_step);
        auto const to_list = numbers.places(n, bytes), from_list = numbers.places(n, bytes);
        for (row_tables const* table : tables()) {
            row_kernels const& k = table->of[size_class(bytes)];
            room ts(to_steps, bytes, numbers), fs(from_steps, bytes, numbers), tl(to_list, bytes, numbers), fl(from_list, bytes, numbers);
            auto const a = by_bytes(ts, to_steps, fs, from_steps, bytes), b = by_bytes(ts, to_steps, fl, from_list, bytes);
            auto const c = by_bytes(tl, to_list, fs, from_steps, bytes), d = by_bytes(tl, to_list, fl, from_list, bytes);
            room one = ts, two = ts, three = tl, four = tl;
            k.stepped(one.base(), to_step, fs.base(), from_step, n, bytes);
            ASSERT_EQ(one.data, a) << "steps " << to_step << " and " << from_step;
            k.gathering(two.base(), to_step, fl.base(), from_list.data(), n, bytes);
            ASSERT_EQ(two.data, b) << "step " << to_step;
            k.scattering(three.base(), to_list.data(), fs.base(), from_step, n, bytes);
            ASSERT_EQ(three.data, c) << "step " << from_step;
            k.listed(four.base(), to_list.data(), fl.base(), from_list.data(), n, bytes);
            ASSERT_EQ(four.data, d);
        }
    });
}

TEST(nests, are_rows_one_after_the_other_in_whatever_order_they_run)
{
    with_seeds(1500, [](source_of_numbers& numbers) {
        nest s;
        s.bytes = numbers.pick(1, 40);
        s.m = numbers.pick(0, 40);
        s.n = numbers.pick(0, 90);
        // Arrays walked along and across, with gaps, and anything.
        auto const steps_of = [&](i64& outer, i64& inner, bool may_overlap) {
            inner = s.bytes + numbers.pick(0, 12);
            outer = inner * std::max<i64>(1, s.n) + numbers.pick(0, 40);
            if (numbers.pick(0, 1) == 0) {
                outer = s.bytes + numbers.pick(0, 12);
                inner = outer * std::max<i64>(1, s.m) + numbers.pick(0, 40);
            }
            if (may_overlap && numbers.pick(0, 3) == 0) {
                outer = numbers.pick(-20, 20);
                inner = numbers.pick(-100, 100);
            }
            outer = numbers.pick(0, 4) == 0 ? -outer : outer;
            inner = numbers.pick(0, 4) == 0 ? -inner : inner;
        };
        steps_of(s.to_outer, s.to_inner, true);  // where blocks overlap, the last one stays
        steps_of(s.from_outer, s.from_inner, true);
        std::vector<i64> to, from;
        for (i64 o = 0; o < s.m; ++o)
            for (i64 i = 0; i < s.n; ++i) {
                to.push_back(o * s.to_outer + i * s.to_inner);
                from.push_back(o * s.from_outer + i * s.from_inner);
            }
        room there(to, s.bytes, numbers), here(from, s.bytes, numbers);
        auto const expected = by_bytes(there, to, here, from, s.bytes);
        copy_nest(there.base(), here.base(), s);
        ASSERT_EQ(there.data, expected) << s.m << " x " << s.n << " of " << s.bytes << ", to " << s.to_outer << " " << s.to_inner
                                        << ", from " << s.from_outer << " " << s.from_inner;
    });
}

/// Of all that the processor runs.
std::vector<transposers const*> all_transposers()
{
    std::vector<transposers const*> all;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") != 0)
        all.push_back(&avx2_transposers);
    if (__builtin_cpu_supports("avx512f") != 0)
        all.push_back(&avx512_transposers);
#endif
    return all;
}

/// An array of lines, with gaps between them or without, in memory that ends with its last element.
struct lines {
    lines(i64 n, i64 bytes, source_of_numbers& numbers)
        : step(bytes + (numbers.pick(0, 1) == 0 ? 0 : numbers.pick(1, 70))), data(numbers.bytes(n == 0 ? 0 : (n - 1) * step + bytes)) {}
    i64 step;
    std::vector<std::byte> data;
};

std::vector<std::byte> transposed_by_bytes(lines const& to, lines const& from, i64 rows, i64 columns, i64 bytes)
{
    std::vector<std::byte> all = to.data;
    for (i64 r = 0; r < rows; ++r)
        for (i64 c = 0; c < columns; ++c)
            for (i64 k = 0; k < bytes; ++k)
                all[static_cast<std::size_t>(c * to.step + r * bytes + k)] =
                    from.data[static_cast<std::size_t>(r * from.step + c * bytes + k)];
    return all;
}

TEST(transposes, of_whole_squares_put_each_element_where_it_belongs)
{
    with_seeds(60, [](source_of_numbers& numbers) {
        for (transposers const* some : all_transposers())
            for (i64 const bytes : {4, 8, 16}) {
                transposer const& t = some->of[transposer_class(bytes)];
                i64 const rows = t.edge * numbers.pick(1, 9), columns = t.edge * numbers.pick(1, 4);
                lines const from(rows, columns * bytes, numbers);
                lines to(columns, rows * bytes, numbers);
                auto const expected = transposed_by_bytes(to, from, rows, columns, bytes);
                t.run(to.data.data(), to.step, from.data.data(), from.step, rows, columns);
                ASSERT_EQ(to.data, expected) << rows << " x " << columns << " of " << bytes << ", squares of " << t.edge;
            }
    });
}

TEST(transposes, of_any_size_put_each_element_where_it_belongs)
{
    with_seeds(300, [](source_of_numbers& numbers) {
        i64 const bytes = i64{4} << numbers.pick(0, 2), rows = numbers.pick(1, 150), columns = numbers.pick(1, 40);
        lines const from(rows, columns * bytes, numbers);
        lines to(columns, rows * bytes, numbers);
        auto const before = to.data, expected = transposed_by_bytes(to, from, rows, columns, bytes);
        bool const did = transpose(to.data.data(), to.step, from.data.data(), from.step, rows, columns, bytes);
        if (!all_transposers().empty() && std::min(rows, columns) >= 16) {
            ASSERT_TRUE(did);
        }
        ASSERT_EQ(to.data, did ? expected : before) << rows << " x " << columns << " of " << bytes;
        // And by the nests that are transposes, whichever loop is the outer one.
        for (bool const by_rows : {true, false}) {
            lines again = to;
            again.data = before;
            nest const s = by_rows ? nest{rows, columns, bytes, bytes, to.step, from.step, bytes}
                                   : nest{columns, rows, bytes, to.step, bytes, bytes, from.step};
            copy_nest(again.data.data(), from.data.data(), s);
            ASSERT_EQ(again.data, expected) << rows << " x " << columns << " of " << bytes << (by_rows ? ", by rows" : ", by columns");
        }
    });
}

TEST(transposes, are_of_three_sizes)
{
    std::byte b{};
    for (i64 const bytes : {1, 2, 12, 32})
        EXPECT_FALSE(transpose(&b, bytes, &b, bytes, 64, 64, bytes)) << bytes;
    EXPECT_FALSE(transpose(&b, 8, &b, 8, 1, 64, 8)) << "one row is no square";
}

} // namespace
