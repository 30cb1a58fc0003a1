// Operations between two groups, and of neighbours.

#include "unit/collective/simulation.hpp"

#include <array>

using namespace simulated;
using col::root_is_beside;
using col::root_is_here;

namespace {

/// Groups of these sizes, both ways.
constexpr std::array<std::pair<int, int>, 6> pairs{{{1, 1}, {1, 3}, {4, 1}, {2, 5}, {7, 6}, {3, 8}}};

void xor_bytes(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::byte*>(inout)[i] ^= static_cast<std::byte const*>(in)[i];
}
constexpr col::combination exclusive_or{&xor_bytes, nullptr, 1, true};
/// Keeps the order: the left operand's half and the right one's (as strings of which the ends are kept).
void keep_ends(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::byte*>(inout)[2 * i] = static_cast<std::byte const*>(in)[2 * i];
}
constexpr col::combination ends{&keep_ends, nullptr, 2, false};

bytes of_group(std::size_t n, int first, int behind)
{
    bytes all(n);
    for (int i = first; i < behind; ++i) {
        bytes const b = filled(n, static_cast<std::uint64_t>(i), 21);
        xor_bytes(b.data(), all.data(), n, nullptr);
    }
    return all;
}

/// What a member gives as root, if the root is that member.
int root_for(int member, int root_member, int first_group)
{
    bool const same = (member < first_group) == (root_member < first_group);
    if (!same)
        return root_member < first_group ? root_member : root_member - first_group;
    return member == root_member ? root_is_here : root_is_beside;
}

template <class F>
void for_all_roots(F&& f)
{
    for (auto const& [a, b] : pairs) {
        for (int root = 0; root < a + b; ++root) {
            for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
                bool const in_first = root < a;
                f(a, b, root, in_first ? a : 0, in_first ? a + b : a, n);  // ..., the other group's members from, behind
            }
        }
    }
}

} // namespace

TEST(between, barrier)
{
    for (auto const& [a, b] : pairs) {
        for (int late = 0; late < a + b; ++late) {
            world w(a, b);
            auto operations = w.make([](col::schedule& s, col::team& t, int) { col::build(s, t, col::barrier()); });
            for (int i = 0; i < a + b; ++i) {
                if (i != late)
                    operations[static_cast<std::size_t>(i)]->start(w.end(i), w.teams[static_cast<std::size_t>(i)], 1);
            }
            w.run_dry(operations);
            for (int i = 0; i < a + b; ++i) {
                bool const other_group = (i < a) != (late < a);
                EXPECT_FALSE(other_group && operations[static_cast<std::size_t>(i)]->done()) << i << " without " << late;
            }
            operations[static_cast<std::size_t>(late)]->start(w.end(late), w.teams[static_cast<std::size_t>(late)], 1);
            w.run_dry(operations);
            for (auto const& o : operations)
                EXPECT_TRUE(o->done() && o->result() == col::ending::ok);
            w.net.expect_empty();
        }
    }
}

TEST(between, bcast)
{
    for_all_roots([](int a, int b, int root, int from, int behind, std::size_t n) {
        world w(a, b);
        std::vector<part> parts(static_cast<std::size_t>(a + b));
        for (int i = 0; i < a + b; ++i) {
            part& x = parts[static_cast<std::size_t>(i)];
            x.receive = i == root ? guarded(filled(n, 1)) : guarded(n);
            x.receive_after = i == root || (i >= from && i < behind) ? filled(n, 1) : x.receive.content();
        }
        w.run([&, a = a](col::schedule& s, col::team& t, int i) {
            col::build(s, t, col::bcast(parts[static_cast<std::size_t>(i)].receive.data(), n, root_for(i, root, a)));
        });
        expect_parts(parts, "bcast");
    });
}

