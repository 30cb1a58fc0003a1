#pragma once
// The reliable protocol of one process with all its peers, over a link. Pure but for that link and the environment: time is what it is
// told, so that tests run it by a simulated clock. docs/wire.md has the packets; config.hpp the numbers.
//
// A message becomes records in packets, which have numbers of 32 bits and stay here until the peer has acknowledged them. Acknowledgements
// ride on data, or go alone after some packets, after a while, and immediately where something is missing; they say what has arrived, bit
// by bit. What is missing is sent again: when packets that were sent later have arrived (RFC 9002, 6.1), or when a probe was answered,
// which is sent after a time of silence. Nothing is sent again because of silence alone: a peer that computes answers nobody.
//
// Where both have several networks (link::paths), messages go by one, *home*; long ones also by the others once a probe was answered there,
// as many as the peer's level has trains for. A path whose probes have no answer while later ones by another path have is not used
// again before it answers, and what is on its way there is sent again by another one.
//
// Threads: any thread sends; one thread at a time polls. One mutex guards everything but what only the poller touches (`catch_`,
// `current_`, `early_`, and of each activity `join`); no handler or completion runs under it.

#include "transport/datagram/config.hpp"
#include "transport/datagram/environment.hpp"
#include "transport/datagram/peer_table.hpp"

#include <atomic>
#include <mutex>
#include <queue>
#include <string>
#include <vector>

namespace towline::transport::datagram {

/// Bytes of the longest message: 64 KiB and a head for whoever sends it.
inline constexpr std::size_t most_message = (std::size_t{64} << 10) + 512;

/// What an endpoint calls from `poll`.
class receiver {
public:
    virtual ~receiver() = default;
    /// A message. False: nothing is installed for its handler.
    virtual bool message(peer source, handler_id, std::span<std::byte const> payload) = 0;
    /// A part of one (part_handler), of a handler for which endpoint::set_parts was called.
    virtual void part(peer source, handler_id, std::span<std::byte const> beginning, std::size_t at, std::span<std::byte const> bytes) = 0;
    /// Nothing goes to this peer any more. `link_only`: it may live, but does not answer.
    virtual void lost(peer, std::string const& why, bool link_only) = 0;
};

class endpoint {
public:
    /// Link and environment must outlive it. `epoch`: see wire::greeting.
    endpoint(config const&, link&, environment&, std::uint32_t epoch);
    ~endpoint();
    endpoint(endpoint const&) = delete;
    endpoint& operator=(endpoint const&) = delete;

    /// For environment::publish_address.
    [[nodiscard]] address_blob own_address() const;
    [[nodiscard]] static constexpr std::size_t max_eager() noexcept { return most_message; }
    /// component::max_eager_to: for a message that makes one train to that peer.
    [[nodiscard]] std::size_t max_eager_to(peer) const;
    void one_thread() noexcept { alone_ = true; }
    /// component::set_part_handler.
    void set_parts(handler_id id, std::size_t beginning) noexcept { parts_[id] = static_cast<std::uint8_t>(beginning); }

    /// component::try_send. Requires head and body to be at most max_eager bytes together.
    [[nodiscard]] send_status send(peer, handler_id, std::span<std::byte const> head, std::span<std::byte const> body, std::int64_t now);
    /// component::try_send_lent.
    [[nodiscard]] send_status lend(peer, handler_id, std::span<std::byte const> head, std::span<std::byte const> body, completion done,
                                   void* context, std::int64_t now);
    /// component::poll.
    int poll(int budget, receiver&, std::int64_t now);
    /// component::ask_around.
    void ask_around(std::int64_t now);
    [[nodiscard]] bool pending() const noexcept;
    [[nodiscard]] std::int64_t sleep_limit(std::int64_t now) const noexcept;
    [[nodiscard]] bool drained() const noexcept;
    void peer_died(peer);
    [[nodiscard]] bool is_gone(peer p) const;

    [[nodiscard]] endpoint_counts counts() const;
    /// Peers with windows.
    [[nodiscard]] std::size_t active() const;

private:
    using stage = known_peer::stage;
    /// A packet whose messages are being delivered.
    struct packet_in_hand {
        bool any = false;
        peer who = 0;
        std::span<std::byte const> payload;
        std::size_t at = 0;
        std::byte* block = nullptr;  ///< where it was held; null: it lies in the catch
    };
    /// A part of a message from a packet that came before its turn.
    struct part_in_hand {
        peer who = 0;
        joiner::step what{};
    };
    struct report {
        peer who;
        std::string why;
        bool link_only;
    };
    struct timer {
        std::int64_t at;
        peer who;
        bool operator<(timer const& other) const noexcept { return at > other.at; }
    };

    [[nodiscard]] std::unique_lock<std::mutex> guard() const
    {
        return alone_ ? std::unique_lock<std::mutex>{} : std::unique_lock(mutex_);
    }

    // endpoint.cpp: peers, and what is due
    activity& activate(peer, std::int64_t now);
    void retire(activity&) noexcept;
    void arm(activity&, std::int64_t now);
    [[nodiscard]] bool is_used(activity const&) const noexcept;
    [[nodiscard]] std::int64_t due(activity const&) const noexcept;
    [[nodiscard]] std::int64_t probe_due(activity const&) const noexcept;
    void run_timers(std::int64_t now);
    void on_time(activity&, std::int64_t now);
    void give_up(peer, std::string why, bool link_only);
    void lose(peer);
    void look_for_refusals(std::int64_t now);
    void tell_counts(std::int64_t now);
    void close(peer) noexcept;

