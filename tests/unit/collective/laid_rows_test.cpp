// Results that are no rows: what goes straight to where it belongs, and what is in the row's memory at the end.

#include "collective/laid_rows.hpp"
#include "collective/lanes/lane_tables.hpp"
#include "collective/operations.hpp"
#include "collective/schedule.hpp"
#include "unit/collective/threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace {

using namespace simulated;
using col::laid_rows;
using col::lane_step;
using kind = lane_step::kind;

constexpr std::uint64_t each = 100;

/// Three rows one after the other; what was put is counted byte by byte.
struct three_rows {
    std::array<std::byte, 3 * each> memory{};
    std::array<int, 3 * each> put{};
    laid_rows rows;
    std::vector<lane_step> steps;

    struct one {
        three_rows* all;
        std::uint64_t begin;
    };
    std::array<one, 3> ones{one{this, 0}, one{this, each}, one{this, 2 * each}};

    void settle()
    {
        for (std::size_t i : {2, 0, 1})  // in any order
            rows.add(at(i), each, [](void const* context, std::uint64_t first, std::uint64_t bytes, void const*) {
                auto const& o = *static_cast<one const*>(context);
                for (std::uint64_t k = 0; k < bytes; ++k)
                    ++o.all->put[o.begin + first + k];
            }, &ones[i]);
        rows.settle(steps);
    }
    [[nodiscard]] std::byte* at(std::size_t row, std::uint64_t offset = 0) { return memory.data() + row * each + offset; }
    lane_step& step(kind what)
    {
        steps.emplace_back().what = what;
        return steps.back();
    }
    lane_step& into(kind what, void* to, std::uint64_t bytes)
    {
        lane_step& s = step(what);
        s.to = to;
        s.size = bytes;
        return s;
    }
    [[nodiscard]] int put_of(std::size_t row, std::uint64_t first, std::uint64_t last) const
    {
        int sum = 0;
        for (std::uint64_t k = first; k < last; ++k)
            sum += put[row * each + k];
        return sum;
    }
};

TEST(laid_rows, what_is_only_taken_goes_straight)
{
    three_rows t;
    t.into(kind::take, t.at(0), each);
    t.into(kind::take_block, t.at(1), 40);
    t.into(kind::copy, t.at(1, 40), 60);
    t.settle();
    for (std::size_t i : {0, 1, 2}) {
        ASSERT_NE(t.rows.find(t.at(i, 99)), nullptr) << i;
        EXPECT_EQ(t.rows.find(t.at(i, 99))->at, t.at(i)) << i;
        t.rows.finish(t.at(i), t.steps);
        EXPECT_EQ(t.put_of(i, 0, each), 0) << "there is nothing left to unpack";
    }
    EXPECT_EQ(t.rows.find(t.memory.data() + 3 * each), nullptr);
    std::byte elsewhere{};
    EXPECT_EQ(t.rows.find(&elsewhere), nullptr);
}

TEST(laid_rows, what_is_read_or_combined_stays_in_the_row)
{
    for (kind const what : {kind::post, kind::lend, kind::push, kind::push_block, kind::push_shared, kind::copy}) {
        three_rows t;
        t.into(kind::take, t.at(1), each);
        t.step(what).from = t.at(1, 5);
        t.settle();
        EXPECT_EQ(t.rows.find(t.at(1)), nullptr);
        EXPECT_NE(t.rows.find(t.at(0)), nullptr);
        t.rows.finish(t.at(1), t.steps);
        EXPECT_EQ(t.put_of(1, 0, each), static_cast<int>(each)) << "all of it is unpacked";
    }
    for (kind const what : {kind::fold, kind::take_shared}) {
        three_rows t;
        t.into(what, t.at(2), each);
        t.settle();
        EXPECT_EQ(t.rows.find(t.at(2)), nullptr);
    }
}