TEST(between, gather_and_scatter)
{
    for_all_roots([](int a, int b, int root, int from, int behind, std::size_t n) {
        for (bool const with_lists : {false, true}) {
            world w(a, b);
            bytes all;
            std::vector<std::uint64_t> counts;
            std::vector<std::uint64_t> offsets;
            std::vector<guarded> own(static_cast<std::size_t>(a + b));
            for (int i = from; i < behind; ++i) {
                auto const at = static_cast<std::size_t>(i);
                own[at] = guarded(filled(with_lists ? n * (at % 3) : n, at));
                counts.push_back(own[at].content().size());
                offsets.push_back(all.size());
                append(all, own[at].content());
            }
            guarded collected(all.size());
            std::vector<guarded> back(own.size());
            for (std::size_t i = 0; i < own.size(); ++i)
                back[i] = guarded(own[i].content().size());
            w.run([&, a = a](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                int const r = root_for(i, root, a);
                if (with_lists)
                    col::build(s, t, col::gatherv(own[at].data(), own[at].content().size(), collected.data(), counts, offsets, r));
                else
                    col::build(s, t, col::gather(own[at].data(), collected.data(), n, r));
            });
            ASSERT_EQ(collected.content(), all);
            w.run([&, a = a](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                int const r = root_for(i, root, a);
                if (with_lists)
                    col::build(s, t, col::scatterv(collected.data(), counts, offsets, back[at].data(), own[at].content().size(), r));
                else
                    col::build(s, t, col::scatter(collected.data(), back[at].data(), n, r));
            });
            for (std::size_t i = 0; i < own.size(); ++i) {
                ASSERT_EQ(back[i].content(), own[i].content());
                ASSERT_TRUE(back[i].intact());
            }
        }
    });
}

TEST(between, allgather_and_alltoall_with_different_sizes_in_the_groups)
{
    for (auto const& [a, b] : pairs) {
        for (std::size_t const n : {std::size_t{0}, std::size_t{2}, std::size_t{150}}) {
            auto const size_of = [&, first = a](int member) { return member < first ? n : 3 * n; };
            std::vector<part> all(static_cast<std::size_t>(a + b));
            std::vector<part> each(all.size());
            for (int i = 0; i < a + b; ++i) {
                auto const at = static_cast<std::size_t>(i);
                all[at].send_after = filled(size_of(i), at);
                all[at].send = guarded(all[at].send_after);
                for (int j = i < a ? a : 0; j < (i < a ? a + b : a); ++j) {
                    append(all[at].receive_after, filled(size_of(j), static_cast<std::uint64_t>(j)));
                    append(each[at].send_after, filled(size_of(i), at, static_cast<std::uint64_t>(j)));
                    append(each[at].receive_after, filled(size_of(j), static_cast<std::uint64_t>(j), at));
                }
                all[at].receive = guarded(all[at].receive_after.size());
                each[at].send = guarded(each[at].send_after);
                each[at].receive = guarded(each[at].receive_after.size());
            }
            world w(a, b);
            w.run([&, a = a](col::schedule& s, col::team& t, int i) {
                part& x = all[static_cast<std::size_t>(i)];
                col::build(s, t, col::allgather(x.send.data(), size_of(i), x.receive.data(), size_of(i < a ? a : 0)));
            });
            expect_parts(all, "allgather");
            w.run([&, a = a](col::schedule& s, col::team& t, int i) {
                part& x = each[static_cast<std::size_t>(i)];
                col::build(s, t, col::alltoall(x.send.data(), size_of(i), x.receive.data(), size_of(i < a ? a : 0)));
            });
            expect_parts(each, "alltoall");
        }
    }
}

TEST(between, reduce)
{
    for_all_roots([](int a, int b, int root, int from, int behind, std::size_t n) {
        world w(a, b);
        std::vector<part> parts(static_cast<std::size_t>(a + b));
        for (int i = 0; i < a + b; ++i) {
            part& x = parts[static_cast<std::size_t>(i)];
            x.send_after = filled(n, static_cast<std::uint64_t>(i), 21);
            x.send = guarded(x.send_after);
            x.receive = guarded(n);
            x.receive_after = i == root ? of_group(n, from, behind) : x.receive.content();
        }
        w.run([&, a = a](col::schedule& s, col::team& t, int i) {
            part& x = parts[static_cast<std::size_t>(i)];
            col::build(s, t, col::reduce(x.send.data(), x.receive.data(), n, exclusive_or, root_for(i, root, a)));
        });
        expect_parts(parts, "reduce");
    });
}

TEST(between, allreduce)
{
    for (auto const& [a, b] : pairs) {
        for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
            std::vector<part> parts(static_cast<std::size_t>(a + b));
            for (int i = 0; i < a + b; ++i) {
                part& x = parts[static_cast<std::size_t>(i)];
                x.send_after = filled(n, static_cast<std::uint64_t>(i), 21);
                x.send = guarded(x.send_after);
                x.receive = guarded(n);
                x.receive_after = i < a ? of_group(n, a, a + b) : of_group(n, 0, a);
            }
            world w(a, b);
            w.run([&](col::schedule& s, col::team& t, int i) {
                part& x = parts[static_cast<std::size_t>(i)];
                col::build(s, t, col::allreduce(x.send.data(), x.receive.data(), n, exclusive_or));
            });
            expect_parts(parts, "allreduce");
        }
    }
}

