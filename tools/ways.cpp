// Prints the ways that the messages and blocks of a job took. A board may hold anything: numbers are all that is taken from it.

#include "ways.hpp"

#include "stats.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace towline::tools {
namespace {

constexpr std::size_t ways = job::message_ways.size(), hows = job::block_ways.size();

/// Messages of one kind and size class, of one rank or several.
struct messages {
    std::array<std::uint64_t, ways> sent{};
    std::array<std::uint64_t, ways> ns{};   ///< the least; 0: not tried
    std::array<std::uint64_t, ways> won{};

    void add(job::way_board::messages const& more)
    {
        for (std::size_t w = 0; w < ways; ++w) {
            sent[w] += more.sent[w].load(std::memory_order_relaxed);
            won[w] += more.won[w].load(std::memory_order_relaxed);
            std::uint64_t const took = more.ns[w].load(std::memory_order_relaxed);
            if (took != 0)
                ns[w] = ns[w] == 0 ? took : std::min(ns[w], took);
        }
    }
    [[nodiscard]] bool is_empty() const
    {
        return std::ranges::all_of(sent, [](std::uint64_t n) { return n == 0; });
    }
};

std::string size_of(unsigned size_class)
{
    std::string const most = human_bytes(job::way_board::most_of(size_class));
    return size_class + 1 == job::way_board::sizes ? most + "+" : most;
}

/// Why messages of that kind go as they do.
std::string reason(job::message_kind kind, messages const& m)
{
    std::uint64_t trials = 0;
    std::string won;
    for (std::size_t w = 0; w < ways; ++w) {
        trials += m.won[w];
        if (m.won[w] != 0)
            won += fmt::format("{}{} {}", won.empty() ? "" : ", ", job::message_ways[w], human_count(m.won[w]));
    }
    if (trials != 0)
        return fmt::format("trials won: {}", won);
    switch (kind) {
    case job::message_kind::heap_untouched: return "read where they lie: both cores keep the lines";
    case job::message_kind::laid_unreachable: return "the receiver cannot read them where they lie";
    case job::message_kind::set: return "by TOWLINE_WAY or TOWLINE_LAYOUT";
    default: return "no trial has ended";
    }
}

/// Right-aligned columns, but for the last.
std::string columns_of(std::vector<std::vector<std::string>> const& rows)
{
    std::vector<std::size_t> widths(rows[0].size());
    for (auto const& cells : rows)
        for (std::size_t i = 0; i < cells.size(); ++i)
            widths[i] = std::max(widths[i], cells[i].size());
    std::string text;
    for (auto const& cells : rows) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i)
            line += i + 1 == cells.size() ? fmt::format("  {}", cells[i]) : fmt::format("  {:>{}}", cells[i], widths[i]);
        text += line + "\n";
    }
    return text;
}

std::string messages_table(std::span<job::way_board const> boards)
{
    std::vector<std::vector<std::string>> rows{{"messages", "up to"}};
    for (std::string_view const way : job::message_ways)
        rows[0].emplace_back(way);
    rows[0].emplace_back("why");
    for (std::size_t k = 0; k < job::message_kinds.size(); ++k)
        for (unsigned c = 0; c < job::way_board::sizes; ++c) {
            messages all;
            for (auto const& b : boards)
                all.add(b.sent[k][c]);
            if (all.is_empty())
                continue;
            std::vector<std::string> row{std::string(job::message_kinds[k]), size_of(c)};
            for (std::size_t w = 0; w < ways; ++w)
                row.push_back(all.ns[w] == 0 ? human_count(all.sent[w]) : fmt::format("{} ({} ns)", human_count(all.sent[w]), all.ns[w]));
            row.push_back(reason(static_cast<job::message_kind>(k), all));
            rows.push_back(std::move(row));
        }
    return rows.size() == 1 ? "" : "ways of messages (ns from one to the next, as the last trial measured it)\n" + columns_of(rows);
}

std::string blocks_table(std::span<job::way_board const> boards)
{
    std::array<std::array<std::uint64_t, job::way_board::sizes>, hows> sums{};
    for (auto const& b : boards)
        for (std::size_t h = 0; h < hows; ++h)
            for (unsigned c = 0; c < job::way_board::sizes; ++c)
                sums[h][c] += b.blocks[h][c].load(std::memory_order_relaxed);
    auto const occurs = [&](std::size_t h) { return std::ranges::any_of(sums[h], [](std::uint64_t n) { return n != 0; }); };
    std::vector<std::vector<std::string>> rows{{"blocks", "up to"}};
    for (std::size_t h = 0; h < hows; ++h)
        if (occurs(h))
            rows[0].emplace_back(job::block_ways[h]);
    for (unsigned c = 0; c < job::way_board::sizes; ++c) {
        if (std::ranges::all_of(sums, [&](auto const& sum) { return sum[c] == 0; }))
            continue;
        std::vector<std::string> row{"received", size_of(c)};
        for (std::size_t h = 0; h < hows; ++h)
            if (occurs(h))
                row.push_back(human_count(sums[h][c]));
        rows.push_back(std::move(row));
    }
    return rows.size() == 1 ? "" : "ways of blocks\n" + columns_of(rows);
}

} // namespace

std::string ways_table(std::span<job::way_board const> boards)
{
    return messages_table(boards) + blocks_table(boards);
}

nlohmann::ordered_json ways_json(job::way_board const& board)
{
    using json = nlohmann::ordered_json;
    json of_messages = json::array(), of_blocks = json::array();
    for (std::size_t k = 0; k < job::message_kinds.size(); ++k)
        for (unsigned c = 0; c < job::way_board::sizes; ++c) {
            messages m;
            m.add(board.sent[k][c]);
            if (m.is_empty())
                continue;
            auto const named = [](std::array<std::uint64_t, ways> const& numbers) {
                json o = json::object();
                for (std::size_t w = 0; w < ways; ++w)
                    if (numbers[w] != 0)
                        o[std::string(job::message_ways[w])] = numbers[w];
                return o;
            };
            of_messages.push_back({{"kind", job::message_kinds[k]},
                                   {"bytes", job::way_board::most_of(c)},
                                   {"sent", named(m.sent)},
                                   {"ns", named(m.ns)},
                                   {"won", named(m.won)}});
        }
    for (unsigned c = 0; c < job::way_board::sizes; ++c) {
        json o;
        for (std::size_t h = 0; h < hows; ++h)
            if (auto const n = board.blocks[h][c].load(std::memory_order_relaxed); n != 0)
                o[std::string(job::block_ways[h])] = n;
        if (o.empty())
            continue;
        json one{{"bytes", job::way_board::most_of(c)}};
        one.update(o);
        of_blocks.push_back(std::move(one));
    }
    return {{"messages", std::move(of_messages)}, {"blocks", std::move(of_blocks)}};
}

} // namespace towline::tools
