// Prints the counters of a job.

#include "stats.hpp"

#include "ways.hpp"

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

/// A column of the table, called as its counter; where that counts blocks, their bytes stand before it.
struct column {
    counter what;
    counter bytes = counter::count_;
};
constexpr column columns[] = {{counter::calls_sent},
                              {counter::calls_handled},
                              {counter::messages_sent},
                              {counter::bytes_inline},
                              {counter::handed_over, counter::bytes_handed_over},
                              {counter::copied_once, counter::bytes_copied_once},
                              {counter::copied_twice, counter::bytes_copied_twice},
                              {counter::wire, counter::bytes_wire},
                              {counter::sleeps}};

job::counter_facts const& facts(counter which)
{
    return job::counter_table[static_cast<std::size_t>(which)];
}

bool is_column(counter which)
{
    return std::ranges::any_of(columns, [&](column const& c) { return c.what == which || c.bytes == which; });
}

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

std::string shown(counts const& c, counter which)
{
    auto const value = c[static_cast<std::size_t>(which)];
    return facts(which).unit == "bytes" ? human_bytes(value) : human_count(value);
}

std::vector<std::string> row(std::string name, counts const& c)
{
    std::vector<std::string> cells{std::move(name)};
    for (column const& one : columns)
        cells.push_back(one.bytes == counter::count_ ? shown(c, one.what) : moved(c, one.bytes, one.what));
    return cells;
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
    std::vector<std::vector<std::string>> rows{{"rank"}};
    for (column const& one : columns)
        rows[0].emplace_back(facts(one.what).name);
    auto const slots = view.slots();
    for (std::size_t r = 0; r < slots.size(); ++r)
        rows.push_back(row(fmt::format("{}", r), read(slots[r])));
    auto const sum = total(view);
    rows.push_back(row("all", sum));

    std::vector<std::size_t> widths(rows[0].size());
    for (auto const& cells : rows)
        for (std::size_t i = 0; i < cells.size(); ++i)
            widths[i] = std::max(widths[i], cells[i].size());
    std::string text = fmt::format("towline: {} rank{}, {:.2f} s; bytes of blocks by how they moved\n", slots.size(),
                                   slots.size() == 1 ? "" : "s", seconds);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i)
            line += fmt::format("  {:>{}}", rows[r][i], widths[i]);
        text += line + "\n";
        if (r == 0 || r + 2 == rows.size())
            text += "  " + std::string(line.size() - 2, '-') + "\n";
    }
    for (std::size_t i = 0; i < counters; ++i)
        if (auto const which = static_cast<counter>(i); sum[i] != 0 && !is_column(which))
            text += fmt::format("  {:<18}  {:>8}  {}\n", facts(which).name, shown(sum, which), facts(which).meaning);
    return text + ways_table(view.boards());
}

std::string stats_json(job::control_view const& view, double seconds)
{
    auto object = [](counts const& c) {
        nlohmann::ordered_json o;
        for (std::size_t i = 0; i < counters; ++i)
            o[std::string(job::counter_table[i].name)] = c[i];
        return o;
    };
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (std::size_t r = 0; r < view.slots().size(); ++r) {
        nlohmann::ordered_json one{{"rank", r}};
        one.update(object(read(view.slots()[r])));
        one["ways"] = ways_json(view.boards()[r]);
        ranks.push_back(std::move(one));
    }
    nlohmann::ordered_json const all{
        {"job", view.id()}, {"seconds", seconds}, {"ranks", std::move(ranks)}, {"total", object(total(view))}};
    return all.dump(2) + "\n";
}

bool write_file(std::string const& path, std::string const& text)
{
    FILE* file = std::fopen(path.c_str(), "we");
    bool const written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return (file == nullptr || std::fclose(file) == 0) && written;
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
