#include "simulation.hpp"

#include "canvas.hpp"
#include "picture.hpp"
#include "profile.hpp"
#include "progress.hpp"
#include "sedov.hpp"
#include "solver.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace blast {
namespace {

namespace fs = std::filesystem;

void report_drift(char const* what, exact_sum const& before, exact_sum after)
{
    double const start = before.value();
    after -= before;
    fmt::print("{:<15}{:.1e}\n", what, std::abs(after.value() / start));
}

} // namespace

std::vector<std::string> picture_paths(deck const& d, options const& o)
{
    std::vector<std::string> paths;
    for (int i = 1; i <= d.pictures; ++i)
        paths.push_back((fs::path(o.output) / fmt::format("density-{}.png", i)).string());
    if (d.pictures > 0)
        paths.push_back((fs::path(o.output) / "profile.png").string());
    return paths;
}

void prepare_output(deck const& d, options const& o)
{
    if (d.pictures == 0)
        return;
    std::error_code why;
    fs::create_directories(o.output, why);
    if (why || !fs::is_directory(o.output))
        throw std::runtime_error(
            fmt::format("--output {}: no folder can be made there: {}", o.output, why ? why.message() : "a file has that name"));
    for (std::string const& path : picture_paths(d, o))
        canvas::refuse_foreign(path);
}

void simulate(deck const& d, options const& o, layout const& cut, exchange& others)
{
    using clock = std::chrono::steady_clock;
    bool const talk = others.process() == 0;
    sedov const exact(d.gamma);
    double const reach = exact.radius(d.energy, d.density, d.end_time);
    if (talk) {
        triple const cuts = cut.cuts();
        fmt::print("Sedov-Taylor blast wave, {0} x {0} x {0} cells in {1} x {2} x {3} blocks on {4} process{5}\n", d.cells, cuts[0],
                   cuts[1], cuts[2], others.processes(), others.processes() == 1 ? "" : "es");
        fmt::print("similarity solution for gamma {:.4g}: alpha {:.6f}, shock at radius {:.4g} at time {:.4g}\n", d.gamma, exact.alpha(),
                   reach, d.end_time);
        std::fflush(stdout);
    }

    solver s(d.settings(), cut, others);
    s.start([&](int x, int y, int z) { return d.initial(x, y, z); });
    totals const before = s.sum();

    progress bar(talk && !o.quiet ? progress::best_mode() : progress::mode::silent);
    double time = 0;
    double spent = 0;
    radial_profile profile;
    moment now{};
    auto advance = [&](double until) {
        clock::time_point const start = clock::now();
        while (time < until) {
            time += s.step(until - time);
            double const radius = exact.radius(d.energy, d.density, time);
            if (talk)
                bar.show(radius / reach, fmt::format("step {}, time {:.4f}, exact shock at {:.3f}", s.steps(), time, radius));
        }
        spent += std::chrono::duration<double>(clock::now() - start).count();
        profile = profile_of(s, others, d.settings());
        now = {time, exact.radius(d.energy, d.density, time), shock_radius(profile, d.density)};
    };
    std::vector<std::string> const paths = picture_paths(d, o);
    double const brightest = brightest_density(d, exact);
    for (int i = 1; i <= d.pictures; ++i) {
        advance(i == d.pictures ? d.end_time : exact.time(d.energy, d.density, reach * i / d.pictures));
        std::vector<double> const slice = s.density_slice(d.cells / 2);
        if (talk)
            draw_slice(paths[static_cast<std::size_t>(i) - 1], d, slice, brightest, now);
    }
    advance(d.end_time);
    totals const after = s.sum();
    std::uint64_t const checksum = s.checksum();
    s.finish();
    bar.clear();
    if (!talk)
        return;
    if (!paths.empty())
        draw_profile(paths.back(), d, profile, exact, now);

    double const updates = static_cast<double>(s.steps()) * std::pow(d.cells, 3);
    fmt::print("{} steps in {:.2f} s, {:.2f} million cells a second", s.steps(), spent, updates / spent / 1e6);
    if (s.rejected() > 0)
        fmt::print("; {} repeated for positivity", s.rejected());
    fmt::print("\n{:<15}{:.5g}, exact {:.5g}, off by {:.2f} %\n", "shock radius", now.measured_radius, now.exact_radius,
               100 * (now.measured_radius / now.exact_radius - 1));
    report_drift("mass drift", before.of[0], after.of[0]);
    report_drift("energy drift", before.of[4], after.of[4]);
    if (o.checksum)
        fmt::print("{:<15}{:016x}\n", "checksum", checksum);
    if (!paths.empty())
        fmt::print("{:<15}{} (and {} more)\n", "pictures", fs::absolute(paths[paths.size() - 2]).lexically_normal().string(),
                   paths.size() - 1);
    std::fflush(stdout);
}

} // namespace blast
