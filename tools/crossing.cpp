// Decides from measured times which way is better, and from which size on.

#include "crossing.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace towline::tools {

namespace {

constexpr double least_difference = 0.03;
constexpr double coin = 1.5;         ///< three standard deviations of the share of heads, times the root of the throws
constexpr double forgiven = 0.03;    ///< logarithms, all sizes together
constexpr double contradiction = 0.25;

double weight(comparison const& c)
{
    return c.clear ? std::log(c.ratio) : 0;
}

/// What it costs to take the second way from the k-th size on.
double loss(std::span<comparison const> measured, std::size_t k)
{
    double sum = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        double const w = weight(measured[i]);
        sum += i < k ? std::max(0.0, -w) : std::max(0.0, w);
    }
    return sum;
}

} // namespace

double median(std::vector<double> of)
{
    if (of.empty())
        return std::numeric_limits<double>::quiet_NaN();
    auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    if (of.size() % 2 != 0)
        return *middle;
    return (*middle + *std::max_element(of.begin(), middle)) / 2;
}

comparison compare(std::size_t size, std::span<double const> first, std::span<double const> second)
{
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
        if (first[i] > 0 && second[i] > 0)
            ratios.push_back(second[i] / first[i]);
    comparison c;
    c.size = size;
    if (ratios.empty())
        return c;
    c.ratio = median(ratios);
    auto const agree = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return c.ratio < 1 ? r < 1 : r > 1; });
    auto const turns = static_cast<double>(ratios.size());
    c.clear = std::abs(std::log(c.ratio)) > std::log1p(least_difference) &&
              static_cast<double>(agree) >= std::min(turns, turns / 2 + coin * std::sqrt(turns));
    return c;
}

decision find_crossing(std::span<comparison const> measured, std::size_t shipped, std::size_t beyond)
{
    if (measured.empty())
        return {std::nullopt, "not measured"};
    double evidence = 0;
    for (auto const& c : measured)
        evidence += std::abs(weight(c));
    if (evidence == 0)
        return {std::nullopt, "no clear difference at any size"};
    std::size_t best = 0;
    for (std::size_t k = 1; k <= measured.size(); ++k)
        if (loss(measured, k) < loss(measured, best))
            best = k;
    if (loss(measured, best) > contradiction * evidence)
        return {std::nullopt, "no single crossing: the ways win by turns"};
    auto const at = std::find_if(measured.begin(), measured.end(), [&](comparison const& c) { return c.size >= shipped; });
    auto const now = static_cast<std::size_t>(at - measured.begin());
    double const gain = loss(measured, now) - loss(measured, best);
    if (gain <= forgiven)
        return {std::nullopt, "as shipped"};
    // Between two sizes that are both clear the crossing is somewhere; where a tie is between them, nearest to the shipped.
    std::size_t k = best;
    while (k < measured.size() && k < now && loss(measured, k + 1) <= loss(measured, best))
        ++k;
    std::size_t const value = k == measured.size() ? beyond : measured[k].size;
    comparison const* most = nullptr;  // of the sizes that go another way now
    for (std::size_t i = std::min(k, now); i < std::max(k, now); ++i)
        if (most == nullptr || std::abs(weight(measured[i])) > std::abs(weight(*most)))
            most = &measured[i];
    return {value, fmt::format("up to {:.0f} % faster than with the shipped {}, at {} bytes",
                               100 * std::expm1(std::abs(weight(*most))), shipped, most->size)};
}

decision find_best(std::span<comparison const> measured, std::size_t shipped)
{
    double best = 1;
    for (auto const& c : measured)
        if (c.clear)
            best = std::min(best, c.ratio);
    if (best == 1)
        return {std::nullopt, measured.empty() ? "not measured" : "no value is clearly better"};
    auto const distance = [&](std::size_t value) {
        return std::abs(std::log(static_cast<double>(value) / static_cast<double>(shipped)));
    };
    comparison const* chosen = nullptr;
    for (auto const& c : measured)
        if (c.clear && c.ratio <= best * 1.01 && (chosen == nullptr || distance(c.size) < distance(chosen->size)))
            chosen = &c;
    return {chosen->size, fmt::format("{:.0f} % less time than with the shipped {}", 100 * (1 - chosen->ratio), shipped)};
}

} // namespace towline::tools
