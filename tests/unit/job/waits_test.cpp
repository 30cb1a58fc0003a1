// What ranks tell of their waits, and what is made of it.

#include "job/control.hpp"
#include "job/waits.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

operation named(operation::kind what, std::uint32_t process, char const* name)
{
    return some(what, -1, -1, process, name);
}

job::rank_view outside(job::process_state::kind what, std::int64_t since = second, char const* in = "")
{
    job::rank_view v;
    v.is = job::rank_view::state::running;
    v.active_ns = since;
    v.process = {what, in};
    return v;
}

/// A rank that waits for nothing of its own.
job::rank_view serving(std::vector<operation> const& calls, char const* call = "the end of the world")
{
    job::rank_view v = waiting(call, calls);
    v.wait->communicator = {};
    v.wait->idle = calls.empty() ? 1 : 0;
    return v;
}

using lines = std::vector<std::string>;
using doing = job::process_state::kind;
constexpr auto call = operation::kind::call, runs = operation::kind::runs, held = operation::kind::held, other = operation::kind::other;

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

TEST(waits, of_stopped_ranks_say_so)
{
    job::rank_view noted = waiting("MPI_Recv", {receive(1, 7)});
    noted.wait.reset();
    noted.note = "MPI_Recv: receive from rank 1";
    job::rank_view told = waiting("MPI_Recv", {receive(1, 7)});
    noted.process.is = told.process.is = doing::stopped;
    std::vector<job::rank_view> const ranks{noted, told};
    EXPECT_EQ(job::explain(ranks, 62 * second).ranks,
              (lines{"rank 0 waits for MPI_Recv: receive from rank 1; it is stopped (SIGSTOP)",
                     "rank 1 waits in MPI_Recv for itself, tag 7 (MPI_COMM_WORLD), for 61 s; it is stopped (SIGSTOP)"}));
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
                              "rank 3 has ended", "rank 4 has not joined the job", "rank 5 is outside the library, for 21 s",
                              "rank 6 waits for fence 2: rank 5 is not there yet"}));
    EXPECT_EQ(s.cycles, lines{});
}

TEST(waits, what_a_rank_does_outside_the_library)
{
    std::vector<job::rank_view> const ranks{outside(doing::computes), outside(doing::sleeps, second, "nanosleep"), outside(doing::stopped),
                                            outside(doing::traced), outside(doing::device, second, "read"), outside(doing::gone),
                                            outside(doing::unknown), outside(doing::sleeps, 0), outside(doing::computes, 0),
                                            outside(doing::unknown, 0), outside(doing::sleeps, 22 * second - 1)};
    EXPECT_EQ(job::explain(ranks, 22 * second).ranks,
              (lines{"rank 0 computes, outside the library, for 21 s", "rank 1 sleeps outside the library (in nanosleep), for 21 s",
                     "rank 2 is stopped (SIGSTOP)", "rank 3 is stopped by a debugger", "rank 4 waits for a device outside the library (in read), for 21 s",
                     "rank 5 has ended", "rank 6 is outside the library, for 21 s", "rank 7 sleeps, and has not communicated yet",
                     "rank 8 computes, and has not communicated yet", "rank 9 has not communicated yet",
                     "rank 10 is at work, and was in the library a moment ago"}));
    std::vector<job::rank_view> const two{outside(doing::stopped), outside(doing::stopped)};
    EXPECT_EQ(job::explain(two, 22 * second).ranks, lines{"ranks 0 and 1 are stopped (SIGSTOP)"});
}

TEST(waits, of_a_stopped_rank_are_told_with_that)
{
    std::vector<job::rank_view> ranks{waiting("MPI_Recv", {receive(1, 7)}), waiting("MPI_Recv", {receive(0, 9)})};
    ranks[1].process.is = doing::stopped;
    EXPECT_EQ(job::explain(ranks, 62 * second).ranks[1],
              "rank 1 waits in MPI_Recv for rank 0, tag 9 (MPI_COMM_WORLD), for 61 s; it is stopped (SIGSTOP)");
    EXPECT_FALSE(job::all_are_stuck(ranks, 62 * second, 10 * second));
    ranks[1].process.is = doing::sleeps;
    EXPECT_TRUE(job::all_are_stuck(ranks, 62 * second, 10 * second));
}

TEST(waits, for_calls_are_told_with_the_function_and_the_rank)
{
    EXPECT_EQ(text("a future", {named(call, 3, "count")}), "waits for a future of count at rank 3");
    EXPECT_EQ(text("a future", {named(call, 1, "f"), named(call, 2, "g")}), "waits for a future; not answered: f at rank 1, g at rank 2");
    EXPECT_EQ(text("the end of the world", {named(call, 1, "f")}), "waits for the end of the world; not answered: f at rank 1");
    EXPECT_EQ(text("world::barrier", {some(operation::kind::part, -1, -1, 2, "")}), "waits in world::barrier for rank 2");
    EXPECT_EQ(text("world::serve", {}), "waits in world::serve");
}

