// Rank 2 dies while others call it; they get peer_error and go on (towline run --keep-going). Argument: how it dies, and when.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <csignal>
#include <thread>
#include <unistd.h>

namespace tl = towline;

static int forever()
{
    while (true)
        std::this_thread::sleep_for(std::chrono::seconds(1));
}
static int echo(int x) { return x; }
static void die() { std::raise(SIGKILL); }
static int ask_the_dead(int rank) { return tl::async<&echo>(tl::locality(rank), 1).get(); }
static tl::rma_vector<int> gift() { return tl::rma_vector<int>(1'000'000, 6); }

// On the polling thread: every worker may be in forever().
template <>
inline constexpr bool towline::small<&die> = true;

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(w.size() == 4);
    tl::locality const victim = w.at(2);
    if (w.rank() == 0) {
        auto const keepsake = tl::async<&gift>(victim).get();
        auto waiting = tl::async<&forever>(victim);
        auto everybody = tl::async<&forever>(tl::localities{victim});
        tl::post<&die>(victim);
        THROWS(tl::peer_error, "rank 2", static_cast<void>(waiting.get()));
        THROWS(tl::peer_error, "rank 2", static_cast<void>(everybody.get()));
        THROWS(tl::peer_error, "rank 2", static_cast<void>(tl::async<&echo>(victim, 1).get()));
        THROWS(tl::peer_error, "rank 2", static_cast<void>(tl::async<&echo>(w.all(), 1).get()));
        THROWS(tl::peer_error, "rank 2", tl::post<&die>(victim));
        THROWS(tl::remote_error, "rank 2", static_cast<void>(tl::async<&ask_the_dead>(w.at(1), 2).get()));
        CHECK(!w.alive(victim) && w.alive(w.at(3)));
        CHECK(tl::async<&echo>(w.at(3), 5).get() == 5);
        CHECK(keepsake.size() == 1'000'000 && keepsake[999'999] == 6);  // the dead rank's memory stays readable
    }
    if (w.rank() != 2)
        THROWS(tl::peer_error, "rank 2", while (true) w.barrier());
}
