// Ranks die at any moment, and give arguments that do not fit together: everybody alive ends, and with an error where it matters.

#include "unit/collective/simulation.hpp"

#include <array>

using namespace simulated;
namespace algorithms = col::algorithms;
namespace word = col::word_of_failure;

namespace {

void add_bytes(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::byte*>(inout)[i] ^= static_cast<std::byte const*>(in)[i];
}
constexpr col::combination sum{&add_bytes, nullptr, 1, true};
constexpr col::combination in_order{&add_bytes, nullptr, 1, false};

using builder = std::function<void(col::schedule&, col::team&, std::byte* send, std::byte* receive, std::uint64_t n)>;

/// Every algorithm; buffers have room for 17 * n.
std::vector<std::pair<std::string, builder>> everything()
{
    using S = col::schedule;
    using T = col::team;
    using B = std::byte;
    using N = std::uint64_t;
    auto const blocks = [](N n) { return col::layout_of_blocks(n); };
    return {
        {"dissemination", [](S& s, T& t, B*, B*, N) { algorithms::barrier_dissemination(s, t.here()); }},
        {"barrier linear", [](S& s, T& t, B*, B*, N) { algorithms::barrier_linear(s, t.here()); }},
        {"arrive and leave",
         [](S& s, T& t, B*, B*, N) {
             algorithms::arrive(s, t.here());
             algorithms::leave(s, t.here());
         }},
        {"bcast", [](S& s, T& t, B*, B* r, N n) { algorithms::bcast_binomial(s, t.here(), r, n, t.size() / 2); }},
        {"bcast ring", [](S& s, T& t, B*, B* r, N n) { algorithms::bcast_scatter_ring(s, t.here(), r, n * 17, t.size() / 2); }},
        {"gather", [](S& s, T& t, B* b, B* r, N n) { algorithms::gather_binomial(s, t.here(), b, n, r, t.size() / 2); }},
        {"scatter", [](S& s, T& t, B* b, B* r, N n) { algorithms::scatter_binomial(s, t.here(), b, r, n, t.size() / 2); }},
        {"gather linear", [=](S& s, T& t, B* b, B* r, N n) { algorithms::gather_linear(s, t.here(), b, n, r, blocks(n), 0); }},
        {"scatter linear", [=](S& s, T& t, B* b, B* r, N n) { algorithms::scatter_linear(s, t.here(), b, blocks(n), r, n, 0); }},
        {"bruck", [=](S& s, T& t, B* b, B* r, N n) { algorithms::allgather_bruck(s, t.here(), b, r, blocks(n)); }},
        {"ring", [=](S& s, T& t, B* b, B* r, N n) { algorithms::allgather_ring(s, t.here(), b, r, blocks(n)); }},
        {"alltoall bruck", [](S& s, T& t, B* b, B* r, N n) { algorithms::alltoall_bruck(s, t.here(), b, r, n); }},
        {"pairwise", [=](S& s, T& t, B* b, B* r, N n) { algorithms::alltoall_pairwise(s, t.here(), b, blocks(n), r, blocks(n), 1); }},
        {"windows", [=](S& s, T& t, B* b, B* r, N n) { algorithms::alltoall_pairwise(s, t.here(), b, blocks(n), r, blocks(n), 4); }},
        {"reduce", [](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_binomial(s, t.here(), b, r, n, sum, t.size() / 2); }},
        {"reduce in order", [](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_binomial(s, t.here(), b, r, n, in_order, t.size() / 2); }},
        {"scatter-gather", [](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_scatter_gather(s, t.here(), b, r, 17 * n, sum, 1); }},
        {"doubling", [](S& s, T& t, B* b, B* r, N n) { algorithms::allreduce_doubling(s, t.here(), b, r, n, in_order); }},
        {"rabenseifner", [](S& s, T& t, B* b, B* r, N n) { algorithms::allreduce_rabenseifner(s, t.here(), b, r, n, sum); }},
        {"direct", [=](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_scatter_direct(s, t.here(), b, r, blocks(n), in_order); }},
        {"rs pairwise", [=](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_scatter_pairwise(s, t.here(), b, r, blocks(n), sum); }},
        {"halving", [=](S& s, T& t, B* b, B* r, N n) { algorithms::reduce_scatter_halving(s, t.here(), b, r, blocks(n), sum); }},
        {"scan", [](S& s, T& t, B* b, B* r, N n) { algorithms::scan_doubling(s, t.here(), b, r, n, in_order); }},
        {"exscan", [](S& s, T& t, B* b, B* r, N n) { algorithms::exscan_doubling(s, t.here(), b, r, n, in_order); }},
    };
}

struct buffers {
    explicit buffers(int p, std::size_t n)
    {
        for (int i = 0; i < p; ++i) {
            send.emplace_back(n * most_ranks);
            receive.emplace_back(n * most_ranks);
        }
    }
    std::vector<guarded> send;
    std::vector<guarded> receive;
};

} // namespace

