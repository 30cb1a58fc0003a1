#include "picture.hpp"

#include "canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace blast {
namespace {

constexpr colour paper{0.055, 0.055, 0.075};
constexpr colour ink{0.92, 0.92, 0.94};
constexpr colour faint{0.30, 0.30, 0.36};
constexpr colour thin{0.45, 1.00, 0.95};
constexpr colour glow{0.98, 0.65, 0.04};

/// "inferno" of N. Smith and S. van der Walt (matplotlib, public domain), nine of its colours and straight lines between.
colour inferno(double x)
{
    static constexpr colour table[] = {{0.001, 0.000, 0.014}, {0.105, 0.047, 0.255}, {0.333, 0.059, 0.428},
                                       {0.533, 0.133, 0.416}, {0.736, 0.216, 0.330}, {0.890, 0.346, 0.196},
                                       {0.977, 0.551, 0.039}, {0.976, 0.788, 0.196}, {0.988, 0.998, 0.645}};
    constexpr int last = static_cast<int>(std::size(table)) - 1;
    double at = std::clamp(x, 0.0, 1.0) * last;
    int i = std::min(static_cast<int>(at), last - 1);
    double part = at - i;
    auto between = [part](double a, double b) { return a + part * (b - a); };
    return {between(table[i].red, table[i + 1].red), between(table[i].green, table[i + 1].green),
            between(table[i].blue, table[i + 1].blue)};
}

/// A whole number of these between two labels: 1, 2 or 5 times a power of ten.
double label_step(double range)
{
    double power = std::pow(10, std::floor(std::log10(range / 3)));
    for (double m : {1.0, 2.0, 5.0})
        if (range / (m * power) <= 6)
            return m * power;
    return 10 * power;
}

std::string caption(moment const& now)
{
    return fmt::format("time {:.4g}   shock {:.4g}   exact {:.4g} ({:+.2f} %)", now.time, now.measured_radius, now.exact_radius,
                       100 * (now.measured_radius / now.exact_radius - 1));
}

} // namespace

double brightest_density(deck const& d, sedov const& exact)
{
    double const thickness = std::min(1.0, d.width() / exact.radius(d.energy, d.density, d.end_time));
    constexpr int samples = 200;
    double sum = 0;
    for (int i = 0; i < samples; ++i)
        sum += exact.relative_density(1 - thickness * (i + 0.5) / samples);
    return d.density * std::max(1.0, sum / samples);
}

void draw_slice(std::string const& path, deck const& d, std::vector<double> const& density, double brightest, moment const& now)
{
    int const n = d.cells;
    int const scale = std::max(1, 768 / n);
    int const side = n * scale;
    int const margin = 24;
    int const bar = 20;
    canvas c(side + 2 * margin + 100, side + 2 * margin + 58, paper);
    double const greatest = *std::max_element(density.begin(), density.end());

    // Between the centres of cells the density is drawn with straight lines.
    auto cell = [&](int x, int y) { return density[static_cast<std::size_t>(std::clamp(y, 0, n - 1)) * n + std::clamp(x, 0, n - 1)]; };
    for (int py = 0; py < side; ++py)
        for (int px = 0; px < side; ++px) {
            double x = (px + 0.5) / scale - 0.5;
            double y = (side - py - 0.5) / scale - 0.5;
            int i = static_cast<int>(std::floor(x));
            int j = static_cast<int>(std::floor(y));
            double low = cell(i, j) + (x - i) * (cell(i + 1, j) - cell(i, j));
            double high = cell(i, j + 1) + (x - i) * (cell(i + 1, j + 1) - cell(i, j + 1));
            c.set(margin + px, margin + py, inferno((low + (y - j) * (high - low)) / brightest));
        }
    double const middle = margin + side / 2.0;
    c.circle(middle, middle, now.exact_radius / d.width() * scale, 1.2, thin, 0.9);

    int const x = margin + side + margin;
    for (int y = 0; y < side; ++y)
        c.rectangle(x, margin + y, bar, 1, inferno((side - y - 0.5) / side));
    double const range = brightest / d.density;
    double const step = label_step(range);
    for (int i = 0; i * step <= range * (1 + 1e-9); ++i) {
        double const v = i * step;
        int y = margin + side - static_cast<int>(std::lround(v / range * side));
        c.rectangle(x + bar, std::min(y, margin + side - 1), 6, 1, ink);
        c.text(x + bar + 10, std::clamp(y - 7, margin, margin + side - 14), fmt::format("{:.3g}", v), ink);
    }
    c.text(margin, margin + side + 18, caption(now), ink);
    c.text(c.width() - margin - canvas::text_width("density") + 12, margin + side + 18, "density", ink);
    c.text(margin, margin + side + 42, fmt::format("colours from 0 to {:.3g} in every picture, here up to {:.3g}", range,
                                                    greatest / d.density), ink);
    c.write(path);
}

void draw_profile(std::string const& path, deck const& d, radial_profile const& profile, sedov const& exact, moment const& now)
{
    int const left = 70;
    int const top = 24;
    int const width = 800;
    int const height = 480;
    canvas c(left + width + 30, top + height + 76, paper);
    double const reach = d.edge / 2;
    double const greatest =
        1.05 * std::max(exact.relative_density(1), *std::max_element(profile.density.begin(), profile.density.end()) / d.density);
    auto px = [&](double r) { return left + r / reach * width; };
    auto py = [&](double v) { return top + height - v / greatest * height; };

    for (double v = 0, step = label_step(greatest); v <= greatest; v += step) {
        c.line(left, py(v), left + width, py(v), 1, faint, 0.7);
        std::string label = fmt::format("{:.3g}", v);
        c.text(left - 8 - canvas::text_width(label), static_cast<int>(py(v)) - 7, label, ink);
    }
    for (double r = 0, step = label_step(reach); r <= reach; r += step) {
        c.line(px(r), top, px(r), top + height, 1, faint, 0.7);
        std::string label = fmt::format("{:.3g}", r);
        c.text(static_cast<int>(px(r)) - canvas::text_width(label) / 2, top + height + 8, label, ink);
    }
    auto curve = [&](double r) { return exact.relative_density(r / now.exact_radius); };
    int const pieces = 600;
    for (int i = 0; i < pieces; ++i) {
        double a = now.exact_radius * i / pieces;
        double b = now.exact_radius * (i + 1) / pieces;
        c.line(px(a), py(curve(a)), px(b), py(curve(b)), 1.6, ink, 0.9);
    }
    c.line(px(now.exact_radius), py(curve(now.exact_radius)), px(now.exact_radius), py(1), 1.6, ink, 0.9);
    c.line(px(now.exact_radius), py(1), px(reach), py(1), 1.6, ink, 0.9);
    for (std::size_t i = 0; i < profile.radius.size(); ++i)
        c.disc(px(profile.radius[i]), py(profile.density[i] / d.density), d.cells > 80 ? 3 : 4, glow);
    c.line(left + 30, top + 30, left + 60, top + 30, 1.6, ink);
    c.text(left + 70, top + 23, "density, exact", ink);
    c.disc(left + 45, top + 54, 4, glow);
    c.text(left + 70, top + 47, "computed, mean of shells one cell wide", ink);
    c.text(left + width - canvas::text_width("radius"), top + height + 30, "radius", ink);
    c.text(left, top + height + 50, caption(now), ink);
    c.write(path);
}

} // namespace blast
