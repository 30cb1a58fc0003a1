// Operations over lanes that ranks run immediately or by steps, as each likes: real threads, one for each rank.

#include "collective/operations.hpp"
#include "collective/lanes/run_now.hpp"
#include "unit/collective/threads.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <thread>

using namespace simulated;
using state = col::lane_run::state;

namespace {

void add_words(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] = static_cast<std::uint64_t const*>(in)[i] * 3 + static_cast<std::uint64_t*>(inout)[i];
}
/// The order can be told from the result.
constexpr col::combination ordered{&add_words, nullptr, 8, false};
/// Where this rank sleeps until it is told of something; null: it looks again and again.
thread_local towline::base::event_count* bed = nullptr;

constexpr auto until = [](auto&& is_met, int) {
    while (!is_met()) {
        if (bed == nullptr) {
            std::this_thread::yield();
            continue;
        }
        std::uint32_t const key = bed->prepare_wait(towline::base::fence_side::notifier_fences);
        if (is_met())
            return bed->cancel_wait();
        ASSERT_TRUE(bed->wait(key, std::chrono::minutes(1))) << "nobody told a rank that it can go on";
    }
};

/// Blocks of any size in a buffer: word i of the one of rank r is at offsets[r] / 8 + i.
struct listed {
    std::vector<std::uint64_t> sizes, offsets;
    std::uint64_t largest = 0;
    std::uint64_t* buffer = nullptr;

    /// `words(rank)` are the sizes. Between two blocks lies a word that is nobody's.
    template <class Words>
    listed(int ranks, std::uint64_t* at, Words&& words) : buffer(at)
    {
        std::uint64_t next = 0;
        for (int r = 0; r < ranks; ++r) {
            sizes.push_back(words(r) * 8);
            offsets.push_back(next);
            next += sizes.back() + 8;
            largest = std::max(largest, sizes.back());
        }
    }
    [[nodiscard]] std::uint64_t size(int r) const { return sizes[static_cast<std::size_t>(r)]; }
    [[nodiscard]] std::uint64_t* at(int r) const { return buffer + offsets[static_cast<std::size_t>(r)] / 8; }
    [[nodiscard]] col::layout_of_blocks layout() const { return {sizes, offsets}; }
};

/// A rank among threads.
struct member {
    col::lanes& l;
    int rank, size;
    bool crowded;
    std::mt19937_64 random;  ///< its own
    col::schedule s;

    state steps(col::call const& c)
    {
        s.clear();
        s.allow(&l);
        col::over_lanes::build(s, c, crowded);
        col::lane_run run;
        run.start(l, s.lane_operation());
        state how = state::waits;
        until([&] { return (how = how == state::waits ? run.advance(s.lane_steps(), s.operation()) : how) != state::waits; }, 0);
        return how;
    }
    /// Immediately or as steps, as this rank likes.
    state either(col::call const& c)
    {
        return random() % 3 == 0 || !col::may_run_now(&l, c) ? steps(c) : col::run_now(l, crowded, c, until);
    }
    using word = std::uint64_t;

