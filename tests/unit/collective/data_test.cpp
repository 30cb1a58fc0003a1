// Operations that move data, by every algorithm, against what they should give, for all numbers of ranks, roots and many sizes.

#include "unit/collective/simulation.hpp"

#include <bit>

using namespace simulated;
namespace algorithms = col::algorithms;
using col::in_place;
using col::layout_of_blocks;

namespace {

constexpr std::size_t some_sizes[] = {0, 1, 5, 64, 333};

/// Sizes and offsets of blocks with holes between them; some are empty.
struct ragged {
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> offsets;
    std::uint64_t extent = 3;

    ragged(int ranks, std::uint64_t step, std::uint64_t seed)
    {
        for (int i = 0; i < ranks; ++i) {
            counts.push_back((static_cast<std::uint64_t>(i) * 7 + seed) % 4 * step);
            offsets.push_back(extent);
            extent += counts.back() + 2;
        }
    }
    [[nodiscard]] layout_of_blocks blocks() const { return {counts, offsets}; }
};

using bcast_function = void (*)(col::schedule&, col::position, void*, std::uint64_t, int);

void test_bcast(bcast_function f)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (int root = 0; root < p; ++root) {
            for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{200}, std::size_t{5000}}) {
                world w(p, 0, base_seed() + n);
                std::vector<part> parts(static_cast<std::size_t>(p));
                for (int i = 0; i < p; ++i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    x.receive = i == root ? guarded(filled(n, 1)) : guarded(n);
                    x.receive_after = filled(n, 1);
                }
                w.run([&](col::schedule& s, col::team& t, int i) {
                    f(s, t.here(), parts[static_cast<std::size_t>(i)].receive.data(), n, root);
                });
                expect_parts(parts, std::to_string(n) + " bytes from " + std::to_string(root) + " of " + std::to_string(p));
            }
        }
    }
}

} // namespace

namespace {

void arrive_and_leave(col::schedule& s, col::position here)
{
    algorithms::arrive(s, here);
    algorithms::leave(s, here);
}

} // namespace

TEST(barrier, nobody_leaves_before_all_have_come)
{
    for (auto const f : {&algorithms::barrier_dissemination, &arrive_and_leave, &algorithms::barrier_linear}) {
        for (int p = 2; p <= most_ranks; ++p) {
            for (int late = 0; late < p; ++late) {
                world w(p, 0, base_seed());
                auto operations = w.make([&](col::schedule& s, col::team& t, int) { f(s, t.here()); });
                // The late one comes when all others can do nothing any more.
                for (int i = 0; i < p; ++i) {
                    if (i == late)
                        continue;
                    matcher& m = w.end(i);
                    operations[static_cast<std::size_t>(i)]->start(m, w.teams[static_cast<std::size_t>(i)], 5);
                }
                w.run_dry(operations);
                for (int i = 0; i < p; ++i) {
                    bool const gone = operations[static_cast<std::size_t>(i)]->done();
                    EXPECT_EQ(gone, i == late) << i << " without " << late << " of " << p;
                }
                operations[static_cast<std::size_t>(late)]->start(w.end(late), w.teams[static_cast<std::size_t>(late)], 5);
                w.run_dry(operations);
                for (auto const& o : operations)
                    EXPECT_TRUE(o->done() && o->result() == col::ending::ok);
                w.net.expect_empty();
            }
        }
    }
}

TEST(barrier, takes_the_messages_that_it_should)
{
    for (int p = 1; p <= most_ranks; ++p) {
        world linear(p);
        linear.run([](col::schedule& s, col::team& t, int) { algorithms::barrier_linear(s, t.here()); });
        EXPECT_EQ(linear.net.messages, static_cast<std::size_t>(2 * (p - 1)));
        world halves(p);
        halves.run([](col::schedule& s, col::team& t, int) { arrive_and_leave(s, t.here()); });
        EXPECT_EQ(halves.net.messages, static_cast<std::size_t>(2 * (p - 1)));
        world dissemination(p);
        dissemination.run([](col::schedule& s, col::team& t, int) { algorithms::barrier_dissemination(s, t.here()); });
        EXPECT_EQ(dissemination.net.messages, static_cast<std::size_t>(p) * static_cast<std::size_t>(std::bit_width(unsigned(p - 1))));
    }
}

