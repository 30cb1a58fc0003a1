#include "harness.hpp"

#include "harness/pair.hpp"
#include "harness/statistics.hpp"
#include "harness/thermometer.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace bench {

namespace {

struct measured {
    figure what;
    std::function<void(sampler&)> turn;
    std::vector<double> samples{};       // of all rounds
    std::vector<double> medians{};       // of each round
    std::vector<double> raw{};           // thermometer of each round
    std::string failure{};
};

std::string title(figure const& f)
{
    return fmt::format("{} {} {} {}{}{}", f.name, f.size, f.mode, f.subject, f.variant.empty() ? "" : "/", f.variant);
}

double ratio(measured const& m)
{
    std::vector<double> ratios;
    for (std::size_t i = 0; i < m.raw.size(); ++i)
        if (m.raw[i] > 0)
            ratios.push_back(m.medians[i] / m.raw[i]);
    return summarize(std::move(ratios)).median;
}

nlohmann::ordered_json record(std::string const& bench, measured const& m)
{
    auto const s = summarize(m.samples);
    auto us = [](double ns) { return ns / 1000; };
    nlohmann::ordered_json j = {{"bench", bench}, {"case", m.what.name}, {"size", m.what.size}, {"subject", m.what.subject}};
    if (!m.what.variant.empty())
        j["variant"] = m.what.variant;
    j.update({{"unit", "us"}, {"median", us(s.median)}, {"min", us(s.min)}, {"p90", us(s.p90)}, {"spread", s.spread},
              {"samples", s.samples}, {"raw_ns", summarize(m.raw).median}, {"raw_ratio", ratio(m)}, {"mode", m.what.mode}});
    std::vector<double> rounds;
    for (double const ns : m.medians)
        rounds.push_back(us(ns));
    j["rounds"] = rounds;
    j["rounds_raw_ns"] = m.raw;
    return j;
}

/// A line-based connection to the conductor.
class conductor {
public:
    explicit conductor(std::string const& path)
    {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (path.size() >= sizeof a.sun_path)
            throw std::runtime_error("--conducted: the path of the socket is too long: " + path);
        path.copy(a.sun_path, path.size());
        fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0)
            throw std::system_error(errno, std::generic_category(), "--conducted " + path);
    }
    ~conductor() { close(fd_); }
    conductor(conductor const&) = delete;
    conductor& operator=(conductor const&) = delete;

    void say(std::string line) const
    {
        line += '\n';
        for (std::string_view rest = line; !rest.empty();) {
            auto const n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
            if (n < 0)
                throw std::system_error(errno, std::generic_category(), "the conductor is gone");
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    std::optional<std::string> hear()
    {
        for (;;) {
            if (auto const end = buffer_.find('\n'); end != std::string::npos) {
                auto line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return line;
            }
            char part[4096];
            auto const n = ::read(fd_, part, sizeof part);
            if (n <= 0)
                return std::nullopt;
            buffer_.append(part, static_cast<std::size_t>(n));
        }
    }

private:
    int fd_ = -1;
    std::string buffer_;
};

} // namespace

void sampler::check(bool ok, std::string_view what)
{
    if (!ok)
        throw std::runtime_error(std::string(what));
}

struct program::impl {
    std::string name;
    bool quick = false;
    int rounds = 0;
    int budget_ms = 10;
    std::string only;
    std::string json;
    std::string conducted;
    std::vector<measured> figures;
    std::unique_ptr<thermometer> raw;

    /// Measures one turn; `raw_ns` is the thermometer before it, and after it when this returns.
    void take_turn(measured& m, double& raw_ns)
    {
        sampler s(std::chrono::milliseconds(budget_ms), 100, m.medians.empty());
        try {
            m.turn(s);
        } catch (std::exception const& e) {
            m.failure = e.what();
            return;
        }
        auto const before = raw_ns;
        raw_ns = raw->read();
        m.samples.insert(m.samples.end(), s.samples().begin(), s.samples().end());
        m.medians.push_back(summarize(s.samples()).median);
        m.raw.push_back((before + raw_ns) / 2);
    }

