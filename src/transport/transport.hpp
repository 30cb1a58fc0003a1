#pragma once
// The transport interface: the low-level protocol. Knows bytes and peers; nothing of tags, types or calls, and promises no more reliability
// than its capabilities say. A new transport is one folder and one line in table.cpp; tests/conformance runs every test over each.
//
// Threads: any thread may call `try_send`, `try_send_inline`, `get`, `put`, `expose` and `conceal`; sends to one peer are serialized inside
// the component. `poll`, `peek`, `pass`, `pending` and `peer_died` are called by one thread at a time (the engine holds a token). Handlers
// and completions run inside `poll`, under no lock; they may call anything of the same component but `poll`, `peek` and `pass`, and must
// not throw.

#include "base/event_count.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace towline::transport {

using peer = std::uint32_t;        ///< rank in the job
using handler_id = std::uint8_t;

/// Tells the engine how to use a component. Bytes, nanoseconds, bytes per nanosecond (GB/s).
struct capabilities {
    std::size_t max_inline = 0;  ///< largest payload of try_send_inline
    std::size_t max_eager = 0;   ///< largest payload of one message; try_send refuses more
    bool can_get = false;        ///< `get` and `put` move regions
    bool can_map = false;        ///< `map` gives pointers into peers' heap arenas
    bool reliable = false;       ///< every message arrives exactly once while both live
    bool ordered = false;        ///< messages between a pair arrive in the order of try_send
    double latency_ns = 0;       ///< own estimates, for choosing among transports
    double bandwidth = 0;
};

/// Called for each arriving message. `payload` is a view into the transport's memory (aligned to 8), valid until the handler returns.
using handler = void (*)(void* context, peer source, std::span<std::byte const> payload);

/// Called for a part of a message: `bytes`, which begin at `at` in it. `beginning`: its first bytes, as many as were asked for; they lie in
/// no part. Each other byte comes once, in any order; nothing says which part is the last one. All spans as for a handler.
using part_handler = void (*)(void* context, peer source, std::span<std::byte const> beginning, std::size_t at,
                              std::span<std::byte const> bytes);

/// The handler of a message of at most max_inline bytes, and the lengths of its two parts: one word, so that all arguments of a send stay
/// in registers.
struct inline_shape {
    handler_id id;
    std::uint8_t head;
    std::uint8_t body;
};

enum class send_status {
    sent,         ///< taken; the caller may reuse both spans
    busy,         ///< no room now, nothing was taken; poll, then try again
    unreachable,  ///< the peer is dead or was never there, or the link to it is lost
    lent,         ///< by try_send_lent only: taken; the body must stay until the completion
};

/// A remote region, as made by its owner's `expose`: opaque bytes that any peer may pass to `get` and `put`.
struct region {
    std::array<std::uint64_t, 4> words{};
};

/// The next message of a peer, before its handler is called.
struct next_message {
    handler_id id = 0;
    std::span<std::byte const> payload;  ///< as a handler sees it
};

/// Completion of get/put, and of what was lent: called from `poll` on the thread that polls. `ok` is false if the peer died or concealed
/// the region.
using completion = void (*)(void* context, bool ok);

/// A peer is lost: what it wrote is corrupt, or its link is down. Called once per peer, from `poll`; `why` says what was wrong. The engine
/// then treats the peer as dead.
using failure = void (*)(void* context, peer, std::string_view why);

class component {
public:
    virtual ~component() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual capabilities const& caps() const noexcept = 0;
    /// Empty if the component can talk to the peer, else the reason, for `towline info`.
    [[nodiscard]] virtual std::string why_not(peer) const = 0;

    /// Installs the handler of an id (before messages with it can arrive). Not thread-safe against `poll`.
    virtual void set_handler(handler_id, handler, void* context) = 0;
    /// Allows the component to give messages of an id in parts, where it would have to join them: the receiver puts the bytes where they
    /// belong, without a copy of the whole. Of a message that comes whole, its handler is called. `beginning`: at most most_beginning. As
    /// set_handler.
    virtual void set_part_handler(handler_id, std::size_t /*beginning*/, part_handler, void* /*context*/) {}
    static constexpr std::size_t most_beginning = 32;
    /// Installs what is called when a peer is lost for another reason than its death. As set_handler. Without one, the peer falls silent.
    void set_failure_handler(failure function, void* context) noexcept
    {
        failure_ = function;
        failure_context_ = context;
    }
    /// Installs what is called when the link to a peer is lost: the peer does not answer, but it may live, and another transport may reach
    /// it. What this component had taken for it and was not delivered is lost; later sends to it are `unreachable`. Called once per peer,
    /// from `poll`. Without such a handler a lost link is a failure of the peer.
    void set_link_lost_handler(failure function, void* context) noexcept
    {
        link_lost_ = function;
        link_lost_context_ = context;
    }

    /// The largest message that suits the way to this peer best, at most caps().max_eager, which may be sent all the same.
    [[nodiscard]] virtual std::size_t max_eager_to(peer) const { return caps().max_eager; }

    /// From now on one thread at a time calls this component: it need not lock.
    virtual void one_thread() noexcept {}

