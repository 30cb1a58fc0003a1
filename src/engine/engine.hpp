#pragma once
// The engine: the high-level protocol. Reliable, exactly-once, per-peer ordered active messages of any size over one or several
// transports, with completions, lent and given blocks, and waiting. Knows nothing of calls, tags, types.
//
// A message is a head (small bytes, always copied) and blocks (big contiguous ranges, described; moved once or not at all).
// How each block travels is the engine's choice, by size, by where it lies, and by what the receiver will do with it:
//   in the message      small ones, behind the head                                              (inline)
//   handed over         given heap blocks where the transport maps                               (not copied)
//   mapped              lent ranges that lie in an arena; the receiver reads them where they are    (by fetch: copied once; by view: not)
//                       a big one that goes into the receiver's arena is copied by both sides, each from its end (cooperation.hpp)
//   attached            lent plain memory that the receiver copies out: by XPMEM, or process_vm_readv if the probe passed   (copied once)
//   staged              what may change soon, and plain memory that the receiver looks at in place: copied into an arena block that
//                       is then given (by view or take: copied once; by fetch: copied twice); and where nothing else works
//   got / fragments     transports that do not map: component::get, else eager-sized fragments   (wire)
//
// Threads: everything may be called from any thread unless said. Handlers run one at a time, in order per peer, on whichever thread polls,
// holding no lock (a token that others only try). A handler may send; it must not wait (usage_error).

#include "base/event_count.hpp"
#include "engine/berth.hpp"
#include "engine/peer_process.hpp"
#include "engine/thresholds.hpp"
#include "onload/placement.hpp"
#include "transport/transport.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace towline::heap { class xpmem; }

namespace towline::job {
enum class counter : std::uint32_t;
struct way_board;
}

namespace towline::engine {

struct copy_task;

using transport::peer;
using handler_id = std::uint16_t;

class arrivals;
class engine;
class incoming;
class poller;

/// Ends of a message's life at the sender. `ok` is false when the peer died first. Called exactly once, unless `send` threw: then never.
struct completion {
    /// Null: not wanted. Runs on a thread that polls, or inside `send`; must not wait.
    void (*function)(void* context, bool ok) = nullptr;
    void* context = nullptr;
};

enum class lending : std::uint8_t {
    lend,  ///< left where it is; the caller leaves it untouched until *sent*
    give,  ///< a block from heap::allocate (data is its first byte); the receiver owns it from now on, also when sending fails
    copy,  ///< the engine captures the bytes before `send` returns
};

struct block {
    void const* data = nullptr;
    std::size_t size = 0;
    lending how = lending::lend;
    /// The receiver will look at the bytes in place (a span, a view) rather than copy them into memory of its own.
    bool viewed = false;
};

struct outgoing {
    peer to = 0;
    handler_id handler = 0;
    std::span<std::byte const> head{};  ///< copied before `send` returns; at most max_head
    std::span<block const> blocks{};    ///< the descriptions are copied before `send` returns
    completion sent{};                  ///< every lent block may be reused
    completion delivered{};             ///< the handler at the peer was called (asks for an acknowledgement)
    bool waits = true;                  ///< false: where there is no room at the peer, it is queued here, as in a handler. A program may
                                        ///< never poll again once a message was *sent*: it is *sent* once it has left, unless
                                        ///< `delivered` is asked for, too
};

/// A message at its receiver. Passed to a handler by reference: valid until the handler returns, unless moved from after `keep()`.
/// Its end gives back what was lent (the sender's *sent*) and frees given blocks that nobody took. Not thread-safe; may be moved between
/// threads.
class incoming {
public:
    incoming(incoming&& other) noexcept
        : owner_(other.owner_), head_(other.head_), head_size_(other.head_size_), source_(other.source_),
          state_(std::exchange(other.state_, nullptr))
    {
    }
    incoming& operator=(incoming&& other) noexcept
    {
        if (this != &other) {
            if (state_ != nullptr)
                release();
            owner_ = other.owner_;
            head_ = other.head_;
            head_size_ = other.head_size_;
            source_ = other.source_;
            state_ = std::exchange(other.state_, nullptr);
        }
        return *this;
    }
    ~incoming()
    {
        if (state_ != nullptr)
            release();
    }