TEST(bcast, binomial) { test_bcast(&algorithms::bcast_binomial); }
TEST(bcast, scatter_and_ring) { test_bcast(&algorithms::bcast_scatter_ring); }

namespace {

enum class gathering { binomial, linear, chosen };

void test_gather(gathering how, bool over)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (int root = 0; root < p; ++root) {
            for (std::size_t const n : some_sizes) {
                world w(p, 0, base_seed() + n);
                std::vector<part> parts(static_cast<std::size_t>(p));
                bytes all;
                for (int i = 0; i < p; ++i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    x.send_after = filled(n, 2, static_cast<std::uint64_t>(i));
                    x.send = guarded(x.send_after);
                    append(all, x.send_after);
                }
                part& at_root = parts[static_cast<std::size_t>(root)];
                at_root.receive_after = all;
                at_root.receive = guarded(n * static_cast<std::size_t>(p));
                if (over && n != 0)
                    std::memcpy(at_root.receive.data() + n * static_cast<std::size_t>(root), at_root.send_after.data(), n);
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over && i == root ? in_place : x.send.data();
                    if (how == gathering::binomial)
                        algorithms::gather_binomial(s, t.here(), from, n, x.receive.data(), root);
                    else if (how == gathering::linear)
                        algorithms::gather_linear(s, t.here(), from, n, x.receive.data(), layout_of_blocks(n), root);
                    else
                        col::build(s, t, col::gather(from, x.receive.data(), n, root));
                });
                expect_parts(parts, std::to_string(n) + " bytes to " + std::to_string(root) + " of " + std::to_string(p));
            }
        }
    }
}

void test_scatter(gathering how, bool over)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (int root = 0; root < p; ++root) {
            for (std::size_t const n : some_sizes) {
                world w(p, 0, base_seed() + n);
                std::vector<part> parts(static_cast<std::size_t>(p));
                bytes all;
                for (int i = 0; i < p; ++i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    x.receive = guarded(n);
                    x.receive_after = filled(n, 3, static_cast<std::uint64_t>(i));
                    append(all, x.receive_after);
                }
                part& at_root = parts[static_cast<std::size_t>(root)];
                at_root.send_after = all;
                at_root.send = guarded(all);
                if (over)
                    at_root.receive_after = guarded(n).content();  // nothing comes there
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void* const to = over && i == root ? const_cast<void*>(in_place) : x.receive.data();
                    if (how == gathering::binomial)
                        algorithms::scatter_binomial(s, t.here(), x.send.data(), to, n, root);
                    else if (how == gathering::linear)
                        algorithms::scatter_linear(s, t.here(), x.send.data(), layout_of_blocks(n), to, n, root);
                    else
                        col::build(s, t, col::scatter(x.send.data(), to, n, root));
                });
                expect_parts(parts, std::to_string(n) + " bytes from " + std::to_string(root) + " of " + std::to_string(p));
            }
        }
    }
}

} // namespace

TEST(gather, binomial) { test_gather(gathering::binomial, false); }
TEST(gather, binomial_in_place) { test_gather(gathering::binomial, true); }
TEST(gather, linear) { test_gather(gathering::linear, false); }
TEST(gather, linear_in_place) { test_gather(gathering::linear, true); }
TEST(gather, chosen) { test_gather(gathering::chosen, false); }
TEST(scatter, binomial) { test_scatter(gathering::binomial, false); }
TEST(scatter, binomial_in_place) { test_scatter(gathering::binomial, true); }
TEST(scatter, linear) { test_scatter(gathering::linear, false); }
TEST(scatter, linear_in_place) { test_scatter(gathering::linear, true); }
TEST(scatter, chosen) { test_scatter(gathering::chosen, false); }

