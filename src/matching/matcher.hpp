#pragma once
// Matching: messages with a context, a source and a tag find the receives that ask for them. Contexts are numbers, destinations are engine
// peers; communicators and handles are above this floor.
//
// How a message travels:
//   up to options::eager bytes   in one engine message; the send has ended when it returns. The receiver copies from where the message
//                                arrived into the receive's buffer, or captures the bytes if no receive is posted yet
//   more                         lent: the engine moves the bytes once a receive is there (how: engine.hpp), and the send ends then. For
//                                some sizes and memories the engine captures them within the send, which then ends earlier
//   4 KiB to 32 KiB, in the heap here: the message tells where the bytes are; the receiver copies them, and the send ends then
//   1.5 KiB to 1 MiB             or relayed, if that was found to cost less time: copied through a block of the sender's arena, in and out
//                                at the same time, and the send has ended when it returns (relay.hpp)
//   with gaps                    laid: as here, with the layout (laid.hpp), large ones copied by both sides (laid_cooperation.hpp); or
//                                relayed, packed on the way
//   synchronous mode             as the others, and the send ends only when a receive has matched
//
// Order: messages of one sender match receives of one context in the order in which they were sent, whatever their sizes and modes (sends
// that several threads begin at the same time have no order). Of the posted receives that take a message the first posted gets it.
//
// Memory: an early message takes the bytes that were captured, or a node that says where they are (about 300 bytes). Once those of one
// sender exceed options::unexpected, the receiver tells it to hold back: until half of it has been received, all its sends are synchronous,
// so that the sending program waits for its receiver. That bounds the memory, but for the sends that are already under way.
//
// Threads: any thread may call anything if options::threaded; else one thread at a time makes all calls and all polls of the engine (which
// has no background thread then). Handlers and `then` functions may call what does not wait.
//
// Deaths: operations that wait for a dead peer end with outcome::peer_died: sends to it, receives from it (messages that came before its
// death are still received). So does a receive from any source for which no message is there, if a peer of its context is dead (by
// set_members; without that it goes on waiting): the dead peer may have been the one to send it.

#include "matching/request.hpp"
#include "matching/thresholds.hpp"
#include "matching/ways.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace towline::matching {

enum class send_mode : std::uint8_t {
    standard,
    synchronous,  ///< ends when a receive has matched
    ready,        ///< as standard; if no receive is posted, the receiver notes an error (logs it and counts it)
};

struct options {
    /// False: one thread at a time calls and polls; locks cost nothing.
    bool threaded = true;
    /// Largest message in bytes that is sent without waiting for its receive.
    /// Lending is faster than copying from 2 KiB on, but programs rely on sends below 4 KiB that wait for no receiver.
    std::size_t eager = 4095;
    /// The same from memory outside the heap, if that is more: bytes that peers cannot reach are copied twice in any case.
    std::size_t eager_outside = 0;
    /// Bytes of unexpected messages of one sender, each counted with 128 more, before it is told to hold back.
    std::uint64_t unexpected = std::uint64_t{16} << 20;
    /// The way of messages from 1.5 KiB to 1 MiB; nothing: that which costs the least time, as measured while they are sent (ways.hpp).
    std::optional<send_way> way{};
    /// Take the engine's on_death. Else its owner calls peer_died.
    bool take_on_death = true;
};

/// What TOWLINE_WAY says; nothing where it is auto.
[[nodiscard]] std::optional<send_way> wished_way();

struct unexpected_message;
struct laid_source;

