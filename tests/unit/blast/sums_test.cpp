// The exact sum, the similarity solution and the measured shock.

#include "exact_sum.hpp"
#include "profile.hpp"
#include "sedov.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace blast;

namespace {

double sum_of(std::vector<double> const& values)
{
    exact_sum s;
    for (double v : values)
        s.add(v);
    return s.value();
}

} // namespace

TEST(exact_sum, keeps_what_plain_addition_loses)
{
    EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), 1.0);
    EXPECT_EQ(sum_of({1e16, 1, 1, -1e16}), 2.0);
    EXPECT_EQ(sum_of({}), 0.0);
    EXPECT_EQ(sum_of({-0.1, 0.1}), 0.0);
    double const least = std::numeric_limits<double>::denorm_min();
    double const greatest = std::numeric_limits<double>::max();
    EXPECT_EQ(sum_of({least, greatest, -greatest}), least);
    EXPECT_EQ(sum_of({-least, -least}), -2 * least);
    EXPECT_EQ(sum_of({greatest, greatest}), std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(sum_of({1, std::numeric_limits<double>::infinity()})));
}

TEST(exact_sum, rounds_once_to_the_nearest_even)
{
    double const half = std::ldexp(1.0, -53);
    EXPECT_EQ(sum_of({1, half}), 1.0);
    EXPECT_EQ(sum_of({1, half, std::ldexp(1.0, -1000)}), 1 + 2 * half);
    EXPECT_EQ(sum_of({1, half, -std::ldexp(1.0, -1000)}), 1.0);
    EXPECT_EQ(sum_of({1 + 2 * half, half}), 1 + 4 * half);
    EXPECT_EQ(sum_of({-1, -half, -std::ldexp(1.0, -70)}), -1 - 2 * half);
}

TEST(exact_sum, every_order_and_grouping_gives_the_same)
{
    std::mt19937_64 random(7);
    std::vector<double> values(3000);
    for (double& v : values)
        v = std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 200) - 100);
    double const expected = sum_of(values);
    std::shuffle(values.begin(), values.end(), random);
    EXPECT_EQ(sum_of(values), expected);
    exact_sum parts[2];
    for (std::size_t i = 0; i < values.size(); ++i)
        parts[random() % 2].add(values[i]);
    std::vector<std::uint64_t> words(exact_sum::written);
    parts[1].write(words.data());
    exact_sum read;
    read.read(words.data());
    parts[0] += read;
    EXPECT_EQ(parts[0].value(), expected);
    for (double v : values)
        parts[0].subtract(v);
    EXPECT_EQ(parts[0].value(), 0);
}

TEST(sedov, energy_integral_is_the_published_one)
{
    // Kamm and Timmes (2007), table 2: gamma 1.4, spherical, uniform density. Sedov (1959): gamma 5/3.
    EXPECT_NEAR(sedov(1.4).alpha(), 0.851072, 1e-6);
    EXPECT_NEAR(sedov(5.0 / 3).alpha(), 0.49359, 1e-5);
    EXPECT_NEAR(sedov(1.4).radius(0.851072, 1, 1), 1, 1e-6);
    EXPECT_NEAR(sedov(1.4).time(3, 2, sedov(1.4).radius(3, 2, 0.7)), 0.7, 1e-12);
    EXPECT_THROW(sedov(1.0), std::invalid_argument);
    EXPECT_THROW(sedov(std::nan("")), std::invalid_argument);
}

TEST(sedov, the_gas_is_swept_up_and_none_is_lost)
{
    for (double gamma : {1.1, 1.4, 2.0, 3.0}) {
        sedov exact(gamma);
        EXPECT_NEAR(exact.relative_density(1), (gamma + 1) / (gamma - 1), 1e-9);
        EXPECT_EQ(exact.relative_density(1.0001), 1);
        EXPECT_EQ(exact.relative_density(0), 0);
        double mass = 0;
        int const n = 200000;
        for (int i = 0; i < n; ++i) {
            double r = (i + 0.5) / n;
            mass += 3 * r * r * exact.relative_density(r) / n;
        }
        EXPECT_NEAR(mass, 1, 1e-5) << gamma;
    }
}

TEST(shock_radius, lies_half_way_up)
{
    radial_profile p{{1, 2, 3, 4, 5}, {0.1, 5, 2, 1, 1}};
    EXPECT_DOUBLE_EQ(shock_radius(p, 1), 2 + 2.0 / 3);
    EXPECT_EQ(shock_radius({{1, 2}, {1, 1}}, 1), 0);
    EXPECT_EQ(shock_radius({{1, 2}, {2, 3}}, 1), 0); // has left
    EXPECT_EQ(shock_radius({}, 1), 0);
}
