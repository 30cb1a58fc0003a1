#include "transport/datagram/udp_address.hpp"

#include "towline/error.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <fmt/format.h>
#include <net/if.h>

namespace towline::transport::datagram {

namespace {

// Offsets in a link_address: 16 bytes of address, port as on the wire, scope, family.
constexpr std::size_t port_at = 16;
constexpr std::size_t scope_at = 18;
constexpr std::size_t family_at = 22;

// A blob: family (4 or 6), 0, port as on the wire, 4 or 16 bytes of address.
constexpr std::size_t blob_head = 4;

} // namespace

void udp_address::set_port(std::uint16_t port) noexcept
{
    if (family() == AF_INET6)
        v6.sin6_port = htons(port);
    else
        v4.sin_port = htons(port);
}

udp_address parse_address(std::string const& digits)
{
    udp_address a;
    std::string const host = digits.substr(0, digits.find('%'));
    if (host.size() == digits.size() && ::inet_pton(AF_INET, host.c_str(), &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        return a;
    }
    a = {};
    if (::inet_pton(AF_INET6, host.c_str(), &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        if (host.size() == digits.size())
            return a;
        a.v6.sin6_scope_id = ::if_nametoindex(digits.c_str() + host.size() + 1);
        if (a.v6.sin6_scope_id != 0)
            return a;
    }
    throw usage_error(fmt::format("\"{}\" is not an IPv4 or IPv6 address of this machine, in digits", digits));
}

std::string to_string(udp_address const& a)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (a.family() == AF_INET6)
        return fmt::format("[{}]:{}", ::inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text), ntohs(a.v6.sin6_port));
    return fmt::format("{}:{}", ::inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text), ntohs(a.v4.sin_port));
}

link_address pack(udp_address const& a) noexcept
{
    link_address out;
    if (a.family() == AF_INET6) {
        std::memcpy(out.bytes.data(), &a.v6.sin6_addr, 16);
        std::memcpy(out.bytes.data() + port_at, &a.v6.sin6_port, 2);
        std::memcpy(out.bytes.data() + scope_at, &a.v6.sin6_scope_id, 4);
        out.bytes[family_at] = std::byte{6};
    } else {
        std::memcpy(out.bytes.data(), &a.v4.sin_addr, 4);
        std::memcpy(out.bytes.data() + port_at, &a.v4.sin_port, 2);
        out.bytes[family_at] = std::byte{4};
    }
    return out;
}

udp_address unpack(link_address const& in) noexcept
{
    udp_address a;
    if (in.bytes[family_at] == std::byte{6}) {
        a.v6.sin6_family = AF_INET6;
        std::memcpy(&a.v6.sin6_addr, in.bytes.data(), 16);
        std::memcpy(&a.v6.sin6_port, in.bytes.data() + port_at, 2);
        std::memcpy(&a.v6.sin6_scope_id, in.bytes.data() + scope_at, 4);
    } else {
        a.v4.sin_family = AF_INET;
        std::memcpy(&a.v4.sin_addr, in.bytes.data(), 4);
        std::memcpy(&a.v4.sin_port, in.bytes.data() + port_at, 2);
    }
    return a;
}

std::vector<std::byte> to_blob(udp_address const& a)
{
    bool const six = a.family() == AF_INET6;
    std::vector<std::byte> out(blob_head + (six ? 16 : 4));
    out[0] = six ? std::byte{6} : std::byte{4};
    if (six) {
        std::memcpy(out.data() + 2, &a.v6.sin6_port, 2);
        std::memcpy(out.data() + blob_head, &a.v6.sin6_addr, 16);
    } else {
        std::memcpy(out.data() + 2, &a.v4.sin_port, 2);
        std::memcpy(out.data() + blob_head, &a.v4.sin_addr, 4);
    }
    return out;
}

std::optional<udp_address> from_blob(std::span<std::byte const> blob, udp_address const& own) noexcept
{
    bool const six = own.family() == AF_INET6;
    if (blob.size() != blob_head + (six ? 16 : 4) || blob[0] != (six ? std::byte{6} : std::byte{4}))
        return std::nullopt;
    udp_address a;
    if (six) {
        a.v6.sin6_family = AF_INET6;
        std::memcpy(&a.v6.sin6_port, blob.data() + 2, 2);
        std::memcpy(&a.v6.sin6_addr, blob.data() + blob_head, 16);
        if (IN6_IS_ADDR_LINKLOCAL(&a.v6.sin6_addr))
            a.v6.sin6_scope_id = own.v6.sin6_scope_id;
    } else {
        a.v4.sin_family = AF_INET;
        std::memcpy(&a.v4.sin_port, blob.data() + 2, 2);
        std::memcpy(&a.v4.sin_addr, blob.data() + blob_head, 4);
    }
    return a;
}

} // namespace towline::transport::datagram
