// The job's description, to and from CBOR.

#include "description.hpp"

#include "base/machine.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace towline::tools {

namespace {

using nlohmann::json;

std::string to_text(json const& j)
{
    std::string text;
    json::to_cbor(j, nlohmann::detail::output_adapter<char>(text));
    return text;
}

/// Names, folders and variables are bytes, which need not be UTF-8.
json bytes(std::string const& text)
{
    return json::binary({text.begin(), text.end()});
}

std::string text_in(json const& j)
{
    auto const& all = j.get_binary();
    return {all.begin(), all.end()};
}

json list(std::vector<std::string> const& all)
{
    json j = json::array();
    for (auto const& one : all)
        j.push_back(bytes(one));
    return j;
}

std::vector<std::string> list_in(json const& j)
{
    std::vector<std::string> all;
    for (auto const& one : j)
        all.push_back(text_in(one));
    return all;
}

json change(environment_change const& c)
{
    json set = json::array();
    for (auto const& [name, value] : c.set)
        set.push_back({bytes(name), bytes(value)});
    return {{"inherit", c.inherit}, {"kept", list(c.kept)}, {"set", std::move(set)}};
}

environment_change change_in(json const& j)
{
    environment_change c;
    c.inherit = j.at("inherit").get<bool>();
    c.kept = list_in(j.at("kept"));
    for (auto const& one : j.at("set"))
        c.set.emplace_back(text_in(one.at(0)), text_in(one.at(1)));
    return c;
}

} // namespace

std::string packed(description const& d)
{
    auto const& o = d.options;
    json parts = json::array();
    for (auto const& p : o.parts)
        parts.push_back({{"ranks", p.ranks},
                         {"command", list(p.command)},
                         {"folder", bytes(p.folder)},
                         {"search", bytes(p.search)},
                         {"environment", change(p.environment)}});
    return to_text({{"name", o.name},
                    {"parts", std::move(parts)},
                    {"change", change(o.environment)},
                    {"stdin", o.stdin_rank},
                    {"verbose", o.verbose},
                    {"quiet", o.quiet},
                    {"bind", static_cast<int>(o.bind)},
                    {"map", static_cast<int>(o.map)},
                    {"report bindings", o.report_bindings},
                    {"stats", o.stats},
                    {"tag", o.tag},
                    {"tag pattern", bytes(o.tag_pattern)},
                    {"out pattern", bytes(o.out_pattern)},
                    {"err pattern", bytes(o.err_pattern)},
                    {"output from", o.output_from},
                    {"keep going", o.keep_going},
                    {"heap", o.heap},
                    {"node", d.node.node},
                    {"node of", d.node.node_of},
                    {"beside", d.node.beside},
                    {"id", d.node.id},
                    {"key", bytes({reinterpret_cast<char const*>(d.node.key.data()), d.node.key.size()})},
                    {"addresses", d.node.addresses},
                    {"host", bytes(d.node.host)},
                    {"hosts", list(d.node.hosts)},
                    {"environment", list(d.environment)},
                    {"working folder", bytes(d.folder)},
                    {"mask", d.mask},
                    {"joined", d.joined}});
}

description description_in(std::string const& text)
{
    description d;
    auto& o = d.options;
    try {
        json const j = json::from_cbor(text);
        o.name = j.at("name").get<std::string>();
        for (auto const& p : j.at("parts")) {
            auto& part = o.parts.emplace_back();
            part.ranks = p.at("ranks").get<int>();
            part.command = list_in(p.at("command"));
            part.folder = text_in(p.at("folder"));
            part.search = text_in(p.at("search"));
            part.environment = change_in(p.at("environment"));
        }
        o.environment = change_in(j.at("change"));
        o.stdin_rank = j.at("stdin").get<int>();
        o.verbose = j.at("verbose").get<bool>();
        o.quiet = j.at("quiet").get<bool>();
        o.bind = static_cast<unit>(j.at("bind").get<int>());
        o.map = static_cast<unit>(j.at("map").get<int>());
        o.report_bindings = j.at("report bindings").get<bool>();
        o.stats = j.at("stats").get<bool>();
        o.tag = j.at("tag").get<bool>();
        o.tag_pattern = text_in(j.at("tag pattern"));
        o.out_pattern = text_in(j.at("out pattern"));
        o.err_pattern = text_in(j.at("err pattern"));
        o.output_from = j.at("output from").get<int>();
        o.keep_going = j.at("keep going").get<bool>();
        o.heap = j.at("heap").get<bool>();
        d.node.node = j.at("node").get<std::uint32_t>();
        d.node.node_of = j.at("node of").get<std::vector<std::uint32_t>>();
        d.node.beside = j.at("beside").get<std::uint32_t>();
        d.node.id = j.at("id").get<std::string>();
        auto const key = text_in(j.at("key"));
        if (key.size() != d.node.key.size() || d.node.node_of.size() != static_cast<std::size_t>(o.ranks()))
            throw error("the description of the job contradicts itself");
        std::memcpy(d.node.key.data(), key.data(), key.size());
        d.node.addresses = j.at("addresses").get<std::string>();
        d.node.host = text_in(j.at("host"));
        d.node.hosts = list_in(j.at("hosts"));
        d.environment = list_in(j.at("environment"));
        d.folder = text_in(j.at("working folder"));
        d.mask = j.at("mask").get<unsigned>();
        d.joined = j.at("joined").get<bool>();
    } catch (json::exception const& e) {
        throw error(fmt::format("the description of the job cannot be read: {}", e.what()));
    }
    return d;
}

} // namespace towline::tools
