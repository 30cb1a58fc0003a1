#pragma once
// What a host tells of itself to the others of a job, and what follows from it: which of them share processors, and at which addresses
// their ranks reach each other.

#include <cstdint>
#include <string>
#include <vector>

namespace towline::job::launch {

struct host_facts {
    struct address {
        std::string interface;
        std::string text;  ///< in digits
        unsigned prefix = 0;
        bool operator==(address const&) const = default;
    };
    std::string version;   ///< of Towline
    std::string name;      ///< as gethostname says
    std::string machine;   ///< the same for two processes that share a network stack and abstract sockets
    std::string kernel;    ///< the same for two that one kernel runs, in containers say; empty: not known
    std::uint32_t cores = 0;
    std::vector<int> cpus;  ///< that processes may use; more than cores where there is a quota
    std::vector<address> addresses;  ///< of interfaces that are up, the loopback last
    bool operator==(host_facts const&) const = default;
};

/// Of this host, as this process sees it.
[[nodiscard]] host_facts facts_of_host();
/// Some lines (docs/wire.md, *Facts of a host*).
[[nodiscard]] std::string to_text(host_facts const&);
/// Throws error where the text breaks the form. Lines that it does not know say nothing.
[[nodiscard]] host_facts facts_in(std::string const& text);

/// Ranks of both run on the same processors: two containers, say. Not beside a quota, which is a host's own, and not where a kernel is not
/// known.
[[nodiscard]] bool share_processors(host_facts const&, host_facts const&);
/// How many of the job's ranks run on other hosts, by `node_of`, and yet on this one's processors.
[[nodiscard]] std::uint32_t ranks_beside(std::vector<host_facts> const&, std::vector<std::uint32_t> const& node_of, std::uint32_t host);

/// Networks that a job uses, at most.
inline constexpr std::size_t most_networks = 4;

/// The addresses at which each host's ranks are to be reached, with commas between: in a network that all hosts have; the loopback where all
/// are one machine; else each host's first. `wished`: interfaces, addresses or networks (10.0.0.0/24), with commas between: an address in
/// each network that fits, at most one of an interface and most_networks in all; empty: any one. Throws usage_error where a host has none,
/// with what it has.
[[nodiscard]] std::vector<std::string> choose_addresses(std::vector<host_facts> const&, std::vector<std::string> const& names,
                                                        std::string const& wished);

} // namespace towline::job::launch