TEST(failure, a_death_at_any_moment_ends_all_who_are_alive)
{
    std::uint64_t const seed = base_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (auto const& [name, build] : everything()) {
        std::size_t troubled = 0;
        for (int p = 2; p <= most_ranks; p += p < 6 ? 1 : 4) {
            for (std::uint64_t turn = 0; turn < 30; ++turn) {
                std::size_t const n = turn % 3 == 0 ? 3 : 59;  // as long as a word of failure, too
                world w(p, 0, seed + turn * 77);
                buffers b(p, n);
                auto operations = w.make([&, &build = build](col::schedule& s, col::team& t, int i) {
                    auto const at = static_cast<std::size_t>(i);
                    build(s, t, b.send[at].data(), b.receive[at].data(), n);
                });
                int const victim = static_cast<int>(w.net.draw(static_cast<std::uint64_t>(p)));
                bool const before = turn % 5 == 0;
                if (before)
                    w.net.kill(w.peer_of_member(victim));
                w.start(operations);
                for (std::uint64_t steps = before ? 0 : w.net.draw(40); steps != 0; --steps)
                    w.net.step();
                if (!before)
                    w.net.kill(w.peer_of_member(victim));
                w.run_dry(operations);
                for (int i = 0; i < p; ++i) {
                    auto const& o = *operations[static_cast<std::size_t>(i)];
                    if (i == victim)
                        continue;
                    ASSERT_TRUE(o.done()) << name << " hangs on " << i << " of " << p << " without " << victim << ", turn " << turn;
                    if (o.result() != col::ending::ok) {
                        ++troubled;
                        EXPECT_EQ(o.result(), col::ending::peer_died) << name;
                    }
                    ASSERT_TRUE(b.receive[static_cast<std::size_t>(i)].intact());
                }
                // Nobody can be told that all have come.
                for (int i = 0; i < p && before && name == "dissemination"; ++i)
                    EXPECT_TRUE(i == victim || operations[static_cast<std::size_t>(i)]->result() == col::ending::peer_died);
                w.net.expect_empty();
            }
        }
        EXPECT_NE(troubled, 0u) << name;
    }
}

TEST(failure, different_sizes_end_as_a_mismatch_and_the_next_operation_is_well)
{
    std::uint64_t const seed = base_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (auto const& [name, build] : everything()) {
        if (name == "dissemination" || name == "arrive and leave" || name == "barrier linear")
            continue;
        for (int p = 2; p <= most_ranks; p += p < 6 ? 1 : 4) {
            for (std::uint64_t turn = 0; turn < 12; ++turn) {
                world w(p, 0, seed + turn);
                buffers b(p, 100);
                int const odd = static_cast<int>(turn) % p;
                std::uint64_t const usual = turn % 2 == 0 ? 64 : 20;
                std::uint64_t const other = turn % 4 < 2 ? usual + 30 : usual - 13;
                auto operations = w.make([&, &build = build](col::schedule& s, col::team& t, int i) {
                    auto const at = static_cast<std::size_t>(i);
                    build(s, t, b.send[at].data(), b.receive[at].data(), i == odd ? other : usual);
                });
                w.start(operations);
                w.run_dry(operations);
                std::size_t wrong = 0;
                for (auto const& o : operations) {
                    ASSERT_TRUE(o->done()) << name << " hangs";
                    if (o->result() != col::ending::ok) {
                        ++wrong;
                        EXPECT_EQ(o->result(), col::ending::mismatch) << name;
                    }
                }
                EXPECT_NE(wrong, 0u) << name << ", " << p << " ranks, " << other << " bytes on rank " << odd << ", else " << usual;
                w.net.expect_empty();
                for (auto& r : b.receive)
                    ASSERT_TRUE(r.intact());
                w.run([&, &build = build](col::schedule& s, col::team& t, int i) {
                    auto const at = static_cast<std::size_t>(i);
                    build(s, t, b.send[at].data(), b.receive[at].data(), usual);
                });
            }
        }
    }
}

TEST(failure, words_are_never_as_long_as_data_and_are_understood)
{
    for (std::uint64_t expected = 0; expected < 300; ++expected) {
        for (auto const why : {col::ending::mismatch, col::ending::peer_died, col::ending::lost}) {
            auto const b = word::bytes(why, expected);
            EXPECT_NE(b.size(), expected);
            EXPECT_LE(b.size(), word::most);
            EXPECT_EQ(word::read(b, b.size(), expected), why);
            EXPECT_EQ(word::read({}, b.size(), expected), why) << "nothing of it is in reach";
        }
    }
    std::array<std::byte, 59> data{};
    EXPECT_EQ(word::read(data, data.size(), 100), col::ending::mismatch) << "a short message that is no word";
    EXPECT_EQ(word::read({}, 12, 100), col::ending::mismatch);
}
