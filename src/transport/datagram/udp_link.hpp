#pragma once
// Datagrams over a UDP socket: trains by segmentation offload where the kernel has it, arrivals joined by receive offload where it does
// that.

#include "transport/datagram/link.hpp"

#include <memory>
#include <string>

namespace towline::transport::datagram {

struct udp_options {
    std::string address = "127.0.0.1";  ///< as one of options::interface_addresses
    std::size_t max_datagram = 9000;    ///< cap of what the interface allows, UDP payload
    std::size_t receive_buffer = std::size_t{8} << 20;  ///< asked for; the system may give less
    bool offload = true;
};

[[nodiscard]] std::unique_ptr<link> open_udp_link(udp_options const&);

} // namespace towline::transport::datagram
