// Operations over lanes on memory that other ranks do not reach: the results, and how much is copied for others. What no other rank reads
// is not copied, and what no other rank writes goes straight to where it belongs.

#include "collective/lanes/lane_steps.hpp"
#include "collective/operations.hpp"
#include "collective/schedule.hpp"
#include "unit/collective/threads.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using namespace simulated;
using state = col::lane_run::state;
using row = std::vector<std::uint64_t>;

void add_words(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] += static_cast<std::uint64_t const*>(in)[i];
}
constexpr col::combination sum{&add_words, nullptr, 8, true};
constexpr std::size_t words = 6 * 4096;  // of a rank; a multiple of what 2, 3 and 4 ranks share in whole pages

std::uint64_t word_of(int rank, std::size_t i) { return static_cast<std::uint64_t>(rank + 1) * 1000003 + i; }
row row_of(int rank, std::size_t size)
{
    row r(size);
    for (std::size_t i = 0; i < size; ++i)
        r[i] = word_of(rank, i);
    return r;
}
/// Of ranks first to last.
row sum_of(int first, int last, std::size_t size)
{
    row r(size);
    for (int rank = first; rank <= last; ++rank)
        for (std::size_t i = 0; i < size; ++i)
            r[i] += word_of(rank, i);
    return r;
}

/// An operation on every rank, built and run to its end in one thread.
struct team_of_plain_ranks {
    explicit team_of_plain_ranks(int ranks)
        : size(ranks), all(opened_lanes(memory, ranks)), schedules(static_cast<std::size_t>(ranks)), runs(static_cast<std::size_t>(ranks)),
          send(static_cast<std::size_t>(ranks)), receive(static_cast<std::size_t>(ranks))
    {
        memory.only_allocated = true;
    }
    /// make(rank) makes the rank's call, of its `send` and `receive`.
    template <class Make>
    void run(Make const& make)
    {
        for (int r = 0; r < size; ++r) {
            auto const i = static_cast<std::size_t>(r);
            schedules[i].clear();
            schedules[i].allow(all[i].get());
            col::over_lanes::build(schedules[i], make(r), false);
            runs[i].start(*all[i], schedules[i].lane_operation());
        }
        std::vector<bool> ended(static_cast<std::size_t>(size));
        for (int turns = 0; std::ranges::count(ended, true) != size; ++turns) {
            ASSERT_LT(turns, 1000);
            for (std::size_t i = 0; i < ended.size(); ++i) {
                if (ended[i])
                    continue;
                auto const how = runs[i].advance(schedules[i].lane_steps(), schedules[i].operation());
                ASSERT_TRUE(how == state::ended || how == state::waits) << static_cast<int>(how);
                ended[i] = how == state::ended;
            }
        }
    }
    /// Bytes that the rank copies in its own memory: to where others read them, and home.
    [[nodiscard]] std::uint64_t copied(int rank) const
    {
        std::uint64_t bytes = 0;
        for (auto const& s : schedules[static_cast<std::size_t>(rank)].lane_steps())
            bytes += s.what == col::lane_step::kind::copy ? s.size : 0;
        return bytes;
    }

    int size;
    threads_memory memory;
    std::vector<std::unique_ptr<col::lanes>> all;
    std::vector<col::schedule> schedules;
    std::vector<col::lane_run> runs;
    std::vector<row> send, receive;
};

class plain : public testing::TestWithParam<int> {
protected:
    team_of_plain_ranks t{GetParam()};
    int const ranks = GetParam();
    std::uint64_t const n = static_cast<std::uint64_t>(GetParam());
    static constexpr std::uint64_t bytes = words * 8;
    void give(std::size_t size)
    {
        for (int r = 0; r < ranks; ++r)
            t.send[static_cast<std::size_t>(r)] = row_of(r, size);
    }
    [[nodiscard]] row& sent(int r) { return t.send[static_cast<std::size_t>(r)]; }
    [[nodiscard]] row& got(int r) { return t.receive[static_cast<std::size_t>(r)]; }
};

TEST_P(plain, allreduce_copies_all_but_its_own_share)
{
    give(words);
    t.receive.assign(n, row(words));
    t.run([&](int r) { return col::allreduce(sent(r).data(), got(r).data(), words, sum); });
    for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(got(r), sum_of(0, ranks - 1, words)) << r;
        EXPECT_EQ(t.copied(r), bytes - bytes / n + bytes) << r;  // and the whole result home
    }
}

TEST_P(plain, allreduce_in_place)
{
    for (int r = 0; r < ranks; ++r)
        t.receive[static_cast<std::size_t>(r)] = row_of(r, words);
    t.run([&](int r) { return col::allreduce(col::in_place, got(r).data(), words, sum); });
    for (int r = 0; r < ranks; ++r)
        EXPECT_EQ(got(r), sum_of(0, ranks - 1, words)) << r;
}

TEST_P(plain, reduce_copies_all_but_its_own_share)
{
    for (int root = 0; root < ranks; ++root) {
        for (bool const in_place : {false, true}) {
            give(words);
            t.receive.assign(n, row());
            got(root) = in_place ? row_of(root, words) : row(words);
            t.run([&](int r) {
                return col::reduce(in_place && r == root ? col::in_place : sent(r).data(), got(r).data(), words, sum, root);
            });
            EXPECT_EQ(got(root), sum_of(0, ranks - 1, words)) << root;
            for (int r = 0; r < ranks; ++r)
                EXPECT_EQ(t.copied(r), bytes - bytes / n + (r == root ? bytes : 0)) << r;
        }
    }
}