    // `own` may be where the block is among the others: then the operation is in place, and it is up to the rank how it says so.
    [[nodiscard]] void const* said(bool in_place, void const* own) { return in_place && random() % 2 == 0 ? col::in_place : own; }
    [[nodiscard]] void* said(bool in_place, void* own) { return const_cast<void*>(said(in_place, static_cast<void const*>(own))); }
    state gatherv(word* own, listed const& all, int root)
    {
        bool const is_root = rank == root;
        return either(col::gatherv(said(is_root && own == all.at(rank), own), all.size(rank), is_root ? all.buffer : nullptr, all.sizes,
                                   all.offsets, root));
    }
    state scatterv(listed const& all, word* own, int root)
    {
        return either(col::scatterv(all.buffer, all.sizes, all.offsets, said(rank == root && own == all.at(rank), own), all.size(rank), root));
    }
    state allgatherv(word* own, listed const& all)
    {
        return either(col::allgatherv(said(own == all.at(rank), own), all.size(rank), all.buffer, all.sizes, all.offsets));
    }
    state exchange(col::neighbourhood const& n, listed const& out, listed const& in)
    {
        return either(col::exchange(n, out.buffer, out.layout(), in.buffer, in.layout()));
    }
    state alltoallv(listed const& out, listed const& in)
    {
        return either(col::alltoallv(out.buffer, out.sizes, out.offsets, in.buffer, in.sizes, in.offsets));
    }
    state barrier() { return either(col::barrier()); }
    state bcast(word* data, word n, int root) { return either(col::bcast(data, n * 8, root)); }
    state gather(word const* in, word* out, word n, int root)
    {
        return either(col::gather(said(rank == root && in == out + n * static_cast<word>(rank), in), out, n * 8, root));
    }
    state scatter(word const* in, word* out, word n, int root)
    {
        return either(col::scatter(in, said(rank == root && out == in + n * static_cast<word>(rank), out), n * 8, root));
    }
    state allgather(word const* in, word* out, word n)
    {
        return either(col::allgather(said(in == out + n * static_cast<word>(rank), in), n * 8, out, n * 8));
    }
    state alltoall(word const* in, word* out, word n) { return either(col::alltoall(said(in == out, in), n * 8, out, n * 8)); }
    state reduce(word const* in, word* out, word n, int root)
    {
        return either(col::reduce(said(rank == root && in == out, in), rank == root ? out : nullptr, n, ordered, root));
    }
    state allreduce(word const* in, word* out, word n) { return either(col::allreduce(said(in == out, in), out, n, ordered)); }
    state reduce_scatter(word const* in, word* out, word n)
    {
        return either(col::reduce_scatter_block(said(in == out, in), out, n, ordered));
    }
    state reduce_scatter(word const* in, word* out, listed const& counts)
    {
        std::vector<word> words(counts.sizes);
        for (word& w : words)
            w /= 8;
        return either(col::reduce_scatter(said(in == out, in), out, words, ordered));
    }
    /// False: lanes have no program for it.
    [[nodiscard]] bool scans(word n) const { return l.are_shown(n * 8) || size <= 8; }
    state scan(word const* in, word* out, word n)
    {
        return scans(n) ? either(col::scan(said(in == out, in), out, n, ordered)) : state::ended;
    }
    state exscan(word const* in, word* out, word n)
    {
        return scans(n) ? either(col::exscan(said(in == out, in), out, n, ordered)) : state::ended;
    }
};

/// All ranks run `body`.
void among(threads_memory& memory, int size, bool crowded, std::function<void(member&)> const& body, col::lanes::limits limits = {})
{
    among_threads(memory, size, limits, [&](std::unique_ptr<col::lanes> l, int rank) {
        member m{*l, rank, size, crowded, std::mt19937_64(base_seed() + static_cast<std::uint64_t>(rank)), {}};
        body(m);
    });
}

/// The number that a rank contributes to turn n.
std::uint64_t word_of(int rank, std::uint64_t n, std::uint64_t i)
{
    return n * 100000 + static_cast<std::uint64_t>(rank) * 7 + i;
}
/// Over the ranks 0 to `last`.
std::uint64_t folded(int last, std::uint64_t n, std::uint64_t i)
{
    std::uint64_t sum = word_of(last, n, i);
    for (int r = last - 1; r >= 0; --r)
        sum += word_of(r, n, i) * 3;
    return sum;
}

enum class operation : std::uint64_t {
    barrier, bcast, gather, scatter, allgather, alltoall, reduce, allreduce, reduce_scatter, reduce_scatter_list, scan, exscan, gatherv,
    scatterv, allgatherv, alltoallv, exchange, count_
};

