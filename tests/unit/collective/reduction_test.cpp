// Reductions by every algorithm, against combining one after another in the order of ranks: with sums, and with products of matrices, which
// do not commute.

#include "unit/collective/simulation.hpp"

#include <array>

using namespace simulated;
namespace algorithms = col::algorithms;
using col::in_place;
using col::layout_of_blocks;

namespace {

/// 2x2, modulo 2^32.
using matrix = std::array<std::uint32_t, 4>;

matrix product(matrix const& a, matrix const& b)
{
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

void multiply(void const* in, void* inout, std::uint64_t count, void* calls)
{
    ++*static_cast<std::size_t*>(calls);
    for (std::uint64_t i = 0; i < count; ++i) {
        matrix a;
        matrix b;
        std::memcpy(&a, static_cast<std::byte const*>(in) + i * sizeof a, sizeof a);
        std::memcpy(&b, static_cast<std::byte*>(inout) + i * sizeof b, sizeof b);
        b = product(a, b);
        std::memcpy(static_cast<std::byte*>(inout) + i * sizeof b, &b, sizeof b);
    }
}

/// Modulo 256.
void add(void const* in, void* inout, std::uint64_t count, void* calls)
{
    ++*static_cast<std::size_t*>(calls);
    for (std::uint64_t i = 0; i < count; ++i) {
        auto& b = static_cast<std::byte*>(inout)[i];
        b = static_cast<std::byte>(static_cast<unsigned>(b) + static_cast<unsigned>(static_cast<std::byte const*>(in)[i]));
    }
}

/// An operation of each kind, and a naive reference.
struct kind {
    col::combination r;
    std::size_t calls = 0;

    explicit kind(bool commutative)
    {
        if (commutative)
            r = {&add, &calls, 1, true};
        else
            r = {&multiply, &calls, sizeof(matrix), false};
    }
    kind(kind const&) = delete;
    kind& operator=(kind const&) = delete;

    [[nodiscard]] bytes operand(std::uint64_t count, std::size_t rank) const { return filled(count * r.element, rank, 11); }
    /// Of the ranks from first up to (without) behind.
    [[nodiscard]] bytes sum(std::uint64_t count, std::size_t first, std::size_t behind) const
    {
        bytes all = operand(count, first);
        std::size_t uncounted = 0;
        for (std::size_t i = first + 1; i < behind; ++i) {
            bytes next = operand(count, i);
            r.apply(all.data(), next.data(), count, &uncounted);
            all = next;
        }
        return all;
    }
};

constexpr std::uint64_t some_counts[] = {0, 1, 2, 7, 16, 17, 130};

enum class way { first, second, chosen };

std::vector<part> operands(kind const& k, int p, std::uint64_t count)
{
    std::vector<part> parts(static_cast<std::size_t>(p));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].send_after = k.operand(count, i);
        parts[i].send = guarded(parts[i].send_after);
    }
    return parts;
}

std::string title(int p, std::uint64_t count, bool commutative, bool over)
{
    return std::to_string(count) + (commutative ? " sums" : " products") + (over ? " in place" : "") + " of " + std::to_string(p);
}

void test_reduce(way how, bool commutative)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (int root = 0; root < p; ++root) {
            for (std::uint64_t const count : some_counts) {
                for (bool const over : {false, true}) {
                    kind k(commutative);
                    auto parts = operands(k, p, count);
                    part& end = parts[static_cast<std::size_t>(root)];
                    end.receive = over ? guarded(end.send_after) : guarded(end.send_after.size());
                    end.receive_after = k.sum(count, 0, parts.size());
                    world w(p, 0, base_seed() + count);
                    w.run([&](col::schedule& s, col::team& t, int i) {
                        part& x = parts[static_cast<std::size_t>(i)];
                        void const* const from = over && i == root ? in_place : x.send.data();
                        if (how == way::first)
                            algorithms::reduce_binomial(s, t.here(), from, x.receive.data(), count, k.r, root);
                        else if (how == way::second)
                            algorithms::reduce_scatter_gather(s, t.here(), from, x.receive.data(), count, k.r, root);
                        else
                            col::build(s, t, col::reduce(from, x.receive.data(), count, k.r, root));
                    });
                    expect_parts(parts, title(p, count, commutative, over) + " to " + std::to_string(root));
                }
            }
        }
    }
}