    int alone();
    int under_conductor();
};

program::program(int argc, char** argv, std::string name, std::string summary) : impl_(std::make_unique<impl>())
{
    static_cast<void>(cores());
    auto& o = *impl_;
    o.name = std::move(name);
    CLI::App app(std::move(summary) + "\nTimes are microseconds; 'x raw' are multiples of a cache line's way from core to core.");
    app.add_flag("--quick", o.quick, "a few rounds instead of many: a look, not a result");
    app.add_option("--rounds", o.rounds, "turns for each figure (default 20, with --quick 3)");
    app.add_option("--budget", o.budget_ms, "milliseconds of one turn")->capture_default_str();
    app.add_option("--only", o.only, "regular expression: only figures whose 'case size mode subject/variant' it matches");
    app.add_option("--json", o.json, "where to write the JSON lines; - for nowhere (default build/bench/" + o.name + ".jsonl)");
    app.add_option("--conducted", o.conducted, "socket of bench/conduct.py")->envname("TOWLINE_BENCH_CONDUCTOR");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        std::exit(app.exit(e));
    }
    if (o.rounds == 0)
        o.rounds = o.quick ? 3 : 20;
    if (o.json.empty())
        o.json = "build/bench/" + o.name + ".jsonl";
    if (o.conducted.empty())
        o.raw = std::make_unique<thermometer>();
}

program::~program() = default;

bool program::quick() const noexcept
{
    return impl_->quick;
}

bool program::wanted(figure const& f) const
{
    return impl_->only.empty() || std::regex_search(title(f), std::regex(impl_->only));
}

void program::add(figure f, std::function<void(sampler&)> turn)
{
    if (wanted(f))
        impl_->figures.push_back({std::move(f), std::move(turn)});
}

int program::run()
{
    return impl_->conducted.empty() ? impl_->alone() : impl_->under_conductor();
}

int program::impl::alone()
{
    double raw_ns = raw->read();
    std::fprintf(stderr, "%s: raw ping-pong %.0f ns one way; %zu figures, %d rounds\n", name.c_str(), raw_ns, figures.size(), rounds);
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < figures.size(); ++i) {
            auto& m = figures[i];
            if (!m.failure.empty())
                continue;
            if (isatty(2))
                std::fprintf(stderr, "\r%s: round %d of %d, %zu of %zu  %-60.60s", name.c_str(), round + 1, rounds, i + 1, figures.size(),
                             title(m.what).c_str());
            take_turn(m, raw_ns);
        }
    if (isatty(2))
        std::fprintf(stderr, "\r%100s\r", "");

    std::ofstream file;
    if (json != "-") {
        if (auto const folder = std::filesystem::path(json).parent_path(); !folder.empty())
            std::filesystem::create_directories(folder);
        file.open(json);
        if (!file)
            throw std::runtime_error("cannot write " + json);
    }
    bool failed = false;
    fmt::print("{:<16} {:>10} {:<10} {:<22} {:>11} {:>11} {:>11} {:>7} {:>8}\n", "case", "bytes", "mode", "subject", "median us", "min", "p90",
               "spread", "x raw");
    for (auto const& m : figures) {
        auto const subject = m.what.subject + (m.what.variant.empty() ? "" : "/" + m.what.variant);
        fmt::print("{:<16} {:>10} {:<10} {:<22} ", m.what.name, m.what.size, m.what.mode, subject);
        if (!m.failure.empty()) {
            failed = true;
            fmt::print("failed: {}\n", m.failure);
            continue;
        }
        auto const s = summarize(m.samples);
        fmt::print("{:>11.4g} {:>11.4g} {:>11.4g} {:>6.0f}% {:>8.3g}\n", s.median / 1000, s.min / 1000, s.p90 / 1000, s.spread * 100, ratio(m));
        if (file)
            file << record(name, m).dump() << '\n';
    }
    fmt::print("raw ping-pong at the end: {:.0f} ns one way\n", raw_ns);
    return failed ? 1 : 0;
}

int program::impl::under_conductor()
{
    conductor c(conducted);
    for (auto const& m : figures)
        c.say(fmt::format("figure {} {} {} {} {}", m.what.name, m.what.size, m.what.mode, m.what.subject,
                          m.what.variant.empty() ? "-" : m.what.variant));
    c.say("ready");
    while (auto const line = c.hear()) {
        std::istringstream in(*line);
        std::string word;
        std::size_t index = 0;
        std::int64_t budget_ns = 0;
        int most = 0, first = 0;
        if (!(in >> word >> index >> budget_ns >> most >> first) || word != "turn" || index >= figures.size())
            break;
        sampler s(std::chrono::nanoseconds(budget_ns), most, first != 0);
        try {
            figures[index].turn(s);
            std::string answer = "samples";
            for (double const ns : s.samples())
                answer += fmt::format(" {:.2f}", ns);
            c.say(std::move(answer));
        } catch (std::exception const& e) {
            std::string text = e.what();
            std::replace(text.begin(), text.end(), '\n', ' ');
            c.say("failed " + text);
        }
    }
    return 0;
}

} // namespace bench