/// One turn of an operation by lists. Blocks have up to so many words, some have none; both buffers have room for a word more for each.
void play_lists(member& m, operation what, std::uint64_t n, std::uint64_t words, int root, bool in_place, std::uint64_t* in,
                std::uint64_t* out)
{
    auto const words_of = [&](int from, int to) {
        return (n * 5 + static_cast<std::uint64_t>(from) * 3 + static_cast<std::uint64_t>(to) * 2) % (words + 1);
    };
    // Word i of what `from` has for `to`, who is nobody in particular where all get the same.
    auto const given = [&](int from, int to, std::uint64_t i) { return word_of(from, n, i) + static_cast<std::uint64_t>(to) * 1000; };
    auto const fill = [&](listed const& all, int from) {
        for (int to = 0; to < m.size; ++to)
            for (std::uint64_t i = 0; i < all.size(to) / 8; ++i)
                all.at(to)[i] = given(from, to, i);
    };
    auto const expect = [&](std::uint64_t const* got, std::uint64_t bytes, int from, int to) {
        for (std::uint64_t i = 0; i < bytes / 8; ++i)
            ASSERT_EQ(got[i], given(from, to, i)) << "turn " << n << ", list operation " << static_cast<int>(what) << ", from " << from;
        ASSERT_EQ(got[bytes / 8], ~std::uint64_t{0}) << "turn " << n << ": written beyond a block";
    };
    int const me = m.rank;
    std::fill_n(out, (words + 1) * static_cast<std::uint64_t>(m.size), ~std::uint64_t{0});
    switch (what) {
    case operation::gatherv:
    case operation::allgatherv: {
        listed const all(m.size, out, [&](int r) { return words_of(r, 0); });
        bool const is_rooted = what == operation::gatherv;
        std::uint64_t* const own = in_place && !(is_rooted && me != root) ? all.at(me) : in;
        for (std::uint64_t i = 0; i < all.size(me) / 8; ++i)
            own[i] = given(me, 0, i);
        ASSERT_EQ(is_rooted ? m.gatherv(own, all, root) : m.allgatherv(own, all), state::ended);
        for (int r = 0; r < m.size && !(is_rooted && me != root); ++r)
            expect(all.at(r), all.size(r), r, 0);
        return;
    }
    case operation::scatterv: {
        listed const all(m.size, in, [&](int r) { return words_of(0, r); });
        fill(all, me);
        std::uint64_t* const own = in_place && me == root ? all.at(me) : out;
        ASSERT_EQ(m.scatterv(all, own, root), state::ended);
        for (std::uint64_t i = 0; i < all.size(me) / 8; ++i)
            ASSERT_EQ(own[i], given(root, me, i)) << "turn " << n;
        return;
    }
    default: {
        listed const sending(m.size, in, [&](int r) { return words_of(me, r); });
        listed const receiving(m.size, out, [&](int r) { return words_of(r, me); });
        fill(sending, me);
        ASSERT_EQ(m.alltoallv(sending, receiving), state::ended);
        for (int r = 0; r < m.size; ++r)
            expect(receiving.at(r), receiving.size(r), r, me);
    }
    }
}

/// One turn among neighbours that are so many ranks behind, some of them more than once; nobody in between.
void play_neighbours(member& m, std::uint64_t n, std::uint64_t words, std::uint64_t* in, std::uint64_t* out)
{
    static constexpr std::array distances{1, -1, 0, 1, 2};
    std::size_t const count = std::min(2 + n % 4, static_cast<std::uint64_t>(m.size));  // the buffers have as many blocks as there are ranks
    std::vector<int> sources, destinations, order;
    for (std::size_t i = 0; i < count; ++i) {
        bool const nobody = distances[i] == 0;
        destinations.push_back(nobody ? -1 : (m.rank + distances[i] + m.size) % m.size);
        sources.push_back(nobody ? -1 : (m.rank - distances[i] + m.size) % m.size);
        order.push_back(static_cast<int>(i));
    }
    bool const turned = m.size == 2 && n % 3 == 0;  // a ring of two: what goes out to the one side comes in from the other
    if (turned)
        std::swap(order[0], order[1]);
    // The block that leaves by the first neighbour comes in by the one that is first in that order.
    auto const words_of = [&](int from, std::size_t i) { return (n * 5 + static_cast<std::uint64_t>(from) * 3 + i * 2) % (words + 1); };
    auto const sent_as = [&](std::size_t i) { return static_cast<std::size_t>(std::ranges::find(order, static_cast<int>(i)) - order.begin()); };
    listed const sending(static_cast<int>(count), in, [&](int i) { return words_of(m.rank, static_cast<std::size_t>(i)); });
    listed const receiving(static_cast<int>(count), out, [&](int i) {
        int const from = sources[static_cast<std::size_t>(i)];
        return from < 0 ? 0 : words_of(from, sent_as(static_cast<std::size_t>(i)));
    });
    auto const given = [&](int from, std::size_t by, std::uint64_t i) { return word_of(from, n, i) + by * 1000; };
    for (std::size_t by = 0; by < count; ++by)
        for (std::uint64_t i = 0; i < sending.size(static_cast<int>(by)) / 8; ++i)
            sending.at(static_cast<int>(by))[i] = given(m.rank, by, i);
    std::fill_n(out, (words + 1) * count, ~std::uint64_t{0});
    ASSERT_EQ(m.exchange({sources, destinations, turned ? std::span<int const>(order) : std::span<int const>()}, sending, receiving),
              state::ended);
    for (std::size_t by = 0; by < count; ++by) {
        int const at = static_cast<int>(by);
        for (std::uint64_t i = 0; i < receiving.size(at) / 8; ++i)
            ASSERT_EQ(receiving.at(at)[i], given(sources[by], sent_as(by), i)) << "turn " << n << ", neighbour " << by << " of " << count;
        ASSERT_EQ(receiving.at(at)[receiving.size(at) / 8], ~std::uint64_t{0}) << "turn " << n << ": written beyond a block";
    }
}