void test_allreduce(way how, bool commutative)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::uint64_t const count : some_counts) {
            for (bool const over : {false, true}) {
                kind k(commutative);
                auto parts = operands(k, p, count);
                for (part& x : parts) {
                    x.receive = over ? guarded(x.send_after) : guarded(x.send_after.size());
                    x.receive_after = k.sum(count, 0, parts.size());
                }
                world w(p, 0, base_seed() + count);
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    if (how == way::first)
                        algorithms::allreduce_doubling(s, t.here(), from, x.receive.data(), count, k.r);
                    else if (how == way::second)
                        algorithms::allreduce_rabenseifner(s, t.here(), from, x.receive.data(), count, k.r);
                    else
                        col::build(s, t, col::allreduce(from, x.receive.data(), count, k.r));
                });
                expect_parts(parts, title(p, count, commutative, over));
            }
        }
    }
}

enum class spreading { direct, pairwise, halving, chosen, chosen_block };

void test_reduce_scatter(spreading how, bool commutative)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::uint64_t turn = 0; turn < 6; ++turn) {
            for (bool const over : {false, true}) {
                std::vector<std::uint64_t> counts;
                std::vector<std::uint64_t> offsets;
                std::uint64_t total = 0;
                for (int i = 0; i < p; ++i) {
                    counts.push_back(how == spreading::chosen_block ? turn : (static_cast<std::uint64_t>(i) * 5 + turn) % 4 * turn);
                    offsets.push_back(total);
                    total += counts.back();
                }
                layout_of_blocks const blocks(counts, offsets);
                kind k(commutative);
                auto parts = operands(k, p, total);
                bytes const sum = k.sum(total, 0, parts.size());
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    part& x = parts[i];
                    auto const first = sum.begin() + static_cast<std::ptrdiff_t>(offsets[i] * k.r.element);
                    x.receive_after = bytes(first, first + static_cast<std::ptrdiff_t>(counts[i] * k.r.element));
                    x.receive = guarded(x.receive_after.size());
                    if (over) {
                        x.receive = guarded(x.send_after);
                        append(x.receive_after, bytes(x.send_after.begin() + static_cast<std::ptrdiff_t>(x.receive_after.size()),
                                                      x.send_after.end()));
                    }
                }
                world w(p, 0, base_seed() + turn);
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    switch (how) {
                    case spreading::direct:
                        return algorithms::reduce_scatter_direct(s, t.here(), from, x.receive.data(), blocks, k.r);
                    case spreading::pairwise:
                        return algorithms::reduce_scatter_pairwise(s, t.here(), from, x.receive.data(), blocks, k.r);
                    case spreading::halving:
                        return algorithms::reduce_scatter_halving(s, t.here(), from, x.receive.data(), blocks, k.r);
                    case spreading::chosen:
                        return col::build(s, t, col::reduce_scatter(from, x.receive.data(), counts, k.r));
                    case spreading::chosen_block:
                        return col::build(s, t, col::reduce_scatter_block(from, x.receive.data(), turn, k.r));
                    }
                });
                expect_parts(parts, title(p, total, commutative, over));
            }
        }
    }
}

void test_scan(bool with_own, bool commutative)
{
    for (int p = 1; p <= most_ranks; ++p) {
        for (std::uint64_t const count : some_counts) {
            for (bool const over : {false, true}) {
                kind k(commutative);
                auto parts = operands(k, p, count);
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    part& x = parts[i];
                    x.receive = over ? guarded(x.send_after) : guarded(x.send_after.size());
                    x.receive_after = with_own ? k.sum(count, 0, i + 1) : i == 0 ? x.receive.content() : k.sum(count, 0, i);
                }
                world w(p, 0, base_seed() + count);
                w.run([&](col::schedule& s, col::team& t, int i) {
                    part& x = parts[static_cast<std::size_t>(i)];
                    void const* const from = over ? in_place : x.send.data();
                    if (with_own)
                        col::build(s, t, col::scan(from, x.receive.data(), count, k.r));
                    else
                        col::build(s, t, col::exscan(from, x.receive.data(), count, k.r));
                });
                expect_parts(parts, title(p, count, commutative, over));
            }
        }
    }
}

} // namespace

