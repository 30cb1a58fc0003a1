#pragma once
// The thermometer: a raw cache-line ping-pong between this process and a partner on another core, the shortest way from one
// core to the other that this machine has right now. It drifts: hosts move virtual cores. Read it around whatever is quoted.

#include "harness/pair.hpp"

#include <memory>

namespace bench {

class thermometer {
public:
    thermometer();
    ~thermometer();
    /// One way, nanoseconds: the median of a few short runs (about a millisecond in all). 0 where there is one core only.
    [[nodiscard]] double read();
    /// Nanoseconds of one one-way hop over `hops` round trips: one sample.
    [[nodiscard]] double sample(int hops);
    void wake();   ///< the partner spins from now on ...
    void sleep();  ///< ... until now

private:
    struct lines;
    lines* lines_;
    std::unique_ptr<partner> partner_;
    std::uint64_t count_ = 0;
};

} // namespace bench
