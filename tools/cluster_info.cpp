// `towline info --hosts`: what a job on these hosts would use.

#include "base/settings.hpp"
#include "cluster.hpp"
#include "transport/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace towline::tools {

namespace {

std::string addresses_of(job::launch::host_facts const& facts)
{
    std::vector<std::string> all;
    for (auto const& a : facts.addresses)
        all.push_back(fmt::format("{} ({})", a.text, a.interface));
    return fmt::format("{}", fmt::join(all, ", "));
}

/// A line of the table: '+' used, '-' not used, and why.
void line(char mark, std::string_view what, std::string_view text)
{
    fmt::print("{} {:<28} {}\n", mark, what, text);
}

} // namespace

int cluster_front::tell_of_hosts()
{
    surroundings around;
    signals_ = become_front(around);
    std::vector<job::launch::host_facts> facts;
    std::vector<std::string> names;
    try {
        start_agents();
        gather();
    } catch (...) {
        end_agents();
        throw;
    }
    end_agents();
    for (auto const& h : hosts_) {
        facts.push_back(*h.facts);
        names.push_back(h.name);
        std::string const way = h.by == by_front ? std::string() : fmt::format(", by way of {}", hosts_[h.by].name);
        line('+', fmt::format("host {}", h.name),
             fmt::format("{} cores; reached by '{}'{}; {}", h.facts->cores, how_reached(h.name, options_.remote_shell, h.here), way,
                         addresses_of(*h.facts)));
    }
    for (std::size_t h = 0; h < facts.size(); ++h) {
        std::vector<std::string> beside;
        for (std::size_t o = 0; o < facts.size(); ++o)
            if (o != h && job::launch::share_processors(facts[h], facts[o]))
                beside.push_back(names[o]);
        if (!beside.empty())
            line('+', fmt::format("  cores of {}", names[h]),
                 fmt::format("are those of {}, too: their ranks share them", fmt::join(beside, ", ")));
    }
    bool const packets = transport::is_wished("datagram");
    bool const memory = transport::is_wished("shm");
    bool const several = hosts_.size() > 1;
    line(memory ? '+' : '-', "on a host", memory ? "shm: memory that its ranks share" : "shm: TOWLINE_TRANSPORT leaves it out");
    if (!several) {
        line('-', "between hosts", "datagram: there is one host");
        return 0;
    }
    if (!packets) {
        line('-', "between hosts", "datagram: TOWLINE_TRANSPORT leaves it out, and nothing else reaches another host");
        return exit_failed;
    }
    bool const sealed = base::setting_choice("TOWLINE_SECURITY", {"authenticate", "encrypt"}, 0) == 1;
    auto const addresses = job::launch::choose_addresses(facts, names, std::string(base::setting("TOWLINE_INTERFACES").value_or("")));
    line('+', "between hosts", fmt::format("datagram: UDP packets, {}", sealed ? "encrypted" : "whose first ones prove the job's key"));
    for (std::size_t h = 0; h < names.size(); ++h)
        line('+', fmt::format("  ranks of {}", names[h]), fmt::format("at {}", addresses[h]));
    return 0;
}

int info_of_hosts(run_options const& options)
{
    return cluster_front(options).tell_of_hosts();
}

} // namespace towline::tools
