// Teams in trouble.   remote_team_faults handed | late [started] | differ | unfit
//   handed: rows that were handed over by another rank lie in that one's arena.
//   late: rank 0 dies inside an operation while rank 2 is slow in it: the row of rank 1 is its own again when its call ends. Prints
//         "returned NANOSECONDS" and "slow until NANOSECONDS".
//   differ: ranks that do not call the same, under TOWLINE_CHECK=collectives.
//   unfit: one rank's rows do not fit together: it is told what is wrong, the others are told that something is, and the next is well.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <thread>
#include <vector>

using namespace towline;

namespace {

rma_vector<std::uint64_t> kept;
void keep(rma_vector<std::uint64_t> v)
{
    kept = std::move(v);
}

void handed(world& w)
{
    team t(w);
    int const n = t.size(), me = t.rank(), next = (me + 1) % n;
    for (std::size_t words : std::initializer_list<std::size_t>{2, 100, 1024, 4000, 100000}) {
        rma_vector<std::uint64_t> mine(words * static_cast<std::size_t>(n));
        async<&keep>(locality(next), std::move(mine)).get();
        t.barrier();
        auto const fill = [&](std::uint64_t by) {
            for (std::size_t i = 0; i < kept.size(); ++i)
                kept[i] = by * 1000000 + i;
        };
        for (int root = 0; root < n; ++root) {
            fill(static_cast<std::uint64_t>(me));
            t.broadcast(kept, root);
            for (std::size_t i = 0; i < kept.size(); ++i)
                CHECK(kept[i] == static_cast<std::uint64_t>(root) * 1000000 + i);
            fill(static_cast<std::uint64_t>(me));
            t.start().broadcast(kept, root).get();
            CHECK(kept.back() == static_cast<std::uint64_t>(root) * 1000000 + kept.size() - 1);
            std::span<std::uint64_t> const row(kept.data(), words);
            std::vector<std::uint64_t> all(words * static_cast<std::size_t>(n));
            fill(static_cast<std::uint64_t>(me));
            t.gather(row, all, root);
            for (std::size_t r = 0; me == root && r < static_cast<std::size_t>(n); ++r)
                CHECK(all[r * words] == r * 1000000 && all[(r + 1) * words - 1] == r * 1000000 + words - 1);
            std::vector<std::uint64_t> part(words, static_cast<std::uint64_t>(me));
            t.gather(part, kept, root);
            for (std::size_t r = 0; me == root && r < static_cast<std::size_t>(n); ++r)
                CHECK(kept[r * words] == r && kept[(r + 1) * words - 1] == r);
        }
        fill(1);
        t.all_reduce(kept);
        for (std::size_t i = 0; i < kept.size(); ++i)
            CHECK(kept[i] == (1000000 + i) * static_cast<std::uint64_t>(n));
        t.barrier();
    }
}

int here = 0;
bool armed = false;
long long slow_until = 0;

long long now()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

struct slow_sum {
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const
    {
        using namespace std::chrono_literals;
        if (armed && (here == 0 || here == 2)) {
            armed = false;
            std::this_thread::sleep_for(here == 0 ? 300ms : 1000ms);
            if (here == 0)
                std::raise(SIGKILL);
            slow_until = now();
        }
        return a + b;
    }
};

void late(world& w, bool started)
{
    using namespace std::chrono_literals;
    team t(w);
    here = w.rank();
    rma_vector<std::uint64_t> row(1 << 20);
    for (std::uint64_t& x : row)
        x = 1;
    t.all_reduce(row, slow_sum());
    armed = true;
    bool failed = false;
    try {
        started ? t.start().all_reduce(row, slow_sum()).get() : t.all_reduce(row, slow_sum());
    } catch (peer_error const&) {
        failed = true;
    }
    long long const returned = now();
    if (here == 1) {
        for (std::uint64_t& x : row)
            x = 7;
        CHECK(failed);
        std::printf("returned %lld\n", returned);
        std::fflush(stdout);
        std::this_thread::sleep_for(1500ms);
        for (std::uint64_t x : row)
            CHECK(x == 7);
    } else if (here == 2) {
        std::printf("slow until %lld\n", slow_until);
        std::fflush(stdout);
        std::this_thread::sleep_for(1500ms);
    }
    std::_Exit(0);
}

void differ(world& w)
{
    team t(w);
    bool const odd = t.rank() == t.size() - 1;
    std::vector<double> row(100, 1);
    for (int way = 0; way < 2; ++way) {
        auto const either = [&](auto&& block, auto&& start) { way == 0 ? block() : start().get(); };
        t.all_reduce(row);
        THROWS(usage_error, "calls team::broadcast with root 0, 800 bytes, and rank", either(
            [&] { odd ? t.all_reduce(row) : t.broadcast(row); },
            [&] { return odd ? t.start().all_reduce(row) : t.start().broadcast(row); }));
        THROWS(usage_error, "the roots differ", either([&] { t.broadcast(row, odd); }, [&] { return t.start().broadcast(row, odd); }));
        std::span<double> const some(row.data(), odd ? 50 : 100);
        THROWS(usage_error, "the numbers of bytes differ", either([&] { t.broadcast(some); }, [&] { return t.start().broadcast(some); }));
        t.barrier();
        t.start().barrier().get();
    }
}

using ints = std::vector<int>;

void unfit(world& w)
{
    team t(w);
    auto const n = static_cast<std::size_t>(t.size());
    int const me = t.rank(), size = t.size();
    char const* const told = std::getenv("TOWLINE_CHECK") != nullptr ? "" : "do not fit together";  // a check may know more
    for (std::size_t const few : std::initializer_list<std::size_t>{1, 900, 100000})
        for (int bad = 0; bad < size; ++bad)
            for (int way = 0; way < 2; ++way) {
                bool const mine = me == bad;
                // `words` on the rank that is wrong; `needs`: whether this one needs something of it.
                auto const all = [&](std::string_view words, bool needs, auto&& call) {
                    auto const one = [&] {
                        if (way == 0)
                            call(t);
                        else
                            std::move(call(t.start())).get();
                    };
                    if (mine)
                        throws<usage_error>(one, words, __FILE__, __LINE__);
                    else if (needs)
                        throws<usage_error>(one, told, __FILE__, __LINE__);
                    else
                        try {
                            one();
                        } catch (usage_error const&) {
                        }
                    CHECK(t.all_reduce(1) == size);
                };
                ints const row(few, 1), rows(few * n, 1), wrong(few * n + 1, 1);
                ints one(few), more(few + 1), whole(few * n), odd(few * n + 1);
                std::vector<std::size_t> const counts(n, few);
                std::vector<std::size_t> longer(n, few);
                longer.back() += 1;
                all("come out", true, [&](auto&& o) { return o.all_reduce(row, mine ? more : one); });
                all("come out", me > bad, [&](auto&& o) { return o.inclusive_scan(row, mine ? more : one); });
                all("come out", me > bad, [&](auto&& o) { return o.exclusive_scan(row, mine ? more : one); });
                all("come out", false, [&](auto&& o) { return o.reduce(row, mine ? more : one, std::plus<>{}, bad); });
                all("come out", true, [&](auto&& o) { return o.all_gather(row, mine ? odd : whole); });
                all("come out", true, [&](auto&& o) { return o.all_to_all(rows, mine ? odd : whole); });
                all("come out", true, [&](auto&& o) { return o.reduce_scatter(mine ? wrong : rows, one); });
                all("come out", false, [&](auto&& o) { return o.gather(row, mine ? odd : whole, bad); });
                all("come out", true, [&](auto&& o) { return o.scatter(mine ? wrong : rows, one, bad); });
                all("the counts of the blocks", true, [&](auto&& o) { return o.all_gather(row, mine ? odd : whole, counts); });
                all("the counts of the blocks", true, [&](auto&& o) { return o.scatter(mine ? wrong : rows, counts, one, bad); });
                all("the counts of the blocks", false, [&](auto&& o) { return o.gather(row, whole, mine ? longer : counts, bad); });
                all("the counts of the blocks", true,
                    [&](auto&& o) { return o.all_to_all(rows, mine ? longer : counts, whole, counts); });
                int const next = (me + 1) % size, last = (me + size - 1) % size;
                ints const two(2 * few, 1);
                ints back(2 * few), both(2 * few + 1);
                all("no blocks of one size", size > 1 && (next == bad || last == bad),
                    [&](auto&& o) { return o.exchange({{last, next}, {last, next}}, two, mine ? both : back); });
            }
}

} // namespace

int main(int argc, char** argv)
{
    world w(argc, argv);
    std::string_view const what = argc > 1 ? argv[1] : "";
    if (what == "handed")
        handed(w);
    else if (what == "late")
        late(w, argc > 2);
    else if (what == "differ")
        differ(w);
    else {
        CHECK(what == "unfit");
        unfit(w);
    }
}