    [[nodiscard]] peer source() const noexcept { return source_; }
    [[nodiscard]] std::span<std::byte const> head() const noexcept { return {head_, head_size_}; }  ///< aligned to 8
    [[nodiscard]] std::size_t blocks() const noexcept;
    [[nodiscard]] std::uint64_t block_size(std::size_t i) const;

    /// The bytes of block i where they are, without a copy, for as long as this object lives; null if they are not in reach (then `fetch`).
    [[nodiscard]] void const* view(std::size_t i);
    /// Takes block i over if it was given and lies in an arena: a heap block of at least block_size bytes that the caller now owns
    /// (heap::deallocate). Null if not possible (then allocate and `fetch`).
    [[nodiscard]] void* take(std::size_t i);
    /// When a fetch of what is in reach ends.
    enum class pace : std::uint8_t {
        now,      ///< before it returns: this thread copies alone. For handlers that cannot go on without
        usual,    ///< most often before it returns: the sender copies a part, if it is there, and may be interrupted
        may_lag,  ///< it may be left to the copy engine, too (setup::onload)
    };
    /// Starts copying block i to `destination` (block_size bytes). At most once per block.
    /// The destination must stay until the fetch has ended, even if the message is destroyed before.
    void fetch(std::size_t i, void* destination, pace p = pace::usual);
    /// All fetches have ended.
    [[nodiscard]] bool ready() const noexcept;
    /// A fetch that has ended did not bring its bytes (the peer died, or lent memory that is not there).
    [[nodiscard]] bool failed() const noexcept;
    /// Calls `then(context, ok, message)` once every started fetch has ended: before it returns if `ready()`, else in a later poll. The
    /// message is moved in.
    static void when_ready(incoming&& message, void (*then)(void* context, bool ok, incoming& message), void* context);

    /// Copies what lies in the transport's memory (head, small blocks), so that the object may be moved away and outlive the handler.
    void keep();

    struct state;  // engine-internal

private:
    friend class arrivals;
    friend struct state;
    incoming(engine* owner, peer source, std::span<std::byte const> head, state* s) noexcept
        : owner_(owner), head_(head.data()), head_size_(head.size()), source_(source), state_(s)
    {
    }
    void release() noexcept;

    engine* owner_;
    std::byte const* head_;
    std::size_t head_size_;
    peer source_;
    state* state_;  ///< null: nothing but a head in the transport's memory
};

/// Runs once per message. Must not throw (the program is terminated): it has no caller who could catch.
using handler = void (*)(void* context, engine&, incoming& message);

/// What a wait is for, where more can be said of it than a text that stays.
struct wait_detail {
    /// Writes a line with a NUL behind it; called on the waiting thread, before it sleeps.
    void (*write)(wait_detail const&, char const* what, std::span<char> text) noexcept = nullptr;
    /// Where one place of this process makes the condition true, and it alone: asks that place to call engine::wake with the berth then.
    /// False: the condition is true, or another thread is to be woken. The waiting thread can then sleep undisturbed by what others wait
    /// for. Null: the condition may come true in any way.
    bool (*announce)(wait_detail const&, berth&) noexcept = nullptr;
    /// Takes that back.
    void (*withdraw)(wait_detail const&) noexcept = nullptr;
};

/// A wait that lasts.
struct long_wait {
    char const* what;           ///< as the wait was told
    wait_detail const* detail;  ///< the same; null: none
    std::int64_t since_ns;      ///< about when it began; CLOCK_MONOTONIC
    std::int64_t quiet_ns;      ///< since when it has handled no message
    bool ended;                 ///< this is the last call for it
};

/// How an engine is set up. The world of processes fills it from job::membership; the simulator gives each of its peers one.
struct setup {
    peer rank = 0;
    peer size = 1;
    std::vector<std::unique_ptr<transport::component>> transports;  ///< best first
    base::event_count* event = nullptr;               ///< this engine's sleepers; null: waits never sleep on a futex (the simulator)
    base::fence_side fences = base::fence_side::notifier_fences;  ///< as in the job's control block
    std::span<char> waiting_for{};                    ///< where a sleeping waiter says what for; empty: nowhere
    std::span<std::atomic<std::uint64_t>> counters{}; ///< indexed by job::counter; empty: not counted
    job::way_board* ways = nullptr;                   ///< told which ways messages and blocks took; null: not wanted
    std::atomic<std::int64_t>* active_ns = nullptr;   ///< told from time to time when the engine was at work; null: not wanted
    std::uint32_t cores = 0;                          ///< that this process can use, about, as a share of its node's; 0: not known
    bool oversubscribed = false;                      ///< ranks, or ranks and helpers, outnumber cores: yield early, sleep early
    std::uint32_t ranks_per_core = 1;                 ///< of this node, rounded up; 1 where they do not outnumber cores
    bool background = true;                           ///< one progress thread takes over when nobody polled for a while
    bool shared_arena = false;                        ///< peers are threads of one process, with one arena among them
    bool one_thread = false;                          ///< one thread at a time is in any call: no locks; no background thread
    bool cross_memory_attach = false;                 ///< the probe passed
    std::uint64_t pid_namespace = 0;                  ///< of this process; 0: not known
    /// What a peer tells of its process; nothing: not yet. Null: the peers are threads of this process. Called with `context`, any thread.
    std::optional<process_card> (*process_of)(void* context, peer) = nullptr;
    onload::placement onload{};                       ///< on: a helper thread copies and makes progress; not with one_thread
    std::size_t onload_least = thresholds::onload_least;  ///< blocks from this size on are left to it, where the fetch may lag
    thresholds::sizes sizes{};
    std::shared_ptr<heap::xpmem> xpmem{};             ///< peers' plain memory is attached where it can be; null: it is not
    std::atomic<std::uint32_t> const* deaths = nullptr; ///< job's death counter, looked at while waiting
    bool (*is_dead)(void* context, peer) = nullptr;     ///< asked after `deaths` moved
    void* context = nullptr;                            ///< of is_dead and process_of
};

class engine {
public:
    static constexpr std::size_t max_head = std::size_t{1} << 31;