TEST(between, allreduce_keeps_the_order_of_the_other_group)
{
    for (auto const& [a, b] : pairs) {
        std::vector<part> parts(static_cast<std::size_t>(a + b));
        for (int i = 0; i < a + b; ++i) {
            part& x = parts[static_cast<std::size_t>(i)];
            x.send_after = {std::byte(i), std::byte(100 + i)};
            x.send = guarded(x.send_after);
            x.receive = guarded(2);
            x.receive_after = i < a ? bytes{std::byte(a), std::byte(100 + a + b - 1)} : bytes{std::byte(0), std::byte(100 + a - 1)};
        }
        world w(a, b);
        w.run([&](col::schedule& s, col::team& t, int i) {
            part& x = parts[static_cast<std::size_t>(i)];
            col::build(s, t, col::allreduce(x.send.data(), x.receive.data(), 1, ends));
        });
        expect_parts(parts, "allreduce");
    }
}

TEST(between, reduce_scatter)
{
    for (auto const& [a, b] : pairs) {
        auto const n = static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * 3;
        for (bool const block : {false, true}) {
            std::vector<part> parts(static_cast<std::size_t>(a + b));
            std::array<std::vector<std::uint64_t>, 2> counts;
            for (int i = 0; i < a + b; ++i) {
                auto& list = counts[i < a ? 0 : 1];
                int const group = i < a ? a : b;
                // The last gets what the others leave.
                bool const last = i == a - 1 || i == a + b - 1;
                list.push_back(block ? n / static_cast<std::size_t>(group) : last ? n - list.size() : 1);
            }
            for (int i = 0; i < a + b; ++i) {
                part& x = parts[static_cast<std::size_t>(i)];
                x.send_after = filled(n, static_cast<std::uint64_t>(i), 21);
                x.send = guarded(x.send_after);
                bytes const sum = i < a ? of_group(n, a, a + b) : of_group(n, 0, a);
                auto const& list = counts[i < a ? 0 : 1];
                auto const rank = static_cast<std::ptrdiff_t>(i < a ? i : i - a);
                auto const offset = std::accumulate(list.begin(), list.begin() + rank, std::uint64_t{0});
                auto const first = sum.begin() + static_cast<std::ptrdiff_t>(offset);
                x.receive_after = bytes(first, first + static_cast<std::ptrdiff_t>(list[static_cast<std::size_t>(rank)]));
                x.receive = guarded(x.receive_after.size());
            }
            world w(a, b);
            w.run([&, a = a](col::schedule& s, col::team& t, int i) {
                part& x = parts[static_cast<std::size_t>(i)];
                auto const& list = counts[i < a ? 0 : 1];
                if (block)
                    col::build(s, t, col::reduce_scatter_block(x.send.data(), x.receive.data(), list[0], exclusive_or));
                else
                    col::build(s, t, col::reduce_scatter(x.send.data(), x.receive.data(), list, exclusive_or));
            });
            expect_parts(parts, "reduce_scatter");
        }
    }
}

TEST(between, scans_are_refused)
{
    world w(2, 2);
    col::schedule s;
    std::byte b{};
    EXPECT_THROW(col::build(s, w.teams[0], col::scan(&b, &b, 1, exclusive_or)), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0], col::exscan(&b, &b, 1, exclusive_or)), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0],
                            col::exchange({}, &b, col::layout_of_blocks(1), &b, col::layout_of_blocks(1))), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0], col::bcast(&b, 1, 2)), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0], col::bcast(&b, 1, -1)), towline::usage_error);
}

TEST(neighbours, any_graph_also_with_edges_more_than_once_and_to_oneself)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::uint64_t turn = 0; turn < 8; ++turn) {
            // Edge e goes from tails[e] to heads[e]; lists are in the order of edges, so that the n-th of a pair meets the n-th.
            std::mt19937_64 random(base_seed() + turn);
            std::size_t const edges = random() % 40;
            std::vector<std::vector<int>> sources(static_cast<std::size_t>(p));
            auto destinations = sources;
            std::vector<std::vector<std::uint64_t>> lists[4];
            for (auto& l : lists)
                l.resize(sources.size());
            std::vector<part> parts(sources.size());
            for (std::size_t e = 0; e < edges; ++e) {
                std::size_t const tail = random() % sources.size();
                std::size_t const head = random() % sources.size();
                std::uint64_t const n = random() % 5 * 50;
                destinations[tail].push_back(static_cast<int>(head));
                lists[0][tail].push_back(n);
                lists[1][tail].push_back(parts[tail].send_after.size());
                append(parts[tail].send_after, filled(n, e));
                sources[head].push_back(static_cast<int>(tail));
                lists[2][head].push_back(n);
                lists[3][head].push_back(parts[head].receive_after.size());
                append(parts[head].receive_after, filled(n, e));
                if (random() % 4 == 0) {  // nobody
                    sources[head].push_back(-2);
                    lists[2][head].push_back(9);
                    lists[3][head].push_back(parts[head].receive_after.size());
                    append(parts[head].receive_after, guarded(9).content());
                }
            }
            for (part& x : parts) {
                x.send = guarded(x.send_after);
                x.receive = guarded(x.receive_after.size());
            }
            world w(p, 0, base_seed() + turn);
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                part& x = parts[at];
                col::build(s, t,
                    col::exchange({sources[at], destinations[at]}, x.send.data(), {lists[0][at], lists[1][at]}, x.receive.data(),
                    {lists[2][at], lists[3][at]}));
            });
            expect_parts(parts, std::to_string(p) + " ranks, " + std::to_string(edges) + " edges");
        }
    }
}

