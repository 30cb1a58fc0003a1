// The operations of teams, in every form, checked element by element.   remote_teams [inside | wrong | dies | leaves | ways [messages]]
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <csignal>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

using towline::team;

namespace {

struct matrix {  // of two rows: its product does not commute
    std::uint64_t a, b, c, d;
    friend bool operator==(matrix const&, matrix const&) = default;
};
constexpr auto product = [](matrix const& x, matrix const& y) {
    return matrix{x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
};

/// Element i of what `rank` brings for `to`.
template <class T>
T value(int rank, std::size_t i, int to = 0)
{
    auto const v = static_cast<std::uint64_t>(rank) * 7 + i * 3 + static_cast<std::uint64_t>(to) * 11 + 1;
    if constexpr (std::is_same_v<T, matrix>)
        return {v, v + 1, v * v, 1};
    else
        return static_cast<T>(static_cast<std::uint8_t>(v % 100));
}
template <class T>
std::vector<T> row(int rank, std::size_t n, int to = 0)
{
    std::vector<T> r;
    for (std::size_t i = 0; i < n; ++i)
        r.push_back(value<T>(rank, i, to));
    return r;
}
/// Blocks of several ranks, or for several.
template <class T, class Block>
std::vector<T> joined(int ranks, Block&& block)
{
    std::vector<T> all;
    for (int r = 0; r < ranks; ++r) {
        std::vector<T> const b = block(r);
        all.insert(all.end(), b.begin(), b.end());
    }
    return all;
}
/// Over the ranks `first` to `last`.
template <class T, class Op>
std::vector<T> folded(int last, std::size_t n, Op combine)
{
    std::vector<T> sum = row<T>(0, n);
    for (int r = 1; r <= last; ++r)
        for (std::size_t i = 0; i < n; ++i)
            sum[i] = static_cast<T>(combine(sum[i], value<T>(r, i)));
    return sum;
}

/// An operation on the team as it is, or started and waited for.
template <class Call>
void both_ways(team& t, bool started, Call&& call)
{
    if (started)
        call(t.start()).get();
    else
        call(t);
}

template <class T, class Op>
void reductions(team& t, std::size_t n, bool started, Op combine)
{
    int const size = t.size(), rank = t.rank();
    std::vector<T> const mine = row<T>(rank, n);
    auto const result = folded<T>(size - 1, n, combine);
    std::vector<T> out(n);
    both_ways(t, started, [&](auto&& on) { return on.all_reduce(mine, out, combine); });
    CHECK(out == result);
    out = mine;
    both_ways(t, started, [&](auto&& on) { return on.all_reduce(out, combine); });
    CHECK(out == result);
    for (int root = 0; root < size; ++root) {
        std::vector<T> at_root(rank == root ? n : 0);
        both_ways(t, started, [&](auto&& on) { return on.reduce(mine, at_root, combine, root); });
        CHECK(rank != root || at_root == result);
    }
    both_ways(t, started, [&](auto&& on) { return on.inclusive_scan(mine, out, combine); });
    CHECK(out == folded<T>(rank, n, combine));
    std::ranges::fill(out, value<T>(77, 5));
    both_ways(t, started, [&](auto&& on) { return on.exclusive_scan(mine, out, combine); });
    CHECK(out == (rank == 0 ? std::vector<T>(n, value<T>(77, 5)) : folded<T>(rank - 1, n, combine)));

    std::vector<T> const long_one = row<T>(rank, n * static_cast<std::size_t>(size));
    auto const long_result = folded<T>(size - 1, long_one.size(), combine);
    auto const part = [&](std::size_t begin, std::size_t count) {
        auto const from = long_result.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::vector<T>(from, from + static_cast<std::ptrdiff_t>(count));
    };
    both_ways(t, started, [&](auto&& on) { return on.reduce_scatter(long_one, out, combine); });
    CHECK(out == part(n * static_cast<std::size_t>(rank), n));
    // The last rank gets what the others have too little: none of them has more than n.
    std::vector<std::size_t> counts(static_cast<std::size_t>(size), n / 2);
    counts.back() = long_one.size() - n / 2 * static_cast<std::size_t>(size - 1);
    std::vector<T> share(counts[static_cast<std::size_t>(rank)]);
    both_ways(t, started, [&](auto&& on) { return on.reduce_scatter(long_one, counts, share, combine); });
    CHECK(share == part(n / 2 * static_cast<std::size_t>(rank), share.size()));
}

template <class T>
void movements(team& t, std::size_t n, bool started)
{
    int const size = t.size(), rank = t.rank();
    std::vector<T> const mine = row<T>(rank, n);
    auto const of_all = joined<T>(size, [&](int r) { return row<T>(r, n); });
    auto const of_rank = [](int r, std::size_t k) { return (k + static_cast<std::size_t>(r)) * static_cast<std::size_t>(r % 3) / 2; };
    std::vector<std::size_t> counts;
    for (int r = 0; r < size; ++r)
        counts.push_back(of_rank(r, n));
    auto const unequal = joined<T>(size, [&](int r) { return row<T>(r, of_rank(r, n)); });

    auto const own = row<T>(rank, of_rank(rank, n));
    both_ways(t, started, [&](auto&& on) { return on.barrier(); });
    for (int root = 0; root < size; ++root) {
        bool const is_root = rank == root;
        std::vector<T> all = is_root ? row<T>(root, n) : std::vector<T>(n);
        both_ways(t, started, [&](auto&& on) { return on.broadcast(all, root); });
        CHECK(all == row<T>(root, n));

        std::vector<T> gathered(is_root ? of_all.size() : 0);
        both_ways(t, started, [&](auto&& on) { return on.gather(mine, gathered, root); });
        CHECK(!is_root || gathered == of_all);
        gathered.assign(is_root ? unequal.size() : 0, T{});
        both_ways(t, started, [&](auto&& on) { return on.gather(own, gathered, counts, root); });
        CHECK(!is_root || gathered == unequal);

        std::vector<T> const out = is_root ? joined<T>(size, [&](int r) { return row<T>(root, n, r); }) : std::vector<T>();
        std::vector<T> in(n);
        both_ways(t, started, [&](auto&& on) { return on.scatter(out, in, root); });
        CHECK(in == row<T>(root, n, rank));
        std::vector<T> part(counts[static_cast<std::size_t>(rank)]);
        both_ways(t, started, [&](auto&& on) { return on.scatter(is_root ? unequal : out, counts, part, root); });
        CHECK(part == row<T>(rank, part.size()));
    }
    std::vector<T> everything(of_all.size());
    both_ways(t, started, [&](auto&& on) { return on.all_gather(mine, everything); });
    CHECK(everything == of_all);
    everything.assign(of_all.size(), T{});
    std::ranges::copy(mine, everything.begin() + static_cast<std::ptrdiff_t>(n) * rank);
    both_ways(t, started, [&](auto&& on) { return on.all_gather(everything); });
    CHECK(everything == of_all);
    everything.assign(unequal.size(), T{});
    both_ways(t, started, [&](auto&& on) { return on.all_gather(own, everything, counts); });
    CHECK(everything == unequal);

    auto const out = joined<T>(size, [&](int r) { return row<T>(rank, n, r); });
    std::vector<T> in(out.size());
    both_ways(t, started, [&](auto&& on) { return on.all_to_all(out, in); });
    CHECK(in == joined<T>(size, [&](int r) { return row<T>(r, n, rank); }));
    // From r to s go of_rank(r + s) elements.
    std::vector<std::size_t> sent;
    for (int r = 0; r < size; ++r)
        sent.push_back(of_rank(r + rank, n));
    auto const unequal_out = joined<T>(size, [&](int r) { return row<T>(rank, of_rank(r + rank, n), r); });
    std::vector<T> unequal_in(std::accumulate(sent.begin(), sent.end(), std::size_t{0}));
    both_ways(t, started, [&](auto&& on) { return on.all_to_all(unequal_out, sent, unequal_in, sent); });
    CHECK(unequal_in == joined<T>(size, [&](int r) { return row<T>(r, of_rank(r + rank, n), rank); }));

    // A ring; nobody in the middle.
    int const left = (rank + size - 1) % size, right = (rank + 1) % size;
    towline::neighbours const ring{{left, -1, right}, {right, -1, left}};
    auto const to_ring = joined<T>(3, [&](int i) { return row<T>(rank, n, i); });
    std::vector<T> from_ring(3 * n, value<T>(3, 3));
    both_ways(t, started, [&](auto&& on) { return on.exchange(ring, to_ring, from_ring); });
    auto const expected = joined<T>(3, [&](int i) {
        return i == 1 ? std::vector<T>(n, value<T>(3, 3)) : row<T>(i == 0 ? left : right, n, i);
    });
    CHECK(from_ring == expected);
    towline::neighbours const one_way{{left}, {right}};
    std::vector<std::size_t> const to_right{of_rank(rank, n)}, from_left{of_rank(left, n)};
    std::vector<T> from(from_left[0]);
    auto const to_the_right = row<T>(rank, to_right[0], 4);
    both_ways(t, started, [&](auto&& on) { return on.exchange(one_way, to_the_right, to_right, from, from_left); });
    CHECK(from == row<T>(left, from_left[0], 4));
}

template <class T>
void numbers(team& t, std::size_t n, bool started)
{
    movements<T>(t, n, started);
    reductions<T>(t, n, started, std::plus<>{});
    reductions<T>(t, n, started, std::multiplies<T>{});
    reductions<T>(t, n, started, towline::maximum{});
    reductions<T>(t, n, started, towline::minimum{});
}

/// All operations on rows of n elements, or about so many.
void everything(team& t, std::size_t n, bool started)
{
    numbers<std::uint32_t>(t, n, started);
    reductions<std::int32_t>(t, n, started, towline::minimum{});
    numbers<std::uint8_t>(t, n, started);
    reductions<std::int16_t>(t, n, started, std::bit_or<>{});
    movements<matrix>(t, n, started);
    reductions<matrix>(t, n, started, product);
    std::uint64_t prime = 97;  // a function with a state
    reductions<std::uint64_t>(t, n, started, towline::commutative([prime](std::uint64_t x, std::uint64_t y) { return (x + y) % prime; }));
}

/// What fits exactly into floating-point numbers, so that the order does not matter.
template <class T>
void floating(team& t, std::size_t n, bool started)
{
    reductions<T>(t, n, started, std::plus<>{});
    movements<T>(t, n, started);
}

void single_values(team& t)
{
    CHECK(t.all_reduce(t.rank() + 1) == t.size() * (t.size() + 1) / 2);
    CHECK(t.all_reduce(2.5 * t.rank(), towline::maximum{}) == 2.5 * (t.size() - 1));
    for (int root = 0; root < t.size(); ++root)
        CHECK(t.broadcast(t.rank() * 10, root) == root * 10);
    std::vector<matrix> const all = t.all_gather(value<matrix>(t.rank(), 0));
    for (int r = 0; r < t.size(); ++r)
        CHECK(all[static_cast<std::size_t>(r)] == value<matrix>(r, 0));
    std::array<int, 3> few{t.rank(), 1, 2};
    t.all_reduce(few);
    CHECK(few[1] == t.size());
    bool flags[3] = {true, false, t.rank() == 0};
    t.all_reduce(flags, std::logical_and<>{});
    CHECK(flags[0] && !flags[1] && flags[2] == (t.size() == 1));
    CHECK(t.all_reduce(t.rank() == 0, std::logical_or<>{}));
    int plain[2] = {1, t.rank()};
    t.all_reduce(plain, towline::minimum{});
    CHECK(plain[0] == 1 && plain[1] == 0);
    towline::rma_vector<double> shared(1000, 1.0);
    t.all_reduce(shared);
    CHECK(shared[999] == t.size());
}

/// Teams of teams, and several that are used in turn.
void parts(team& t)
{
    int const rank = t.rank(), size = t.size();
    team halves = t.split(rank % 2, -rank);
    CHECK(halves.size() == (size + 1 - rank % 2) / 2);
    CHECK(halves.rank() == halves.size() - 1 - rank / 2);
    CHECK(halves.at(halves.rank()) == t.at(rank));
    everything(halves, 33, false);
    everything(halves, 33, true);
    team few = t.split(rank < 2 ? 5 : team::none);
    CHECK(few.size() == (rank < 2 ? std::min(size, 2) : 0));
    CHECK(few.rank() == (rank < 2 ? rank : -1));
    if (rank >= 2) {
        THROWS(towline::usage_error, "in no team", few.barrier());
        THROWS(towline::usage_error, "in no team", (void)few.split(0));
    } else {
        CHECK(few.all_reduce(1) == few.size());
    }
    team same = t.split(0);
    team again = halves.split(0, halves.rank());
    for (int i = 0; i < 20; ++i) {
        CHECK(same.all_reduce(i) == i * size);
        CHECK(again.all_reduce(i) == i * again.size());
        CHECK(halves.all_reduce(1) == halves.size());
        if (few.size() != 0)
            CHECK(few.all_reduce(i) == i * few.size());
    }
    team moved = std::move(same);
    CHECK(moved.all_reduce(1) == size && same.size() == 0);
}

/// Many started at once, of all sizes, with others between them that block.
void many_started(team& t)
{
    std::vector<std::vector<std::uint64_t>> rows;
    std::vector<towline::future<void>> pending;
    for (std::size_t i = 0; i < 60; ++i)
        rows.push_back(row<std::uint64_t>(t.rank(), 1 + i * i * i));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        pending.push_back(i % 3 == 0 ? t.start().broadcast(rows[i], static_cast<int>(i) % t.size()) : t.start().all_reduce(rows[i]));
        if (i % 7 == 0)
            CHECK(t.all_reduce(1) == t.size());
    }
    towline::when_all(std::move(pending)).get();
    for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK(rows[i] == (i % 3 == 0 ? row<std::uint64_t>(static_cast<int>(i) % t.size(), rows[i].size())
                                     : folded<std::uint64_t>(t.size() - 1, rows[i].size(), std::plus<>{})));
    // Nobody waits, or calls anything.
    std::vector<double> unattended(100000, 2.0);
    auto const sum = t.start().all_reduce(unattended);
    while (!sum.is_ready())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(unattended.front() == 2 * t.size() && unattended.back() == 2 * t.size());
    int done = 0;
    t.start().barrier().then([&done] { done = 1; }).get();
    CHECK(done == 1);
}

/// Small rows are offered by copy, big ones are read and written where they are, and nothing of that travels in messages; without lanes all
/// of it does.
void ways(towline::world& w, bool by_lanes)
{
    constexpr std::uint64_t small = 10, big = 1 << 20, times = 5;
    towline::rma_vector<double> row(big, w.rank());
    team all(w);
    w.barrier();
    auto const before = towline::stats();
    {
        team t = all.split(0);
        for (std::uint64_t i = 0; i < times; ++i)
            t.all_reduce(std::span(row).first(small));
        t.broadcast(row);
        CHECK(row[big - 1] == 0);
    }
    auto const s = towline::stats().since(before);
    std::uint64_t counts[] = {s.collectives_shared, s.bytes_offered, s.bytes_in_place, s.bytes_inline + s.bytes_mapped};
    all.all_reduce(counts);
    auto const ranks = static_cast<std::uint64_t>(w.size());
    if (w.size() == 1)
        return;
    if (by_lanes) {
        CHECK(counts[0] >= (times + 1) * ranks);
        CHECK(counts[1] >= times * ranks * small * sizeof(double) && counts[1] < 64 * 1024 * ranks);
        CHECK(counts[2] == (ranks - 1) * big * sizeof(double));
        CHECK(counts[3] < 16 * 1024 * ranks);
    } else {
        CHECK(counts[0] == 0 && counts[1] == 0 && counts[2] == 0);
        CHECK(counts[3] > (ranks - 1) * big * sizeof(double));
    }
}

// ---- inside functions that others call: on workers, where waiting suspends

team* shared_team = nullptr;

std::uint64_t part_of_all(std::size_t n)
{
    std::vector<std::uint64_t> v = row<std::uint64_t>(shared_team->rank(), n);
    shared_team->all_reduce(v);
    CHECK(v == folded<std::uint64_t>(shared_team->size() - 1, n, std::plus<>{}));
    shared_team->barrier();
    shared_team->start().all_reduce(v, towline::maximum{}).get();
    return v[0];
}
void may_not_wait()
{
    THROWS(towline::usage_error, "towline::small", shared_team->barrier());
    THROWS(towline::usage_error, "towline::small", (void)shared_team->split(0));
}

} // namespace
template <>
inline constexpr bool towline::small<&may_not_wait> = true;
namespace {

void inside(towline::world& w, team& t)
{
    shared_team = &t;
    w.barrier();
    if (w.rank() == 0) {
        for (std::size_t const n : {1, 100, 40000})
            for (std::uint64_t const got : towline::async<&part_of_all>(w.all(), n).get())
                CHECK(got == folded<std::uint64_t>(w.size() - 1, 1, std::plus<>{})[0]);
        if (w.size() > 1)
            towline::async<&may_not_wait>(w.next()).get();
    }
    w.barrier();
    CHECK(t.all_reduce(1) == w.size());
}

// ---- what is wrong

void wrong(team& t)
{
    int const size = t.size(), rank = t.rank();
    std::vector<int> five(5), six(6);
    std::vector<std::size_t> const counts(static_cast<std::size_t>(size) + 1, 1);
    // Before anything begins, so that all ranks find it.
    THROWS(towline::usage_error, "5 elements go in and 6 come out", t.all_reduce(five, six));
    THROWS(towline::usage_error, "5 elements go in and 6 come out", (void)t.start().all_reduce(five, six));
    THROWS(towline::usage_error, "which is no rank of a team", t.broadcast(five, size));
    THROWS(towline::usage_error, "which is no rank of a team", t.reduce(five, five, std::plus<>{}, -1));
    THROWS(towline::usage_error, "blocks that come in", t.all_gather(five, six, counts));
    THROWS(towline::usage_error, "no blocks of one size", t.exchange({{rank, rank}, {rank, rank}}, five, six));
    THROWS(towline::usage_error, "is no", t.exchange({{size}, {}}, std::vector<int>{}, five));
    THROWS(towline::usage_error, "there is no rank", (void)t.at(size));
    THROWS(towline::usage_error, "team::none", (void)t.split(-2));
    if (size > 1) {
        THROWS(towline::usage_error, "go in", t.all_gather(five, six));
        // Ranks that disagree: everybody who can know is told, and the next operation is well. Small, shown and lent.
        for (std::size_t const n : {3, 3000, 300000}) {
            std::vector<int> data(n + (rank == 0 ? 1 : 0));
            bool told = false;
            try {
                t.broadcast(data, 0);
            } catch (towline::usage_error const& e) {
                told = std::string_view(e.what()).find("do not fit together") != std::string_view::npos;
            }
            CHECK(rank == 0 || told);
            std::size_t const own = rank == 0 ? n : n + 1;
            std::vector<int> in(own), out(own * static_cast<std::size_t>(size));
            THROWS(towline::usage_error, "do not fit together", t.start().all_gather(in, out).get());
        }
    }
    CHECK(t.all_reduce(1) == size);
}

} // namespace

