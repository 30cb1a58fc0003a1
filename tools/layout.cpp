// Runs `towline layout`.

#include "layout.hpp"

#include "layout/copy_plan.hpp"
#include "layout/serial.hpp"
#include "run.hpp"
#include "stats.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

namespace towline::tools {

namespace {

/// More is not measured: it would take too long, or too much memory.
constexpr std::int64_t most_measured = std::int64_t{64} << 20, most_spanned = std::int64_t{256} << 20;

/// Blocks in a row of a tree, and where the last one ends; the first begins at 0.
struct blocks {
    std::int64_t number = 0, end = 0;

    /// Behind those that there are.
    void add(blocks const& more, std::int64_t at)
    {
        number += more.number - (number != 0 && at == end ? 1 : 0);
        end = at + more.end;
    }
};

/// Looks at each node once: parts of a tree may be shared again and again.
class block_counter {
public:
    blocks of(layout::node const& n)
    {
        if (auto const at = known_.find(&n); at != known_.end())
            return at->second;
        blocks all;
        switch (n.what) {
        case layout::form::block: all = {1, n.size}; break;
        case layout::form::loop: {
            blocks const one = of(*n.child);
            all = {n.count * one.number - (one.end == n.stride ? n.count - 1 : 0), (n.count - 1) * n.stride + one.end};
            break;
        }
        case layout::form::list:
            for (std::int64_t const at : n.displacements)
                all.add(of(*n.child), at);
            break;
        case layout::form::pieces:
            for (std::size_t i = 0; i < n.displacements.size(); ++i)
                all.add({1, n.starts[i + 1] - n.starts[i]}, n.displacements[i]);
            break;
        case layout::form::sequence:
            for (std::size_t i = 0; i < n.displacements.size(); ++i)
                all.add(of(*n.children[i]), n.displacements[i]);
            break;
        }
        return known_[&n] = all;
    }

private:
    std::unordered_map<layout::node const*, blocks> known_;
};

/// A message of a layout, and what there is to say of it.
struct described {
    std::string text;
    layout_message message;
    layout::placed tree;
    layout_span span;
    std::int64_t pieces = 0;
    std::size_t form = 0;  ///< bytes of it

