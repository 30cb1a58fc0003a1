// The start of a job on several hosts: agents, their answers, and which rank runs where.

#include "cluster.hpp"

#include "base/settings.hpp"
#include "hosts.hpp"
#include "timing.hpp"
#include "towline/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::tools {

namespace {

/// Variables that say something of this host or of this login, which is not so on another one.
bool belongs_here(std::string_view variable)
{
    auto const name = variable.substr(0, variable.find('='));
    return name.starts_with("SSH_") || name.starts_with("DBUS_") || name.starts_with("XDG_RUNTIME") || name == "HOSTNAME" || name == "_";
}

} // namespace

void cluster_front::start_agents()
{
    std::vector<bool> here;
    for (auto const& h : options_.hosts)
        here.push_back(options_.remote_shell.empty() && is_this_machine(h.name));
    auto const by = starters(here);
    for (std::size_t i = 0; i < by.size(); ++i) {
        auto& h = hosts_.emplace_back();
        h.number = static_cast<std::uint32_t>(i);
        h.name = options_.hosts[i].name;
        h.here = here[i];
        h.by = by[i];
        h.out.emplace(out_);
        h.errors.emplace(same_output() ? out_ : errors_);
    }
    for (auto& h : hosts_)
        if (h.by == by_front)
            h.way = reach(h.name, options_.remote_shell, h.here, options_.name);
}

void cluster_front::gather()
{
    bool const in_two_steps = std::ranges::any_of(hosts_, [](host const& h) { return h.by != by_front; });
    auto const patience = in_two_steps ? 2 * timing::hello : timing::hello;
    base::deadline const until(patience);
    while (!std::ranges::all_of(hosts_, [](host const& h) { return h.facts.has_value(); })) {
        std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}};
        for (auto const& h : hosts_)
            if (h.way.link)
                watched.push_back({h.way.link->in(), POLLIN, 0});
        poll(watched.data(), watched.size(), 200);
        for (auto& h : hosts_)
            if (h.way.link)
                look_at(h);
        if (asked_to_end())
            throw error("ended before all hosts had answered");
        if (!until.passed())
            continue;
        std::vector<std::string> silent;
        for (auto const& h : hosts_)
            if (!h.facts)
                silent.push_back(h.by == by_front ? h.name : fmt::format("{} (by way of {})", h.name, hosts_[h.by].name));
        throw error(fmt::format("no answer within {} s from {} {}", patience.count(), silent.size() == 1 ? "host" : "hosts",
                                fmt::join(silent, ", ")));
    }
    starting_ = false;
}

void cluster_front::greet(host& h, std::string const& facts)
{
    h.facts = job::launch::facts_in(facts);
    auto const own = job::launch::facts_of_host();
    if (h.facts->version != own.version)
        throw start_error(fmt::format("host {} has Towline {}, this one {}: install the same", h.name, h.facts->version, own.version));
    start_further(h);
}

void cluster_front::start_further(host const& by)
{
    nlohmann::json hosts = nlohmann::json::array();
    for (auto const& h : hosts_)
        if (h.by == by.number)
            hosts.push_back({h.number, h.name});
    if (!hosts.empty())
        send(hosts_[by.number], frame::start,
             packed_news({{"hosts", std::move(hosts)}, {"shell", options_.remote_shell}, {"command", options_.name}}));
}

void cluster_front::throw_not_started(host const& h, std::string const& said) const
{
    std::string const way = h.by == by_front ? std::string() : fmt::format(" by host {}", hosts_[h.by].name);
    if (!said.empty())
        throw start_error(fmt::format("host {}: {}", h.name, said));
    throw start_error(fmt::format("host {}: no agent could be started there{}: '{}' ended{}", h.name, way,
                            how_reached(h.name, options_.remote_shell, h.here),
                            options_.remote_shell.empty() ? "; it has to work without a password" : ""));
}

bool cluster_front::asked_to_end()
{
    pollfd ready{signals_.get(), POLLIN, 0};
    signalfd_siginfo info{};
    if (poll(&ready, 1, 0) <= 0 || ::read(signals_.get(), &info, sizeof info) != sizeof info)
        return false;
    return info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
}

void cluster_front::place()
{
    auto const ranks = static_cast<std::size_t>(options_.ranks());
    std::vector<std::size_t> slots;
    bool told = true;
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
        told = told && options_.hosts[h].slots > 0;
        slots.push_back(options_.hosts[h].slots > 0 ? static_cast<std::size_t>(options_.hosts[h].slots) : hosts_[h].facts->cores);
    }
    std::size_t const room = std::accumulate(slots.begin(), slots.end(), std::size_t{0});
    if (ranks > room && told)
        throw usage_error(fmt::format("{} ranks, but the hosts take {}: write more behind their names, as in {}:{}", ranks, room,
                                      hosts_[0].name, slots[0] + (ranks - room + hosts_.size() - 1) / hosts_.size()));
    for (std::size_t h = 0; ranks > room && h < slots.size(); ++h)
        slots[h] = (ranks + h) / slots.size();  // as many each, as cores are too few anyway
    for (std::size_t h = 0; h < slots.size(); ++h)
        node_of_.insert(node_of_.end(), std::min(slots[h], ranks - node_of_.size()), static_cast<std::uint32_t>(h));
    // Hosts behind the last rank are not needed. A host stands behind the one that has started its agent.
    std::size_t const used = node_of_.back() + std::size_t{1};
    while (hosts_.size() > used) {
        host& last = hosts_.back();
        if (last.by == by_front)
            leave_host(last.way);
        else
            send(last, frame::gone, {});
        hosts_.pop_back();
    }
}

void cluster_front::tell_job()
{
    std::vector<job::launch::host_facts> facts;
    std::vector<std::string> names;
    for (auto const& h : hosts_) {
        facts.push_back(*h.facts);
        names.push_back(h.name);
    }
    auto const addresses = job::launch::choose_addresses(facts, names, std::string(base::setting("TOWLINE_INTERFACES").value_or("")));
    description job;
    job.options = options_;
    job.options.hosts.clear();
    job.node.node_of = node_of_;
    job.node.id = job::new_id();
    job.node.key = job::new_key();
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!belongs_here(*variable))
            job.environment.emplace_back(*variable);
    job.folder = std::filesystem::current_path();
    job.mask = umask(022);
    umask(static_cast<mode_t>(job.mask));
    job.joined = same_output();
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
        job.node.node = static_cast<std::uint32_t>(h);
        job.node.beside = job::launch::ranks_beside(facts, node_of_, job.node.node);
        job.node.addresses = addresses[h];
        job.node.host = names[h];
        job.node.hosts = names;
        send(hosts_[h], frame::job, packed(job));
        if (options_.verbose)
            say(fmt::format("{}: host {} is node {}, at {}, and runs {} of {} ranks", options_.name, names[h], h, addresses[h],
                            std::ranges::count(node_of_, static_cast<std::uint32_t>(h)), node_of_.size()));
    }
    reader_ = options_.stdin_rank < 0 ? hosts_.size() : node_of_[static_cast<std::size_t>(options_.stdin_rank)];
    id_ = job.node.id;
    if (options_.stats)
        (void)slots();
}

} // namespace towline::tools
