#include "deck.hpp"

#include "sedov.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

namespace blast {
namespace {

/// Reads a table key by key and knows which keys there may be.
class reader {
public:
    reader(toml::table const& table, std::string path) : table_(table), path_(std::move(path)) {}

    /// A number within [least, greatest]; `fallback` if the key is absent, an error if there is none.
    template <class Number>
    void number(char const* section, char const* key, Number& to, double least, double greatest, bool required = false)
    {
        known_.insert(std::string(section) + "." + key);
        toml::node const* node = find(section, key);
        std::string allowed = fmt::format("{} from {} to {}", std::is_integral_v<Number> ? "a whole number" : "a number", least, greatest);
        if (node == nullptr) {
            if (required)
                throw deck_error(fmt::format("{}: {}.{} is missing; it must be {}", path_, section, key, allowed));
            return;
        }
        std::optional<double> value;
        if (node->is_integer())
            value = static_cast<double>(*node->value<std::int64_t>());
        else if (node->is_floating_point() && !std::is_integral_v<Number>)
            value = *node->value<double>();
        if (!value)
            throw deck_error(fmt::format("{} is {}; it must be {}", at(section, key), kind(*node), allowed));
        if (!(*value >= least && *value <= greatest))
            throw deck_error(fmt::format("{} is {}; it must be {}", at(section, key), *value, allowed));
        to = static_cast<Number>(*value);
    }

    void refuse_unknown() const
    {
        for (auto&& [section, node] : table_) {
            toml::table const* inner = node.as_table();
            if (inner == nullptr || !starts_known(section.str()))
                throw deck_error(fmt::format("{}:{}: unknown {} \"{}\"; known are {}", path_, section.source().begin.line,
                                             inner == nullptr ? "key" : "section", section.str(), listing()));
            for (auto&& [key, value] : *inner)
                if (!known_.contains(std::string(section.str()) + "." + std::string(key.str())))
                    throw deck_error(fmt::format("{}:{}: unknown key {}.{}; known are {}", path_, key.source().begin.line, section.str(),
                                                 key.str(), listing()));
        }
    }

    /// File, line and name of a key, to begin a message with.
    std::string at(char const* section, char const* key) const
    {
        toml::node const* node = find(section, key);
        return node == nullptr ? fmt::format("{}: {}.{}", path_, section, key)
                               : fmt::format("{}:{}: {}.{}", path_, node->source().begin.line, section, key);
    }

private:
    toml::node const* find(char const* section, char const* key) const
    {
        toml::table const* inner = table_[section].as_table();
        return inner == nullptr ? nullptr : inner->get(key);
    }

    static std::string kind(toml::node const& node)
    {
        std::ostringstream text;
        text << node.type();
        return "of type " + text.str();
    }

    bool starts_known(std::string_view section) const
    {
        std::string prefix = std::string(section) + ".";
        auto next = known_.lower_bound(prefix);
        return next != known_.end() && next->starts_with(prefix);
    }

    std::string listing() const
    {
        std::string all;
        for (std::string const& key : known_)
            all += (all.empty() ? "" : ", ") + key;
        return all;
    }

    toml::table const& table_;
    std::string path_;
    std::set<std::string> known_;
};

} // namespace

solver_settings deck::settings() const
{
    solver_settings s;
    s.cells = {cells, cells, cells};
    s.width = width();
    s.cfl = cfl;
    s.matter = {gamma, 1e-10 * density, 1e-6 * pressure};
    return s;
}

primitive deck::initial(int x, int y, int z) const
{
    auto square = [&](int i) { return (i + 0.5 - 0.5 * cells) * (i + 0.5 - 0.5 * cells); };
    auto inside = [&](int i, int j, int k) { return square(i) + square(j) + square(k) <= deposit_radius * deposit_radius; };
    primitive w{{density, 0, 0, 0, pressure}};
    if (inside(x, y, z)) {
        int reach = static_cast<int>(deposit_radius) + 1;
        int middle = cells / 2;
        int sharing = 0;
        for (int k = middle; k < middle + reach; ++k)
            for (int j = middle; j < middle + reach; ++j)
                for (int i = middle; i < middle + reach; ++i)
                    sharing += inside(i, j, k) ? 8 : 0;
        w[4] += (gamma - 1) * energy / (sharing * cell_volume());
    }
    return w;
}

deck parse_deck(std::string const& text, std::string const& path)
{
    toml::table table;
    try {
        table = toml::parse(text);
    } catch (toml::parse_error const& e) {
        throw deck_error(fmt::format("{}:{}: {}", path, e.source().begin.line, e.description()));
    }
    constexpr double tiny = 1e-100;
    constexpr double huge = 1e100;
    reader r(table, path);
    deck d;
    r.number("grid", "cells", d.cells, 8, 1024, true);
    r.number("grid", "edge", d.edge, tiny, huge);
    r.number("gas", "gamma", d.gamma, sedov::least_gamma, sedov::greatest_gamma);
    r.number("gas", "density", d.density, tiny, huge);
    r.number("gas", "pressure", d.pressure, tiny, huge);
    r.number("blast", "energy", d.energy, tiny, huge);
    r.number("blast", "deposit_radius", d.deposit_radius, 0.9, 8);
    r.number("run", "end_time", d.end_time, tiny, huge, true);
    r.number("run", "cfl", d.cfl, 0.01, 1.0 / 3);
    r.number("run", "pictures", d.pictures, 0, 1000);
    r.refuse_unknown();
    if (d.cells % 2 != 0)
        throw deck_error(fmt::format("{} is {}; it must be even, so that the explosion is in the middle", r.at("grid", "cells"), d.cells));
    sedov exact(d.gamma);
    double reach = exact.radius(d.energy, d.density, d.end_time);
    double allowed = d.edge / 2 - 4 * d.width(); // the computed shock is a few cells wide, and waves may not leave
    double start = (d.deposit_radius + 2) * d.width();
    if (!(allowed >= start))
        throw deck_error(
            fmt::format("{} is {}: too few for a shock between the cells that get the energy and the boundary; at least {} are needed",
                        r.at("grid", "cells"), d.cells, 2 * static_cast<int>(std::ceil(d.deposit_radius + 6))));
    if (!(reach <= allowed))
        throw deck_error(
            fmt::format("{} is {}: the shock would be at radius {:.4g} and leave the cube; at most {:.6g} is allowed (radius {:.4g})",
                        r.at("run", "end_time"), d.end_time, reach, exact.time(d.energy, d.density, allowed), allowed));
    if (!(reach >= start))
        throw deck_error(fmt::format(
            "{} is {}: the shock would be at radius {:.4g}, still within the cells that get the energy; at least {:.6g} is needed",
            r.at("run", "end_time"), d.end_time, reach, exact.time(d.energy, d.density, start)));
    double speed = 0.4 * reach / d.end_time;
    double greatest_pressure = 1e-3 * d.density * speed * speed;
    if (!(d.pressure <= greatest_pressure))
        throw deck_error(fmt::format("{} is {}: too much for the similarity solution, which knows none; at most {:.3g} is allowed",
                                     r.at("gas", "pressure"), d.pressure, greatest_pressure));
    return d;
}

std::string read_text(std::string const& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        throw deck_error(fmt::format("{}: cannot be read", path));
    return text.str();
}

} // namespace blast
