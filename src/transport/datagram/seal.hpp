#pragma once
// What keeps strangers out: the keyed hash of greetings, the keys of a pair of processes and the sealing of packets (libsodium), and the
// checksum of packets that are not sealed.

#include "transport/datagram/environment.hpp"
#include "transport/datagram/wire.hpp"

namespace towline::transport::datagram {

/// Throws error where libsodium cannot be used.
void begin_sealing();

/// Random; another one for each process.
[[nodiscard]] std::uint32_t random_number();

/// Writes the keyed hash of the first `size` bytes behind them.
void sign(job_key const&, std::byte* bytes, std::size_t size) noexcept;
/// Whether a packet ends with the keyed hash of what is before it. In constant time.
[[nodiscard]] bool is_signed(job_key const&, std::span<std::byte const> packet) noexcept;

/// Both directions between two processes, as one of them sees them.
struct pair_keys {
    std::array<std::byte, 32> sending{};
    std::array<std::byte, 32> receiving{};
};
struct process_name {
    std::uint32_t rank = 0;
    std::uint32_t epoch = 0;
};
[[nodiscard]] pair_keys make_keys(job_key const&, process_name own, process_name peer) noexcept;

/// Encrypts `payload` to `out` and appends the tag. `head` (the header and the counter) is authenticated, too. A counter is used once with
/// a key.
void seal(std::array<std::byte, 32> const& key, std::uint64_t counter, std::span<std::byte const> head, std::span<std::byte const> payload,
          std::byte* out) noexcept;
/// Decrypts in place what follows `head_bytes` of the packet, which ends with the tag. False: it was not sealed with this key.
[[nodiscard]] bool unseal(std::array<std::byte, 32> const& key, std::uint64_t counter, std::span<std::byte> packet,
                          std::size_t head_bytes) noexcept;

/// CRC-32C (Castagnoli) of some bytes, going on from `before`.
[[nodiscard]] std::uint32_t crc32c(std::span<std::byte const>, std::uint32_t before = 0) noexcept;

} // namespace towline::transport::datagram
