// Operations over lanes where there is not always memory that others reach: all ranks go by messages then, and the result is the same.

#include "unit/collective/list_jobs.hpp"

using namespace simulated;

namespace {

class scarce : public ::testing::Test {
protected:
    scarce() { scarce_memory = true; }
    ~scarce() override { scarce_memory = false; }
    std::uint64_t const seed = base_seed();
};

void add_words(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] = static_cast<std::uint64_t const*>(in)[i] * 3 + static_cast<std::uint64_t*>(inout)[i];
}
/// The order can be told from the result.
constexpr col::combination ordered{&add_words, nullptr, 8, false};

using words = std::vector<std::uint64_t>;

[[nodiscard]] std::uint64_t word_of(int rank, std::uint64_t i)
{
    return static_cast<std::uint64_t>(rank + 1) * 1000003 + i;
}
[[nodiscard]] words row(int rank, std::uint64_t n, std::uint64_t first = 0)
{
    words w(n);
    for (std::uint64_t i = 0; i < n; ++i)
        w[i] = word_of(rank, first + i);
    return w;
}
[[nodiscard]] std::uint64_t folded(int last, std::uint64_t i)
{
    std::uint64_t sum = word_of(last, i);
    for (int r = last - 1; r >= 0; --r)
        sum = word_of(r, i) * 3 + sum;
    return sum;
}

} // namespace

TEST_F(scarce, operations_with_blocks_of_one_size)
{
    SCOPED_TRACE("seed " + std::to_string(seed));
    combine_in_order = true;  // as over lanes
    std::size_t refused = 0;
    for (int const p : {2, 3, 5}) {
        auto const ranks = static_cast<std::size_t>(p);
        for (std::uint64_t turn = 0; turn < 60; ++turn) {
            world w(p, 0, seed + turn * 7, true);
            std::uint64_t const n = turn % 3 == 0 ? 100 : turn % 3 == 1 ? 2500 : 6000 + turn;  // of 8 bytes
            bool const in_place = turn % 2 == 0;
            int const root = static_cast<int>(turn) % p;
            std::vector<words> in(ranks), out(ranks);
            auto const prepare = [&](auto&& input) {
                for (std::size_t i = 0; i < ranks; ++i) {
                    in[i] = input(static_cast<int>(i));
                    out[i].assign(n * ranks, ~std::uint64_t{0});
                }
            };
            auto const each = [&](auto&& build) {
                w.run([&](col::schedule& s, col::team& t, int i) {
                    auto const at = static_cast<std::size_t>(i);
                    build(s, t, in[at].data(), out[at].data(), i);
                });
            };
            auto const one = [&](int r) { return row(r, n); };
            auto const many = [&](int r) { return row(r, n * ranks); };
            auto const first_are = [&](int r, auto&& expected, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i)
                    ASSERT_EQ(out[static_cast<std::size_t>(r)][i], expected(i)) << p << " ranks, turn " << turn << ", word " << i;
            };
            prepare(one);
            out[static_cast<std::size_t>(root)] = row(root, n * ranks);
            each([&](auto& s, auto& t, auto*, auto* o, int) { col::build(s, t, col::bcast(o, n * 8, root)); });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return word_of(root, i); }, n);
            prepare(one);
            each([&](auto& s, auto& t, auto* d, auto* o, int) { col::build(s, t, col::gather(d, o, n * 8, root)); });
            first_are(root, [&](auto i) { return word_of(static_cast<int>(i / n), i % n); }, n * ranks);
            prepare(many);
            each([&](auto& s, auto& t, auto* d, auto* o, int) { col::build(s, t, col::scatter(d, o, n * 8, root)); });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return word_of(root, static_cast<std::uint64_t>(r) * n + i); }, n);
            prepare(one);
            each([&](auto& s, auto& t, auto* d, auto* o, int) { col::build(s, t, col::allgather(d, n * 8, o, n * 8)); });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return word_of(static_cast<int>(i / n), i % n); }, n * ranks);
            prepare(many);
            if (in_place)
                out = in;
            each([&](auto& s, auto& t, auto* d, auto* o, int) {
                col::build(s, t, col::alltoall(in_place ? col::in_place : static_cast<void const*>(d), n * 8, o, n * 8));
            });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return word_of(static_cast<int>(i / n), static_cast<std::uint64_t>(r) * n + i % n); },
                          n * ranks);
            prepare(one);
            each([&](auto& s, auto& t, auto* d, auto* o, int) { col::build(s, t, col::reduce(d, o, n, ordered, root)); });
            first_are(root, [&](auto i) { return folded(p - 1, i); }, n);
            prepare(one);
            if (in_place)
                out = in;
            each([&](auto& s, auto& t, auto* d, auto* o, int) {
                col::build(s, t, col::allreduce(in_place ? col::in_place : static_cast<void const*>(d), o, n, ordered));
            });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return folded(p - 1, i); }, n);
            prepare(many);
            if (in_place)
                out = in;
            each([&](auto& s, auto& t, auto* d, auto* o, int) {
                col::build(s, t, col::reduce_scatter_block(in_place ? col::in_place : static_cast<void const*>(d), o, n, ordered));
            });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return folded(p - 1, static_cast<std::uint64_t>(r) * n + i); }, n);
            prepare(one);
            if (in_place)
                out = in;
            each([&](auto& s, auto& t, auto* d, auto* o, int) {
                col::build(s, t, col::scan(in_place ? col::in_place : static_cast<void const*>(d), o, n, ordered));
            });
            for (int r = 0; r < p; ++r)
                first_are(r, [&](auto i) { return folded(r, i); }, n);
            refused += w.shared.refused;
            if (HasFatalFailure())
                break;
        }
    }
    combine_in_order = false;
    EXPECT_NE(refused, 0u);
}

TEST_F(scarce, operations_with_blocks_of_any_size)
{
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::size_t refused = 0;
    for (int const p : {2, 3, 5}) {
        for (std::uint64_t turn = 0; turn < 300; ++turn) {
            std::mt19937_64 random(seed + turn * 1000 + static_cast<std::uint64_t>(p));
            world w(p, 0, seed + turn, true);
            list_jobs draw(random, p, turn % 4 == 0 ? 100 * 1024 : 9000);
            auto jobs = draw.draw();
            w.run([&](col::schedule& s, col::team& t, int i) { jobs[static_cast<std::size_t>(i)].build(s, t); });
            expect_jobs(jobs, "turn " + std::to_string(turn));
            refused += w.shared.refused;
            if (HasFatalFailure())
                return;
        }
    }
    EXPECT_NE(refused, 0u);
}
