// The text of the file. The parser is a header that no other part of the library needs; it throws nothing.

#include "engine/tuning.hpp"

#include "base/settings.hpp"

#include <fmt/format.h>

#define TOML_ASSERT(condition) static_cast<void>(0)  // what somebody wrote into a file ends no program
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#pragma GCC visibility push(hidden)  // nothing of the parser leaves the library: the program may have its own
#include <toml++/toml.h>
#pragma GCC visibility pop

#include <algorithm>

namespace towline::engine::tuning {

namespace {

class file_reader {
public:
    explicit file_reader(reading& to) : to_(to) {}

    void complain(toml::source_region const& where, std::string_view what)
    {
        to_.complaints.push_back(fmt::format("{}:{}: {}", to_.path, where.begin.line, what));
    }

    void read_machine(toml::table const& table)
    {
        to_.measured.processor = table["processor"].value_or(std::string());
        to_.measured.kernel = table["kernel"].value_or(std::string());
        to_.measured.cores = static_cast<unsigned>(std::clamp<std::int64_t>(table["cores"].value_or(std::int64_t{0}), 0, 1 << 30));
        to_.when = table["when"].value_or(std::string());
    }

    void read_thresholds(toml::table const& table)
    {
        for (auto&& [key, node] : table) {
            auto const all = tuning::table();
            auto const at = std::find_if(all.begin(), all.end(), [&](threshold const& t) { return key.str() == t.name; });
            if (at == all.end()) {
                complain(key.source(), fmt::format("thresholds.{} is unknown and ignored; there are {}", key.str(), names()));
                continue;
            }
            std::optional<std::uint64_t> value;
            if (auto const number = node.value_exact<std::int64_t>())
                value = *number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(*number));
            else if (auto const text = node.value_exact<std::string_view>())
                value = base::parse_bytes(*text);
            if (!value || *value < at->least || *value > at->most) {
                complain(node.source(), fmt::format("thresholds.{} is ignored: it must be a size from {} to {} bytes, like 4096 or \"4K\"; "
                                                    "the shipped {} is used",
                                                    at->name, at->least, at->most, thresholds::sizes{}.*at->value));
                continue;
            }
            to_.sizes.*at->value = static_cast<std::size_t>(*value);
            to_.given[static_cast<std::size_t>(at - all.begin())] = true;
        }
    }

private:
    static std::string names()
    {
        std::string list;
        for (auto const& t : tuning::table())
            list += fmt::format("{}{}", list.empty() ? "" : ", ", t.name);
        return list;
    }
    reading& to_;
};

} // namespace

reading parse(std::string_view text, std::string path, machine const& here)
{
    reading r;
    r.path = std::move(path);
    r.given.resize(table().size());
    file_reader reader(r);
    auto const parsed = toml::parse(text);
    if (!parsed) {
        r.from = source::broken;
        reader.complain(parsed.error().source(), fmt::format("no TOML: {}; the shipped thresholds are used", parsed.error().description()));
        return r;
    }
    auto const* const machine = parsed.table()["machine"].as_table();
    if (machine == nullptr) {
        r.from = source::broken;
        r.complaints.push_back(r.path + ": there is no [machine] that says where it was measured; the shipped thresholds are used");
        return r;
    }
    reader.read_machine(*machine);
    if (!r.measured.same(here)) {
        r.from = source::other;
        return r;
    }
    r.from = source::file;
    for (auto&& [key, node] : parsed.table()) {
        if (key.str() == "machine")
            continue;
        auto const* const table = node.as_table();
        if (key.str() == "thresholds" && table != nullptr)
            reader.read_thresholds(*table);
        else
            reader.complain(key.source(), fmt::format("{} is unknown and ignored; there are [machine] and [thresholds]", key.str()));
    }
    return r;
}

} // namespace towline::engine::tuning
