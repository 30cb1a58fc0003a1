#pragma once
// What the reliable protocol runs over: datagrams to an address, which may be lost, doubled, reordered, or damaged. First link: UDP sockets
// (udp_link.hpp), one or several together (bundle.hpp); for tests a simulated one (sim/network.hpp) and one that adds faults to another
// (faulty_link.hpp).
//
// Threads: `send` is called by one thread at a time, `receive` and `readable` by one at a time; these two kinds may run together.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <sys/uio.h>
#include <vector>

namespace towline::transport::datagram {

/// Paths between two processes, at most: one in each network that both use.
inline constexpr unsigned most_paths = 4;

/// Where datagrams go, as the link packs it: small enough to be kept for a million peers. Equal bytes are equal addresses.
struct link_address {
    std::array<std::byte, 23> bytes{};
    std::uint8_t path = 0;  ///< from 0: by which network, of a link that has several
    bool operator==(link_address const&) const = default;
};

/// Datagrams of one sender that arrived together.
struct received {
    std::byte* data = nullptr;  ///< aligned to 8; may be written until the next `receive`
    std::uint32_t size = 0;     ///< of all together
    std::uint32_t each = 0;     ///< bytes of each datagram; the last one may be shorter. A multiple of 8 where there are several
    link_address from;
};

/// The longest train of equal datagrams that one `send` takes.
struct train_limits {
    std::size_t datagrams = 1;
    std::size_t bytes = 0;
};

class link {
public:
    virtual ~link() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Networks that this end uses, at most most_paths. What is sent into one that does not work is lost.
    [[nodiscard]] virtual unsigned paths() const noexcept { return 1; }
    /// For peers' `resolve`: opaque bytes, at most 128.
    [[nodiscard]] virtual std::vector<std::byte> own_address() const = 0;
    /// A peer's address in network number `path`; nothing where these are not the bytes of one that this link can reach.
    [[nodiscard]] virtual std::optional<link_address> resolve(std::span<std::byte const>, unsigned path) const = 0;

    /// The largest datagram that this end can receive, and send to anybody.
    [[nodiscard]] virtual std::size_t max_datagram() const noexcept = 0;
    /// The largest one that passes on the way to that address unbroken, as far as is known. May cost a system call.
    [[nodiscard]] virtual std::size_t max_datagram(link_address const&) = 0;
    [[nodiscard]] virtual train_limits trains() const noexcept = 0;
    /// Datagrams of the largest size that wait for `receive` at one time before some are dropped.
    [[nodiscard]] virtual std::size_t receive_room() const noexcept = 0;

    /// Sends a train: `count` datagrams, gathered from the pieces, each of `each` bytes but for the last, which may be shorter. No piece
    /// reaches over the end of a datagram. Never blocks. Returns how many of them were taken, from the front: fewer where there is no room
    /// now. What cannot be sent at all counts as taken, and lost.
    [[nodiscard]] virtual std::size_t send(link_address const& to, std::span<iovec const> pieces, std::size_t each,
                                           std::size_t count) noexcept = 0;
    /// What has arrived, up to a batch; empty if there is nothing. Valid until the next call.
    [[nodiscard]] virtual std::span<received> receive() noexcept = 0;
    /// An address of which its host has said, since the last call, that nobody receives there; nothing where no host says so. Anybody on
    /// the way may say it, truly or not.
    [[nodiscard]] virtual std::optional<link_address> take_refusal() noexcept { return std::nullopt; }
    /// Whether `receive` would find something.
    [[nodiscard]] virtual bool readable() const noexcept = 0;
    /// Becomes readable, for poll(2), when `receive` would find something; -1: there is none.
    [[nodiscard]] virtual int wait_descriptor() const noexcept { return -1; }
    /// The longest sleep before something may have arrived without a sign; nanoseconds, -1: no limit.
    [[nodiscard]] virtual std::int64_t sleep_limit_ns() const noexcept { return -1; }
};

} // namespace towline::transport::datagram