    // endpoint_paths.cpp
    void learn_paths(activity&);
    [[nodiscard]] bool comes_from(peer, link_address const&);
    void move_home(activity&, unsigned path) noexcept;
    [[nodiscard]] unsigned choose_path(activity&, unsigned full) const noexcept;
    void widen(activity&, std::int64_t now);
    [[nodiscard]] unsigned path_to_ask(activity&) const noexcept;
    void probe(activity&, unsigned path, std::int64_t now);
    [[nodiscard]] static bool is_answering(activity const&) noexcept;
    [[nodiscard]] static path_state* asked_for(activity&, wire::header const&) noexcept;
    void note_answered(activity&, path_state&, std::int64_t now) noexcept;
    [[nodiscard]] bool drop_silent_paths(activity&) noexcept;

    // endpoint_greeting.cpp: first contact
    using addresses = std::array<std::optional<link_address>, most_paths>;
    [[nodiscard]] addresses addresses_in(address_blob const&) const;
    [[nodiscard]] bool find_address(peer, std::int64_t now);
    void send_greeting(activity&, wire::kind, link_address const& to);
    void say_hello(activity&);
    void on_greeting(std::span<std::byte const> packet, link_address const& from, std::int64_t now);
    void meet(activity&, wire::greeting const&);

    // endpoint_send.cpp
    struct source;
    [[nodiscard]] activity* reach(peer, send_status& why_not, std::int64_t now);
    [[nodiscard]] std::size_t payload_room(known_peer const& p) const noexcept { return (p.datagram - overhead_) & ~std::size_t{7}; }
    [[nodiscard]] std::uint32_t packets_in_train(known_peer const&) const noexcept;
    [[nodiscard]] send_status send_copy(activity&, handler_id, source, std::int64_t now);
    [[nodiscard]] std::size_t room_in_open(activity&) const noexcept;
    static void add_piece(outgoing&, handler_id, source&, std::size_t bytes, std::size_t done, std::size_t total) noexcept;
    [[nodiscard]] send_status no_room(activity&);
    void after_adding(activity&, std::int64_t now);
    void transmit(activity&, std::int64_t now, bool all);
    [[nodiscard]] std::size_t send_train(activity&, link_address const& to);
    void acknowledge(activity&, std::int64_t now);
    void send_ack(activity&, unsigned path, std::uint8_t flags, std::uint32_t number, std::int64_t now);
    void write_header(std::byte* to, activity const&, wire::kind, std::uint8_t flags, std::uint32_t number) const noexcept;

    // endpoint_receive.cpp
    bool next_packet(std::int64_t now, receiver&);
    void accept(std::span<std::byte> packet, link_address const& from, std::int64_t now);
    [[nodiscard]] bool open_packet(activity&, wire::header const&, std::span<std::byte>& packet, std::size_t& begin) const noexcept;
    void accept_ack(activity&, wire::header const&, std::span<std::byte const> words, std::int64_t now);
    void accept_data(activity&, wire::header const&, std::span<std::byte const> payload, std::int64_t now);
    void touch(activity&);
    void serve_touched(std::int64_t now);
    void serve(activity&, std::int64_t now);
    void serve_waiting(std::int64_t now);
    int deliver(int budget, receiver&, bool& stuck);
    int tell(receiver&);

    config config_;
    link& link_;
    environment& env_;
    peer rank_;
    peer size_;
    job_key key_;
    std::uint32_t epoch_;
    std::uint32_t index_base_;
    std::size_t overhead_;
    unsigned paths_;
    bool alone_ = false;
    part_beginnings parts_{};

    std::mutex mutable mutex_;
    block_pool pool_;
    peer_table peers_;
    receive_level level_;
    std::vector<std::unique_ptr<activity>> activities_;
    std::vector<activity*> free_;
    std::priority_queue<timer> timers_;
    std::vector<peer> to_ack_;       ///< who wait for ack_due
    std::vector<peer> to_send_;      ///< whose last packet waits for a poll, or for room in the link
    std::vector<peer> touched_;      ///< by packets of this poll
    std::vector<report> reports_;
    std::vector<send_window::ended_loan> ended_;
    std::atomic<bool> work_{false};  ///< to_send_, reports_ or ended_ hold something
    std::uint64_t counter_ = 0;      ///< of sealed packets
    std::uint32_t probe_numbers_ = 0;
    peer to_ask_ = 0;                ///< by ask_around
    std::int64_t ask_again_ = 0;     ///< when all were asked
    endpoint_counts counts_;
    // of one train
    std::vector<std::uint32_t> numbers_;
    std::vector<iovec> pieces_;
    std::vector<std::byte> scratch_;

    // the poller's
    std::span<received> catch_;
    std::size_t catch_at_ = 0;
    std::uint32_t packet_at_ = 0;    ///< in catch_[catch_at_]
    bool loans_ended_ = false;       ///< by packets of this poll
    packet_in_hand current_;
    part_in_hand early_;
    std::int64_t tell_counts_at_ = 0;  ///< environment::tell_counts is due
};

} // namespace towline::transport::datagram