/// One turn of one rank; all draw the same from `same`.
void play(member& m, std::mt19937_64& same, std::uint64_t n, std::uint64_t most, std::vector<std::uint64_t>& in,
          std::vector<std::uint64_t>& out)
{
    std::uint64_t const words = 1 + same() % (same() % 2 == 0 ? 6 : most);
    auto const size = static_cast<std::uint64_t>(m.size);
    auto const rank = static_cast<std::uint64_t>(m.rank);
    int const root = static_cast<int>(same() % size);
    auto const what = static_cast<operation>(same() % static_cast<std::uint64_t>(operation::count_));
    bool const in_place = same() % 2 == 0;
    for (std::uint64_t i = 0; i < words * size; ++i) {
        in[i] = word_of(m.rank, n, i);
        out[i] = ~std::uint64_t{0};
    }
    if (m.random() % 64 == 0)
        std::this_thread::yield();
    auto const expect = [&](std::uint64_t const* got, std::uint64_t count, auto&& wanted) {
        for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_EQ(got[i], wanted(i)) << "turn " << n << ", operation " << static_cast<int>(what) << ", word " << i << " of " << count;
    };
    std::uint64_t* const to = in_place ? in.data() : out.data();
    switch (what) {
    case operation::barrier:
        ASSERT_EQ(m.barrier(), state::ended);
        return;
    case operation::bcast:
        ASSERT_EQ(m.bcast(in.data(), words, root), state::ended);
        return expect(in.data(), words, [&](auto i) { return word_of(root, n, i); });
    case operation::gather:
    case operation::allgather: {
        std::uint64_t* const own = in_place ? out.data() + rank * words : in.data();
        for (std::uint64_t i = 0; i < words; ++i)
            own[i] = word_of(m.rank, n, i);
        ASSERT_EQ(what == operation::gather ? m.gather(own, out.data(), words, root) : m.allgather(own, out.data(), words), state::ended);
        if (what == operation::allgather || m.rank == root)
            expect(out.data(), words * size, [&](auto i) { return word_of(static_cast<int>(i / words), n, i % words); });
        return;
    }
    case operation::scatter: {
        std::uint64_t* const own = in_place && m.rank == root ? in.data() + rank * words : out.data();
        ASSERT_EQ(m.scatter(in.data(), own, words, root), state::ended);
        return expect(own, words, [&](auto i) { return word_of(root, n, rank * words + i); });
    }
    case operation::alltoall:
        ASSERT_EQ(m.alltoall(in.data(), to, words), state::ended);
        return expect(to, words * size, [&](auto i) { return word_of(static_cast<int>(i / words), n, rank * words + i % words); });
    case operation::reduce:
        ASSERT_EQ(m.reduce(in.data(), to, words, root), state::ended);
        return expect(to, m.rank == root ? words : 0, [&](auto i) { return folded(m.size - 1, n, i); });
    case operation::allreduce:
        ASSERT_EQ(m.allreduce(in.data(), to, words), state::ended);
        return expect(to, words, [&](auto i) { return folded(m.size - 1, n, i); });
    case operation::reduce_scatter:
        ASSERT_EQ(m.reduce_scatter(in.data(), to, words), state::ended);
        return expect(to, words, [&](auto i) { return folded(m.size - 1, n, rank * words + i); });
    case operation::reduce_scatter_list: {
        // Blocks of up to so many words; the gaps between listed ones do not count here.
        listed const counts(m.size, nullptr, [&](int r) { return (n + static_cast<std::uint64_t>(r)) % (words + 1); });
        std::uint64_t first = 0;
        for (int r = 0; r < m.rank; ++r)
            first += counts.size(r) / 8;
        ASSERT_EQ(m.reduce_scatter(in.data(), to, counts), state::ended);
        return expect(to, counts.size(m.rank) / 8, [&](auto i) { return folded(m.size - 1, n, first + i); });
    }
    case operation::scan:
        ASSERT_EQ(m.scan(in.data(), to, words), state::ended);
        return expect(to, m.scans(words) ? words : 0, [&](auto i) { return folded(m.rank, n, i); });
    case operation::exscan:
        ASSERT_EQ(m.exscan(in.data(), to, words), state::ended);
        return expect(to, m.scans(words) && m.rank != 0 ? words : 0, [&](auto i) { return folded(m.rank - 1, n, i); });
    case operation::gatherv:
    case operation::scatterv:
    case operation::allgatherv:
    case operation::alltoallv: return play_lists(m, what, n, words, root, in_place, in.data(), out.data());
    case operation::exchange: return play_neighbours(m, n, words, in.data(), out.data());
    case operation::count_: break;
    }
}

