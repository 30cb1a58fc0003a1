// Operations of teams on several nodes, over lanes and messages, against plain loops: nodes of any size, ranks in any place.

#include "unit/collective/simulation.hpp"

#include <algorithm>
#include <array>
#include <memory>

using namespace simulated;
using col::in_place;

namespace {

using words = std::vector<std::uint64_t>;

struct placing {
    char const* name;
    std::vector<int> node_of;
};

placing const placings[] = {
    {"2 x 2", {0, 0, 1, 1}},
    {"2 x 2, round robin", {0, 1, 0, 1}},
    {"3 x 3", {0, 0, 0, 1, 1, 1, 2, 2, 2}},
    {"4 x 4, round robin", {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
    {"1 and 3", {0, 1, 1, 1}},
    {"3, 1 and 2", {0, 0, 0, 1, 2, 2}},
    {"4, 2 and 3, mixed", {2, 0, 1, 0, 2, 1, 0, 2, 0}},
    {"2 and 4, the first in the middle", {1, 1, 0, 0, 1, 1}},
};

[[nodiscard]] std::uint64_t word_of(int rank, std::uint64_t i)
{
    return static_cast<std::uint64_t>(rank + 1) * 1000003 + i * 7;
}
[[nodiscard]] words row(int rank, std::uint64_t n, std::uint64_t first = 0)
{
    words w(n);
    for (std::uint64_t i = 0; i < n; ++i)
        w[i] = word_of(rank, first + i);
    return w;
}

/// x -> a x + b, of two halves of a word: composition is associative, and does not commute.
[[nodiscard]] std::uint64_t composed(std::uint64_t f, std::uint64_t g)
{
    auto const a = [](std::uint64_t h) { return static_cast<std::uint32_t>(h); };
    auto const b = [](std::uint64_t h) { return static_cast<std::uint32_t>(h >> 32); };
    return std::uint64_t{a(f) * b(g) + b(f)} << 32 | std::uint64_t{a(f) * a(g)};
}
void compose(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] =
            composed(static_cast<std::uint64_t const*>(in)[i], static_cast<std::uint64_t*>(inout)[i]);
}
void add(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] += static_cast<std::uint64_t const*>(in)[i];
}
void add_doubles(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<double*>(inout)[i] = static_cast<double const*>(in)[i] + static_cast<double*>(inout)[i];
}
constexpr col::combination sums{&add, nullptr, 8, true};
constexpr col::combination compositions{&compose, nullptr, 8, false};

[[nodiscard]] words combined(int ranks, std::uint64_t n, bool commutative)
{
    words all = row(ranks - 1, n);
    for (int r = ranks - 2; r >= 0; --r)
        for (std::uint64_t i = 0; i < n; ++i)
            all[i] = commutative ? word_of(r, i) + all[i] : composed(word_of(r, i), all[i]);
    return all;
}

/// One operation: what each rank gives, what it calls, and what it has in the end.
struct job {
    std::string name;
    std::vector<words> in, out, after;
    std::function<col::call(int rank, std::uint64_t* in, std::uint64_t* out)> call;
};

/// All operations of so many words, or blocks of so many. `over`: in place, where that may be.
std::vector<job> jobs(int p, int root, std::uint64_t n, bool over)
{
    auto const ranks = static_cast<std::size_t>(p);
    std::uint64_t const all = n * ranks, bytes = n * 8;
    auto const at = [](int r) { return static_cast<std::size_t>(r); };
    std::vector<job> list;
    auto const begin = [&](char const* name, auto&& in, auto&& out, auto&& after, auto&& call) {
        job j{name, {}, {}, {}, call};
        for (int r = 0; r < p; ++r) {
            j.in.push_back(in(r));
            j.out.push_back(out(r));
            j.after.push_back(after(r));
        }
        list.push_back(std::move(j));
    };
    auto const nothing = [](int) { return words(); };
    auto const empty = [](std::uint64_t size) { return [size](int) { return words(size, 0xaaaa); }; };
    auto const gathered = [&](int) {
        words w;
        for (int r = 0; r < p; ++r) {
            words const one = row(r, n);
            w.insert(w.end(), one.begin(), one.end());
        }
        return w;
    };
    auto const with_own = [&](int r) {
        words w(all, 0xaaaa);
        std::ranges::copy(row(r, n), w.begin() + static_cast<std::ptrdiff_t>(at(r) * n));
        return w;
    };
    begin("barrier", nothing, nothing, nothing, [](int, auto*, auto*) { return col::barrier(); });
    begin("bcast", nothing, [&](int r) { return r == root ? row(root, n) : words(n, 0xaaaa); }, [&](int) { return row(root, n); },
          [=](int, auto*, auto* out) { return col::bcast(out, bytes, root); });
    auto const at_root = [&](auto&& there) { return [&, there](int r) { return r == root ? there(r) : words(); }; };
    begin("gather", [&](int r) { return row(r, n); }, at_root([&](int r) { return over ? with_own(r) : words(all, 0xaaaa); }),
          at_root(gathered), [=](int r, auto* in, auto* out) {
              return col::gather(over && r == root ? in_place : in, out, bytes, root);
          });
    begin("scatter", at_root([&](int r) { return row(r, all); }), empty(n),
          [&](int r) { return over && r == root ? words(n, 0xaaaa) : row(root, n, at(r) * n); }, [=](int r, auto* in, auto* out) {
              return col::scatter(in, over && r == root ? const_cast<void*>(in_place) : out, bytes, root);
          });
    begin("allgather", [&](int r) { return row(r, n); }, [&](int r) { return over ? with_own(r) : words(all, 0xaaaa); }, gathered,
          [=](int, auto* in, auto* out) { return col::allgather(over ? in_place : in, bytes, out, bytes); });
    begin("alltoall", [&](int r) { return row(r, all); }, [&](int r) { return over ? row(r, all) : words(all, 0xaaaa); },
          [&](int r) {
              words w;
              for (int from = 0; from < p; ++from) {
                  words const one = row(from, n, at(r) * n);
                  w.insert(w.end(), one.begin(), one.end());
              }
              return w;
          },
          [=](int, auto* in, auto* out) { return col::alltoall(over ? in_place : in, bytes, out, bytes); });
    // Blocks of any size, next to each other or not.
    auto const sizes = std::make_shared<words>(), places = std::make_shared<words>(), counts = std::make_shared<words>();
    std::uint64_t end = 0;
    for (int r = 0; r < p; ++r) {
        std::uint64_t const size = n == 0 ? 0 : r % 3 == 1 ? n / 2 : n + at(r);
        counts->push_back(size);
        sizes->push_back(size * 8);
        places->push_back(end * 8);
        end += size + (over ? 0 : 2);
    }
    auto const listed = [=](auto&& has) {
        words w(end, 0xaaaa);
        for (int r = 0; r < p; ++r)
            if (has(r))
                std::ranges::copy(row(r, (*counts)[at(r)]), w.begin() + static_cast<std::ptrdiff_t>((*places)[at(r)] / 8));
        return w;
    };
    begin("allgatherv", [&](int r) { return row(r, (*counts)[at(r)]); },
          [&](int r) { return listed([=](int other) { return over && other == r; }); },
          [&](int) { return listed([](int) { return true; }); },
          [=](int r, auto* in, auto* out) { return col::allgatherv(over ? in_place : in, (*sizes)[at(r)], out, *sizes, *places); });
    for (bool const commutative : {true, false}) {
        col::combination const how = commutative ? sums : compositions;
        std::string const what = commutative ? " of sums" : " of compositions";
        begin(("allreduce" + what).c_str(), [&](int r) { return row(r, n); }, [&](int r) { return over ? row(r, n) : words(n, 0xaaaa); },
              [&](int) { return combined(p, n, commutative); },
              [=](int, auto* in, auto* out) { return col::allreduce(over ? in_place : in, out, n, how); });
        begin(("reduce" + what).c_str(), [&](int r) { return row(r, n); },
              at_root([&](int r) { return over ? row(r, n) : words(n, 0xaaaa); }),
              at_root([&](int) { return combined(p, n, commutative); }),
              [=](int r, auto* in, auto* out) { return col::reduce(over && r == root ? in_place : in, out, n, how, root); });
        begin(("reduce_scatter_block" + what).c_str(), [&](int r) { return row(r, all); },
              [&](int r) { return over ? row(r, all) : words(n, 0xaaaa); },
              [&](int r) {
                  words const sum = combined(p, all, commutative);
                  words w = over ? row(r, all) : words(n);
                  std::copy_n(sum.begin() + static_cast<std::ptrdiff_t>(at(r) * n), n, w.begin());
                  return w;
              },
              [=](int, auto* in, auto* out) { return col::reduce_scatter_block(over ? in_place : in, out, n, how); });
        std::uint64_t total = 0;
        for (std::uint64_t const size : *counts)
            total += size;
        begin(("reduce_scatter" + what).c_str(), [&](int r) { return row(r, total); },
              [&](int r) { return words((*counts)[at(r)], 0xaaaa); },
              [&](int r) {
                  words const sum = combined(p, total, commutative);
                  auto first = sum.begin();
                  for (int before = 0; before < r; ++before)
                      first += static_cast<std::ptrdiff_t>((*counts)[at(before)]);
                  return words(first, first + static_cast<std::ptrdiff_t>((*counts)[at(r)]));
              },
              [=](int, auto* in, auto* out) { return col::reduce_scatter(in, out, *counts, how); });
        for (bool const inclusive : {true, false})
            begin(((inclusive ? "scan" : "exscan") + what).c_str(), [&](int r) { return row(r, n); },
                  [&](int r) { return over ? row(r, n) : words(n, 0xaaaa); },
                  [&](int r) {
                      if (inclusive || r != 0)
                          return combined(inclusive ? r + 1 : r, n, commutative);
                      return over ? row(0, n) : words(n, 0xaaaa);
                  },
                  [=](int, auto* in, auto* out) {
                      void const* const own = over ? in_place : in;
                      return inclusive ? col::scan(own, out, n, how) : col::exscan(own, out, n, how);
                  });
    }
    return list;
}

/// Of the buffers that the program may not find changed.
void expect_done(job const& j, std::vector<words> const& given, std::string const& where)
{
    ASSERT_TRUE(j.out == j.after) << j.name << ", " << where;
    ASSERT_TRUE(j.in == given) << j.name << ": what ranks gave was changed, " << where;
}

void build(job& j, col::schedule& s, col::team& t, int i)
{
    auto const at = static_cast<std::size_t>(i);
    col::build(s, t, j.call(i, j.in[at].data(), j.out[at].data()));
}

/// Below a slot; several messages of the network; shown; and so many that they are divided among leaders.
constexpr std::uint64_t some_sizes[] = {0, 1, 40, 600, 3000};

class levels : public ::testing::Test {
protected:
    ~levels() override
    {
        scarce_memory = false;
        combine_in_order = false;
    }
    std::uint64_t const seed = base_seed();
};

} // namespace