TEST(neighbours, of_a_ring_receive_from_the_opposite_direction)
{
    constexpr std::size_t n = 70;
    constexpr std::array order{1, 0};
    for (int p = 1; p <= most_ranks; ++p) {
        std::vector<part> parts(static_cast<std::size_t>(p));
        std::vector<part> same(parts.size());
        std::vector<std::array<int, 2>> lists(parts.size());
        for (int i = 0; i < p; ++i) {
            auto const at = static_cast<std::size_t>(i);
            col::position const here{i, p};
            lists[at] = {here.around(-1), here.around(1)};
            // Direction 0 goes down, 1 goes up. From below comes what went up there.
            part& x = parts[at];
            append(x.send_after, filled(n, at, 0));
            append(x.send_after, filled(n, at, 1));
            append(x.receive_after, filled(n, static_cast<std::uint64_t>(lists[at][0]), 1));
            append(x.receive_after, filled(n, static_cast<std::uint64_t>(lists[at][1]), 0));
            part& y = same[at];
            y.send_after = filled(n, at);
            append(y.receive_after, filled(n, static_cast<std::uint64_t>(lists[at][0])));
            append(y.receive_after, filled(n, static_cast<std::uint64_t>(lists[at][1])));
            for (part* const z : {&x, &y}) {
                z->send = guarded(z->send_after);
                z->receive = guarded(z->receive_after.size());
            }
        }
        world w(p);
        w.run([&](col::schedule& s, col::team& t, int i) {
            auto const at = static_cast<std::size_t>(i);
            part& x = parts[at];
            col::build(s, t,
                col::exchange({lists[at], lists[at], order}, x.send.data(), col::layout_of_blocks(n), x.receive.data(),
                col::layout_of_blocks(n)));
        });
        expect_parts(parts, "ring of " + std::to_string(p));
        w.run([&](col::schedule& s, col::team& t, int i) {
            auto const at = static_cast<std::size_t>(i);
            part& x = same[at];
            if (p % 2 == 0) {
                col::build(s, t,
                           col::exchange({lists[at], lists[at], order}, x.send.data(), {n, 0}, x.receive.data(), col::layout_of_blocks(n)));
            } else {
                constexpr std::array<std::uint64_t, 2> counts{n, n};
                constexpr std::array<std::uint64_t, 2> offsets{0, n};
                col::build(s, t, col::exchange({lists[at], lists[at], order}, x.send.data(), {n, 0}, x.receive.data(), {counts, offsets}));
            }
        });
        expect_parts(same, "ring of " + std::to_string(p));
    }
}

TEST(neighbours, wrong_lists_are_refused)
{
    world w(3);
    col::schedule s;
    std::byte b[8]{};
    constexpr std::array far{3};
    constexpr std::array near{1};
    constexpr std::array bad_order{1};
    constexpr std::array long_order{0, 0};
    constexpr std::array<std::uint64_t, 2> lists{1, 1};
    EXPECT_THROW(col::build(s, w.teams[0],
                            col::exchange({far, near}, b, col::layout_of_blocks(1), b, col::layout_of_blocks(1))), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0],
                            col::exchange({near, far}, b, col::layout_of_blocks(1), b, col::layout_of_blocks(1))), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0],
        col::exchange({near, near, bad_order}, b, col::layout_of_blocks(1), b, col::layout_of_blocks(1))), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0],
        col::exchange({near, near, long_order}, b, col::layout_of_blocks(1), b, col::layout_of_blocks(1))), towline::usage_error);
    EXPECT_THROW(col::build(s, w.teams[0], col::exchange({near, near}, b, {1, 0}, b, {lists, lists})), towline::usage_error);
}