    explicit described(std::string const& as)
        : text(as), message(parse_layout(as)), tree(layout::elements_of(message.type, message.count)), span(span_of(message)),
          pieces(tree.tree ? tools::pieces_of(*tree.tree) : 0), form(layout::serialize(tree).size() * sizeof(std::uint64_t))
    {
    }
    [[nodiscard]] std::int64_t spanned() const noexcept { return span.high - span.low; }
    [[nodiscard]] double density() const noexcept
    {
        return spanned() == 0 ? 1 : static_cast<double>(tree.size()) / static_cast<double>(spanned());
    }
};

std::string bytes_text(std::int64_t n)
{
    std::string const exact = fmt::format("{} B", n);
    return n < 10240 ? exact : fmt::format("{} ({})", exact, human_bytes(static_cast<std::uint64_t>(n)));
}

std::string text_of(described const& d)
{
    auto const& t = d.message.type;
    std::string const count = d.message.count == 1 ? "" : fmt::format("{} of ", d.message.count);
    std::string out = d.text + "\n";
    auto const line = [&](std::string_view name, std::string const& value) { out += fmt::format("  {:<12}  {}\n", name, value); };
    line("tree", layout::describe(d.tree));
    line("size", count + bytes_text(t.size()) + (d.message.count == 1 ? "" : fmt::format(": {}", bytes_text(d.tree.size()))));
    line("extent", fmt::format("{} B, from {} to {}", t.extent(), t.lb(), t.ub()));
    line("true extent", fmt::format("{} B, from {} to {}", t.true_extent(), t.true_lb(), t.true_ub()));
    line("density", fmt::format("{:.4g} % of the {} that it spans", 100 * d.density(), bytes_text(d.spanned())));
    line("pieces", d.pieces == 0 ? "none: no data"
                                 : fmt::format("{}, of {:.4g} B on average", d.pieces,
                                               static_cast<double>(d.tree.size()) / static_cast<double>(d.pieces)));
    line("written down", fmt::format("{} for a peer", bytes_text(static_cast<std::int64_t>(d.form))));
    return out;
}

nlohmann::ordered_json json_of(described const& d)
{
    auto const& t = d.message.type;
    return {{"text", d.text},
            {"count", d.message.count},
            {"tree", layout::describe(d.tree)},
            {"size", t.size()},
            {"lb", t.lb()},
            {"extent", t.extent()},
            {"true_lb", t.true_lb()},
            {"true_extent", t.true_extent()},
            {"bytes", d.tree.size()},
            {"span", d.spanned()},
            {"density", d.density()},
            {"pieces", d.pieces},
            {"form_bytes", d.form}};
}

/// Bytes in a nanosecond are GB in a second.
double rate(std::int64_t bytes, layout_time const& t)
{
    return static_cast<double>(bytes) / std::max(t.ns, 0.1);
}

std::string text_of(std::vector<layout_time> const& times, std::int64_t bytes)
{
    std::string out = fmt::format("{} in this process, its memory warm:  us, GB/s\n", bytes_text(bytes));
    for (auto const& t : times)
        out += fmt::format("  {:<12}  {:>10.3f}  {:>6}  {}\n", t.name, t.ns / 1000, t.moves ? fmt::format("{:.2f}", rate(bytes, t)) : "-",
                           t.text);
    return out;
}

} // namespace

std::int64_t pieces_of(layout::node const& n)
{
    return block_counter().of(n).number;
}

layout_span span_of(layout_message const& m)
{
    if (m.count == 0 || m.type.size() == 0)
        return {};
    std::int64_t const last = (m.count - 1) * m.type.extent();  // fits: parse_layout made the whole
    return {m.type.true_lb() + std::min<std::int64_t>(0, last), m.type.true_ub() + std::max<std::int64_t>(0, last)};
}

int show_layout(layout_options const& options)
{
    std::optional<described> from, to;
    for (auto const& [text, which] : {std::pair{&options.from, &from}, {&options.to, &to}}) {
        if (text->empty())
            continue;
        try {
            which->emplace(*text);
        } catch (layout_text_error const& e) {
            fmt::print(stderr, "towline layout: {}\nTry 'towline layout --help'.\n", e.what());
            return exit_usage;
        }
    }
    described const& last = to ? *to : *from;
    layout::copy_plan const plan(last.tree, from->tree);
    std::string why;
    if (!options.measure)
        why = "not asked for";
    else if (plan.size() == 0)
        why = "there are no data";
    else if (plan.size() > most_measured || std::max(from->spanned(), last.spanned()) > most_spanned)
        why = fmt::format("more than {} of data, or than {} that they lie in", human_bytes(most_measured), human_bytes(most_spanned));
    auto const times = why.empty() ? measure_layouts(from->message, last.message) : std::vector<layout_time>{};
    if (options.json) {
        nlohmann::ordered_json all{{"from", json_of(*from)}};
        if (to)
            all["to"] = json_of(*to);
        all["plan"] = {{"steps", plan.describe()}, {"bytes", plan.size()}, {"weight", plan.weight()}};
        if (why.empty())
            for (auto const& t : times)
                all["times"][t.name] = t.moves ? nlohmann::ordered_json{{"us", t.ns / 1000}, {"GB_per_s", rate(plan.size(), t)}}
                                               : nlohmann::ordered_json{{"us", t.ns / 1000}};
        else
            all["not_measured"] = why;
        fmt::print("{}\n", all.dump(2));
        return 0;
    }
    std::string out = text_of(*from);
    if (to)
        out += "\n" + text_of(*to);
    out += fmt::format("\nthe plan from {}\n  {}\n", to ? "the first to the second" : "it to the same", plan.describe());
    if (to && from->tree.size() != to->tree.size())
        out += fmt::format("  moves {}: the rest of the longer one is left alone\n", bytes_text(plan.size()));
    out += why.empty() ? "\n" + text_of(times, plan.size()) : fmt::format("\nnot measured: {}\n", why);
    fmt::print("{}", out);
    return 0;
}

} // namespace towline::tools