/// A message that was taken out of the queue by improbe or mprobe, for start_receive. Its end drops the message. Must end before the
/// matcher.
class taken_message {
public:
    taken_message() = default;
    taken_message(taken_message&& other) noexcept : owner_(other.owner_), node_(std::exchange(other.node_, nullptr)) {}
    taken_message& operator=(taken_message&& other) noexcept
    {
        std::swap(owner_, other.owner_);
        std::swap(node_, other.node_);
        return *this;
    }
    ~taken_message();
    [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }
    [[nodiscard]] status about() const noexcept;

private:
    friend struct core;
    friend class matcher;
    taken_message(core& owner, unexpected_message& node) noexcept : owner_(&owner), node_(&node) {}
    core* owner_ = nullptr;
    unexpected_message* node_ = nullptr;
};

/// An operation under way, for people and watchdogs.
struct pending_operation {
    operation what = operation::none;
    pattern about;          ///< of a send its context, own rank and tag
    peer with = no_peer;    ///< no_peer: anybody
    std::uint64_t bytes = 0;  ///< of a send its size, of a receive its room
    bool matched = false;   ///< only the bytes are still to come
};

/// What a wait of the matcher for one operation tells the engine (engine::wait_detail); other waits of the matcher tell nothing.
struct waited : engine::wait_detail {
    /// With a request the wait is for that alone, and sleeps apart from others.
    explicit waited(pending_operation const&, request* = nullptr) noexcept;
    pending_operation what;
    request* const whose;
};

/// One per engine; both sides of a world make theirs at the same place in the order of add_handler.
class matcher {
public:
    /// Registers wire::kinds handlers, next to each other. Throws what engine::add_handler throws.
    explicit matcher(engine::engine&, options = {});
    /// Drops what nobody received. Nothing may be under way (drain), and nobody may poll the engine any more.
    ~matcher();
    matcher(matcher const&) = delete;
    matcher& operator=(matcher const&) = delete;

    [[nodiscard]] engine::engine& transport() noexcept;

    // Sending. `data` may be null with 0 bytes and is left alone by the caller until the send has ended. Throws usage_error for a peer
    // that is not there or an envelope with a negative source or tag; nothing is under way then. Where the peer is known to be dead, the
    // calls that start a send end it with outcome::peer_died, and those that wait may throw peer_error.

    /// Starts a send; the request must be done and stay until it is again.
    void start_send(request&, peer to, envelope const&, void const* data, std::uint64_t bytes, send_mode = send_mode::standard);
    /// Starts a send of data with gaps; they and their layouts stay until the send has ended. Either the receiver copies them from where
    /// they are, or they are packed while it unpacks them. False, and nothing is under way, where neither can be: the caller packs them,
    /// and sends the packed bytes.
    [[nodiscard]] bool start_send_laid(request&, peer to, envelope const&, laid_source const&, send_mode = send_mode::standard);
    /// The same, and waits; nothing where neither can be.
    [[nodiscard]] std::optional<status> send_laid(peer to, envelope const&, laid_source const&, send_mode, char const* call);
    /// Fewer bytes never go so.
    static constexpr std::uint64_t least_laid = thresholds::laid_least;
    /// Sends if that needs no waiting and no request. False where the message is too large for it, or the peer has no room, asked this
    /// process to hold back, or is dead.
    [[nodiscard]] bool try_send(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode = send_mode::standard);
    /// Sends and waits. `call` as for wait.
    status send(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode = send_mode::standard,
                char const* call = "a send");

    // Receiving. `from` is the engine peer behind the pattern's source, no_peer for any source (or if nobody cares for its death).

    /// Starts a receive; the request must be done and stay until it is again.
    void start_receive(request&, pattern const&, peer from, sink const&);
    /// Receives a message that was taken out. It is empty afterwards. Throws usage_error if it is empty.
    void start_receive(request&, taken_message&, sink const&);
    status receive(pattern const&, peer from, sink const&, char const* call = "a receive");

    // Completion.