TEST_F(levels, operations_give_what_plain_loops_give)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    for (placing const& p : placings) {
        auto const ranks = static_cast<int>(p.node_of.size());
        world w(p.node_of, seed);
        ASSERT_NE(w.teams[0].levels(), nullptr);
        for (int root = 0; root < ranks; ++root) {
            for (std::uint64_t const n : some_sizes) {
                for (job& j : jobs(ranks, root, n, (n + static_cast<std::uint64_t>(root)) % 2 == 0)) {
                    std::vector<words> const given = j.in;
                    w.run([&](col::schedule& s, col::team& t, int i) { build(j, s, t, i); });
                    expect_done(j, given, std::string(p.name) + ", root " + std::to_string(root) + ", " + std::to_string(n) + " words");
                    if (HasFatalFailure())
                        return;
                }
            }
        }
    }
}

TEST_F(levels, only_leaders_send_to_other_nodes)
{
    auto const messages = [&](std::vector<int> const& node_of, std::uint64_t n, std::string const& name) {
        world w(node_of, seed);
        for (job& j : jobs(static_cast<int>(node_of.size()), 1, n, false)) {
            if (j.name == name)
                w.run([&](col::schedule& s, col::team& t, int i) { build(j, s, t, i); });
        }
        return w.net.messages;
    };
    std::vector<int> const two_by_three{0, 0, 0, 1, 1, 1};
    for (char const* const name : {"barrier", "allgather", "allgatherv", "allreduce of sums", "allreduce of compositions",
                                   "reduce_scatter of sums", "reduce_scatter_block of compositions"}) {
        EXPECT_EQ(messages(two_by_three, 10, name), 2u) << name;  // one rank of each node
        if (name != std::string("barrier")) {
            EXPECT_EQ(messages(two_by_three, 5000, name), 6u) << name;  // all of them
        }
    }
    for (char const* const name : {"bcast", "gather", "scatter", "reduce of sums"}) {
        EXPECT_EQ(messages(two_by_three, 10, name), 1u) << name;
        EXPECT_EQ(messages(two_by_three, 5000, name), 3u) << name;
    }
    for (char const* const name : {"scan of sums", "exscan of compositions"})
        for (std::uint64_t const n : {10u, 5000u})
            EXPECT_EQ(messages(two_by_three, n, name), 2u) << name;
    EXPECT_EQ(messages(two_by_three, 10, "alltoall"), 6u);
    EXPECT_EQ(messages(two_by_three, 5000, "alltoall"), 30u) << "many bytes go straight";
    EXPECT_GT(messages({0, 1, 0, 1}, 10, "allreduce of compositions"), 2u) << "ranks of a node do not follow each other";
}