TEST(gatherv, and_scatterv_with_holes_between_blocks)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (int root = 0; root < p; ++root) {
            ragged const shape(p, 30, static_cast<std::uint64_t>(root));
            world w(p);
            guarded all(shape.extent);
            guarded back(shape.extent);
            std::vector<guarded> own;
            std::vector<guarded> got;
            bytes expected = guarded(shape.extent).content();
            for (int i = 0; i < p; ++i) {
                auto const at = static_cast<std::size_t>(i);
                bytes const b = filled(shape.counts[at], 4, at);
                std::copy(b.begin(), b.end(), expected.begin() + static_cast<std::ptrdiff_t>(shape.offsets[at]));
                own.emplace_back(b);
                got.emplace_back(b.size());
            }
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                if (i == root)
                    col::build(s, t, col::gatherv(own[at].data(), shape.counts[at], all.data(), shape.counts, shape.offsets, root));
                else
                    col::build(s, t, col::gatherv(own[at].data(), shape.counts[at], nullptr, {}, {}, root));
            });
            ASSERT_EQ(all.content(), expected);
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                if (i == root)
                    col::build(s, t, col::scatterv(all.data(), shape.counts, shape.offsets, got[at].data(), shape.counts[at], root));
                else
                    col::build(s, t, col::scatterv(nullptr, {}, {}, got[at].data(), shape.counts[at], root));
            });
            for (std::size_t i = 0; i < own.size(); ++i) {
                ASSERT_EQ(got[i].content(), own[i].content());
                ASSERT_TRUE(got[i].intact());
            }
        }
    }
}

namespace {

enum class collecting { doubling, bruck, ring, chosen };

void test_allgather(collecting how)
{
    for (int p = 1; p <= most_ranks; ++p) {
        if (how == collecting::doubling && (p & (p - 1)) != 0)
            continue;
        for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{333}, std::size_t{9000}}) {
            for (bool const over : {false, true}) {
                world w(p, 0, base_seed() + n);
                std::vector<part> parts(static_cast<std::size_t>(p));
                bytes all;
                for (std::size_t i = 0; i < parts.size(); ++i)
                    append(all, filled(n, 5, i));
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    part& x = parts[i];
                    x.send_after = filled(n, 5, i);
                    x.send = guarded(x.send_after);
                    x.receive = guarded(all.size());
                    if (over && n != 0)
                        std::memcpy(x.receive.data() + n * i, x.send_after.data(), n);
                    x.receive_after = all;
                }
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    if (how == collecting::doubling)
                        algorithms::allgather_doubling(s, t.here(), from, x.receive.data(), n);
                    else if (how == collecting::bruck)
                        algorithms::allgather_bruck(s, t.here(), from, x.receive.data(), layout_of_blocks(n));
                    else if (how == collecting::ring)
                        algorithms::allgather_ring(s, t.here(), from, x.receive.data(), layout_of_blocks(n));
                    else
                        col::build(s, t, col::allgather(from, n, x.receive.data(), n));
                });
                expect_parts(parts, std::to_string(n) + " bytes of " + std::to_string(p));
            }
        }
    }
}

void test_allgatherv(collecting how)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::uint64_t const step : {std::uint64_t{1}, std::uint64_t{40}}) {
            for (std::uint64_t turn = 0; turn < 4; ++turn) {
                ragged const shape(p, step, turn);
                bool const over = turn % 2 == 1;
                world w(p, 0, base_seed() + turn);
                std::vector<part> parts(static_cast<std::size_t>(p));
                bytes all = guarded(shape.extent).content();
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    bytes const b = filled(shape.counts[i], 6, i);
                    std::copy(b.begin(), b.end(), all.begin() + static_cast<std::ptrdiff_t>(shape.offsets[i]));
                }
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    part& x = parts[i];
                    x.send_after = filled(shape.counts[i], 6, i);
                    x.send = guarded(x.send_after);
                    x.receive = guarded(shape.extent);
                    if (over && shape.counts[i] != 0)
                        std::memcpy(x.receive.data() + shape.offsets[i], x.send_after.data(), x.send_after.size());
                    x.receive_after = all;
                }
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    if (how == collecting::bruck)
                        algorithms::allgather_bruck(s, t.here(), from, x.receive.data(), shape.blocks());
                    else if (how == collecting::ring)
                        algorithms::allgather_ring(s, t.here(), from, x.receive.data(), shape.blocks());
                    else
                        col::build(s, t, col::allgatherv(from, x.send_after.size(), x.receive.data(), shape.counts, shape.offsets));
                });
                expect_parts(parts, std::to_string(step) + " bytes of " + std::to_string(p));
            }
        }
    }
}

