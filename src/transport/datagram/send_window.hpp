#pragma once
// The sending half of the protocol for one peer: packets from when they are made until they are acknowledged, and which of them are lost.
// Pure: knows packets by number and time as it is told; sends nothing. Paths (link.hpp) may differ in delay: what was sent by one is judged
// by what arrived by the same. Not thread-safe.

#include "transport/datagram/block_pool.hpp"
#include "transport/datagram/config.hpp"
#include "transport/datagram/link.hpp"
#include "transport/datagram/round_trip.hpp"
#include "transport/datagram/wire.hpp"

#include <array>
#include <vector>

namespace towline::transport::datagram {

/// A packet on its way. Its payload is what the block holds behind the room for the header, then what is lent.
struct outgoing {
    enum class stage : std::uint8_t { waiting, in_flight, lost };
    std::byte* block = nullptr;          ///< null: acknowledged
    std::byte const* lent = nullptr;
    std::uint32_t held_bytes = 0;
    std::uint32_t lent_bytes = 0;
    std::uint32_t loan = 0;              ///< of what is lent, see send_window::lend
    stage at = stage::waiting;
    bool again = false;                  ///< it was sent more than once
    std::int64_t sent = 0;               ///< last time
    std::uint8_t path = 0;               ///< by which it was sent last
    std::uint64_t order = 0;             ///< among all sendings to this peer by this path
    std::uint32_t earlier = 0;           ///< neighbours in that order, by number
    std::uint32_t later = 0;

    [[nodiscard]] std::uint32_t bytes() const noexcept { return held_bytes + lent_bytes; }
};

class send_window {
public:
    send_window(config const& c, block_pool& pool, std::uint32_t first);
    ~send_window();
    send_window(send_window const&) = delete;
    send_window& operator=(send_window const&) = delete;
    /// Begins anew: nothing is on its way. For a window that goes from one peer to another.
    void begin(std::uint32_t first) noexcept;

    // ---- making packets

    [[nodiscard]] std::uint32_t oldest() const noexcept { return base_; }     ///< first one that is not acknowledged
    [[nodiscard]] std::uint32_t next() const noexcept { return next_; }       ///< number of the next new packet
    [[nodiscard]] std::uint32_t unsent() const noexcept { return next_ - first_unsent_; }
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }
    [[nodiscard]] bool empty() const noexcept { return base_ == next_; }
    /// Packets that may be made.
    [[nodiscard]] std::uint32_t room() const noexcept;
    /// Makes sure that the next `n` calls of `add` throw nothing. Throws std::bad_alloc.
    void reserve(std::uint32_t n);
    /// A new packet, empty.
    outgoing& add();
    /// The last packet, if it was not sent yet.
    [[nodiscard]] outgoing* open() noexcept { return first_unsent_ == next_ ? nullptr : &at(next_ - 1); }
    [[nodiscard]] outgoing& at(std::uint32_t number) noexcept { return ring_[number & mask_]; }

    /// A lent message whose packets will be `packets`; the number for outgoing::loan, never 0.
    [[nodiscard]] std::uint32_t lend(std::uint32_t packets, void (*done)(void*, bool), void* context);
    struct ended_loan {
        void (*done)(void*, bool);
        void* context;
        bool ok;
    };
    /// Takes the loans that have ended since.
    void take_ended(std::vector<ended_loan>& to);
    [[nodiscard]] bool has_ended() const noexcept { return !ended_.empty(); }

    // ---- sending

    /// The next packets for one train: lost ones first, then new ones before `limit`; all as long as the first but for the last, which may
    /// be shorter. At most `datagrams`, and `bytes` with `overhead` for each. `all`: also the open packet.
    void choose(std::vector<std::uint32_t>& numbers, std::size_t datagrams, std::size_t bytes, std::size_t overhead, std::uint32_t limit,
                bool all);
    void note_sent(std::uint32_t number, unsigned path, std::int64_t now) noexcept;
    [[nodiscard]] bool has_lost() const noexcept { return lost_count_ != 0; }
    /// Of everything that was sent by a path, for probes: sendings before this one.
    [[nodiscard]] std::uint64_t orders(unsigned path) const noexcept { return sent_[path].orders; }
    [[nodiscard]] std::uint32_t in_flight(unsigned path) const noexcept { return sent_[path].in_flight; }
    /// By which the packet was sent that has been on its way for longest; nothing is: 0.
    [[nodiscard]] unsigned path_of_oldest() const noexcept;

    // ---- what the peer says

    struct news {
        bool sane = true;          ///< false: it acknowledges what was never sent
        std::uint32_t acked = 0;   ///< packets
        std::int64_t round_trip = -1;  ///< measured; -1: not by this one
        std::uint8_t paths = 0;        ///< bits: those of packets that were sent once
    };
    /// Everything before `acknowledged` has arrived, and the numbers of the bitmap, which begins with the one behind it. `complete`:
    /// nothing else has.
    news note_ack(std::uint32_t acknowledged, std::span<std::uint64_t const> bitmap, bool complete, std::int64_t now) noexcept;
    /// What was sent by that path before its sending number `order` and has not arrived is lost: a probe that came later was answered, or
    /// the path carries nothing.
    std::uint32_t note_lost(unsigned path, std::uint64_t order) noexcept;
    /// Finds what is lost. Returns how many were found.
    std::uint32_t find_lost(std::int64_t now, round_trip const&) noexcept;
    /// When find_lost may find more; -1: not before something arrives.
    [[nodiscard]] std::int64_t loss_due(round_trip const&) const noexcept;

    /// The peer is dead: forgets all packets; loans end with ok = false.
    void drop() noexcept;

private:
    struct loan {
        void (*done)(void*, bool) = nullptr;
        void* context = nullptr;
        std::uint32_t left = 0;
    };

    /// What is on its way by one path, as a list in the order of sending.
    struct sendings {
        bool any = false;
        std::uint32_t head = 0;
        std::uint32_t tail = 0;
        std::uint32_t in_flight = 0;
        std::uint64_t orders = 0;
        std::uint64_t told = 0;       ///< latest sending that is known to have arrived, + 1
        std::uint64_t newest = 0;     ///< the same, when the peer has last told all that had arrived
        std::int64_t shortest = -1;   ///< round trip
    };

    void grow();
    void link(std::uint32_t number) noexcept;
    void unlink(outgoing const&, std::uint32_t number) noexcept;
    void mark_lost(std::uint32_t number) noexcept;
    void arrived(std::uint32_t number, std::int64_t now, news&) noexcept;
    void let_go(outgoing&, bool ok) noexcept;

    config const& config_;
    block_pool& pool_;
    std::vector<outgoing> ring_;
    std::uint32_t mask_ = 0;
    std::uint32_t base_ = 0;
    std::uint32_t first_unsent_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t in_flight_ = 0;
    std::array<sendings, most_paths> sent_{};
    unsigned paths_ = 1;            ///< that were used: 0 up to this one
    std::uint32_t lost_count_ = 0;
    std::uint32_t lost_from_ = 0;     ///< no lost packet is before this number
    std::vector<loan> loans_;
    std::vector<std::uint32_t> free_loans_;
    std::vector<ended_loan> ended_;
};

} // namespace towline::transport::datagram
