// The raw ping-pong of two cores.

#include "distance.hpp"

#include "base/clock.hpp"
#include "base/idle.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>

namespace towline::tools {
namespace {

// Short rounds: where other programs run, some fall between two changes of threads.
constexpr std::uint32_t rounds = 100, trips = 200, looks_per_clock = 1024;
constexpr std::chrono::milliseconds longest{120};

bool bind_to(int processor) noexcept
{
    if (processor < 0 || processor >= CPU_SETSIZE)
        return false;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/// One line, stored to by turns: odd numbers there, even ones back.
struct alignas(128) court {
    std::atomic<std::uint32_t> ball{0};
    alignas(128) std::atomic<bool> ends{false};

    /// False: the time is over.
    [[nodiscard]] bool wait_for(std::uint32_t number, std::int64_t until_ns) noexcept
    {
        for (std::uint32_t looks = 1; ball.load(std::memory_order_acquire) != number; ++looks) {
            if (looks % looks_per_clock == 0 && (ends.load(std::memory_order_relaxed) || base::monotonic_ns() > until_ns)) {
                ends.store(true, std::memory_order_relaxed);
                return false;
            }
            base::cpu_relax();
        }
        return true;
    }
};

} // namespace

std::optional<distance> measure_distance(int from, int to)
{
    court c;
    std::int64_t const until = base::monotonic_ns() + std::chrono::nanoseconds(longest).count();
    std::vector<double> took;
    took.reserve(rounds);
    try {
        std::thread there([&] {
            if (!bind_to(to))
                return c.ends.store(true, std::memory_order_relaxed);
            for (std::uint32_t i = 1; i < rounds * trips * 2 && c.wait_for(i, until); i += 2)
                c.ball.store(i + 1, std::memory_order_release);
        });
        std::thread here;
        try {
            here = std::thread([&] {
                if (!bind_to(from))
                    return c.ends.store(true, std::memory_order_relaxed);
                std::uint32_t number = 0;
                for (std::uint32_t round = 0; round < rounds; ++round) {
                    auto const began = base::ticks();
                    for (std::uint32_t trip = 0; trip < trips; ++trip) {
                        c.ball.store(++number, std::memory_order_release);
                        if (!c.wait_for(++number, until))
                            return;
                    }
                    took.push_back(static_cast<double>(base::to_ns(base::ticks() - began).count()) / (2.0 * trips));
                }
            });
        } catch (std::system_error const&) {
            c.ends.store(true, std::memory_order_relaxed);
        }
        there.join();
        if (here.joinable())
            here.join();
    } catch (std::system_error const&) {
        return std::nullopt;  // no thread could be started
    }
    if (took.empty())
        return std::nullopt;
    return distance{from, to, *std::ranges::min_element(took)};
}

std::vector<distance> measure_distances(std::vector<int> const& processors)
{
    constexpr std::size_t most = 7;
    std::vector<distance> found;
    if (processors.size() < 2)
        return found;
    std::size_t const others = processors.size() - 1, wanted = std::min(most, others);
    for (std::size_t i = 0; i < wanted; ++i) {
        std::size_t const nth = wanted == 1 ? 0 : i * (others - 1) / (wanted - 1);
        if (auto const d = measure_distance(processors[0], processors[nth + 1]))
            found.push_back(*d);
    }
    return found;
}

} // namespace towline::tools
