#pragma once
// What the datagram transport is built on: who this rank is, and where the others can be reached. In a job that is the table of ranks and
// the launcher's exchange; in a test it may be plain memory shared by threads of one process.

#include "transport/transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace towline::transport::datagram {

/// Shared by the ranks of one job and by nobody else; random.
using job_key = std::array<std::byte, 32>;
/// Where a rank can be reached: opaque bytes that its component made, and components of the other ranks read. At most max_address_bytes.
using address_blob = std::vector<std::byte>;
inline constexpr std::size_t max_address_bytes = 256;

/// What happened; for tests, benchmarks and people.
struct endpoint_counts {
    std::uint64_t packets_sent = 0, packets_resent = 0, packets_received = 0, duplicates = 0, strangers = 0;
    std::uint64_t acks_sent = 0, probes_sent = 0, hellos_sent = 0, windows = 0;
};

/// Not called per message: only at the beginning, at first contact, and where a peer does not answer. Thread-safe; must not call the
/// component.
class environment {
public:
    virtual ~environment() = default;

    [[nodiscard]] virtual peer rank() const noexcept = 0;
    /// Ranks of the job, those of this node included: the component does not mind which of them it is used for.
    [[nodiscard]] virtual peer size() const noexcept = 0;
    [[nodiscard]] virtual job_key const& key() const noexcept = 0;

    /// Makes the own address known to the other ranks. Called once, by `open`, before it returns.
    virtual void publish_address(std::span<std::byte const>) = 0;
    /// The address that a rank has published; nothing where it has not (yet). Asked again, now and then, until it is there: sends to that
    /// rank are `busy` meanwhile. Must not block.
    [[nodiscard]] virtual std::optional<address_blob> address_of(peer) = 0;
    /// The rank has left or died: it reads and writes nothing any more.
    [[nodiscard]] virtual bool is_dead(peer) const noexcept = 0;
    /// What the component has counted so far; now and then, and at its end.
    virtual void tell_counts(endpoint_counts const&) noexcept {}
    /// Nobody but its silence would tell that this rank has died.
    [[nodiscard]] virtual bool dies_silently(peer) const noexcept { return false; }
};

struct options {
    /// The local addresses to bind to, in digits, IPv4 or IPv6 ("10.0.0.7", "fe80::1%eth0"), one for each network, at most most_paths; the
    /// system chooses the ports. Peers have theirs in the same order.
    std::vector<std::string> interface_addresses{"127.0.0.1"};
    /// All packets are encrypted and authenticated. The same for all ranks of a job. Without it only first packets prove the key.
    bool encrypt = false;
    /// A peer that has answered nothing for so long is given up; nanoseconds.
    std::int64_t patience_ns = 60'000'000'000;
    /// More ranks than cores: a peer that does not answer is likely not running, so that it is given more time.
    bool oversubscribed = false;
};

/// The transport over UDP sockets of the environment's rank, which must outlive it. Throws system_error where no socket can be bound to
/// one of those addresses, usage_error where it is not an address, or where there are none or too many.
[[nodiscard]] std::unique_ptr<component> open(environment&, options = {});

} // namespace towline::transport::datagram
