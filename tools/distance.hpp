#pragma once
// How far two cores are from each other: the time that a cache line takes from one to the other, by a raw ping-pong of two threads.

#include <optional>
#include <string_view>
#include <vector>

namespace towline::tools {

/// Up to so many ns one way the caches of two cores are called shared. (Met: 28 to 60 where they share a cache, 110 to 260 where not.)
inline constexpr double shared_most_ns = 80;

struct distance {
    int from = 0, to = 0;  ///< numbers of processors
    double ns = 0;         ///< one way, the least of short rounds: disturbances only add
    [[nodiscard]] std::string_view name() const noexcept { return ns <= shared_most_ns ? "shared caches" : "separate cores"; }
};

/// Two threads, each bound to one of the processors. Takes 10 ms on an idle machine and at most about 120 ms; nothing where that did not
/// suffice for a round (other programs have the processors), or where a thread could not be started or bound.
[[nodiscard]] std::optional<distance> measure_distance(int from, int to);

/// From the first of these processors to some of the others, up to seven, the first, the last and between them at even steps.
[[nodiscard]] std::vector<distance> measure_distances(std::vector<int> const& processors);

} // namespace towline::tools