TEST_F(levels, one_order_of_operands_where_it_is_asked_for)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    combine_in_order = true;
    world w({0, 0, 1, 1, 1}, seed);
    for (std::uint64_t const n : {std::uint64_t{3}, std::uint64_t{4000}}) {
        std::vector<std::vector<double>> in(5), out(5, std::vector<double>(n));
        std::vector<double> expected(n);
        for (std::size_t r = 0; r < 5; ++r)
            for (std::uint64_t i = 0; i < n; ++i)
                in[r].push_back(1.0 / static_cast<double>(r * 1000 + i + 3));
        for (std::uint64_t i = 0; i < n; ++i)
            expected[i] = in[0][i] + (in[1][i] + (in[2][i] + (in[3][i] + in[4][i])));
        w.run([&](col::schedule& s, col::team& t, int i) {
            auto const at = static_cast<std::size_t>(i);
            col::build(s, t, col::allreduce(in[at].data(), out[at].data(), n, {&add_doubles, nullptr, 8, true}));
        });
        for (auto const& o : out)
            EXPECT_TRUE(o == expected);
    }
}

TEST_F(levels, many_are_under_way_and_run_again)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    for (placing const& p : placings) {
        auto const ranks = static_cast<int>(p.node_of.size());
        world w(p.node_of, seed);
        for (int turn = 0; turn < 3; ++turn) {
            std::vector<job> list = jobs(ranks, turn % ranks, turn == 0 ? 4 : turn == 1 ? 700 : 2600, turn == 1);
            std::vector<std::vector<std::unique_ptr<operation>>> under_way;
            for (job& j : list)
                under_way.push_back(w.make([&](col::schedule& s, col::team& t, int i) { build(j, s, t, i); }));
            auto const first = list;
            for (int again = 0; again < 2; ++again) {
                for (std::size_t i = 0; i < list.size(); ++i) {
                    for (std::size_t r = 0; r < list[i].in.size(); ++r) {
                        std::ranges::copy(first[i].in[r], list[i].in[r].begin());
                        std::ranges::copy(first[i].out[r], list[i].out[r].begin());
                    }
                    w.start(under_way[i]);
                }
                auto const are_done = [&] {
                    auto const is_done = [](auto& o) { return o->done(); };
                    return std::ranges::all_of(under_way, [&](auto& all) { return std::ranges::all_of(all, is_done); });
                };
                for (int i = 0; i < 1'000'000 && !are_done(); ++i)
                    (void)w.step(under_way[static_cast<std::size_t>(i) % under_way.size()]);
                for (std::size_t i = 0; i < list.size(); ++i) {
                    for (auto const& o : under_way[i])
                        ASSERT_TRUE(o->done() && o->result() == col::ending::ok) << list[i].name << ", " << p.name;
                    expect_done(list[i], first[i].in, p.name);
                }
            }
        }
        w.net.expect_empty();
    }
}

