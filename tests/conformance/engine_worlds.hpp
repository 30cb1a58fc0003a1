#pragma once
// Worlds of engines: the same test over threads of one process and shared-memory rings, over processes, and over the simulated network
// with and without `get`. Everything runs in forked children, because a test program that is a member of a job cannot start ranks.

#include "conformance/plain_memory.hpp"
#include "engine/engine.hpp"
#include "engine/process_engine.hpp"
#include "heap/heap.hpp"
#include "job/job.hpp"
#include "transport/self/self.hpp"
#include "transport/sim/network.hpp"
#include "unit/heap/ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>

namespace engine_worlds {

namespace eng = towline::engine;
using eng::peer;
using towline::job::counter;
using namespace std::chrono_literals;

enum class fabric { shm_threads, shm_processes, sim, sim_get };

inline std::string name_of(fabric f)
{
    constexpr char const* names[] = {"shm_threads", "shm_processes", "sim", "sim_get"};
    return names[static_cast<int>(f)];
}
/// The transport gives pointers into peers' arenas.
inline bool maps(fabric f) { return f == fabric::shm_threads || f == fabric::shm_processes; }

struct options {
    std::uint64_t seed = 1;
    bool background = false;
    std::uint32_t own_cores = 0;  ///< of each rank, if ranks are threads; 0: not known
    bool oversubscribed = true;  ///< the tests' ranks usually are
    bool attach = true;
    bool onload = false;         ///< helper threads; over processes only if TOWLINE_ONLOAD says so too
    std::uint32_t sim_in_flight = 64;
    std::size_t sim_eager = 256;
    std::uint64_t segment_bytes = std::uint64_t{1} << 30;
    std::uint32_t cores = 0;  ///< that processes believe they share; 0: those of the machine
};

/// The whole suite runs with helper threads.
inline bool onloaded() { return towline::onload::requested().what == towline::onload::wish::on; }

/// A seed to print when a test fails; TOWLINE_TEST_SEED repeats one.
inline std::uint64_t test_seed()
{
    if (char const* text = std::getenv("TOWLINE_TEST_SEED"))
        return std::strtoull(text, nullptr, 0);
    static std::uint64_t const seed = std::random_device{}();
    return seed;
}

inline void require(bool condition, std::string const& what)
{
    if (!condition)
        throw std::runtime_error(what);
}

/// What one rank of a test sees.
class rank_context {
public:
    rank_context(eng::engine& e, fabric f, ranks::board const& words, std::function<std::uint64_t(peer, counter)> count)
        : engine(e), rank(e.rank()), size(e.size()), kind(f), board(words), count_(std::move(count))
    {
    }

    eng::engine& engine;
    peer rank;
    peer size;
    fabric kind;
    ranks::board const& board;  ///< words from `first_word` on are the test's

    static constexpr std::size_t first_word = 16;

