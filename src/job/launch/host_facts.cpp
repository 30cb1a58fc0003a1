// What a host tells of itself, and what hosts of a job share: processors, networks.

#include "job/launch/host_facts.hpp"

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"

#include <algorithm>
#include <array>
#include <arpa/inet.h>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::job::launch {

namespace {

/// An address of either family: IPv4 in the first four bytes.
struct parsed {
    int family = 0;
    std::array<unsigned char, 16> bytes{};

    [[nodiscard]] unsigned bits() const noexcept { return family == AF_INET ? 32 : 128; }
    [[nodiscard]] bool loops() const noexcept
    {
        return family == AF_INET ? bytes[0] == 127 : IN6_IS_ADDR_LOOPBACK(reinterpret_cast<in6_addr const*>(bytes.data())) != 0;
    }
    [[nodiscard]] bool same_network(parsed const& other, unsigned prefix) const noexcept
    {
        if (family != other.family)
            return false;
        for (unsigned bit = 0; bit < std::min(prefix, bits()); ++bit)
            if (((bytes[bit / 8] ^ other.bytes[bit / 8]) >> (7 - bit % 8) & 1) != 0)
                return false;
        return true;
    }
};

std::optional<parsed> parse(std::string const& text)
{
    parsed p;
    for (int const family : {AF_INET, AF_INET6})
        if (inet_pton(family, text.c_str(), p.bytes.data()) == 1) {
            p.family = family;
            return p;
        }
    return std::nullopt;
}

unsigned prefix_of(sockaddr const* mask)
{
    auto const* const bytes = mask->sa_family == AF_INET
                                  ? reinterpret_cast<unsigned char const*>(&reinterpret_cast<sockaddr_in const*>(mask)->sin_addr)
                                  : reinterpret_cast<sockaddr_in6 const*>(mask)->sin6_addr.s6_addr;
    unsigned bits = 0;
    for (std::size_t i = 0; i < (mask->sa_family == AF_INET ? 4u : 16u); ++i)
        bits += static_cast<unsigned>(std::popcount(bytes[i]));
    return bits;
}

/// Whether an address is one that the user wants: its interface, itself, or its network.
bool fits(host_facts::address const& a, std::vector<std::string> const& wishes)
{
    if (wishes.empty())
        return true;
    return std::ranges::any_of(wishes, [&](std::string const& wish) {
        auto const slash = wish.find('/');
        auto const network = parse(wish.substr(0, slash));
        if (!network)
            return wish == a.interface;
        unsigned const prefix = slash == wish.npos ? network->bits() : static_cast<unsigned>(std::atoi(wish.c_str() + slash + 1));
        auto const own = parse(a.text);
        return own && own->same_network(*network, prefix);
    });
}

std::string listed(host_facts const& f)
{
    std::vector<std::string> all;
    for (auto const& a : f.addresses)
        all.push_back(fmt::format("{} {}/{}", a.interface, a.text, a.prefix));
    return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

/// An address of every host in the network of that address of the first host; empty where a host has none.
std::vector<std::string> in_network(host_facts::address const& first, std::vector<host_facts> const& hosts, bool one_machine,
                                    std::vector<std::string> const& wishes)
{
    std::vector<std::string> chosen{first.text};
    auto const network = parse(first.text);
    if (!network || (network->loops() && !one_machine))
        return {};
    for (std::size_t h = 1; h < hosts.size(); ++h) {
        auto const found = std::ranges::find_if(hosts[h].addresses, [&](host_facts::address const& a) {
            auto const own = parse(a.text);
            return own && fits(a, wishes) && own->same_network(*network, first.prefix) && (one_machine || a.text != first.text);
        });
        if (found == hosts[h].addresses.end())
            return {};
        chosen.push_back(found->text);
    }
    return chosen;
}

} // namespace

host_facts facts_of_host()
{
    host_facts f;
    auto const [major, minor, patch] = header_version;
    f.version = fmt::format("{}.{}.{}", major, minor, patch);
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0)
        f.name = name.data();
    f.cores = base::usable_cores();
    struct stat network {};
    f.cpus = base::allowed_cpus();
    f.kernel = base::first_line("/proc/sys/kernel/random/boot_id").value_or("");
    f.machine = fmt::format("{} {}", f.kernel, stat("/proc/self/ns/net", &network) == 0 ? network.st_ino : 0);
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        return f;
    std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const owner(all, &freeifaddrs);
    std::vector<host_facts::address> loops;
    for (ifaddrs const* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_netmask == nullptr || (i->ifa_flags & IFF_UP) == 0)
            continue;
        int const family = i->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6)
            continue;
        void const* const address = family == AF_INET
                                        ? static_cast<void const*>(&reinterpret_cast<sockaddr_in const*>(i->ifa_addr)->sin_addr)
                                        : &reinterpret_cast<sockaddr_in6 const*>(i->ifa_addr)->sin6_addr;
        if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(static_cast<in6_addr const*>(address)))
            continue;
        std::array<char, INET6_ADDRSTRLEN> text{};
        inet_ntop(family, address, text.data(), text.size());
        bool const loop = (i->ifa_flags & IFF_LOOPBACK) != 0;
        (loop ? loops : f.addresses).push_back({i->ifa_name, text.data(), prefix_of(i->ifa_netmask)});
    }
    f.addresses.insert(f.addresses.end(), loops.begin(), loops.end());
    return f;
}

