// The command: what is checked before, and the job of two that measures.

#include "tune.hpp"

#include "base/machine.hpp"
#include "binding.hpp"
#include "engine/tuning.hpp"
#include "run.hpp"
#include "stats.hpp"
#include "towline/error.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace towline::tools {

namespace {

namespace tuning = engine::tuning;

int show()
{
    auto const r = tuning::read();
    for (auto const& line : r.complaints)
        fmt::print(stderr, "towline tune: {}\n", line);
    if (r.from == tuning::source::none || r.from == tuning::source::off) {
        fmt::print("no file is used{}; the thresholds are those that are shipped\n",
                   r.from == tuning::source::off ? ": TOWLINE_TUNING=off" : r.path.empty() ? "" : ": there is none at " + r.path);
        return 0;
    }
    std::ifstream file(r.path);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    fmt::print("# {}{}\n{}", r.path, r.from == tuning::source::file ? "" : ": not used", text);
    return 0;
}

/// The folder is made where it is missing; why the file cannot be written, or nothing.
std::string prepare(std::string const& path)
{
    auto const folder = std::filesystem::path(path).parent_path();
    std::error_code failed;
    if (!folder.empty())
        std::filesystem::create_directories(folder, failed);
    return failed ? failed.message() : unwritable(path);
}

std::string this_program()
{
    std::error_code failed;
    auto const path = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        throw system_error("finding this program (/proc/self/exe)", failed.value());
    return path.string();
}

} // namespace

int tune(tune_options const& options)
{
    if (options.as_rank)
        return tune_as_rank(options);
    if (options.show)
        return show();
    std::string const path = !options.output.empty() ? options.output : tuning::file_path().value_or("");
    if (path.empty()) {
        fmt::print(stderr, "towline tune: where to? {}; write --output FILE\n",
                   std::getenv("TOWLINE_TUNING") != nullptr ? "TOWLINE_TUNING is off" : "Neither XDG_CONFIG_HOME nor HOME is set");
        return exit_usage;
    }
    if (allowed_cores().size() < 2 || base::usable_cores() < 2) {
        fmt::print(stderr, "towline tune: two cores are needed to measure, and {} may be used here; the shipped thresholds stay\n",
                   base::usable_cores());
        return exit_failed;
    }
    if (auto const why = prepare(path); !why.empty()) {
        fmt::print(stderr, "towline tune: {}: {}; nothing was measured\n", path, why);
        return exit_failed;
    }
    run_options job;
    job.name = "towline tune";
    job.bind = unit::core;
    job.stdin_rank = -1;
    job.timeout = std::chrono::minutes(2);
    job.environment.set = {{"TOWLINE_LOG", "error"}};
    setenv("TOWLINE_TUNING", "off", 1);  // what is measured is this machine, not what was measured before
    program_part part;
    part.ranks = 2;
    part.command = {this_program(), "tune", "--as-rank", "--output", std::filesystem::absolute(path).string()};
    if (options.quick)
        part.command.emplace_back("--quick");
    job.parts.push_back(std::move(part));
    return run(job);
}

} // namespace towline::tools
