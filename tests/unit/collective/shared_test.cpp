// Blocks that two ranks move together: each unit once, by whoever comes first.

#include "collective/lanes/lane_steps.hpp"
#include "collective/operations.hpp"
#include "collective/schedule.hpp"
#include "unit/collective/threads.hpp"

#include <gtest/gtest.h>
#include <random>

namespace {

using namespace simulated;
using state = col::lane_run::state;

enum class what { gather, scatter };

/// Two ranks, their lanes, and one operation at a time.
struct pair_of_ranks {
    /// Builds the operation of blocks of `bytes` for both. In place: the root's block is where it belongs.
    void build(what op, std::size_t bytes, int the_root, bool in_place)
    {
        root = the_root;
        whole.assign(2 * bytes, std::byte{});
        for (std::size_t i = 0; i < whole.size(); ++i)
            whole[i] = static_cast<std::byte>(i * 31 + i / 251 + bytes);
        auto const block = [&](int r) { return std::span(whole).subspan(static_cast<std::size_t>(r) * bytes, bytes); };
        for (int r = 0; r < 2; ++r) {
            auto const i = static_cast<std::size_t>(r);
            schedules[i].clear();
            schedules[i].allow(all[i].get());
            bool const here = in_place && r == root;
            if (op == what::gather) {
                send[i].assign(block(r).begin(), block(r).end());
                receive[i].assign(r == root ? 2 * bytes : 0, std::byte{});
                if (here)
                    std::ranges::copy(block(r), receive[i].begin() + static_cast<std::ptrdiff_t>(i * bytes));
                col::over_lanes::build(schedules[i], col::gather(here ? col::in_place : send[i].data(), receive[i].data(), bytes, root), false);
                expected[i] = r == root ? whole : std::vector<std::byte>();
            } else {
                send[i] = r == root ? whole : std::vector<std::byte>();
                receive[i].assign(here ? 0 : bytes, std::byte{});
                void* const to = here ? const_cast<void*>(col::in_place) : receive[i].data();
                col::over_lanes::build(schedules[i], col::scatter(send[i].data(), to, bytes, root), false);
                expected[i].assign(block(r).begin(), block(r).end());
                if (here)
                    expected[i].clear();
            }
            runs[i].start(*all[i], schedules[i].lane_operation());
        }
    }
    state advance(int r)
    {
        auto const i = static_cast<std::size_t>(r);
        return runs[i].advance(schedules[i].lane_steps(), schedules[i].operation());
    }
    void check(std::string const& about) const
    {
        for (std::size_t i = 0; i < 2; ++i)
            EXPECT_TRUE(receive[i] == expected[i]) << about << ", rank " << i;
    }

    threads_memory memory;
    std::vector<std::unique_ptr<col::lanes>> all = opened_lanes(memory, 2);
    col::schedule schedules[2];
    col::lane_run runs[2];
    int root = 0;
    std::vector<std::byte> whole, send[2], receive[2], expected[2];
};

std::string named(what op, std::size_t bytes, int root, bool in_place)
{
    return std::string(op == what::gather ? "gather" : "scatter") + " of " + std::to_string(bytes) + " bytes, root " +
           std::to_string(root) + (in_place ? ", in place" : "");
}

/// Around the unit, and where units grow.
constexpr std::size_t sizes[] = {16385, 24576, 24577, 100000, 262144, 262145, 1000001};

} // namespace

// Whoever comes last finds nothing left to move: the other has moved all.
TEST(shared, one_alone_moves_everything)
{
    pair_of_ranks p;
    for (what const op : {what::gather, what::scatter}) {
        for (std::size_t const bytes : sizes) {
            for (int const root : {0, 1}) {
                for (int const last : {0, 1}) {
                    for (bool const in_place : {false, true}) {
                        SCOPED_TRACE(named(op, bytes, root, in_place) + ", last " + std::to_string(last));
                        p.build(op, bytes, root, in_place);
                        ASSERT_EQ(p.advance(last), state::waits) << "it has lent, and nobody else has";
                        ASSERT_EQ(p.advance(1 - last), state::waits) << "until the other has left";
                        int const receiver = op == what::gather ? root : 1 - root;
                        auto const i = static_cast<std::size_t>(receiver);
                        EXPECT_TRUE(p.receive[i] == p.expected[i]);
                        ASSERT_EQ(p.advance(last), state::ended);
                        ASSERT_EQ(p.advance(1 - last), state::ended);
                        p.check("at the end");
                    }
                }
            }
        }
    }
}

// Both at once: what was moved is counted by who moved it, so that each unit was moved once if the sum is the block.
TEST(shared, two_at_once_move_each_unit_once)
{
    std::uint64_t const seed = base_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::uint64_t blocks = 0;
    pair_of_ranks p;
    for (int turn = 0; turn < 300; ++turn) {
        what const op = random() % 2 == 0 ? what::gather : what::scatter;
        std::size_t const bytes = sizes[random() % std::size(sizes)];
        int const root = static_cast<int>(random() % 2);
        bool const in_place = random() % 4 != 0;
        p.build(op, bytes, root, in_place);
        blocks += bytes;
        std::array<unsigned, 2> const delay{static_cast<unsigned>(random() % 20000), static_cast<unsigned>(random() % 20000)};
        std::vector<std::thread> threads;
        for (int r = 0; r < 2; ++r)
            threads.emplace_back([&, r] {
                for (unsigned i = 0; i < delay[static_cast<std::size_t>(r)]; ++i)
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                for (state how = state::waits; how != state::ended; how = p.advance(r)) {
                    ASSERT_EQ(how, state::waits);
                    std::this_thread::yield();
                }
            });
        for (auto& t : threads)
            t.join();
        p.check(named(op, bytes, root, in_place));
    }
    p.all.clear();  // the rest is counted
    EXPECT_EQ(p.memory.all.moved, blocks);
}