std::string to_text(host_facts const& f)
{
    std::string text = fmt::format("version {}\nname {}\nmachine {}\nkernel {}\ncores {}\ncpus {}\n", f.version, f.name, f.machine,
                                   f.kernel, f.cores, fmt::join(f.cpus, " "));
    for (auto const& a : f.addresses)
        text += fmt::format("address {} {} {}\n", a.text, a.prefix, a.interface);
    return text;
}

host_facts facts_in(std::string const& text)
{
    host_facts f;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        auto const space = std::min(line.find(' '), line.size());
        std::string const key = line.substr(0, space);
        std::string const rest = line.substr(std::min(space + 1, line.size()));
        std::istringstream words(rest);
        bool whole = true;
        if (key == "version") {
            f.version = rest;
        } else if (key == "name") {
            f.name = rest;
        } else if (key == "machine") {
            f.machine = rest;
        } else if (key == "kernel") {
            f.kernel = rest;
        } else if (key == "cores") {
            whole = static_cast<bool>(words >> f.cores);
        } else if (key == "cpus") {
            for (int cpu = 0; words >> cpu;)
                f.cpus.push_back(cpu);
            whole = words.eof();
        } else if (key == "address") {
            host_facts::address a;
            whole = static_cast<bool>(words >> a.text >> a.prefix >> a.interface) && parse(a.text).has_value();
            f.addresses.push_back(std::move(a));
        }
        if (!whole)
            throw error(fmt::format("what a host tells of itself cannot be read: '{}'", line));
    }
    if (f.version.empty() || f.machine.empty())
        throw error("what a host tells of itself cannot be read: it says no version, or no machine");
    return f;
}

bool share_processors(host_facts const& a, host_facts const& b)
{
    auto const no_quota = [](host_facts const& f) { return f.cores == f.cpus.size(); };
    return !a.kernel.empty() && a.kernel == b.kernel && no_quota(a) && no_quota(b) &&
           std::ranges::find_first_of(a.cpus, b.cpus) != a.cpus.end();
}

std::uint32_t ranks_beside(std::vector<host_facts> const& hosts, std::vector<std::uint32_t> const& node_of, std::uint32_t host)
{
    auto const beside = [&](std::uint32_t node) { return node != host && share_processors(hosts[host], hosts[node]); };
    return static_cast<std::uint32_t>(std::ranges::count_if(node_of, beside));
}

std::vector<std::string> choose_addresses(std::vector<host_facts> const& hosts, std::vector<std::string> const& names,
                                          std::string const& wished)
{
    auto const wishes = base::parse_list(wished);
    // Copies of a virtual machine have one boot id, but not one list of addresses.
    bool const one_machine = std::ranges::all_of(
        hosts, [&](host_facts const& f) { return f.machine == hosts[0].machine && f.addresses == hosts[0].addresses; });
    std::vector<std::string> chosen(hosts.size());
    // Networks of which every host has an address: all that are wished, or one.
    std::vector<std::string> used;  // interfaces of the first host
    std::size_t const most = wishes.empty() ? 1 : most_networks;
    for (std::size_t w = 0; w < std::max<std::size_t>(wishes.size(), 1); ++w) {
        for (auto const& first : hosts[0].addresses) {
            if (used.size() == most || std::ranges::find(used, first.interface) != used.end() ||
                (!wishes.empty() && !fits(first, {wishes[w]})))
                continue;
            auto const all = in_network(first, hosts, one_machine, wishes);
            for (std::size_t h = 0; h < all.size(); ++h)
                chosen[h] += (chosen[h].empty() ? "" : ",") + all[h];
            if (!all.empty())
                used.push_back(first.interface);
        }
    }
    if (!used.empty())
        return chosen;
    // Routers may join the networks of the hosts' first addresses.
    for (std::size_t h = 0; h < hosts.size(); ++h) {
        auto const found = std::ranges::find_if(hosts[h].addresses, [&](host_facts::address const& a) {
            auto const own = parse(a.text);
            return own && !own->loops() && fits(a, wishes);
        });
        if (found == hosts[h].addresses.end())
            throw usage_error(fmt::format("host {}: no address at which other hosts could reach it{}; it has {}", names[h],
                                          wished.empty() ? "" : fmt::format(" (TOWLINE_INTERFACES={})", wished), listed(hosts[h])));
        chosen[h] = found->text;
    }
    return chosen;
}

} // namespace towline::job::launch
