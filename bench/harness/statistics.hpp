#pragma once
// What is said about a set of samples.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

struct summary {
    double median = 0, min = 0, p90 = 0;
    double spread = 0;  ///< (upper quartile - lower quartile) / median
    std::size_t samples = 0;
};

/// The value below which the share `q` of the sorted samples lies (nearest rank).
[[nodiscard]] inline double quantile(std::vector<double> const& sorted, double q)
{
    if (sorted.empty())
        return 0;
    auto const at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
}

[[nodiscard]] inline summary summarize(std::vector<double> samples)
{
    std::sort(samples.begin(), samples.end());
    summary s;
    s.samples = samples.size();
    if (samples.empty())
        return s;
    s.median = quantile(samples, 0.5);
    s.min = samples.front();
    s.p90 = quantile(samples, 0.9);
    s.spread = s.median > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / s.median : 0;
    return s;
}

} // namespace bench