namespace {

std::atomic<int> others_that_were_told{0};

void was_told()
{
    ++others_that_were_told;
}

void others_are_told(towline::world& w, bool by_exception)
{
    team t(w);
    CHECK(t.all_reduce(1) == w.size());
    if (w.rank() == 1 && by_exception)
        throw std::string_view("leaves");
    if (w.rank() == 1)
        std::raise(SIGKILL);
    std::vector<double> big(300000);
    auto pending = t.start().all_reduce(big);
    THROWS(towline::peer_error, "rank 1", pending.get());
    THROWS(towline::peer_error, "rank 1", t.barrier());
    THROWS(towline::peer_error, "rank 1", t.all_reduce(big));
    // Who ends is dead, too, and might be named by one that looks later.
    for (int r = 0; r < w.size(); ++r)
        if (r != w.rank() && r != 1)
            towline::async<&was_told>(towline::locality(r)).get();
    while (others_that_were_told != w.size() - 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void all_forms(team& t)
{
    single_values(t);
    for (bool const started : {false, true}) {
        for (std::size_t const n : {0, 1, 4, 63, 1000, 20000})
            everything(t, n, started);
        floating<double>(t, 500, started);
        floating<std::complex<float>>(t, 500, started);
    }
    many_started(t);
    parts(t);
}

} // namespace

int main(int argc, char** argv)
{
    std::string_view const what = argc > 1 ? argv[1] : "";
    try {
        towline::world w(argc, argv);
        if (what == "dies" || what == "leaves") {
            others_are_told(w, what == "leaves");
            return 0;
        }
        team t(w);
        CHECK(t.rank() == w.rank() && t.size() == w.size());
        if (what == "inside")
            inside(w, t);
        else if (what == "wrong")
            wrong(t);
        else if (what == "ways")
            ways(w, argc == 2);
        else
            all_forms(t);
        w.barrier();
    } catch (std::string_view) {
        std::this_thread::sleep_for(std::chrono::seconds(1));  // still there, and outside its world
    }
}
