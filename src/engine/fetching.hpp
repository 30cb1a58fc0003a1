#pragma once
// Blocks that are not in reach and that no system call can read: asked for in pieces (*pulled*), or read by the transport (*got*).
//
// Owns, at the receiver, the table of blocks that arrive in pieces (mutex, held for the copy of one piece) and the gets that wait for the
// poller (mutex, held for a push). The poller alone touches the gets under way and, at the sender, the pulls that it serves.

#include "engine/message_state.hpp"
#include "engine/outbox.hpp"
#include "engine/sender.hpp"

#include "base/slot_table.hpp"

#include <list>
#include <mutex>
#include <vector>

namespace towline::engine {

class fetching {
public:
    fetching(common& c, sender& out, outbox& pending) : common_(c), out_(out), pending_(pending) {}
    void install(transport::component&);

    // The receiver, any thread. The state is on the heap; it is told when the fetch has ended (message_state::fetch_ended).

    /// Asks the sender for the block, in pieces.
    void start_pull(message_state&, std::size_t block, void* destination);
    /// Leaves the block to the transport that exposed it.
    void start_get(message_state&, std::size_t block, void* destination);

    // The poller.

    /// Begins gets, as far as the transports have room, and sends pieces of pulled blocks, as far as peers have.
    void work();
    /// Ends what a dead peer had to send.
    void fail(peer from);
    /// The end of the engine: nothing is on its way any more.
    void clear();

private:
    /// A block that arrives in pieces.
    struct arriving {
        message_state* state = nullptr;
        peer from = 0;
        std::byte* destination = nullptr;
        std::uint64_t block = 0;
        std::uint64_t size = 0;
        std::uint64_t arrived = 0;
        std::uint64_t asked = 0;
    };
    /// A block that a transport is to bring.
    struct get {
        message_state* state;
        std::size_t block;
        void* destination;
    };
    /// What a transport knows of a get under way.
    struct get_context {
        fetching* owner;
        message_state* state;
        std::size_t block;
        std::size_t place;  ///< in gets_under_way_
    };
    /// Bytes that a peer asked for.
    struct pull {
        fetching* owner;
        peer to;
        wire::pull_message what;  ///< what was not sent yet
        std::uint32_t loans = 0;  ///< pieces that the transport still reads from the block
    };

    void on_pull(peer source, std::span<std::byte const> payload);
    void on_piece(peer source, std::span<std::byte const> payload);
    void on_part(peer source, std::span<std::byte const> beginning, std::size_t at, std::span<std::byte const> bytes);
    void take(peer source, std::uint64_t fetch, std::uint64_t offset, std::span<std::byte const> bytes);
    void ask_for(arriving&, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t window_of(peer_state const&) const noexcept;
    void begin_gets();
    [[nodiscard]] bool begin(get const&);
    static void get_ended(void* context, bool ok);
    void serve_pulls();
    [[nodiscard]] bool serve(pull&);
    static void loan_ended(void* context, bool ok);

    common& common_;
    sender& out_;
    outbox& pending_;
    part_mutex mutex_{common_};  ///< of arriving_
    base::slot_table<arriving> arriving_;
    part_mutex gets_mutex_{common_};
    std::vector<get> gets_;
    std::vector<get_context*> gets_under_way_;
    std::list<pull> pulls_;
    std::list<pull> lent_;  ///< all is sent, but there are loans
};

} // namespace towline::engine
