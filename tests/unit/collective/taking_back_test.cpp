// Who failed takes back what it lent: it stays while others use it, does not wait for who never comes, and who comes late touches nothing.

#include "collective/operations.hpp"
#include "collective/lanes/run_now.hpp"
#include "unit/collective/threads.hpp"

#include <thread>

using namespace simulated;
using state = col::lane_run::state;

namespace {

constexpr std::uint64_t words = 20000;
using row = std::vector<std::uint64_t>;

/// What happens between the threads of one test.
struct stage_play {
    threads_memory memory;
    std::atomic<bool> is_slow{false};   ///< rank 2 is inside its part
    std::atomic<bool> may_go_on{false}; ///< it may leave it
    std::atomic<bool> over{false};
};
struct actor {
    stage_play& play;
    int rank;
};

void act(void const* in, void* inout, std::uint64_t count, void* context)
{
    auto const& me = *static_cast<actor*>(context);
    if (me.rank == 0) {
        while (!me.play.is_slow)
            std::this_thread::yield();
        me.play.memory.dead = 0;
        while (!me.play.over)
            std::this_thread::yield();
        throw 0;  // the dead do nothing more
    }
    if (me.rank == 2) {
        me.play.is_slow = true;
        while (!me.play.may_go_on)
            std::this_thread::yield();
    }
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] += static_cast<std::uint64_t const*>(in)[i];
}

} // namespace

TEST(taking_back, who_failed_stays_while_somebody_uses_what_it_lent)
{
    stage_play play;
    std::atomic<int> ended{0};
    among_threads(play.memory, 3, {}, [&](std::unique_ptr<col::lanes> l, int rank) {
        actor me{play, rank};
        row in(words, 1), out(words, 0);
        col::schedule s;
        s.allow(l.get());
        col::over_lanes::build(s, col::allreduce(in.data(), out.data(), words, {&act, &me, 8, false}), false);
        col::lane_run run;
        run.start(*l, s.lane_operation());
        state how = state::waits;
        for (std::uint64_t since = 0; how == state::waits;) {
            how = run.advance(s.lane_steps(), s.operation());
            if (rank == 1 && play.memory.dead == 0 && ++since == 20000)
                play.may_go_on = true;  // long after it has found out
            std::this_thread::yield();
        }
        if (rank == 0)
            return;
        EXPECT_EQ(how, state::failed_dead);
        EXPECT_TRUE(rank != 1 || play.may_go_on) << "it left while rank 2 was to write into its row";
        if (++ended == 2)
            play.over = true;
    });
}

TEST(taking_back, who_failed_does_not_wait_for_who_never_comes_and_who_comes_late_touches_nothing)
{
    for (bool const by_steps : {true, false}) {
        threads_memory memory;
        std::atomic<bool> left{false};
        memory.dead = 0;
        row lent(by_steps ? words : 500, 1);
        among_threads(memory, 3, {.posted = 1024}, [&](std::unique_ptr<col::lanes> l, int rank) {
            auto const until = [](auto&& is_met, int) {
                while (!is_met())
                    std::this_thread::yield();
            };
            if (rank == 0)
                return;
            while (rank == 2 && !left)
                std::this_thread::yield();
            row mine(lent.size(), 9);
            void* const data = rank == 1 ? lent.data() : mine.data();
            col::call const c = col::bcast(data, lent.size() * 8, 1);
            state how = state::waits;
            if (by_steps) {
                col::schedule s;
                s.allow(l.get());
                col::over_lanes::build(s, c, false);
                col::lane_run run;
                run.start(*l, s.lane_operation());
                while ((how = run.advance(s.lane_steps(), s.operation())) == state::waits)
                    std::this_thread::yield();
            } else {
                ASSERT_TRUE(col::may_run_now(l.get(), c));
                how = col::run_now(*l, false, c, until);
            }
            EXPECT_EQ(how, state::failed_dead) << "rank " << rank << ", by steps " << by_steps;
            if (rank == 1)
                left = true;
            EXPECT_EQ(mine, row(lent.size(), 9));
        });
    }
}