    void until(std::function<bool()> const& ready, char const* what = "a test")
    {
        require(engine.wait(ready, what, 60s), std::string("waited in vain for ") + what);
    }
    /// All ranks come here; everybody makes progress meanwhile.
    void barrier()
    {
        std::uint64_t const target = ++barriers_ * size;
        board[0].fetch_add(1);
        auto const give_up = std::chrono::steady_clock::now() + 60s;
        while (board[0].load() < target) {
            if (engine.progress() == 0)
                sched_yield();
            require(board[1].load() == 0, "another rank failed");
            require(std::chrono::steady_clock::now() < give_up, "a barrier took too long");
        }
    }
    /// Of one rank, or of all.
    [[nodiscard]] std::uint64_t counted(peer of, counter c) const { return count_(of, c); }
    [[nodiscard]] std::uint64_t total(counter c) const
    {
        std::uint64_t sum = 0;
        for (peer p = 0; p < size; ++p)
            sum += count_(p, c);
        return sum;
    }

private:
    std::uint64_t barriers_ = 0;
    std::function<std::uint64_t(peer, counter)> count_;
};

using body = std::function<void(rank_context&)>;

/// A rank of a simulated network.
inline eng::setup setup_over(towline::transport::sim::network& net, peer rank, peer size)
{
    eng::setup s;
    s.rank = rank;
    s.size = size;
    s.transports.push_back(net.make(rank));
    s.deaths = &net.deaths();
    s.is_dead = &towline::transport::sim::network::dead;
    s.context = &net;
    return s;
}

/// Threads of one process, one per rank.
inline void run_threads(fabric kind, peer size, options const& o, ranks::board const& board, body const& f)
{
    namespace sim = towline::transport::sim;
    conformance::plain_memory memory(size);
    sim::options net_options;
    net_options.can_get = kind == fabric::sim_get;
    net_options.max_in_flight = o.sim_in_flight;
    net_options.max_eager = o.sim_eager;
    sim::network net(o.seed, size, net_options);

    using counters = std::vector<std::atomic<std::uint64_t>>;
    std::vector<counters> counts;
    for (peer p = 0; p < size; ++p)
        counts.emplace_back(32);
    std::vector<std::unique_ptr<eng::engine>> engines;
    for (peer p = 0; p < size; ++p) {
        eng::setup s = maps(kind) ? eng::setup{} : setup_over(net, p, size);
        if (maps(kind)) {
            s.rank = p;
            s.size = size;
            s.transports.push_back(towline::transport::self::make(p, &memory.event(p), towline::base::fence_side::notifier_fences));
            s.transports.push_back(conformance::shm::make(memory.of(p)));
            s.event = &memory.event(p);
        } else {
            s.event = &net.event(p);
        }
        s.counters = counts[p];
        s.shared_arena = true;
        s.oversubscribed = o.oversubscribed;
        s.cores = o.own_cores;
        s.background = o.background;
        s.cross_memory_attach = o.attach;
        if (o.onload || onloaded()) {
            s.onload.on = true;
            s.onload_least = 4096;
        }
        engines.push_back(std::make_unique<eng::engine>(std::move(s)));
    }
    std::mutex mutex;
    std::string failed;
    std::vector<std::thread> threads;
    for (peer p = 0; p < size; ++p) {
        threads.emplace_back([&, p] {
            try {
                rank_context c(*engines[p], kind, board,
                               [&](peer of, counter i) { return counts[of][static_cast<std::size_t>(i)].load(); });
                f(c);
            } catch (std::exception const& e) {
                board[1].store(1);
                std::lock_guard const lock(mutex);
                failed += "rank " + std::to_string(p) + ": " + e.what() + "; ";
            }
        });
    }
    for (auto& t : threads)
        t.join();
    engines.clear();
    require(failed.empty(), failed);
}

/// Runs the body on every rank; a rank that throws fails the test.
inline void run_ranks(fabric kind, peer size, options const& o, body const& f)
{
    SCOPED_TRACE(name_of(kind) + ", seed " + std::to_string(o.seed));
#if defined(__SANITIZE_THREAD__)
    if (kind == fabric::shm_processes && onloaded())
        GTEST_SKIP() << "what orders a rank and its helper goes through another process, where the sanitizer sees nothing";
#endif
    ranks::board const board;
    if (kind != fabric::shm_processes) {
        EXPECT_EQ(ranks::status_of(ranks::spawn([&] { run_threads(kind, size, o, board, f); })), 0);
        return;
    }
    ranks::run(size, {.segment_bytes = o.segment_bytes, .cores = o.cores}, [&](int) {
        try {
            auto const e = eng::process_engine(o.background);
            auto& job = towline::job::membership::instance();
            rank_context c(*e, kind, board,
                           [&](peer of, counter i) { return job.slot(static_cast<int>(of)).counters[static_cast<std::size_t>(i)].load(); });
            f(c);
        } catch (...) {
            board[1].store(1);
            throw;
        }
    });
}

class every_fabric : public testing::TestWithParam<fabric> {
protected:
    static void run(peer size, body const& f, options o = {})
    {
        if (o.seed == 1)
            o.seed = test_seed();
        run_ranks(GetParam(), size, o, f);
    }
};

#define EVERY_FABRIC(suite)                                                                                                                \
    INSTANTIATE_TEST_SUITE_P(over, suite,                                                                                                  \
                             testing::Values(engine_worlds::fabric::shm_threads, engine_worlds::fabric::shm_processes,                     \
                                             engine_worlds::fabric::sim, engine_worlds::fabric::sim_get),                                  \
                             [](auto const& p) { return engine_worlds::name_of(p.param); })

// Bytes that tell where they are, so that anything missing, doubled or shifted shows.
inline std::byte pattern(std::uint64_t seed, std::size_t i)
{
    return static_cast<std::byte>((i * 0x9e3779b97f4a7c15 + seed * 0xbf58476d1ce4e5b9) >> 29);
}
inline void fill(void* to, std::size_t size, std::uint64_t seed)
{
    for (std::size_t i = 0; i < size; ++i)
        static_cast<std::byte*>(to)[i] = pattern(seed, i);
}
[[nodiscard]] inline bool filled(void const* from, std::size_t size, std::uint64_t seed)
{
    for (std::size_t i = 0; i < size; ++i) {
        if (static_cast<std::byte const*>(from)[i] != pattern(seed, i))
            return false;
    }
    return true;
}

} // namespace engine_worlds