    /// Sends head followed by body as one message (either may be empty). Never blocks, and wakes the peer if it sleeps.
    /// Allocates for the first message to a peer, and seldom later when a buffer grows. Throws limit_error if both together exceed
    /// max_eager, std::bad_alloc if there is no memory for a first buffer, system_error if the peer's memory cannot be mapped.
    [[nodiscard]] virtual send_status try_send(peer, handler_id, std::span<std::byte const> head, std::span<std::byte const> body) = 0;

    /// As try_send, for a long body that need not be copied: `lent` says that the body must stay as it is until `done` is called, exactly
    /// once; with any other status `done` is never called. A transport that may have to send again does so from where the body lies.
    [[nodiscard]] virtual send_status try_send_lent(peer to, handler_id id, std::span<std::byte const> head,
                                                    std::span<std::byte const> body,
                                                    completion /*done*/, void* /*context*/)
    {
        return try_send(to, id, head, body);
    }

    /// The fast path for a message of at most max_inline bytes, to a rank of the world. False, and nothing happened, if anything is not as
    /// usual (no room, the first message to that rank): then use try_send.
    [[nodiscard]] virtual bool try_send_inline(peer to, inline_shape s, std::byte const* head, std::byte const* body)
    {
        return try_send(to, s.id, {head, s.head}, {body, s.body}) == send_status::sent;
    }

    /// Runs the handlers of at most `budget` messages, and completions; returns the number run, immediately if there are none.
    virtual int poll(int budget) = 0;
    /// Shows the next message of a peer without taking it, for a thread that waits for just that. False: none, or only a poll can tell.
    [[nodiscard]] virtual bool peek(peer, next_message&) { return false; }
    /// Takes the message that the last `peek` showed: no handler is called for it.
    virtual void pass() noexcept {}
    /// Whether poll would find something, without running handlers: the last check before sleeping.
    [[nodiscard]] virtual bool pending() const noexcept = 0;
    /// The longest sleep before the next poll is due (a simulated or timer-driven transport); nanoseconds, -1: no limit.
    [[nodiscard]] virtual std::int64_t sleep_limit_ns() const noexcept { return -1; }

    /// A descriptor that becomes readable, for poll(2) or epoll, when `poll` would find something, if `arm` has said that nothing is there
    /// already. -1: there is none; then who sends wakes the peer by its event count. Valid as long as the component; nobody else reads it.
    [[nodiscard]] virtual int wait_descriptor() const noexcept { return -1; }
    /// To be called before sleeping on the wait descriptor. False: do not sleep, there is something. Called as `pending`. The sleep must
    /// not be longer than sleep_limit_ns.
    [[nodiscard]] virtual bool arm() noexcept { return !pending(); }

    /// Every message that was taken has arrived, or its peer is dead or lost, and peers were told of the arrival of theirs. A process that
    /// polls until this is true loses nothing when it ends; if it goes on polling for a while, it also answers peers that have lost the
    /// last acknowledgement. Any thread.
    [[nodiscard]] virtual bool drained() const noexcept { return true; }

    /// The event count to notify after a store to shared memory for which the peer may wait; valid as long as the component. Any thread.
    /// Only with can_map.
    [[nodiscard]] virtual base::sleeper sleeper(peer) noexcept { return {}; }

    /// Makes local memory reachable for `get`/`put` of peers until `conceal`. Only with can_get; without it, the four throw usage_error.
    [[nodiscard]] virtual region expose(void* begin, std::size_t size);
    /// Ends the exposure: no later `get` or `put` touches the memory. Throws usage_error for a region that is not exposed by this
    /// component.
    virtual void conceal(region const&);
    /// Moves `size` bytes at `offset` of the peer's region into / out of local memory. The local memory must stay until the completion.
    /// `busy`: no room, nothing started. Throws limit_error when offset + size leaves the region (where the component can see it).
    /// A region that is not there (any longer) completes with ok = false.
    [[nodiscard]] virtual send_status get(peer, region const&, std::uint64_t offset, void* destination, std::size_t size, completion,
                                          void* context);
    [[nodiscard]] virtual send_status put(peer, region const&, std::uint64_t offset, void const* source, std::size_t size, completion,
                                          void* context);

    /// Called now and then while a thread waits for long: asks some peers for a sign of life, if nobody else would tell of their deaths.
    /// As `poll`.
    virtual void ask_around() {}

    /// Told by the engine that the peer is dead: drops what is queued for it, and fails its gets and puts (from the next poll). Later sends
    /// to it are `unreachable`. Messages that it published before its death are still delivered by later polls.
    virtual void peer_died(peer) = 0;

protected:
    void report_failure(peer who, std::string_view why) const
    {
        if (failure_ != nullptr)
            failure_(failure_context_, who, why);
    }
    void report_link_lost(peer who, std::string_view why) const
    {
        if (link_lost_ != nullptr)
            link_lost_(link_lost_context_, who, why);
        else
            report_failure(who, why);
    }

private:
    failure failure_ = nullptr;
    void* failure_context_ = nullptr;
    failure link_lost_ = nullptr;
    void* link_lost_context_ = nullptr;
};

/// All transports that this process may use (TOWLINE_TRANSPORT), best first; table.cpp has one line for each.
/// Ranks that are threads of one process (the simulator) make components by their own factories instead.
[[nodiscard]] std::vector<std::unique_ptr<component>> open_all();

} // namespace towline::transport