TEST(waits, calls_that_run_or_wait_are_told_behind_them)
{
    std::vector<job::rank_view> ranks{serving({named(runs, 1, "step")}),
                                      serving({named(held, 0, "f"), named(call, 2, "g"), named(held, 2, "h"), named(other, operation::nobody, "a future")}),
                                      waiting("", {named(runs, 0, "solve")})};
    ranks[2].wait->computing = 1;
    ranks[2].wait->communicator = {};
    EXPECT_EQ(job::explain(ranks, 2 * second).ranks,
              (lines{"rank 0 waits for the end of the world, for 1.0 s; runs step, called by rank 1",
                     "rank 1 waits for the end of the world, for 1.0 s; f, called by rank 0, waits here for a future of g at rank 2; h, called by "
                     "rank 2, waits here for a future",
                     "rank 2 runs solve, called by rank 0"}));
}

TEST(waits, of_calls_for_each_other_are_a_cycle)
{
    // Both wait for a call that waits there for what the other would do next.
    std::vector<job::rank_view> const two{
        waiting("a future", {named(call, 1, "pass"), named(held, 1, "pass"), named(other, operation::nobody, "a future")}),
        waiting("a future", {named(call, 0, "pass"), named(held, 0, "pass"), named(other, operation::nobody, "a future")})};
    EXPECT_EQ(job::explain(two, 2 * second).cycles,
              lines{"rank 0 waits for a future of pass at rank 1; rank 1 waits for a future of pass at rank 0"});
    // Calls that wait for calls, in ranks that do nothing else.
    std::vector<job::rank_view> const three{serving({named(held, 2, "c"), named(call, 1, "a")}), serving({named(held, 0, "a"), named(call, 2, "b")}),
                                            serving({named(held, 1, "b"), named(call, 0, "c")})};
    EXPECT_EQ(job::explain(three, 2 * second).cycles,
              lines{"rank 0 waits in c, called by rank 2, for a future of a at rank 1; rank 1 waits in a, called by rank 0, for a future of b "
                    "at rank 2; rank 2 waits in b, called by rank 1, for a future of c at rank 0"});
}

TEST(waits, for_a_call_that_runs_are_no_cycle)
{
    std::vector<job::rank_view> const two{waiting("a future", {named(call, 1, "f"), named(runs, 1, "g")}),
                                          serving({named(held, 0, "f"), named(call, 0, "g")})};
    EXPECT_EQ(job::explain(two, 2 * second).cycles, lines{});
    // Nor for one that has not begun, or that another rank called.
    std::vector<job::rank_view> const others{waiting("a future", {named(call, 1, "f")}), waiting("a future", {named(call, 0, "f")})};
    EXPECT_EQ(job::explain(others, 2 * second).cycles, lines{});
    std::vector<job::rank_view> const callers{
        waiting("a future", {named(call, 1, "f"), named(held, 2, "f"), named(other, operation::nobody, "a future")}),
        waiting("a future", {named(call, 0, "f"), named(held, 2, "f"), named(other, operation::nobody, "a future")}), serving({})};
    EXPECT_EQ(job::explain(callers, 2 * second).cycles, lines{});
}

TEST(waits, of_ranks_that_only_serve_are_no_standstill)
{
    std::vector<job::rank_view> ranks{serving({}, "world::serve"), serving({}, "world::serve")};
    EXPECT_FALSE(job::all_are_stuck(ranks, 100 * second, 10 * second));
    ranks.push_back(waiting("a future", {named(call, 0, "f")}));
    EXPECT_TRUE(job::all_are_stuck(ranks, 100 * second, 10 * second));
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

TEST(process_state, tells_what_a_process_does)
{
    using kind = job::process_state::kind;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    auto const becomes = [](pid_t pid, kind wanted) {
        job::process_state seen;
        for (int i = 0; i < 2000 && seen.is != wanted; ++i) {
            seen = job::look_at_process(pid);
            usleep(5000);
        }
        EXPECT_EQ(static_cast<int>(seen.is), static_cast<int>(wanted));
        return seen;
    };
    pid_t const sleeper = fork();
    if (sleeper == 0) {
        char byte;
        sleep(read(ends[0], &byte, 1) == 1 ? 1000 : 0);
        _exit(0);
    }
    EXPECT_TRUE(becomes(sleeper, kind::sleeps).call == "read" || becomes(sleeper, kind::sleeps).call.empty());
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    for (int i = 0; i < 2000 && job::look_at_process(sleeper).call == "read"; ++i)
        usleep(5000);
    auto const in = becomes(sleeper, kind::sleeps).call;
    EXPECT_TRUE(in == "nanosleep" || in.empty()) << in;
    kill(sleeper, SIGSTOP);
    becomes(sleeper, kind::stopped);
    kill(sleeper, SIGKILL);
    becomes(sleeper, kind::gone);
    waitpid(sleeper, nullptr, 0);
    becomes(sleeper, kind::unknown);
    pid_t const burner = fork();
    if (burner == 0)
        for (int volatile forever = 1; forever != 0;) {
        }
    becomes(burner, kind::computes);
    kill(burner, SIGKILL);
    waitpid(burner, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
}
