// Operations over lanes that ranks do at once or by steps, as each likes: real threads, one for each rank.

#include "collective/at_once.hpp"
#include "collective/over_lanes.hpp"
#include "simulation.hpp"

#include <functional>
#include <mutex>
#include <random>
#include <thread>

using namespace simulated;
using state = col::lane_run::state;

namespace {

/// The memory of this process, for threads.
class threads_memory final : public col::node_memory {
public:
    void* allocate(std::uint64_t bytes) noexcept override { return ::operator new(bytes, std::align_val_t{64}); }
    void deallocate(void* block) noexcept override { ::operator delete(block, std::align_val_t{64}); }
    std::uint64_t find(void const* data, std::uint64_t) const noexcept override { return reinterpret_cast<std::uintptr_t>(data); }
    std::byte* attach(std::uint64_t word, std::uint64_t) override { return reinterpret_cast<std::byte*>(word); }
    bool is_shared_with(peer) noexcept override { return true; }
    void wake(peer) noexcept override {}
    bool is_gone(peer p) const noexcept override { return p == dead.load(std::memory_order_acquire); }
    void note(counts const& c) noexcept override
    {
        std::scoped_lock const lock(mutex_);
        all.operations += c.operations;
        all.posted += c.posted;
        all.moved += c.moved;
    }

    std::atomic<peer> dead{~peer{0}};
    counts all;

private:
    std::mutex mutex_;
};

void add_words(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] = static_cast<std::uint64_t const*>(in)[i] * 3 + static_cast<std::uint64_t*>(inout)[i];
}
/// The order can be told from the result.
constexpr col::combination ordered{&add_words, nullptr, 8, false};
constexpr auto step_of = [](std::uint64_t words) { return [words](void const* in, void* inout) { add_words(in, inout, words, nullptr); }; };
constexpr auto wait = [](auto&& is_met, int) {
    while (!is_met())
        std::this_thread::yield();
};

/// A rank among threads.
struct member {
    col::lanes& l;
    int rank, size;
    bool crowded;
    std::mt19937_64 random;  ///< its own
    col::schedule s;

    [[nodiscard]] bool by_steps(std::uint64_t bytes) { return random() % 3 == 0 || !col::at_once_may_begin(l, bytes); }

    state steps(std::function<bool()> const& build)
    {
        s.clear();
        s.allow(&l);
        EXPECT_TRUE(build());
        col::lane_run run;
        run.start(l);
        for (;;) {
            state const how = run.advance(s.lane_steps(), s.operation());
            if (how != state::waits)
                return how;
            std::this_thread::yield();
        }
    }
    state barrier()
    {
        if (by_steps(0))
            return steps([&] { return col::over_lanes::barrier(s, crowded); });
        return col::at_once(l, crowded, wait).barrier();
    }
    state bcast(std::uint64_t* data, std::uint64_t words, int root)
    {
        if (by_steps(words * 8))
            return steps([&] { return col::over_lanes::bcast(s, data, words * 8, root); });
        return col::at_once(l, crowded, wait).bcast(data, words * 8, root);
    }
    state reduce(std::uint64_t const* in, std::uint64_t* out, std::uint64_t words, int root)
    {
        if (by_steps(words * 8))
            return steps([&] { return col::over_lanes::reduce(s, in, rank == root ? out : nullptr, words, ordered, root); });
        return col::at_once(l, crowded, wait).reduce(in, rank == root ? out : nullptr, words * 8, step_of(words), root);
    }
    state allreduce(std::uint64_t const* in, std::uint64_t* out, std::uint64_t words)
    {
        if (by_steps(words * 8))
            return steps([&] { return col::over_lanes::allreduce(s, in == out ? col::in_place : in, out, words, ordered, crowded); });
        return col::at_once(l, crowded, wait).allreduce(in, out, words * 8, step_of(words));
    }
};

/// All ranks run `body`.
void among(threads_memory& memory, int size, bool crowded, std::function<void(member&)> const& body)
{
    std::vector<peer> peers(static_cast<std::size_t>(size));
    std::iota(peers.begin(), peers.end(), peer{0});
    std::vector<std::unique_ptr<col::lanes>> all;
    std::vector<std::uint64_t> words;
    for (int i = 0; i < size; ++i) {
        all.push_back(std::make_unique<col::lanes>(memory, i, peers, col::lanes::limits{}));
        words.push_back(all.back()->own_word());
    }
    for (auto& l : all)
        ASSERT_TRUE(l->open(words));
    std::vector<std::thread> threads;
    for (int i = 0; i < size; ++i)
        threads.emplace_back([&, i] {
            member m{*all[static_cast<std::size_t>(i)], i, size, crowded, std::mt19937_64(base_seed() + static_cast<std::uint64_t>(i)), {}};
            body(m);
        });
    for (auto& t : threads)
        t.join();
}

/// The number that a rank contributes to turn n.
std::uint64_t word_of(int rank, std::uint64_t n, std::uint64_t i)
{
    return n * 1000 + static_cast<std::uint64_t>(rank) * 7 + i;
}

} // namespace

TEST(at_once, mixes_with_steps)
{
    SCOPED_TRACE("seed " + std::to_string(base_seed()));
    for (int const size : {2, 3, 4, 9}) {
        for (bool const crowded : {false, true}) {
            threads_memory memory;
            constexpr std::uint64_t turns = 3000;
            among(memory, size, crowded, [&](member& m) {
                std::mt19937_64 same(base_seed());  // all ranks draw the same operations
                std::uint64_t in[6], out[6];
                for (std::uint64_t n = 0; n < turns; ++n) {
                    std::uint64_t const words = 1 + same() % 6;
                    int const root = static_cast<int>(same() % static_cast<std::uint64_t>(size));
                    auto const what = same() % 5;
                    bool const in_place = same() % 2 == 0;
                    for (std::uint64_t i = 0; i < words; ++i)
                        in[i] = word_of(m.rank, n, i);
                    std::uint64_t* const to = in_place ? in : out;
                    if (m.random() % 64 == 0)
                        std::this_thread::yield();
                    if (what == 0) {
                        ASSERT_EQ(m.barrier(), state::ended);
                        continue;
                    }
                    if (what == 1) {
                        ASSERT_EQ(m.bcast(in, words, root), state::ended);
                        for (std::uint64_t i = 0; i < words; ++i)
                            ASSERT_EQ(in[i], word_of(root, n, i)) << n;
                        continue;
                    }
                    if (what == 2) {
                        ASSERT_EQ(m.reduce(in, to, words, root), state::ended);
                        if (m.rank != root)
                            continue;
                    } else {
                        ASSERT_EQ(m.allreduce(in, to, words), state::ended);
                    }
                    for (std::uint64_t i = 0; i < words; ++i) {
                        std::uint64_t sum = word_of(size - 1, n, i);
                        for (int r = size - 2; r >= 0; --r)
                            sum += word_of(r, n, i) * 3;
                        ASSERT_EQ(to[i], sum) << n;
                    }
                }
            });
            EXPECT_EQ(memory.all.operations, turns * static_cast<std::uint64_t>(size));
            EXPECT_EQ(memory.all.moved, 0u);
        }
    }
}

TEST(at_once, barriers_hold_everybody)
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

TEST(at_once, different_sizes_end_as_a_mismatch_and_the_next_operation_is_well)
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

TEST(at_once, who_waits_for_a_dead_rank_is_told)
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
        EXPECT_EQ(troubled.load(), crowded ? 1 : 2);  // by way of rank 0, that one alone waits for it
    }
}
