#include "harness/thermometer.hpp"

#include "harness/statistics.hpp"

#include <chrono>
#include <new>

#include <sched.h>
#include <unistd.h>

namespace bench {

struct thermometer::lines {
    alignas(64) std::atomic<std::uint64_t> there{0};
    alignas(64) std::atomic<std::uint64_t> back{0};
    alignas(64) std::atomic<int> core{-1};  ///< of the reader; the partner goes elsewhere
    alignas(64) std::atomic<bool> awake{false};
    alignas(64) doorbell bell;
};

namespace {

void go_elsewhere(int core)
{
    // Under a launcher the mask we inherited may be the reader's own core: any other that the kernel allows will do.
    for (int c = 0; c < CPU_SETSIZE; ++c) {
        if (c == core)
            continue;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(c, &set);
        if (sched_setaffinity(0, sizeof set, &set) == 0)
            return;
    }
}

} // namespace

thermometer::thermometer() : lines_(new (shared_memory(sizeof(lines))) lines)
{
    partner_ = std::make_unique<partner>([l = lines_] {
        std::uint64_t seen = 0;
        for (;;) {
            l->bell.wait();
            go_elsewhere(l->core.load());
            while (l->awake.load(std::memory_order_relaxed)) {
                auto const now = l->there.load(std::memory_order_acquire);
                if (now == seen)
                    relax();
                else
                    l->back.store(seen = now, std::memory_order_release);
            }
        }
    }, -1);
}

thermometer::~thermometer() = default;

void thermometer::wake()
{
    lines_->core = sched_getcpu();
    lines_->awake = true;
    lines_->bell.ring();
    for (int i = 0; i < 100; ++i)
        static_cast<void>(sample(1));
}

void thermometer::sleep()
{
    lines_->awake = false;
}

double thermometer::sample(int hops)
{
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < hops; ++i) {
        lines_->there.store(++count_, std::memory_order_release);
        while (lines_->back.load(std::memory_order_acquire) != count_)
            relax();
    }
    std::chrono::nanoseconds const took = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(took.count()) / (2.0 * hops);
}

double thermometer::read()
{
    if (cores().empty() || sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return 0;
    wake();
    std::vector<double> samples;
    for (int i = 0; i < 15; ++i)
        samples.push_back(sample(200));
    sleep();
    return summarize(samples).median;
}

} // namespace bench