/// Turns of up to so many words each.
void play_turns(std::uint64_t turns, std::uint64_t most, col::lanes::limits limits, std::function<void(threads_memory const&)> const& check)
{
    SCOPED_TRACE("seed " + std::to_string(base_seed()));
    for (int const size : {2, 3, 4, 9}) {
        for (bool const crowded : {false, true}) {
            threads_memory memory;
            among(
                memory, size, crowded,
                [&](member& m) {
                    std::mt19937_64 same(base_seed());
                    std::vector<std::uint64_t> in((most + 1) * static_cast<std::uint64_t>(size)), out(in.size());
                    for (std::uint64_t n = 0; n < turns && !testing::Test::HasFatalFailure(); ++n)
                        play(m, same, n, most, in, out);
                },
                limits);
            check(memory);
        }
    }
}

} // namespace

TEST(run_now, mixes_with_steps)
{
    play_turns(3000, 6, {}, [](threads_memory const& memory) {
        EXPECT_GT(memory.all.posted, 0u);
        EXPECT_EQ(memory.all.moved, 0u);
    });
}

TEST(run_now, mixes_with_steps_where_blocks_are_read_in_place)
{
    // Above 1 KiB they are lent, above 8 KiB, by one rank or for all ranks together, the operation goes by steps.
    play_turns(1500, 1100, {.posted = 1024, .shown = 8192}, [](threads_memory const& memory) { EXPECT_GT(memory.all.moved, 0u); });
}

// A rank's own block is in its place already: only those that others read are offered by copy.
TEST(run_now, alltoall_offers_no_block_to_its_owner)
{
    threads_memory memory;
    constexpr std::uint64_t words = 128, turns = 100;
    constexpr int ranks = 3;
    among(
        memory, ranks, false,
        [&](member& m) {
            auto const me = static_cast<std::uint64_t>(m.rank);
            std::vector<std::uint64_t> in(ranks * words), out(in.size());
            for (std::uint64_t n = 0; n < turns; ++n) {
                for (std::uint64_t i = 0; i < in.size(); ++i)
                    in[i] = (n * ranks + me) * in.size() + i;
                ASSERT_EQ(m.alltoall(in.data(), out.data(), words), state::ended);
                for (std::uint64_t i = 0; i < out.size(); ++i)
                    ASSERT_EQ(out[i], (n * ranks + i / words) * in.size() + me * words + i % words) << "turn " << n;
            }
        },
        {.posted = 8192, .shown = 8192});
    EXPECT_EQ(memory.all.posted, turns * ranks * (ranks - 1) * words * 8);
}

