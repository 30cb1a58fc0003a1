#pragma once
// Addresses of UDP sockets: as people write them, as the kernel wants them, as the protocol packs them.

#include "transport/datagram/link.hpp"

#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>

namespace towline::transport::datagram {

/// A socket address of either family.
struct udp_address {
    union {
        sockaddr any;
        sockaddr_in v4;
        sockaddr_in6 v6;
    };
    udp_address() noexcept : v6{} {}

    [[nodiscard]] int family() const noexcept { return any.sa_family; }
    [[nodiscard]] socklen_t size() const noexcept { return family() == AF_INET6 ? sizeof v6 : sizeof v4; }
    void set_port(std::uint16_t) noexcept;
};

/// An address in digits ("10.0.0.7", "fe80::1%eth0"), with port 0. Throws usage_error where it is none.
[[nodiscard]] udp_address parse_address(std::string const& digits);
[[nodiscard]] std::string to_string(udp_address const&);

[[nodiscard]] link_address pack(udp_address const&) noexcept;
[[nodiscard]] udp_address unpack(link_address const&) noexcept;

/// What travels: family, port, address; not the scope of a link-local address, which is the reader's own.
[[nodiscard]] std::vector<std::byte> to_blob(udp_address const&);
/// Nothing where it is not such a blob, of the family of `own`, which gives the scope.
[[nodiscard]] std::optional<udp_address> from_blob(std::span<std::byte const>, udp_address const& own) noexcept;

} // namespace towline::transport::datagram