TEST(laid_rows, blocks_of_a_table_stay_in_the_row)
{
    three_rows t;
    std::array<col::lane_block, 2> blocks{};
    blocks[0].from = t.at(0);
    blocks[1].to = t.at(2);
    lane_step& s = t.step(kind::table);
    s.from = blocks.data();
    s.size = blocks.size();
    t.settle();
    EXPECT_EQ(t.rows.find(t.at(0)), nullptr);
    EXPECT_NE(t.rows.find(t.at(1)), nullptr);
    EXPECT_EQ(t.rows.find(t.at(2)), nullptr);
}

TEST(laid_rows, what_spans_two_results_stays_in_both)
{
    three_rows t;
    t.into(kind::take, t.at(0, 50), each);
    t.settle();
    EXPECT_EQ(t.rows.find(t.at(0)), nullptr);
    EXPECT_EQ(t.rows.find(t.at(1)), nullptr);
    EXPECT_NE(t.rows.find(t.at(2)), nullptr);
}

TEST(laid_rows, what_others_write_is_unpacked_but_for_what_was_taken)
{
    three_rows t;
    t.into(kind::lend, t.at(1), 0).expected = each;
    t.into(kind::take, t.at(1, 10), 20);
    t.into(kind::copy, t.at(1, 60), 40);
    t.settle();
    ASSERT_NE(t.rows.find(t.at(1)), nullptr);
    t.rows.finish(t.at(1), t.steps);
    EXPECT_EQ(t.put_of(1, 0, 10), 10);
    EXPECT_EQ(t.put_of(1, 10, 30), 0);
    EXPECT_EQ(t.put_of(1, 30, 60), 30);
    EXPECT_EQ(t.put_of(1, 60, 100), 0);
}

// Two ranks broadcast and exchange: what one gets reaches the function, and the row's memory is not touched where nobody else writes.
TEST(laid_rows, operations_over_lanes_bring_each_byte_once)
{
    constexpr std::uint64_t bytes = 100000;
    threads_memory memory;
    among_threads(memory, 2, {}, [&](std::unique_ptr<col::lanes> l, int rank) {
        for (bool const is_bcast : {false, true}) {
            std::vector<std::byte> out(2 * bytes), got(2 * bytes);
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(is_bcast ? 0 : rank) * 3);
            col::schedule s;
            s.allow(l.get());
            bool const is_root = is_bcast && rank == 0;
            std::byte* const row = s.scratch(2 * bytes);
            std::fill_n(row, 2 * bytes, std::byte{0x55});
            if (is_bcast)
                col::over_lanes::build(s, col::bcast(is_root ? out.data() : row, 2 * bytes, 0), false);
            else
                col::over_lanes::build(s, col::alltoall(out.data(), bytes, row, bytes), false);
            s.rows().add(row, 2 * bytes, [](void const* to, std::uint64_t first, std::uint64_t n, void const* from) {
                std::memcpy(const_cast<std::byte*>(static_cast<std::vector<std::byte> const*>(to)->data()) + first, from, n);
            }, &got);
            s.rows().settle(s.lane_steps());
            col::lane_run run;
            run.start(*l, s.lane_operation(), false, &s.rows());
            col::lane_run::state how = col::lane_run::state::waits;
            while ((how = run.advance(s.lane_steps(), s.operation())) == col::lane_run::state::waits)
                std::this_thread::yield();
            ASSERT_EQ(how, col::lane_run::state::ended);
            s.rows().finish(row, s.lane_steps());
            if (is_bcast && !is_root) {
                for (std::size_t i = 0; i < 2 * bytes; ++i)
                    ASSERT_EQ(got[i], static_cast<std::byte>(i * 7 + i / 251)) << i;
            }
            if (is_bcast)
                continue;
            for (int from = 0; from < 2; ++from)
                for (std::size_t i = 0; i < bytes; ++i) {
                    std::size_t const there = i + static_cast<std::size_t>(rank) * bytes;
                    ASSERT_EQ(got[static_cast<std::size_t>(from) * bytes + i],
                              static_cast<std::byte>(there * 7 + there / 251 + static_cast<std::size_t>(from) * 3));
                }
            for (std::size_t i = 0; i < 2 * bytes; ++i)
                ASSERT_EQ(row[i], std::byte{0x55}) << "the row's memory is not needed";
        }
    });
}

} // namespace
