// Remote calls and teams that wait for ever, or long; and one that gives. Usage: remote_stuck SCENARIO.

#include <towline/team.hpp>
#include <towline/towline.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace tl = towline;

namespace {

tl::promise<void> opening;          // never kept
tl::world* everything = nullptr;

} // namespace

namespace door {

/// Waits until somebody opens it here, which nobody does.
int pass(int n)
{
    static tl::future<void> const opened = opening.get_future();
    opened.wait();
    return n;
}

/// Asks the next rank to do the same.
int pass_on(int n)
{
    return tl::async<&pass>(everything->next(), n).get();
}

} // namespace door

namespace work {

std::atomic<int> ended{0};

void compute(int ms)
{
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < end) {
    }
    ++ended;
}

int sleep_long(int ms)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return ms;
}

tl::rma_vector<double> give_back(tl::rma_vector<double> v)
{
    return v;
}

} // namespace work

int main(int argc, char** argv)
{
    char const* const what = argc > 1 ? argv[1] : "";
    auto const is = [&](char const* word) { return std::strcmp(what, word) == 0; };
    if (is("late") && std::getenv("TOWLINE_RANK") != nullptr && std::strcmp(std::getenv("TOWLINE_RANK"), "1") == 0)
        ::sleep(1000);
    tl::world w(argc, argv);
    everything = &w;
    w.barrier();
    std::printf("up\n");
    std::fflush(stdout);
    if (is("cycle")) {  // both wait for a call that waits for what they would do next
        if (w.rank() < 2)
            (void)tl::async<&door::pass>(w.at(1 - w.rank()), 1).get();
    } else if (is("handlers")) {  // rank 0's call waits at rank 1 for one at rank 2
        if (w.rank() == 0)
            (void)tl::async<&door::pass_on>(w.at(1), 1).get();
    } else if (is("all")) {  // a future that is made of others
        if (w.rank() == 0) {
            auto a = tl::async<&door::pass>(w.at(1), 1);
            auto b = tl::async<&door::pass>(w.at(2), 2);
            (void)tl::when_all(std::move(a), std::move(b)).get();
        }
    } else if (is("runs")) {
        if (w.rank() == 0)
            tl::async<&work::compute>(w.at(1), 100000).get();
    } else if (is("runs-while-main-computes")) {  // a worker runs it, and no thread of rank 1 waits
        if (w.rank() == 0)
            tl::async<&work::compute>(w.at(1), 100000).get();
        else if (w.rank() == 1)
            work::compute(100000);
    } else if (is("sleeps-in-a-call")) {
        if (w.rank() == 0)
            (void)tl::async<&work::sleep_long>(w.at(1), 100000).get();
    } else if (is("barrier")) {
        if (w.rank() == 0)
            w.barrier();
        else if (w.rank() == 1)
            (void)tl::async<&door::pass>(w.at(0), 1).get();
    } else if (is("team")) {
        tl::team t(w);
        if (w.rank() != 1)
            t.barrier();
        else
            (void)tl::async<&door::pass>(w.at(0), 1).get();
    } else if (is("serve")) {  // rank 0 keeps the world from its end
        if (w.rank() == 0)
            ::sleep(1000);
        w.serve();
    } else if (is("sleep")) {
        if (w.rank() == 1)
            ::sleep(1000);
    } else if (is("gives")) {  // does not wait
        for (int i = 0; i < 3; ++i)
            if (tl::async<&work::give_back>(w.next(), tl::rma_vector<double>(1 << 17)).get().size() != 1 << 17)
                return 1;
    } else if (is("long")) {  // waits that last and end
        for (int i = 0; i < 4; ++i)
            (void)tl::async<&work::sleep_long>(w.next(), 1500).get();
    }
}