    /// Throws usage_error for a setup that cannot work (rank outside the world, a transport that is too small or neither reliable nor
    /// ordered).
    explicit engine(setup);
    /// Stops the background thread; messages still queued are dropped and completions still due are not called (drain first). Fetches
    /// under way fail: what `when_ready` was given is called. Blocks while a peer that lives is copying into memory of this process, and
    /// logs a line every few seconds that says so. No other thread may be inside a call, and every other incoming of this engine must
    /// have ended.
    ~engine();
    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;

    [[nodiscard]] peer rank() const noexcept;
    [[nodiscard]] peer size() const noexcept;

    /// Ends the engine before its destruction: from now on calls from any thread throw usage_error (progress does nothing) and waits end
    /// so.
    void close() noexcept;

    /// Installs a handler; the same order of registration on every rank gives the same ids. Before the first message only.
    /// The first 240 cost the least.
    handler_id add_handler(handler, void* context);

    /// Sends. Never waits for the receiver's program: when the transport is busy, a plain thread makes progress until there is room
    /// (bounded memory); inside a handler the message is queued. Throws peer_error if the peer is known to be dead, limit_error,
    /// usage_error.
    void send(outgoing const&);
    /// The fast path: no blocks, no completions, and a head that best fits the transport's cheapest message (40 bytes; more is allowed).
    void send_small(peer to, handler_id, std::span<std::byte const> head);
    /// The same with a head in two parts, one behind the other; both are copied before it returns.
    void send_small(peer to, handler_id, std::span<std::byte const> first, std::span<std::byte const> second);

    /// The same if it goes without waiting; false, and nothing is sent, if there is no room at the peer now, other messages wait for room
    /// before it, or the peer is dead: `send` knows what to do then. Throws as `send` for a peer that was never reached.
    [[nodiscard]] bool try_send_small(peer to, handler_id, std::span<std::byte const> first, std::span<std::byte const> second);
    /// The shortest way of a few bytes, all of whose arguments stay in registers. As try_send_small, but false also where anything else is
    /// not as it most often is.
    struct tiny {
        handler_id handler;
        std::uint8_t first;   ///< bytes
        std::uint8_t second;  ///< bytes
    };
    [[nodiscard]] bool try_send_tiny(peer to, tiny, std::byte const* first, std::byte const* second);