TEST(reference, products_of_matrices_do_not_commute)
{
    kind const k(false);
    bytes a = k.operand(3, 0);
    bytes b = k.operand(3, 1);
    bytes ab = b;
    std::size_t calls = 0;
    multiply(a.data(), ab.data(), 3, &calls);
    multiply(b.data(), a.data(), 3, &calls);
    EXPECT_NE(ab, a);
}

TEST(reduce, binomial) { test_reduce(way::first, true); }
TEST(reduce, binomial_in_order) { test_reduce(way::first, false); }
TEST(reduce, scatter_and_gather) { test_reduce(way::second, true); }
TEST(reduce, chosen) { test_reduce(way::chosen, true); }
TEST(reduce, chosen_in_order) { test_reduce(way::chosen, false); }
TEST(allreduce, doubling) { test_allreduce(way::first, true); }
TEST(allreduce, doubling_in_order) { test_allreduce(way::first, false); }
TEST(allreduce, rabenseifner) { test_allreduce(way::second, true); }
TEST(allreduce, chosen) { test_allreduce(way::chosen, true); }
TEST(allreduce, chosen_in_order) { test_allreduce(way::chosen, false); }
TEST(reduce_scatter, direct) { test_reduce_scatter(spreading::direct, true); }
TEST(reduce_scatter, direct_in_order) { test_reduce_scatter(spreading::direct, false); }
TEST(reduce_scatter, pairwise) { test_reduce_scatter(spreading::pairwise, true); }
TEST(reduce_scatter, halving) { test_reduce_scatter(spreading::halving, true); }
TEST(reduce_scatter, chosen) { test_reduce_scatter(spreading::chosen, true); }
TEST(reduce_scatter, chosen_in_order) { test_reduce_scatter(spreading::chosen, false); }
TEST(reduce_scatter_block, chosen) { test_reduce_scatter(spreading::chosen_block, true); }
TEST(reduce_scatter_block, chosen_in_order) { test_reduce_scatter(spreading::chosen_block, false); }
TEST(scan, sums) { test_scan(true, true); }
TEST(scan, in_order) { test_scan(true, false); }
TEST(exscan, sums) { test_scan(false, true); }
TEST(exscan, in_order) { test_scan(false, false); }

namespace {

/// Neither associative nor commutative to the last bit, as sums of floating-point numbers.
void add_doubles(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i) {
        double a;
        double b;
        std::memcpy(&a, static_cast<std::byte const*>(in) + i * 8, 8);
        std::memcpy(&b, static_cast<std::byte*>(inout) + i * 8, 8);
        b = a + b * (1 + 1e-16) + 1e-3 * a;  // a is not b's equal
        std::memcpy(static_cast<std::byte*>(inout) + i * 8, &b, 8);
    }
}

} // namespace

TEST(allreduce, gives_all_ranks_the_same_bits_even_if_the_operation_is_sloppy)
{
    for (bool const big : {false, true}) {
        for (int p = 1; p <= most_ranks; ++p) {
            std::uint64_t const count = 40;
            col::combination const r{&add_doubles, nullptr, 8, true};
            std::vector<std::vector<double>> in(static_cast<std::size_t>(p));
            std::vector<std::vector<double>> out(in.size(), std::vector<double>(count));
            for (std::size_t i = 0; i < in.size(); ++i) {
                for (std::uint64_t j = 0; j < count; ++j)
                    in[i].push_back(1.0 / static_cast<double>(3 + i * 7 + j));
            }
            world w(p);
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                (big ? algorithms::allreduce_rabenseifner : algorithms::allreduce_doubling)(s, t.here(), in[at].data(), out[at].data(),
                                                                                            count, r);
            });
            for (auto const& o : out)
                ASSERT_EQ(std::memcmp(o.data(), out[0].data(), count * 8), 0) << p;
        }
    }
}