enum class exchanging { bruck, one, three, chosen };

void test_alltoall(exchanging how)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{24}, std::size_t{300}}) {
            for (bool const over : {false, true}) {
                world w(p, 0, base_seed() + n);
                std::vector<part> parts(static_cast<std::size_t>(p));
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    part& x = parts[i];
                    for (std::size_t j = 0; j < parts.size(); ++j) {
                        append(x.send_after, filled(n, i, j));
                        append(x.receive_after, filled(n, j, i));
                    }
                    x.receive = over ? guarded(x.send_after) : guarded(x.send_after.size());
                    x.send = guarded(x.send_after);
                }
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    layout_of_blocks const blocks(n);
                    if (how == exchanging::bruck)
                        algorithms::alltoall_bruck(s, t.here(), from, x.receive.data(), n);
                    else if (how == exchanging::chosen)
                        col::build(s, t, col::alltoall(from, n, x.receive.data(), n));
                    else
                        algorithms::alltoall_pairwise(s, t.here(), from, blocks, x.receive.data(), blocks, how == exchanging::one ? 1 : 3);
                });
                expect_parts(parts, std::to_string(n) + " bytes of " + std::to_string(p));
            }
        }
    }
}

} // namespace

TEST(allgather, doubling) { test_allgather(collecting::doubling); }
TEST(allgather, bruck) { test_allgather(collecting::bruck); }
TEST(allgather, ring) { test_allgather(collecting::ring); }
TEST(allgather, chosen) { test_allgather(collecting::chosen); }
TEST(allgatherv, bruck) { test_allgatherv(collecting::bruck); }
TEST(allgatherv, ring) { test_allgatherv(collecting::ring); }
TEST(allgatherv, chosen) { test_allgatherv(collecting::chosen); }
TEST(alltoall, bruck) { test_alltoall(exchanging::bruck); }
TEST(alltoall, pairwise) { test_alltoall(exchanging::one); }
TEST(alltoall, pairwise_in_windows) { test_alltoall(exchanging::three); }
TEST(alltoall, chosen) { test_alltoall(exchanging::chosen); }

TEST(alltoallv, blocks_of_all_sizes_between_holes)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (bool const over : {false, true}) {
            // From i to j go f(i, j) bytes; in place they must be as many as back.
            auto const f = [&](std::size_t i, std::size_t j) { return over ? (i + j) % 3 * 20 : (3 * i + j) % 4 * 15; };
            std::vector<part> parts(static_cast<std::size_t>(p));
            std::vector<std::vector<std::uint64_t>> lists[4];
            for (auto& l : lists)
                l.resize(parts.size());
            for (std::size_t i = 0; i < parts.size(); ++i) {
                part& x = parts[i];
                for (std::size_t j = 0; j < parts.size(); ++j) {
                    lists[0][i].push_back(f(i, j));
                    lists[1][i].push_back(x.send_after.size());
                    append(x.send_after, filled(f(i, j), i, j));
                    append(x.send_after, bytes(3, std::byte{0x5a}));
                    lists[2][i].push_back(f(j, i));
                    lists[3][i].push_back(x.receive_after.size());
                    append(x.receive_after, filled(f(j, i), j, i));
                    append(x.receive_after, bytes(3, std::byte{0x5a}));
                }
                x.send = guarded(x.send_after);
                x.receive = over ? guarded(x.send_after) : guarded(x.receive_after.size());
            }
            world w(p);
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                part& x = parts[at];
                if (over)
                    col::build(s, t, col::alltoallv(in_place, {}, {}, x.receive.data(), lists[2][at], lists[3][at]));
                else
                    col::build(s, t,
                               col::alltoallv(x.send.data(), lists[0][at], lists[1][at], x.receive.data(), lists[2][at], lists[3][at]));
            });
            expect_parts(parts, std::to_string(p) + " ranks");
        }
    }
}