    /// For hand-overs inside a head: where the peer finds these bytes of the shared heap, or 0 if it cannot reach them (or nothing is known
    /// of it yet: then send them as a block). The block is the sender's until a message that says where it is was sent.
    [[nodiscard]] std::uint64_t share(peer, void const* data, std::size_t size) noexcept;
    /// Takes over the block that a peer's `share` told of: the caller owns it now (heap::deallocate). Counts it as handed over. Throws what
    /// heap::attach throws.
    [[nodiscard]] void* claim(std::uint64_t where, std::size_t size);

    /// The bytes that a peer's `share` told of, where this process sees them, to be read only; they stay the peer's. They may lie in any
    /// rank's arena: a block that was handed over stays where its first owner allocated it, and outlives that rank. Throws what
    /// heap::attach throws.
    [[nodiscard]] std::byte const* look(std::uint64_t where, std::size_t size);
    /// As share, of memory of this process's own arena that the peer is to write. 0: it lies elsewhere, too.
    [[nodiscard]] std::uint64_t offer(peer, void* data, std::size_t size) noexcept;
    /// What that peer's `offer` told of, to be written. Throws what heap::attach throws, and usage_error for an arena that is not the
    /// peer's own.
    [[nodiscard]] std::byte* enter(peer, std::uint64_t where, std::size_t size);
    /// Copies what `look` showed, as the engine copies mapped blocks that are too small for two; counts it.
    void bring(void* to, std::byte const* from, std::size_t size) noexcept;

    /// A large transfer has begun for which no thread may wait soon: the helper thread, if any (setup::onload), makes progress from
    /// now on, whenever no other thread does, until nothing has come for a while. About 20 ns, or a wake-up. A sender needs no attention,
    /// but helps its receiver with the copy from a core that it has for itself.
    enum class transfer : std::uint8_t { receive, send };
    void attend(transfer) noexcept;
    /// Copies and progress are on-loaded: setup::onload, and its thread runs.
    [[nodiscard]] bool onloads() const noexcept;

    /// For a handler that has long work to do, which must not keep other threads from polling: calls the function soon, once, on a thread
    /// that has just polled and does not poll now. It may send and must not wait or throw; several run at the same time, on several
    /// threads. Never called if the engine is closed before.
    void defer(void (*function)(void* context), void* context);

    /// Polls once, if no other thread does; runs at most `budget` handlers. The number of messages handled.
    int progress(int budget = 16);

    /// Blocks until `ready()` is true (it may send and poll): makes progress, spins, yields, then sleeps. `ready` is called often, from
    /// this thread only, also again after it was true, and must not throw; it becomes true by a handler, or by another thread that calls
    /// `notify` afterwards. `what` is shown to anyone who asks what this rank waits for (static text). False on timeout. Throws usage_error
    /// inside a handler. Does not throw when peers die: conditions must come true then (see on_death).
    template <class Ready>
    bool wait(Ready&& ready, char const* what, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
              wait_detail const* detail = nullptr)
    {
        if (ready())
            return true;
        return wait_slow([](void* c) { return static_cast<bool>((*static_cast<std::remove_reference_t<Ready>*>(c))()); },
                         const_cast<void*>(static_cast<void const*>(std::addressof(ready))), what, timeout, detail);
    }
    /// The first part of a wait: makes progress and spins, and gives up (false) where `wait` would begin to yield. No notify is needed.
    template <class Ready>
    bool spin(Ready&& ready, char const* what)
    {
        return wait(std::forward<Ready>(ready), what, only_spin);
    }
    /// For a thread that waits for one message of few bytes from a known peer: looks for about 2 us at what that peer sends next, and calls
    /// take(id, head), on this thread, if it is for a handler. True: it was taken, and the handler is not called for it. False: nothing has
    /// come, or it is no head alone, or was not taken, or a handler has run meanwhile: then `wait`. `take` must not send,
    /// wait, poll or throw. Throws usage_error where the engine has ended.
    template <class Take>
    [[nodiscard]] bool take_next(peer from, Take&& take)
    {
        return take_next(
            from,
            [](void* c, handler_id id, std::span<std::byte const> head) {
                return static_cast<bool>((*static_cast<std::remove_reference_t<Take>*>(c))(id, head));
            },
            const_cast<void*>(static_cast<void const*>(std::addressof(take))));
    }
    /// Wakes waiters of this engine whose condition another thread has made true. Cheap when nobody sleeps.
    void notify() noexcept;
    /// Wakes the one thread that has this berth (wait_detail::announce).
    void wake(berth&) noexcept;
    /// True on a thread that is inside a handler of this engine.
    [[nodiscard]] bool in_handler() const noexcept;

