#pragma once
// The receiving half of the protocol for one peer: which packets have arrived, those that came before their turn, and when that is to be
// told. Pure, not thread-safe.

#include "transport/datagram/block_pool.hpp"
#include "transport/datagram/config.hpp"
#include "transport/datagram/wire.hpp"

#include <vector>

namespace towline::transport::datagram {

/// Packets that may be ahead of the first missing one; what senders may have in flight at most.
inline constexpr std::uint32_t receive_span = 2048;
static_assert(receive_span <= 64 * wire::most_ack_words);

class receive_window {
public:
    explicit receive_window(block_pool& pool) : pool_(pool) {}
    ~receive_window() { drop(); }
    receive_window(receive_window const&) = delete;
    receive_window& operator=(receive_window const&) = delete;
    void begin(std::uint32_t expected) noexcept
    {
        expected_ = expected;
        beyond_ = expected;
    }

    /// The first number that has not arrived.
    [[nodiscard]] std::uint32_t expected() const noexcept { return expected_; }
    /// Packets are held that wait for earlier ones.
    [[nodiscard]] bool has_gap() const noexcept { return held_ != 0; }

    enum class verdict {
        next,       ///< its turn: it was taken, and is to be delivered now
        early,      ///< not its turn, and new: `hold` or `note_early` must follow
        duplicate,
        refused,    ///< too far ahead, or no memory: as if it had been lost
    };
    /// A packet has arrived.
    verdict arrive(std::uint32_t number) noexcept;
    /// Copies an early one, for its turn. False: there is no memory, and it is as if it had been lost.
    bool hold(std::uint32_t number, std::span<std::byte const> payload) noexcept;
    /// An early one was made use of; in its turn it is passed over.
    void note_early(std::uint32_t number, std::size_t bytes) noexcept;
    /// The next one in turn, if it has arrived; it is taken. The caller gives the block back to the pool.
    struct held_packet {
        bool arrived = false;
        std::byte* block = nullptr;  ///< null: it was made use of
        std::uint32_t bytes = 0;
    };
    [[nodiscard]] held_packet take_held() noexcept;

    /// Writes which numbers behind the first missing one have arrived. Returns the words that were used.
    std::size_t write_bitmap(std::span<std::uint64_t> words) const noexcept;

    void drop() noexcept;

private:
    void keep(std::uint32_t number, held_packet) noexcept;

    block_pool& pool_;
    std::vector<held_packet> ring_;  ///< by number; made when something first comes before its turn
    std::uint32_t expected_ = 0;
    std::uint32_t beyond_ = 0;       ///< after the last number that has arrived
    std::uint32_t held_ = 0;
};

} // namespace towline::transport::datagram