// Few slots, so that ranks often run as far ahead as they may.
TEST(run_now, who_sleeps_is_told)
{
    for (int const size : {2, 3, 5}) {
        for (bool const crowded : {false, true}) {
            threads_memory memory;
            std::vector<towline::base::event_count> beds(static_cast<std::size_t>(size));
            memory.beds = beds;
            among(
                memory, size, crowded,
                [&](member& m) {
                    bed = &beds[static_cast<std::size_t>(m.rank)];
                    std::mt19937_64 same(base_seed());
                    std::vector<std::uint64_t> in(64 * static_cast<std::uint64_t>(size)), out(in.size());
                    for (std::uint64_t n = 0; n < 2000 && !testing::Test::HasFatalFailure(); ++n)
                        play(m, same, n, 60, in, out);
                },
                {.posted = 128, .shown = 2048, .slots = 16, .payloads = 8});
        }
    }
}

// A root that runs ahead of one who only reads, immediately, and tells nothing but that it has finished.
TEST(run_now, who_runs_ahead_is_told)
{
    for (std::uint64_t const payloads : {1, 2, 4, 8, 32}) {
        threads_memory memory;
        std::vector<towline::base::event_count> beds(2);
        memory.beds = beds;
        among(
            memory, 2, false,
            [&](member& m) {
                bed = &beds[static_cast<std::size_t>(m.rank)];
                std::uint64_t data[20] = {};
                for (std::uint64_t n = 0; n < 3000; ++n) {
                    if (m.rank == 0) {
                        std::ranges::fill(data, n);
                        ASSERT_EQ(m.bcast(data, 20, 0), state::ended);
                        continue;
                    }
                    if (m.random() % 16 == 0)
                        std::this_thread::yield();
                    ASSERT_EQ(col::run_now(m.l, false, col::bcast(data, sizeof data, 0), until), state::ended);
                    ASSERT_EQ(data[19], n);
                }
            },
            {.slots = 32, .payloads = payloads});
    }
}

TEST(run_now, barriers_hold_everybody)
{
    for (bool const crowded : {false, true}) {
        threads_memory memory;
        std::atomic<int> inside{0};
        among(memory, 4, crowded, [&](member& m) {
            for (int n = 1; n <= 500; ++n) {
                inside.fetch_add(1, std::memory_order_relaxed);
                ASSERT_EQ(m.barrier(), state::ended);
                ASSERT_GE(inside.load(std::memory_order_relaxed), 4 * n);
                ASSERT_EQ(m.barrier(), state::ended);
            }
        });
    }
}

TEST(run_now, different_sizes_end_as_a_mismatch_and_the_next_operation_is_well)
{
    for (bool const crowded : {false, true}) {
        threads_memory memory;
        among(memory, 3, crowded, [&](member& m) {
            std::uint64_t in[5] = {}, out[5] = {};
            for (int n = 0; n < 200; ++n) {
                std::uint64_t const words = m.rank == n % 3 ? 2 : 5;
                state const first = m.allreduce(in, out, words);
                if (!crowded) {
                    EXPECT_EQ(first, state::failed_mismatch);
                }
                ASSERT_EQ(m.barrier(), state::ended);
                state const how = m.bcast(in, words, 0);
                if (m.rank != 0) {
                    bool const differs = n % 3 == 0 || n % 3 == m.rank;
                    EXPECT_EQ(how, differs ? state::failed_mismatch : state::ended);
                }
                ASSERT_EQ(m.allreduce(in, out, 5), state::ended);
            }
        });
    }
}