TEST_P(plain, reduce_scatter_copies_all_but_its_own_block)
{
    std::vector<std::uint64_t> counts(n, words);
    counts[0] += 100;
    counts[1] -= 100;
    for (bool const in_place : {false, true}) {
        give(words * n);
        t.receive.assign(n, row());
        for (int r = 0; r < ranks; ++r)
            got(r) = in_place ? row_of(r, words * n) : row(counts[static_cast<std::size_t>(r)]);
        t.run([&](int r) { return col::reduce_scatter(in_place ? col::in_place : sent(r).data(), got(r).data(), counts, sum); });
        row const all = sum_of(0, ranks - 1, words * n);
        std::size_t first = 0;
        for (int r = 0; r < ranks; ++r) {
            std::size_t const mine = counts[static_cast<std::size_t>(r)];
            EXPECT_TRUE(std::equal(got(r).begin(), got(r).begin() + static_cast<std::ptrdiff_t>(mine),
                                   all.begin() + static_cast<std::ptrdiff_t>(first)))
                << r;
            first += mine;
            EXPECT_EQ(t.copied(r), bytes * n - mine * 8 + (in_place ? mine * 8 : 0)) << r;
        }
    }
}

TEST_P(plain, scans_read_their_own_part_where_it_is)
{
    for (bool const inclusive : {true, false}) {
        for (bool const in_place : {false, true}) {
            give(words);
            t.receive.assign(n, row(words, 7));
            if (in_place)
                for (int r = 0; r < ranks; ++r)
                    got(r) = row_of(r, words);
            t.run([&](int r) {
                void const* const from = in_place ? col::in_place : sent(r).data();
                return inclusive ? col::scan(from, got(r).data(), words, sum) : col::exscan(from, got(r).data(), words, sum);
            });
            for (int r = inclusive ? 0 : 1; r < ranks; ++r)
                EXPECT_EQ(got(r), sum_of(0, inclusive ? r : r - 1, words)) << r << inclusive << in_place;
            EXPECT_EQ(t.copied(ranks - 1), in_place ? bytes : 0) << "nobody reads what the last rank gives";
        }
    }
}

TEST_P(plain, gather_and_scatter_leave_the_block_of_the_root_alone)
{
    for (int root = 0; root < ranks; ++root) {
        for (bool const in_place : {false, true}) {
            give(words);
            t.receive.assign(n, row());
            got(root) = row(words * n);
            row all;
            for (int r = 0; r < ranks; ++r)
                all.insert(all.end(), sent(r).begin(), sent(r).end());
            auto const mine = static_cast<std::ptrdiff_t>(words) * root;
            if (in_place)
                std::ranges::copy(sent(root), got(root).begin() + mine);
            t.run([&](int r) { return col::gather(in_place && r == root ? col::in_place : sent(r).data(), got(r).data(), bytes, root); });
            EXPECT_EQ(got(root), all) << root;
            EXPECT_EQ(t.copied(root), bytes * (n - 1) + (in_place ? 0 : bytes)) << root;

            t.receive.assign(n, row(words));
            sent(root) = all;
            t.run([&](int r) {
                void* const to = in_place && r == root ? const_cast<void*>(col::in_place) : got(r).data();
                return col::scatter(sent(r).data(), to, bytes, root);
            });
            for (int r = 0; r < ranks; ++r) {
                if (r != root || !in_place) {
                    EXPECT_EQ(got(r), row_of(r, words)) << r;
                }
            }
            EXPECT_EQ(t.copied(root), bytes * (n - 1) + (in_place ? 0 : bytes)) << root;
        }
    }
}

TEST_P(plain, bcast_allgather_and_alltoall)
{
    for (int root = 0; root < ranks; ++root) {
        t.receive.assign(n, row(words));
        got(root) = row_of(root, words);
        t.run([&](int r) { return col::bcast(got(r).data(), bytes, root); });
        for (int r = 0; r < ranks; ++r)
            EXPECT_EQ(got(r), row_of(root, words)) << r;
    }
    give(words);
    t.receive.assign(n, row(words * n));
    t.run([&](int r) { return col::allgather(sent(r).data(), bytes, got(r).data(), bytes); });
    for (int r = 0; r < ranks; ++r)
        for (int from = 0; from < ranks; ++from)
            EXPECT_EQ(got(r)[words * static_cast<std::size_t>(from) + 5], word_of(from, 5));
    give(words * n);
    t.receive.assign(n, row(words * n));
    t.run([&](int r) { return col::alltoall(sent(r).data(), bytes, got(r).data(), bytes); });
    for (int r = 0; r < ranks; ++r)
        for (int from = 0; from < ranks; ++from)
            for (std::size_t i : {std::size_t{0}, words - 1})
                EXPECT_EQ(got(r)[words * static_cast<std::size_t>(from) + i], word_of(from, words * static_cast<std::size_t>(r) + i));
}

INSTANTIATE_TEST_SUITE_P(of, plain, testing::Values(2, 3, 4));

} // namespace
