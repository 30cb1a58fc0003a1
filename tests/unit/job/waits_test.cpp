// What ranks tell of their waits, and what is made of it.

#include "job/control.hpp"
#include "job/waits.hpp"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace job = towline::job;

namespace {

using operation = job::waited_operation;
constexpr std::int64_t second = 1'000'000'000;

operation some(operation::kind what, std::int32_t rank, std::int32_t tag, std::uint32_t process, char const* communicator = "MPI_COMM_WORLD")
{
    operation o{what, rank, tag, process, 0, {}};
    job::set_text(o.communicator, communicator);
    return o;
}

operation receive(std::int32_t rank, std::int32_t tag)
{
    return some(operation::kind::receive, rank, tag, static_cast<std::uint32_t>(rank));
}

job::rank_view waiting(char const* call, std::vector<operation> const& operations, std::int64_t since = second)
{
    job::wait_report w;
    job::set_text(w.call, call);
    w.since_ns = w.quiet_ns = since;
    for (auto const& o : operations)
        w.add(o);
    if (!operations.empty())
        w.communicator = operations[0].communicator;
    job::rank_view v;
    v.is = job::rank_view::state::running;
    v.wait = w;
    return v;
}

std::string text(char const* call, std::vector<operation> const& operations)
{
    return job::describe(*waiting(call, operations).wait, 0);
}

using lines = std::vector<std::string>;

} // namespace

TEST(waits, are_told_in_words)
{
    EXPECT_EQ(text("MPI_Recv", {receive(1, 7)}), "waits in MPI_Recv for rank 1, tag 7");
    EXPECT_EQ(text("MPI_Recv", {some(operation::kind::receive, -1, -1, operation::nobody)}), "waits in MPI_Recv for any rank, any tag");
    EXPECT_EQ(text("MPI_Ssend", {some(operation::kind::send, 2, 0, 2)}), "waits in MPI_Ssend for rank 2, tag 0");
    EXPECT_EQ(text("MPI_Wait", {some(operation::kind::send, 2, 0, 2)}), "waits in MPI_Wait for a send to rank 2, tag 0");
    EXPECT_EQ(text("MPI_Sendrecv", {receive(3, 1)}), "waits in MPI_Sendrecv for a receive from rank 3, tag 1");
    EXPECT_EQ(text("MPI_Recv", {some(operation::kind::receive, 1, 6, 5, "rows")}), "waits in MPI_Recv for rank 5 (1 in rows), tag 6");
    EXPECT_EQ(text("MPI_Recv", {some(operation::kind::receive, 0, 6, 0)}), "waits in MPI_Recv for itself, tag 6");
    EXPECT_EQ(text("MPI_Barrier", {some(operation::kind::part, 3, 9, 3)}), "waits in MPI_Barrier for rank 3");
    EXPECT_EQ(text("MPI_Barrier", {some(operation::kind::part, 3, 9, 3), some(operation::kind::part, 1, 9, 1), some(operation::kind::part, 2, 9, 2)}),
              "waits in MPI_Barrier for ranks 1 to 3");
    EXPECT_EQ(text("MPI_Waitall", {receive(1, 7), some(operation::kind::send, 2, 8, 2)}),
              "waits in MPI_Waitall for 2 operations: a receive from rank 1, tag 7; a send to rank 2, tag 8");
    EXPECT_EQ(text("messages under way to end", {}), "waits for messages under way to end");
    std::vector<operation> many;
    for (int i = 0; i < 50; ++i)
        many.push_back(receive(1, i));
    EXPECT_TRUE(text("MPI_Waitall", many).starts_with("waits in MPI_Waitall for 50 operations: a receive from rank 1, tag 0; "));
    EXPECT_LT(text("MPI_Waitall", many).size(), 300u);
}

TEST(waits, of_two_for_each_other_are_a_cycle)
{
    std::vector<job::rank_view> const ranks{waiting("MPI_Recv", {receive(1, 7)}), waiting("MPI_Recv", {receive(0, 9)})};
    auto const s = job::explain(ranks, 62 * second);
    EXPECT_EQ(s.ranks, (lines{"rank 0 waits in MPI_Recv for rank 1, tag 7 (MPI_COMM_WORLD), for 61 s",
                              "rank 1 waits in MPI_Recv for rank 0, tag 9 (MPI_COMM_WORLD), for 61 s"}));
    EXPECT_EQ(s.cycles, (lines{"rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, tag 9"}));
}

