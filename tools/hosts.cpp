#include "hosts.hpp"

#include <algorithm>
#include <array>
#include <arpa/inet.h>
#include <cctype>
#include <cstring>
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

std::vector<std::string> hosts_of_file(std::string_view text)
{
    std::vector<std::string> hosts;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        auto const begin = std::min(line.find_first_not_of(" \t\r"), line.size());
        line.remove_prefix(begin);
        line = line.substr(0, line.find_first_of(" \t\r"));
        if (!line.empty())
            hosts.emplace_back(line);
    }
    return hosts;
}

} // namespace towline::tools
