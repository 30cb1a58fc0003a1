#pragma once
// What a process knows of each peer: 64 bytes while it is idle, and a window that it borrows while it is active.

#include "transport/datagram/joiner.hpp"
#include "transport/datagram/level.hpp"
#include "transport/datagram/link.hpp"
#include "transport/datagram/receive_window.hpp"
#include "transport/datagram/round_trip.hpp"
#include "transport/datagram/seal.hpp"
#include "transport/datagram/send_window.hpp"

#include <array>
#include <memory>
#include <type_traits>

namespace towline::transport::datagram {

/// What is known of one path to a peer.
struct path_state {
    link_address to;
    bool known = false;                ///< the peer can be reached at `to`, as it has published
    bool usable = false;               ///< the home path, or one by which a probe was answered since the activity began
    bool answering = false;            ///< a probe that came by this path wants its number
    std::uint32_t answer_to = 0;
    std::uint32_t probe_number = 0;    ///< of the last probe that was sent
    std::uint64_t probe_order = 0;     ///< send_window::orders when it was sent
    std::int64_t probed = 0;           ///< when it was sent
    std::uint32_t unanswered = 0;      ///< probes since the last answer
    std::int64_t silent_from = 0;      ///< when the first of these was sent
    std::int64_t answered = 0;         ///< when one has come last
};

/// State of a peer with which something is on its way.
struct activity {
    activity(config const& c, block_pool& pool) : out(c, pool, 0), in(pool) {}

    peer who = 0;
    send_window out;
    receive_window in;
    joiner join;
    std::uint32_t limit = 0;           ///< first number that the peer does not take yet
    std::uint32_t window = 0;          ///< packets in flight that the way has proved to carry
    // paths
    std::array<path_state, most_paths> paths{};
    unsigned home = 0;                 ///< the path of short messages, and of all where no other is usable
    unsigned heard_on = 0;             ///< by which the last packet came
    std::int64_t try_paths = 0;        ///< when those that are not usable may be asked again
    // acknowledging
    std::uint32_t unacked = 0;         ///< packets that arrived since the last acknowledgement
    bool ack_now = false;
    std::int64_t ack_due = 0;          ///< where unacked != 0
    // asking
    std::uint32_t probes = 0;          ///< after silence, without an answer
    std::int64_t asked_first = 0;      ///< when the first of these probes was sent
    std::int64_t sent = 0;             ///< last data, or progress
    std::int64_t heard = 0;
    std::int64_t refused_first = 0;    ///< when the peer's host first said that nobody receives there
    std::uint32_t refusals = 0;        ///< since then, without a packet of the peer
    std::int64_t used = 0;
    std::int64_t hello_due = 0;
    std::uint32_t hellos = 0;
    // lists of the endpoint
    std::int64_t armed = -1;           ///< the earliest timer that is set
    bool touched = false;
    bool waits_to_ack = false;
    bool waits_to_send = false;
    pair_keys keys{};                  ///< only where packets are sealed
};

/// Zero: nothing is known. Plain bytes: a table of a million costs memory where it was touched only.
struct known_peer {
    enum class stage : std::uint8_t {
        unknown,   ///< no address
        greeting,  ///< hello was sent, no welcome has come
        met,       ///< both know each other's index and epoch
    };
    link_address address;       ///< by the home path
    activity* active;           ///< null: idle
    std::uint32_t epoch;
    std::uint32_t index;        ///< own one at the peer
    std::uint32_t next_number;  ///< while idle
    std::uint32_t expected;     ///< while idle
    round_trip times;
    std::uint32_t seen;         ///< see receive_level
    std::uint16_t datagram;     ///< largest that goes there, by any path
    stage at;
    bool gone;                  ///< dead, lost or refused: nothing is sent to it any more
};
static_assert(sizeof(known_peer) == 64);
static_assert(std::is_trivially_copyable_v<known_peer>);

class peer_table {
public:
    explicit peer_table(std::size_t size);
    ~peer_table();
    peer_table(peer_table const&) = delete;
    peer_table& operator=(peer_table const&) = delete;

    [[nodiscard]] known_peer& operator[](std::size_t i) noexcept { return all_[i]; }
    [[nodiscard]] known_peer const& operator[](std::size_t i) const noexcept { return all_[i]; }

private:
    known_peer* all_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace towline::transport::datagram