TEST(waits, that_only_lead_to_a_cycle_are_not_in_it)
{
    // 0 -> 1 -> 2 -> 3 -> 1, and 4 -> 4.
    std::vector<job::rank_view> const ranks{waiting("MPI_Recv", {receive(1, 0)}), waiting("MPI_Waitall", {receive(0, 5), receive(2, 1)}),
                                            waiting("MPI_Ssend", {some(operation::kind::send, 3, 2, 3)}), waiting("MPI_Probe", {receive(1, 3)}),
                                            waiting("MPI_Recv", {receive(4, 4)})};
    // The shortest through the lowest rank: 0 -> 1 -> 0.
    EXPECT_EQ(job::explain(ranks, 2 * second).cycles,
              (lines{"rank 0 waits in MPI_Recv for rank 1, tag 0; rank 1 waits in MPI_Waitall for a receive from rank 0, tag 5",
                     "rank 4 waits in MPI_Recv for itself, tag 4"}));
    std::vector<job::rank_view> chain(ranks.begin(), ranks.begin() + 4);
    chain[1] = waiting("MPI_Waitall", {receive(2, 1)});
    EXPECT_EQ(job::explain(chain, 2 * second).cycles,
              (lines{"rank 1 waits in MPI_Waitall for a receive from rank 2, tag 1; rank 2 waits in MPI_Ssend for rank 3, tag 2; rank 3 waits "
                     "in MPI_Probe for rank 1, tag 3"}));
}

TEST(waits, without_a_cycle)
{
    using state = job::rank_view::state;
    std::vector<job::rank_view> ranks(7);
    ranks[0] = waiting("MPI_Barrier", {some(operation::kind::part, 5, 0, 5)}, 2 * second);
    ranks[1] = waiting("MPI_Barrier", {some(operation::kind::part, 5, 0, 5)}, second);
    ranks[2].is = state::left;
    ranks[3].is = state::dead;
    ranks[5].is = ranks[6].is = state::running;
    ranks[5].active_ns = second;
    ranks[6].note = "fence 2: rank 5 is not there yet";
    auto const s = job::explain(ranks, 22 * second);
    EXPECT_EQ(s.ranks, (lines{"ranks 0 and 1 wait in MPI_Barrier for rank 5 (MPI_COMM_WORLD), for 20 to 21 s", "rank 2 has left the job in order",
                              "rank 3 has ended", "rank 4 has not joined the job", "rank 5 computes, outside the library, for 21 s",
                              "rank 6 waits for fence 2: rank 5 is not there yet"}));
    EXPECT_EQ(s.cycles, lines{});
}

TEST(waits, of_everybody_are_a_standstill)
{
    using state = job::rank_view::state;
    std::vector<job::rank_view> ranks{waiting("MPI_Recv", {receive(1, 7)}, 10 * second), waiting("MPI_Recv", {receive(0, 9)}, 20 * second)};
    EXPECT_FALSE(job::all_are_stuck(ranks, 29 * second, 10 * second));
    EXPECT_TRUE(job::all_are_stuck(ranks, 30 * second, 10 * second));
    ranks.emplace_back().is = state::left;
    ranks.emplace_back().is = state::dead;
    EXPECT_TRUE(job::all_are_stuck(ranks, 30 * second, 10 * second));
    ranks[0].wait->computing = 1;
    EXPECT_FALSE(job::all_are_stuck(ranks, 30 * second, 10 * second));
    ranks[0].wait->computing = 0;
    ranks[3].is = state::running;
    EXPECT_FALSE(job::all_are_stuck(ranks, 30 * second, 10 * second));
    ranks[3].is = state::absent;
    EXPECT_FALSE(job::all_are_stuck(ranks, 30 * second, 10 * second));
    EXPECT_FALSE(job::all_are_stuck({}, 30 * second, 10 * second));
}

TEST(waits, on_a_board_are_seen_whole_or_not_at_all)
{
    auto const slot = std::make_unique<job::rank_slot>();
    std::memset(static_cast<void*>(slot.get()), 0, sizeof *slot);
    EXPECT_FALSE(slot->waits.read().has_value());
    std::atomic<bool> end{false};
    std::atomic<int> seen{0};
    std::thread reader([&] {
        while (!end) {
            auto const r = slot->waits.read();
            if (!r)
                continue;
            ++seen;
            for (std::size_t i = 0; i < job::wait_report::most; ++i) {
                ASSERT_EQ(r->list[i].tag, r->list[0].tag);
                ASSERT_EQ(static_cast<std::int64_t>(r->list[i].tag), r->since_ns);
            }
        }
    });
    for (int n = 1; n <= 2'000'000 && (n < 5000 || seen < 1000); ++n) {
        job::wait_report w;
        w.since_ns = n;
        for (std::size_t i = 0; i < job::wait_report::most; ++i)
            w.add(receive(1, n));
        slot->waits.publish(w);
        if (n % 7 == 0)
            slot->waits.clear();
    }
    end = true;
    reader.join();
    slot->waits.clear();
    EXPECT_FALSE(slot->waits.read().has_value());
}

TEST(waits, that_somebody_scribbled_over_are_text_all_the_same)
{
    auto const slot = std::make_unique<job::rank_slot>();
    std::memset(static_cast<void*>(slot.get()), 0xff, sizeof *slot);
    slot->waits.sequence = 2;
    slot->waits.filled = 1;
    auto const r = slot->waits.read();
    ASSERT_TRUE(r.has_value());
    EXPECT_LE(r->operations, job::wait_report::most);
    EXPECT_LT(job::describe(*r, 0).size(), 4000u);
    slot->waits.sequence = 3;  // a writer that was killed
    EXPECT_FALSE(slot->waits.read().has_value());
}