TEST_F(levels, a_death_at_any_moment_ends_all_who_are_alive)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::size_t troubled = 0;
    for (placing const& p : placings) {
        auto const ranks = static_cast<int>(p.node_of.size());
        std::size_t const operations = jobs(ranks, 0, 1, false).size();
        for (std::uint64_t turn = 0; turn < 4 * operations; ++turn) {
            std::uint64_t const n = turn / operations % 2 == 0 ? 20 : 2500;
            job j = std::move(jobs(ranks, static_cast<int>(turn) % ranks, n, turn % 3 == 0)[turn % operations]);
            world w(p.node_of, seed + turn * 13);
            auto all = w.make([&](col::schedule& s, col::team& t, int i) { build(j, s, t, i); });
            auto const victim = static_cast<std::size_t>(w.net.draw(static_cast<std::uint64_t>(ranks)));
            bool const before = turn % 5 == 0;
            if (before)
                w.net.kill(w.peer_of_member(static_cast<int>(victim)));
            w.start(all);
            for (std::uint64_t steps = before ? 0 : w.net.draw(20); steps != 0; --steps)
                w.net.step();
            if (!before)
                w.net.kill(w.peer_of_member(static_cast<int>(victim)));
            w.run_dry(all);
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (i == victim)
                    continue;
                ASSERT_TRUE(all[i]->done()) << j.name << " hangs on " << i << " without " << victim << ", " << p.name << ", turn " << turn;
                if (all[i]->result() == col::ending::ok)
                    continue;
                ++troubled;
                EXPECT_EQ(all[i]->result(), col::ending::peer_died) << j.name;
            }
            w.net.expect_empty();
            auto const ended = j.out;
            w.run_dry(all);
            ASSERT_TRUE(j.out == ended) << "written after the end";
        }
    }
    EXPECT_NE(troubled, 0u);
}