TEST(run_now, different_operations_are_found_by_who_looks_and_the_next_operation_is_well)
{
    for (bool const crowded : {false, true}) {
        threads_memory memory;
        std::atomic<int> told{0};
        among(memory, 3, crowded, [&](member& m) {
            std::vector<std::uint64_t> in(64), out(64);
            col::called const barrier{col::routine::barrier, -1}, sum{col::routine::allreduce, -1}, second{col::routine::bcast, 1};
            for (int n = 0; n < 300; ++n) {
                // The same offer in other operations: as many bytes, in as many slots before.
                bool const is_odd = m.rank == 1;
                state const mixed = is_odd ? m.allreduce(in.data(), out.data(), 1) : m.barrier();
                if (is_odd || !crowded || m.rank == 0) {
                    EXPECT_EQ(mixed, state::failed_mismatch);
                }
                // None where a rank of the same operation failed before.
                if (auto const d = m.l.take_difference()) {
                    told.fetch_add(1);
                    EXPECT_EQ(d->ours, is_odd ? sum : barrier);
                    EXPECT_EQ(d->theirs, is_odd ? barrier : sum);
                }
                state const rooted = m.bcast(in.data(), 1, is_odd ? 1 : 0);
                if (m.rank == 2) {
                    EXPECT_EQ(rooted, state::ended);
                }
                EXPECT_FALSE(m.l.take_difference());
                state const other = m.bcast(in.data(), 1, m.rank == 2 ? 1 : 0);
                if (m.rank == 2) {
                    EXPECT_EQ(other, state::failed_mismatch);
                    auto const d = m.l.take_difference();
                    EXPECT_TRUE(d);
                    if (d) {
                        EXPECT_EQ(d->rank, 1);
                        EXPECT_EQ(d->ours, second);
                        EXPECT_EQ(d->theirs, col::called{});  // it offered nothing, and went on
                    }
                }
                EXPECT_EQ(m.barrier(), state::ended);
            }
        });
        EXPECT_GE(told.load(), 300);
    }
}

// The root of a small broadcast, or who sends to a root, waits for nobody: that others refused what it called is told in a line.
TEST(run_now, who_looked_at_nobody_is_told_later_or_at_the_end)
{
    auto const lines = [](auto&& mixed, int behind) {
        testing::internal::CaptureStderr();
        threads_memory memory;
        among(memory, 3, false, [&](member& m) {
            std::vector<std::uint64_t> in(64), out(64);
            EXPECT_EQ(m.barrier(), state::ended);
            mixed(m, in.data(), out.data());
            for (int n = 0; n < behind; ++n)
                EXPECT_EQ(m.barrier(), state::ended);
        });
        std::string const all = testing::internal::GetCapturedStderr();
        return std::pair(all, std::count(all.begin(), all.end(), '\n'));
    };
    auto const differs = [](member& m, std::uint64_t* in, std::uint64_t* out) {
        state const how = m.rank == 0 ? m.bcast(in, 1, 0) : m.allreduce(in, out, 1);
        EXPECT_EQ(how, m.rank == 0 ? state::ended : state::failed_mismatch);
    };
    for (int const behind : {1, 100}) {  // found at the end, and when slots are used again
        auto const [text, many] = lines(differs, behind);
        EXPECT_EQ(many, 1);
        EXPECT_NE(text.find(" called allreduce, this rank bcast with root 0: all ranks call the same operations in the same order; the call "
                            "of this rank had ended well before that was known\n"), text.npos) << text;
    }
    auto const [sizes, one] = lines([](member& m, std::uint64_t* in, std::uint64_t*) {
        EXPECT_EQ(m.bcast(in, m.rank == 2 ? 5 : 4, 0), m.rank == 2 ? state::failed_mismatch : state::ended);
    }, 1);
    EXPECT_EQ(one, 1);
    EXPECT_NE(sizes.find("bcast with root 0 failed on rank 2: what it gave does not fit what this rank gave; the call of this rank had ended "),
              sizes.npos) << sizes;
    // Who was told by the operation is told no more; nor is anybody for ever.
    auto const [nothing, none] = lines([](member& m, std::uint64_t* in, std::uint64_t* out) {
        EXPECT_EQ(m.rank == 1 ? m.allreduce(in, out, 1) : m.barrier(), state::failed_mismatch);
    }, 100);
    EXPECT_EQ(none, 0) << nothing;
    auto const [always, ten] = lines([&](member& m, std::uint64_t* in, std::uint64_t* out) {
        for (int n = 0; n < 1000; ++n) {
            differs(m, in, out);
            EXPECT_EQ(m.barrier(), state::ended);
        }
    }, 1);
    EXPECT_EQ(ten, 10) << always;
}

