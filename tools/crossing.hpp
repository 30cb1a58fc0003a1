#pragma once
// Deciding from measured times: from which size on the second of two ways is the better one, and which of some values is the best.
// Pure. Careful: what is not clear keeps what is shipped.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace towline::tools {

/// Two ways at one size, by turns that alternated.
struct comparison {
    std::size_t size = 0;
    double ratio = 1;   ///< median over the turns of the second way's time over the first's
    bool clear = false; ///< the ratio differs from 1 by more than 3 %, and more turns say so than a coin would
};
/// `first[i]` and `second[i]` were measured next to each other.
[[nodiscard]] comparison compare(std::size_t size, std::span<double const> first, std::span<double const> second);

struct decision {
    std::optional<std::size_t> value;  ///< nothing: keep what is shipped
    std::string why;                   ///< for people; never empty
};

/// The size from which on the second way is taken: of all such sizes the one that loses least time over the clear comparisons (given by
/// growing size; times count as logarithms). `beyond` is the answer where the second way never pays. What is shipped stays where it loses
/// hardly more than the best (3 % in all), where nothing is clear, and where the ways win by turns.
[[nodiscard]] decision find_crossing(std::span<comparison const> measured, std::size_t shipped, std::size_t beyond);

/// One of some values, each compared with the shipped one (comparison::size is the value, `ratio` its time over that of the shipped):
/// the best that is clearly better than the shipped, or within 1 % of the best and nearest to the shipped.
[[nodiscard]] decision find_best(std::span<comparison const> measured, std::size_t shipped);

[[nodiscard]] double median(std::vector<double> of);

} // namespace towline::tools