TEST_F(levels, different_sizes_end_as_a_mismatch_and_the_next_operation_is_well)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    for (placing const& p : placings) {
        auto const ranks = static_cast<int>(p.node_of.size());
        std::size_t const operations = jobs(ranks, 0, 1, false).size();
        for (std::size_t turn = 0; turn < operations; ++turn) {
            world w(p.node_of, seed + turn);
            int const root = static_cast<int>(turn) % ranks, odd = static_cast<int>(turn * 7 + 1) % ranks;
            job j = std::move(jobs(ranks, root, 30, false)[turn]);
            job other = std::move(jobs(ranks, root, 31, false)[turn]);
            if (j.name == "barrier")
                continue;
            auto all = w.make([&](col::schedule& s, col::team& t, int i) { build(i == odd ? other : j, s, t, i); });
            w.start(all);
            w.run_dry(all);
            std::size_t wrong = 0;
            for (auto const& o : all) {
                ASSERT_TRUE(o->done()) << j.name << " hangs, " << p.name;
                wrong += o->result() == col::ending::mismatch ? 1 : 0;
                EXPECT_NE(o->result(), col::ending::peer_died);
            }
            EXPECT_NE(wrong, 0u) << j.name << ", " << p.name;
            w.net.expect_empty();
            for (job& next : jobs(ranks, root, 50, false)) {
                w.run([&](col::schedule& s, col::team& t, int i) { build(next, s, t, i); });
                ASSERT_TRUE(next.out == next.after) << next.name << " after " << j.name << ", " << p.name;
            }
        }
    }
}

TEST_F(levels, parts_go_by_messages_where_memory_is_scarce)
{
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    scarce_memory = true;
    std::size_t refused = 0;
    for (placing const& p : placings) {
        auto const ranks = static_cast<int>(p.node_of.size());
        for (std::uint64_t turn = 0; turn < 6; ++turn) {
            world w(p.node_of, seed + turn);
            for (job& j : jobs(ranks, static_cast<int>(turn) % ranks, 1500 + 1000 * turn, turn % 2 == 0)) {
                std::vector<words> const given = j.in;
                w.run([&](col::schedule& s, col::team& t, int i) { build(j, s, t, i); });
                expect_done(j, given, p.name);
                if (HasFatalFailure())
                    return;
            }
            refused += w.shared.refused;
        }
    }
    EXPECT_NE(refused, 0u);
}