    /// Blocks until the request is done; makes progress. `call` (text that stays) begins the line that says what this rank waits for.
    /// Throws usage_error in a handler.
    void wait(request&, char const* call = "a wait");
    /// Makes progress once unless it is done; then whether it is.
    bool test(request&);
    /// Blocks until `condition()` is true, which is looked at first and then whenever an operation of this matcher has ended: for waits
    /// on any or some of many requests. False on timeout.
    template <class Condition>
    bool wait_until(Condition&& condition, char const* call, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max())
    {
        std::uint64_t seen = completions();
        bool met = condition();
        // A wait may ask again after it was told yes.
        return met || transport().wait(
                          [&] {
                              if (!met) {
                                  std::uint64_t const now = completions();
                                  met = now != std::exchange(seen, now) && condition();
                              }
                              return met;
                          },
                          call, timeout);
    }
    /// Changes whenever an operation has ended; a request that ended before the change is seen as done after it.
    [[nodiscard]] std::uint64_t completions() const noexcept { return completions_->load(std::memory_order_acquire); }
    /// An operation that is not of this matcher has ended: threads in wait_until look again. Any thread.
    void note_end() noexcept;
    /// Ends a receive that has not matched, as cancelled. False: it has, or has ended. A send that has not ended is asked back (false,
    /// too): it ends when its receiver has answered, cancelled if no receive had matched it. Small standard sends have ended when they
    /// begin.
    bool cancel(request&);

    /// A request of the pool. `release` returns it: now if it is done, else at its end. Any thread.
    [[nodiscard]] request& acquire();
    void release(request&) noexcept;

    // Probing. A probe that finds nothing makes progress once and looks again.

    /// The message that a receive with the same pattern would get; it stays.
    [[nodiscard]] std::optional<status> iprobe(pattern const&);
    /// Blocks until there is one, or its sender is dead (error).
    [[nodiscard]] status probe(pattern const&, peer from, char const* call = "a probe");
    /// The same, and takes the message out: no other receive or probe finds it. Empty: none is there (mprobe: the sender is dead).
    [[nodiscard]] taken_message improbe(pattern const&);
    [[nodiscard]] taken_message mprobe(pattern const&, peer from, char const* call = "a probe");

    // Contexts. Need not be announced.

    /// Sets the members of a context: is_member is called for peers that died, from any thread, under a lock.
    void set_members(context_id, bool (*is_member)(void* members, peer), void* members);
    /// No receive in the context will follow: drops its messages, and forgets its members.
    void forget(context_id) noexcept;

    /// Ends the operations that wait for the peer. From a poll (see engine::on_death).
    void peer_died(peer);

    /// Blocks until no send and no matched receive is under way, and the engine has nothing left of ours to send. False on timeout.
    bool drain(std::chrono::nanoseconds timeout, char const* call = "messages under way to end");

    // For people. Any thread, also while others wait.

    [[nodiscard]] std::vector<pending_operation> pending(std::size_t at_most = 64) const;
    /// Messages that wait for a receive: from whom, with which source and tag, how large.
    [[nodiscard]] std::vector<pending_operation> unreceived(std::size_t at_most = 64) const;
    /// "receive from rank 1 (peer 3), tag 7, context 5".
    [[nodiscard]] static std::string describe(pending_operation const&);

    struct statistics {
        std::uint64_t unexpected = 0;        ///< messages that wait for a receive now
        std::uint64_t unexpected_bytes = 0;  ///< captured for them
        std::uint64_t posted = 0;            ///< receives that wait for a message now
        std::uint64_t ready_errors = 0;      ///< ready sends that found no receive, so far
        std::uint64_t throttled = 0;         ///< times that senders were told to hold back, so far
    };
    [[nodiscard]] statistics numbers() const;
    /// As statistics::unexpected, of the contexts for which `counts` is true.
    [[nodiscard]] std::uint64_t unexpected(bool (*counts)(context_id)) const;

private:
    friend class taken_message;
    void receive_and_wait(pattern const&, peer from, sink const&, char const* call, status& result);
    std::unique_ptr<core> core_;
    std::atomic<std::uint64_t> const* completions_;
};

} // namespace towline::matching
