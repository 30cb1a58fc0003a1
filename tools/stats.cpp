#include "stats.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace towline::tools {

namespace {

using job::counter;
constexpr auto counters = static_cast<std::size_t>(counter::count_);
using counts = std::array<std::uint64_t, counters>;

constexpr std::array<char const*, counters> names{"calls_sent",        "calls_handled",     "messages_sent",      "bytes_inline",
                                                  "bytes_handed_over", "bytes_copied_once", "bytes_copied_twice", "bytes_wire",
                                                  "handed_over",       "copied_once",       "copied_twice",       "wire",
                                                  "bytes_cma",         "bytes_staged",      "bytes_mapped",       "sleeps",
                                                  "bytes_cooperated",  "bytes_xpmem",       "bytes_onloaded",     "lane_operations",
                                                  "bytes_lanes_posted", "bytes_lanes_moved", "bytes_pushed"};

counts read(job::rank_slot const& slot)
{
    counts c{};
    for (std::size_t i = 0; i < counters; ++i)
        c[i] = slot.counters[i].load(std::memory_order_relaxed);
    return c;
}

counts total(job::control_view const& view)
{
    counts sum{};
    for (auto const& slot : view.slots()) {
        auto const c = read(slot);
        for (std::size_t i = 0; i < counters; ++i)
            sum[i] += c[i];
    }
    return sum;
}

std::string scaled(std::uint64_t value, double step, std::array<char const*, 6> const& units)
{
    if (value == 0)
        return "-";
    double scaled_value = static_cast<double>(value);
    std::size_t unit = 0;
    while (scaled_value >= step * 0.9995 && unit + 1 < units.size()) {
        scaled_value /= step;
        ++unit;
    }
    if (unit == 0)
        return fmt::format("{}{}{}", value, *units[0] != '\0' ? " " : "", units[0]);
    return scaled_value < 99.95 ? fmt::format("{:.3g} {}", scaled_value, units[unit]) : fmt::format("{:.0f} {}", scaled_value, units[unit]);
}

/// Bytes and the number of blocks behind them.
std::string moved(counts const& c, counter bytes, counter blocks)
{
    auto const b = c[static_cast<std::size_t>(bytes)];
    auto const n = c[static_cast<std::size_t>(blocks)];
    if (b == 0 && n == 0)
        return "-";
    return fmt::format("{} in {}", b == 0 ? "0 B" : human_bytes(b), human_count(n));
}

std::vector<std::string> row(std::string name, counts const& c)
{
    auto at = [&](counter which) { return c[static_cast<std::size_t>(which)]; };
    return {std::move(name),
            human_count(at(counter::calls_sent)),
            human_count(at(counter::calls_handled)),
            human_count(at(counter::messages_sent)),
            human_bytes(at(counter::bytes_inline)),
            moved(c, counter::bytes_handed_over, counter::handed_over),
            moved(c, counter::bytes_copied_once, counter::copied_once),
            moved(c, counter::bytes_copied_twice, counter::copied_twice),
            moved(c, counter::bytes_wire, counter::wire),
            human_count(at(counter::sleeps))};
}

} // namespace

std::string human_bytes(std::uint64_t bytes)
{
    return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string human_count(std::uint64_t number)
{
    return number < 10000 && number != 0 ? fmt::format("{}", number) : scaled(number, 1000, {"", "k", "M", "G", "T", "P"});
}

std::string stats_table(job::control_view const& view, double seconds)
{
    std::vector<std::vector<std::string>> rows{
        {"rank", "calls", "served", "messages", "inline", "handed over", "copied once", "copied twice", "wire", "sleeps"}};
    auto const slots = view.slots();
    for (std::size_t r = 0; r < slots.size(); ++r)
        rows.push_back(row(fmt::format("{}", r), read(slots[r])));
    auto const sum = total(view);
    rows.push_back(row("all", sum));

    std::vector<std::size_t> widths(rows[0].size());
    for (auto const& cells : rows)
        for (std::size_t i = 0; i < cells.size(); ++i)
            widths[i] = std::max(widths[i], cells[i].size());
    auto const at = [&](counter which) { return sum[static_cast<std::size_t>(which)]; };
    std::string text = fmt::format("towline: {} rank{}, {:.2f} s; bytes of blocks by how they moved\n", slots.size(),
                                   slots.size() == 1 ? "" : "s", seconds);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i)
            line += fmt::format("{}{:>{}}", i == 0 ? "  " : "   ", rows[r][i], widths[i]);
        text += line + "\n";
        if (r == 0 || r + 2 == rows.size())
            text += "  " + std::string(line.size() - 2, '-') + "\n";
    }
    if (at(counter::bytes_cma) + at(counter::bytes_xpmem) + at(counter::bytes_staged) + at(counter::bytes_mapped) != 0)
        text += fmt::format("  copied: {} read from the sender's arena ({} of it by the sender), {} by cross-memory attach, {} through a "
                            "staging block\n",
                            human_bytes(at(counter::bytes_mapped)), human_bytes(at(counter::bytes_cooperated)),
                            human_bytes(at(counter::bytes_cma)), human_bytes(at(counter::bytes_staged)));
    if (at(counter::bytes_xpmem) != 0)
        text += fmt::format("  copied: {} from memory attached by XPMEM\n", human_bytes(at(counter::bytes_xpmem)));
    if (at(counter::bytes_onloaded) != 0)
        text += fmt::format("  copied by helper threads: {}\n", human_bytes(at(counter::bytes_onloaded)));
    if (at(counter::lane_operations) != 0)
        text += fmt::format("  collective operations in shared memory: {} by the ranks together, {} offered by copy, {} read and written "
                            "in place\n",
                            human_count(at(counter::lane_operations)), human_bytes(at(counter::bytes_lanes_posted)),
                            human_bytes(at(counter::bytes_lanes_moved)));
    if (at(counter::bytes_pushed) != 0)
        text += fmt::format("  copied twice: {} pushed by the sender while the receiver copied\n", human_bytes(at(counter::bytes_pushed)));
    return text;
}

std::string stats_json(job::control_view const& view, double seconds)
{
    auto object = [](counts const& c) {
        nlohmann::ordered_json o;
        for (std::size_t i = 0; i < counters; ++i)
            o[names[i]] = c[i];
        return o;
    };
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (std::size_t r = 0; r < view.slots().size(); ++r) {
        nlohmann::ordered_json one{{"rank", r}};
        one.update(object(read(view.slots()[r])));
        ranks.push_back(std::move(one));
    }
    nlohmann::ordered_json const all{
        {"job", view.header().job_id.data()}, {"seconds", seconds}, {"ranks", std::move(ranks)}, {"total", object(total(view))}};
    return all.dump(2) + "\n";
}

std::string unwritable(std::string const& path)
{
    struct stat about {};
    if (stat(path.c_str(), &about) == 0)
        return S_ISDIR(about.st_mode) ? "is a directory" : access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
    auto const slash = path.rfind('/');
    std::string const folder = slash == path.npos ? "." : path.substr(0, slash + 1);
    return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

} // namespace towline::tools
