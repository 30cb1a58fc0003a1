// Parses names of machines.

#include "hosts.hpp"

#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <arpa/inet.h>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <unistd.h>

namespace towline::tools {

namespace {

bool same_name(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

/// Of an interface here, or a loopback address.
bool is_own_address(std::string const& text)
{
    in_addr v4{};
    in6_addr v6{};
    bool const is_v4 = inet_pton(AF_INET, text.c_str(), &v4) == 1;
    if (!is_v4 && inet_pton(AF_INET6, text.c_str(), &v6) != 1)
        return false;
    if (is_v4 ? (ntohl(v4.s_addr) >> 24) == 127 : IN6_IS_ADDR_LOOPBACK(&v6))
        return true;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        return false;
    std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const owner(all, &freeifaddrs);
    for (ifaddrs const* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr)
            continue;
        if (is_v4 && i->ifa_addr->sa_family == AF_INET &&
            std::memcmp(&reinterpret_cast<sockaddr_in const*>(i->ifa_addr)->sin_addr, &v4, sizeof v4) == 0)
            return true;
        if (!is_v4 && i->ifa_addr->sa_family == AF_INET6 &&
            std::memcmp(&reinterpret_cast<sockaddr_in6 const*>(i->ifa_addr)->sin6_addr, &v6, sizeof v6) == 0)
            return true;
    }
    return false;
}

/// Adds "name", "name:slots" or "[address]:slots", with the slots given apart where they are.
void add_host(std::vector<host_slots>& hosts, std::string_view word, std::string_view slots)
{
    std::string_view name = word;
    if (auto const colon = word.rfind(':'); slots.empty() && colon != word.npos && (word.find(':') == colon || word[colon - 1] == ']')) {
        name = word.substr(0, colon);
        slots = word.substr(colon + 1);
        if (slots.empty())
            throw usage_error(fmt::format("host '{}': a number of slots is expected behind the colon", word));
    }
    if (name.starts_with('[') && name.ends_with(']'))
        name = name.substr(1, name.size() - 2);
    int number = 0;
    auto const [end, wrong] = std::from_chars(slots.data(), slots.data() + slots.size(), number);
    if (name.empty() || name.starts_with('-') || (!slots.empty() && (wrong != std::errc() || end != slots.data() + slots.size() || number < 1)))
        throw usage_error(fmt::format("host '{}' is not of the form NAME or NAME:SLOTS", word));
    auto const known = std::ranges::find(hosts, name, &host_slots::name);
    if (known == hosts.end())
        hosts.push_back({std::string(name), number});
    else
        known->slots += std::max(number, 1);
}

} // namespace

std::string own_name()
{
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

bool is_this_machine(std::string_view host)
{
    if (is_own_address(std::string(host)))
        return true;
    if (auto const colon = host.rfind(':'); colon != host.npos) {
        auto const slots = host.substr(colon + 1);
        if (slots.empty() || !std::all_of(slots.begin(), slots.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
            return false;
        host = host.substr(0, colon);
    }
    if (same_name(host, "localhost") || is_own_address(std::string(host)))
        return true;
    std::string const own = own_name();
    return same_name(host, own) || same_name(host, std::string_view(own).substr(0, own.find('.')));
}

std::vector<host_slots> hosts_in(std::string_view list)
{
    std::vector<host_slots> hosts;
    while (!list.empty()) {
        auto const word = list.substr(0, list.find(','));
        list.remove_prefix(std::min(word.size() + 1, list.size()));
        add_host(hosts, word, {});
    }
    if (hosts.empty())
        throw usage_error("no host is named");
    return hosts;
}

std::vector<host_slots> slots_of_file(std::string_view text)
{
    std::vector<host_slots> hosts;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        std::string_view slots;
        if (auto const at = line.find("slots="); at != line.npos) {
            slots = line.substr(at + 6);
            slots = slots.substr(0, slots.find_first_of(" \t\r"));
        }
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
        line = line.substr(0, line.find_first_of(" \t\r"));
        if (!line.empty())
            add_host(hosts, line, slots);
    }
    if (hosts.empty())
        throw usage_error("the file names no host");
    return hosts;
}

} // namespace towline::tools