TEST(in_order, every_reduction_gives_the_same_bits_in_every_way)
{
    combine_in_order = true;
    SCOPED_TRACE("seed " + std::to_string(base_seed()));
    for (int p = 2; p <= most_ranks; ++p) {
        for (std::uint64_t const count : {1, 2, 5, 40, 1100, 9000}) {
            auto const n = static_cast<std::size_t>(p);
            col::combination const r{&add_doubles, nullptr, 8, true};
            std::vector<std::vector<double>> in(n);
            for (std::size_t i = 0; i < n; ++i) {
                for (std::uint64_t j = 0; j < count; ++j)
                    in[i].push_back(1.0 / static_cast<double>(3 + i * 7 + j));
            }
            // Of the ranks from 0 to each.
            std::vector<std::vector<double>> expected = in;
            for (std::size_t i = 1; i < n; ++i)
                for (std::size_t k = i; k-- != 0;)
                    add_doubles(in[k].data(), expected[i].data(), count, nullptr);
            world w(p);
            int const root = static_cast<int>(count) % p;
            auto const check = [&](char const* what, auto&& build, auto&& expect) {
                std::vector<std::vector<double>> out(n, std::vector<double>(count, -1));
                w.run([&](col::schedule& s, col::team& t, int i) {
                    auto const at = static_cast<std::size_t>(i);
                    build(s, t, at, out[at].data());
                });
                for (std::size_t i = 0; i < n; ++i)
                    ASSERT_TRUE(expect(i, out[i])) << what << ", " << p << " ranks, " << count << " elements, rank " << i;
            };
            auto const same = [&](std::vector<double> const& a, std::vector<double> const& b) {
                return std::memcmp(a.data(), b.data(), count * 8) == 0;
            };
            check("allreduce", [&](auto& s, auto& t, std::size_t i, double* o) { col::build(s, t,
                                                                                            col::allreduce(in[i].data(), o, count, r)); },
                  [&](std::size_t, auto const& o) { return same(o, expected[n - 1]); });
            check("allreduce in place", [&](auto& s, auto& t, std::size_t i, double* o) {
                std::copy(in[i].begin(), in[i].end(), o);
                col::build(s, t, col::allreduce(col::in_place, o, count, r));
            }, [&](std::size_t, auto const& o) { return same(o, expected[n - 1]); });
            check("reduce", [&](auto& s, auto& t, std::size_t i, double* o) { col::build(s, t,
                                                                                         col::reduce(in[i].data(), o, count, r, root)); },
                  [&](std::size_t i, auto const& o) { return static_cast<int>(i) != root || same(o, expected[n - 1]); });
            check("scan", [&](auto& s, auto& t, std::size_t i, double* o) { col::build(s, t, col::scan(in[i].data(), o, count, r)); },
                  [&](std::size_t i, auto const& o) { return same(o, expected[i]); });
            check("exscan", [&](auto& s, auto& t, std::size_t i, double* o) {
                std::copy(in[i].begin(), in[i].end(), o);
                col::build(s, t, col::exscan(col::in_place, o, count, r));
            }, [&](std::size_t i, auto const& o) { return same(o, i == 0 ? in[0] : expected[i - 1]); });
            std::vector<std::uint64_t> counts(n, 0);
            counts[n - 1] = count;  // all to the last
            check("reduce_scatter",
                  [&](auto& s, auto& t, std::size_t i, double* o) { col::build(s, t, col::reduce_scatter(in[i].data(), o, counts, r)); },
                  [&](std::size_t i, auto const& o) { return i + 1 != n || same(o, expected[n - 1]); });
        }
    }
    combine_in_order = false;
}