// Rank 0 fails because of rank 1, and writes its buffer again as soon as it may: rank 2 has read its block, or fails, too.
TEST(run_now, who_fails_stays_while_its_blocks_are_read)
{
    threads_memory memory;
    constexpr std::uint64_t words = 1024;
    among(
        memory, 3, false,
        [&](member& m) {
            std::vector<std::uint64_t> in(3 * words + 3), out(in.size());
            auto const sent = [&](int to) { return m.rank == 0 && to == 2 ? words : m.rank == 1 && to == 0 ? 1 : 0; };
            auto const expected = [&](int from) { return m.rank == 2 && from == 0 ? words : m.rank == 0 && from == 1 ? 2 : 0; };
            listed const sending(3, in.data(), sent), receiving(3, out.data(), expected);
            for (std::uint64_t n = 0; n < 3000; ++n) {
                std::ranges::fill(in, n);
                col::call const c =
                    col::alltoallv(in.data(), sending.sizes, sending.offsets, out.data(), receiving.sizes, receiving.offsets);
                until([&] { return col::may_run_now(&m.l, c); }, 0);  // who failed waits for nobody, and runs ahead
                state const how = col::run_now(m.l, false, c, until);
                std::ranges::fill(in, ~n);
                ASSERT_TRUE(how == (m.rank == 0 ? state::failed_mismatch : state::ended) || (m.rank == 2 && how == state::failed_mismatch));
                if (m.rank != 2 || how != state::ended)
                    continue;
                ASSERT_TRUE(std::all_of(receiving.at(0), receiving.at(0) + words, [n](auto w) { return w == n; })) << "turn " << n;
            }
        },
        {.posted = 64, .shown = 8192});
}

TEST(run_now, who_waits_for_a_dead_rank_is_told)
{
    for (bool const crowded : {false, true}) {
        threads_memory memory;
        std::atomic<int> troubled{0};
        among(memory, 3, crowded, [&](member& m) {
            ASSERT_EQ(m.barrier(), state::ended);
            if (m.rank == 1) {
                memory.dead.store(1, std::memory_order_release);
                return;
            }
            state const how = m.barrier();
            troubled.fetch_add(how == state::failed_dead ? 1 : 0);
        });
        EXPECT_EQ(troubled.load(), 2);
    }
}

// A wait that sleeps looks twice in a fifth of a second, and nobody wakes it for a death that was seen before.
TEST(run_now, who_sleeps_is_told_of_a_death_at_the_next_look)
{
    for (bool const by_steps : {false, true}) {
        threads_memory memory;
        std::atomic<int> barriers{0}, looks{0};
        among(memory, 2, true, [&](member& m) {
            ASSERT_EQ(m.barrier(), state::ended);
            ++barriers;
            while (barriers.load() != 2)
                std::this_thread::yield();
            if (m.rank == 1) {
                memory.dead.store(1, std::memory_order_release);
                return;
            }
            while (memory.dead.load(std::memory_order_acquire) != 1)
                std::this_thread::yield();
            auto const sleep = [&](auto&& is_met, int) {
                while (!is_met()) {
                    ++looks;
                    ++memory.slept;
                }
            };
            col::call const c = col::barrier();
            state how = state::waits;
            if (!by_steps) {
                how = col::run_now(m.l, true, c, sleep);
            } else {
                col::lane_run run;
                m.s.clear();
                m.s.allow(&m.l);
                col::over_lanes::build(m.s, c, true);
                run.start(m.l, m.s.lane_operation());
                sleep([&] { return (how = how == state::waits ? run.advance(m.s.lane_steps(), m.s.operation()) : how) != state::waits; }, 0);
            }
            EXPECT_EQ(how, state::failed_dead);
        });
        EXPECT_LE(looks.load(), 4);  // one for each thing that it waits for
    }
}