    /// Called once per peer that is gone (dead, left, or lost by its transport), from a poll, after the engine failed its own completions
    /// for it. What the peer had published before was handled before, as far as its transport can tell.
    void on_death(void (*function)(void* context, peer), void* context);

    // For floors above that speak with peers through memory that both map (heap.hpp), beside the messages.

    /// True if the peer and this process map each other's heap. False, too, where the peer cannot be reached at all.
    [[nodiscard]] bool maps(peer) noexcept;
    /// The event count to notify after a store for which the peer, which maps, may wait; as long as the engine lives.
    [[nodiscard]] base::sleeper sleeper(peer) noexcept;
    /// The peer was found dead, as told by on_death. A load.
    [[nodiscard]] bool is_gone(peer) const noexcept;
    /// How often threads began to sleep in `wait`, counted before the last look at the condition: one that looks at something but seldom
    /// while it spins has to look there before it sleeps.
    [[nodiscard]] std::atomic<std::uint64_t> const& sleeps() const noexcept;
    /// The peer has ended: asked now, not as told by on_death.
    [[nodiscard]] bool has_ended(peer) const noexcept;
    /// Blocks until the sender has copied so many units of a task that it took. False: its process has ended before, so that it writes
    /// nothing any more. (A peer that has_ended may have been lost by its transport alone, and still write.)
    [[nodiscard]] bool outlast(copy_task const&, std::uint32_t units, peer from) const;
    /// setup::oversubscribed.
    [[nodiscard]] bool is_oversubscribed() const noexcept;
    /// Calls the function in every poll, like a handler, while more than none have asked for it, and before anybody sleeps; it returns
    /// how much it did (0: it found nothing to do). Before the first message only.
    void on_poll(int (*function)(void* context), void* context);
    /// One more (1) or less (-1) asks. Any thread.
    void ask_polls(int change) noexcept;

    /// Calls `in_wait` from waits that have lasted longer than thresholds::long_wait, on their threads: about five times a second while
    /// they sleep, and once when they end. And `outside` from the background thread, before it sleeps because no thread polls: as long as
    /// it returns true, it is called again about five times a second, with true. They may look at anything; they must not wait, send, poll
    /// or throw. Null: nobody. Before the first wait.
    void on_long_wait(void (*in_wait)(void* context, long_wait const&), bool (*outside)(void* context, bool in_time), void* context);

    /// Adds to a counter of setup. For floors above whose bytes do not go through here.
    void count(job::counter, std::uint64_t amount) noexcept;
    /// As in setup.
    [[nodiscard]] job::way_board* ways() const noexcept;
    /// Brings the counters of setup up to date with everything that this thread did.
    void publish_counts() noexcept;

    /// The sizes by which it chooses, and other ones, to measure them. Not while another thread is in a call; what is under way
    /// goes on as it began.
    [[nodiscard]] thresholds::sizes const& sizes() const noexcept;
    void set_sizes(thresholds::sizes const&) noexcept;

    /// Blocks until all that was sent is taken, nothing lent is out, handlers returned (or timeout: false; but not while a peer copies).
    bool drain(std::chrono::nanoseconds timeout);

    /// Blocks until handlers and deferred work that run on other threads now have returned: before the caller ends what they use, as one
    /// of them may have made the condition true for which the caller waited. Does nothing inside a handler.
    void outlast_handlers();

    /// Tries process_vm_readv against this process's neighbour or itself; false where a filter or Yama refuses. Used by towline info too.
    [[nodiscard]] static bool probe_cross_memory_attach(int pid, void const* remote, std::size_t size) noexcept;
    /// Whether the kernel would let this process read that one's memory, without knowing what is where in it.
    [[nodiscard]] static bool may_read_memory_of(int pid) noexcept;

    struct impl;  // engine-internal

private:
    friend class incoming;
    friend class poller;
    static constexpr std::chrono::nanoseconds only_spin = std::chrono::nanoseconds::min();
    bool take_next(peer from, bool (*take)(void*, handler_id, std::span<std::byte const>), void* context);
    bool wait_slow(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail);
    std::unique_ptr<impl> impl_;
};

} // namespace towline::engine
