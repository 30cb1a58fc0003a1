// What futures promise beyond their value: the order in which they became ready, waits with a limit, cancellation, and an end when their
// world is gone. Ends with 0 if all was right.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
namespace tl = towline;

namespace callee {

std::atomic<bool> open{false};
std::atomic<int> ran{0};
void close_gate() { open = false; }
void open_gate() { open = true; }
int pass(int x)
{
    while (!open)
        std::this_thread::sleep_for(1ms);
    ++ran;
    return x;
}
int count() { return ran.exchange(0); }
int plain(int x) { return x; }
double sum(std::vector<double> const& v)
{
    ++ran;
    return v[0];
}

} // namespace callee

template <>
inline constexpr bool towline::small<&callee::open_gate> = true;  // the only worker may be in `pass`
template <>
inline constexpr bool towline::small<&callee::close_gate> = true;
template <>
inline constexpr bool towline::small<&callee::count> = true;

static void order(tl::locality peer)
{
    // Promises and replies, ready before anybody asks.
    for (std::vector<std::size_t> const& turns : {std::vector<std::size_t>{2, 0, 3, 1}, {3, 2, 1, 0}, {0, 1, 2, 3}, {1, 3, 0, 2}}) {
        std::vector<tl::promise<int>> ends(4);
        std::vector<tl::future<int>> futures;
        for (std::size_t i = 0; i < 4; ++i)
            futures.push_back(i == 3 ? tl::future<int>() : ends[i].get_future());
        for (std::size_t const i : turns)
            if (i == 3) {
                futures[i] = tl::async<&callee::plain>(peer, 3);
                futures[i].wait();
            } else
                ends[i].set_value(static_cast<int>(i));
        std::vector<std::size_t> left{0, 1, 2, 3};
        for (std::size_t const expected : turns) {
            std::size_t const first = tl::when_any(futures).get();
            CHECK(left[first] == expected);
            CHECK(static_cast<std::size_t>(futures[first].get()) == expected);
            futures.erase(futures.begin() + static_cast<std::ptrdiff_t>(first));
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }
    // Replies only: each is there before the next call begins.
    std::vector<tl::future<int>> replies(5);
    for (std::size_t i = replies.size(); i-- > 0;) {
        replies[i] = tl::async<&callee::plain>(peer, 1);
        replies[i].wait();
    }
    CHECK(tl::when_any(replies).get() == 4);
    // Continuations become ready after what they continue.
    tl::promise<int> first, second;
    std::vector<tl::future<int>> chained;
    chained.push_back(first.get_future().then([](int x) { return x; }));
    chained.push_back(second.get_future().then([](int x) { return x; }));
    second.set_value(1);
    chained[1].wait();
    first.set_value(1);
    chained[0].wait();
    CHECK(tl::when_any(chained).get() == 1);
}

static void limits(tl::locality peer)
{
    using std::chrono::steady_clock, std::chrono::system_clock;
    static_cast<void>(tl::async<&callee::close_gate>(peer).get());
    tl::future<int> f = tl::async<&callee::pass>(peer, 7);
    CHECK(f.wait_for(1ms) == tl::future_status::timeout);
    CHECK(f.wait_for(0s) == tl::future_status::timeout && f.wait_for(-1h) == tl::future_status::timeout);
    CHECK(f.wait_until(steady_clock::now() + 1ms) == tl::future_status::timeout);
    CHECK(f.wait_until(system_clock::now() + 1ms) == tl::future_status::timeout);
    CHECK(f.wait_until(steady_clock::time_point::min()) == tl::future_status::timeout);
    std::vector<tl::future<int>> any;
    any.push_back(std::move(f));
    CHECK(tl::when_any(any).wait_for(1ms) == tl::future_status::timeout);
    static_cast<void>(tl::async<&callee::open_gate>(peer).get());
    CHECK(any[0].wait_until(steady_clock::time_point::max()) == tl::future_status::ready);
    CHECK(any[0].wait_for(std::chrono::hours::max()) == tl::future_status::ready);
    CHECK(tl::when_any(any).wait_for(1h) == tl::future_status::ready);
    CHECK(any[0].get() == 7);
    THROWS(tl::usage_error, "used up", any[0].cancel());
    THROWS(tl::usage_error, "used up", static_cast<void>(any[0].wait_for(1s)));
}

/// With one worker: the first call occupies it, the others wait behind it.
static void cancellation(tl::locality peer)
{
    tl::async<&callee::close_gate>(peer).get();
    static_cast<void>(tl::async<&callee::count>(peer).get());
    tl::future<int> running = tl::async<&callee::pass>(peer, 1);
    std::this_thread::sleep_for(50ms);
    std::vector<tl::call<int>> queued;
    for (int i = 0; i < 20; ++i)
        queued.push_back(tl::async<&callee::pass>(peer, i));
    std::vector<double> const lent(100'000, 4.0);
    auto big = tl::async<&callee::sum>(peer, tl::borrow(lent));
    auto both = tl::when_all(tl::async<&callee::pass>(peer, 100), tl::async<&callee::pass>(peer, 101));
    auto then = tl::async<&callee::pass>(peer, 102).then([](int x) { return x + 1; });
    std::vector<tl::future<int>> list;
    list.push_back(tl::async<&callee::pass>(peer, 103));
    auto any = tl::when_any(list);
    auto all = [&] {
        std::vector<tl::future<int>> parts;
        parts.push_back(tl::async<&callee::pass>(peer, 104));
        return tl::when_all(std::move(parts));
    }();

    running.cancel();  // it runs: left alone
    for (std::size_t i = 1; i < queued.size(); i += 2)
        queued[i].cancel();
    queued.back().cancel();  // twice is once
    big.cancel();
    both.cancel();
    then.cancel();
    any.cancel();
    all.cancel();
    for (std::size_t i = 1; i < queued.size(); i += 2) {
        CHECK(queued[i].wait_for(1min) == tl::future_status::ready);  // though the worker is not free
        THROWS(tl::cancelled_error, "callee::pass", queued[i].get());
    }
    THROWS(tl::cancelled_error, "cancelled", big.get());
    big.sent().get();
    THROWS(tl::cancelled_error, "cancelled", both.get());
    THROWS(tl::cancelled_error, "when_any", any.get());
    THROWS(tl::cancelled_error, "cancelled", all.get());
    CHECK(running.wait_for(0s) == tl::future_status::timeout);

    tl::async<&callee::open_gate>(peer).get();
    THROWS(tl::cancelled_error, "cancelled", then.get());  // a continuation needs a worker, too
    CHECK(running.get() == 1 && list[0].get() == 103);
    for (std::size_t i = 0; i < queued.size(); i += 2)
        CHECK(queued[i].get() == static_cast<int>(i));
    CHECK(tl::async<&callee::count>(peer).get() == 12);  // running, ten queued ones, the one of the list

    auto done = tl::async<&callee::plain>(peer, 5);
    done.wait();
    done.cancel();  // too late
    CHECK(done.get() == 5);
    auto ready = tl::make_ready_future(3);
    ready.cancel();
    CHECK(ready.get() == 3);
    tl::promise<int> p;
    auto promised = p.get_future();
    promised.cancel();  // nobody asked to be told
    p.set_value(4);
    CHECK(promised.get() == 4);
}

/// Cancels at random moments: every call ends in one of the two ways, and the counts agree.
static void races(tl::locality peer)
{
    tl::async<&callee::open_gate>(peer).get();
    static_cast<void>(tl::async<&callee::count>(peer).get());
    int results = 0, cancelled = 0;
    for (int round = 0; round < 50; ++round) {
        std::vector<tl::call<int>> calls;
        for (int i = 0; i < 40; ++i) {
            calls.push_back(tl::async<&callee::pass>(peer, i));
            if (i % 3 == 2)
                calls[static_cast<std::size_t>(i - round % 3)].cancel();
        }
        for (auto& c : calls)
            try {
                static_cast<void>(c.get());
                ++results;
            } catch (tl::cancelled_error const&) {
                ++cancelled;
            }
    }
    CHECK(results + cancelled == 2000);
    CHECK(tl::async<&callee::count>(peer).get() == results);
}

int main(int argc, char** argv)
{
    bool const leaves = argc > 1 && std::string_view(argv[1]) == "leaves";
    tl::future<int> survivor;
    try {
        tl::world w(argc, argv);
        if (leaves && w.rank() == 0) {
            survivor = tl::async<&callee::pass>(w.next(), 1);
            throw 1;
        }
        if (leaves) {
            while (w.alive(tl::locality(0)))
                std::this_thread::sleep_for(1ms);
            callee::open_gate();  // too late for an answer
            return 0;
        }
        if (w.rank() == 0) {
            order(w.next());
            limits(w.next());
            cancellation(w.next());
            races(w.next());
        }
    } catch (int) {
    }
    if (leaves)
        THROWS(tl::usage_error, "world ended before callee::pass", static_cast<void>(survivor.get()));
}
