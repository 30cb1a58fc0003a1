#pragma once
// The engine's inside. How the pieces fit, and who may touch what:
//
//   peers      one per rank: the transport that reaches it, a word of flags that the fast path looks at, a queue for what found no room
//   outbox     messages whose end somebody waits for (completions, lent blocks), found again by number    mutex, held for a few stores
//   fetches    blocks that arrive in pieces, found again by number                                        mutex, held for one piece's copy
//   token      whoever holds it polls; handlers and completions run only there                            tried, never waited for
//   jobs       things that other threads leave for the poller                                             mutex, held for a push
//   tasks      blocks that are copied together with their sender                    mutex, held for a few stores
//   copier     copies that a helper thread does (onload.cpp); anybody submits, the poller hears of the ends
//   windows    through which senders push                                          mutex, held for a few stores
//   poller's   streams, pulls, helps, pushes: touched only under the token
//
// No handler and no completion runs while one of these mutexes is held.

#include "engine/accounting.hpp"
#include "engine/engine.hpp"
#include "engine/lent_habit.hpp"
#include "engine/message_state.hpp"
#include "engine/telling.hpp"
#include "engine/thresholds.hpp"
#include "engine/wire.hpp"

#include "base/event_count.hpp"
#include "base/slot_table.hpp"
#include "onload/helper_engine.hpp"

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace towline::engine {

/// Set while this thread runs handlers or completions of an engine.
extern constinit thread_local engine::impl* running_handlers [[gnu::tls_model("initial-exec")]];

/// A peer as the sender sees it.
struct alignas(64) peer_state {
    // Any bit set: the fast path is closed, look closer.
    static constexpr std::uint32_t unresolved = 1; ///< no transport chosen yet
    static constexpr std::uint32_t queued = 2;     ///< something waits in `queue`: everything goes behind it
    static constexpr std::uint32_t dead = 4;
    static constexpr std::uint32_t closed = 8;     ///< the engine is closed, or this is a forked child

    std::atomic<std::uint32_t> flags{unresolved};
    std::uint32_t max_inline = 0;  ///< at most 255
    std::uint32_t max_eager = 0;
    transport::component* via = nullptr;
    bool maps = false;   ///< copies of the transport's capabilities
    bool gets = false;

    struct waiting_message {
        transport::handler_id kind;
        std::vector<std::byte> payload;
    };
    std::mutex mutex;  ///< of the queue, and of changes to flags
    std::deque<waiting_message> queue;
    std::size_t queue_bytes = 0;

    // The process behind it, whose memory process_vm_readv reads: a pid, or (attachments.cpp):
    static constexpr std::int32_t unasked = 0;
    static constexpr std::int32_t no_process = -1;  ///< none that could be read
    std::atomic<std::int32_t> process{unasked};

    // Calls to push that the peer did not answer (pushing.cpp): fetches without a call, now and after the next one.
    std::atomic<std::uint32_t> skip{0};
    std::atomic<std::uint32_t> absent{0};
};

struct handler_entry {
    handler function = nullptr;
    void* context = nullptr;
    engine* owner = nullptr;
    handler_id id = 0;
};

/// A block that the sender keeps until the receiver is done with it.
struct kept_block {
    void const* data = nullptr;
    std::size_t size = 0;
    bool owned = false;                      ///< a heap block of ours: given back at the end
    transport::component* exposed_by = nullptr;  ///< conceal `region` at the end
    transport::region region{};
};

/// A message whose end the sender waits for.
struct sending {
    peer to = 0;
    std::uint64_t waiting = 0;  ///< wire::wants_*
    completion sent;
    completion delivered;
    std::vector<kept_block> kept;  ///< indexed by block; empty where nothing needs to be kept
    bool copied_from = false;      ///< the receiver has asked for help, or for bytes: it is in the middle of copying what was lent
};

/// Numbers messages; finds them again; rejects numbers that nobody gave out.
class outbox {
public:
    [[nodiscard]] std::uint64_t open(sending&&);
    /// Ends some of what the message waits for. What ended is returned: completions to call, blocks to give back.
    struct ended {
        bool known = false;
        completion sent;
        completion delivered;
        std::vector<kept_block> kept;
    };
    [[nodiscard]] ended close(std::uint64_t id, peer from, std::uint64_t what);
    /// A kept block, for a receiver that copies it. It stays until the message is closed, which happens under the polling token only.
    [[nodiscard]] std::optional<kept_block> find(std::uint64_t id, peer from, std::uint64_t block);
    /// A peer that is in the middle of copying a block, as far as it has said.
    [[nodiscard]] std::optional<peer> copier();
    [[nodiscard]] std::vector<std::uint64_t> of_peer(peer to);
    [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
    [[nodiscard]] std::vector<kept_block> everything();

private:
    [[nodiscard]] sending* locate(std::uint64_t id, peer from) noexcept;
    std::mutex mutex_;
    base::slot_table<sending, 32 - wire::flag_bits> slots_;
    std::atomic<std::size_t> outstanding_{0};  ///< messages that wait for `released`
};

/// A block that arrives in pieces.
struct fetching {
    message_state* state = nullptr;
    peer from = 0;
    std::byte* destination = nullptr;
    std::uint64_t block = 0;
    std::uint64_t size = 0;
    std::uint64_t arrived = 0;
    std::uint64_t asked = 0;
};

class polling_token {
public:
    /// Takes the token if it is free. Acquires what the last holder did.
    [[nodiscard]] bool try_acquire(bool alone) noexcept
    {
        std::uint32_t expected = 0;
        if (alone) {
            if (word_.load(std::memory_order_relaxed) != 0)
                return false;
            word_.store(1, std::memory_order_relaxed);
            return true;
        }
        return word_.load(std::memory_order_relaxed) == 0 &&
               word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void release() noexcept { word_.store(0, std::memory_order_release); }

private:
    alignas(64) std::atomic<std::uint32_t> word_{0};
};

struct copy_task;

/// A task of copying together (cooperation.hpp), as its owner sees it.
struct task_slot {
    copy_task* task = nullptr;
    message_state* state = nullptr;  ///< a fetch that waits for what the sender has under way
    std::size_t block = 0;
    peer from = 0;
    std::uint32_t senders = 0;       ///< units
    std::uint64_t senders_bytes = 0;
};

struct push_window;

/// A window through which senders push (pushing.hpp), as its owner sees it.
struct window_slot {
    push_window* window = nullptr;
    bool abandoned = false;  ///< closed on a sender at work: not free before it says that it is out
    peer from = 0;           ///< who that is
};

/// A block that a transport brings.
struct get_context {
    engine::impl* owner;
    message_state* state;
    std::size_t block;
    std::size_t place;  ///< among the gets under way
};

struct engine::impl {
    impl(engine& self, setup&& s);
    ~impl();

    engine& face;
    setup config;
    long owner_pid;
    std::unique_ptr<peer_state[]> peers;
    ledger counts;
    lent_habit habit;
    told_ways const ways_told;
    std::deque<handler_entry> handlers;  ///< addresses are contexts of the transports' handlers

    // Polling (wait.cpp, take_next.cpp).
    polling_token token;
    /// Rounds of polling by others than the background thread; written by the holder of the token.
    alignas(64) std::atomic<std::uint64_t> foreground_polls{0};
    std::atomic<std::uint32_t> work{0};         ///< jobs and queues that the poller should look at
    std::atomic<bool> closed{false};
    alignas(64) std::atomic<std::uint32_t> wants_token{0};  ///< sleepers, some of which found the token held
    std::atomic<bool> step_aside{false};        ///< a waiter asks the background thread for the token
    std::atomic<std::uint32_t> slow_waiters{0}; ///< waits that have slept at least once
    std::atomic<std::uint32_t> deaths_seen{0};  ///< written under the token
    std::uint32_t idle_polls = 0;  ///< since something was handled
    std::uint32_t busy_polls = 0;
    std::atomic<bool> shares_core{false};  ///< with somebody who ran during the last yield

    [[nodiscard]] bool acquire_token() noexcept { return token.try_acquire(config.one_thread); }
    /// Lets another thread poll; wakes one that went to sleep because it could not.
    void release_token() noexcept;
    enum class poller { foreground, background };
    /// One round over everything; token held. The number of messages handled.
    int poll(int budget, poller who = poller::foreground);
    int poll_transports(int budget);
    /// The short way of try_send_small and try_send_tiny (send.cpp). The peer and the handler are possible.
    [[nodiscard]] bool send_tiny(peer to, tiny, std::byte const* first, std::byte const* second);
    /// No other rank and nobody else's program wants this core, as far as is known.
    [[nodiscard]] bool has_core() const noexcept { return !config.oversubscribed && !shares_core.load(std::memory_order_relaxed); }
    /// Who ran while a wait yielded.
    enum class neighbour {
        none,
        passing,    ///< somebody who soon waited, too; other ranks, where there are more than cores
        computing,  ///< somebody who did not
    };
    neighbour give_way() noexcept;
    /// Sleeps on the event count until a notify or `limit`, unless something is there to be done; false if it timed out. Token not held.
    bool sleep(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds limit, wait_detail const* detail = nullptr);
    /// Lets what is queued leave before a wait returns; polls, if this thread holds the token.
    void see_off(bool polls);
    bool wait(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail = nullptr);
    int (*poll_function)(void*) = nullptr;
    void* poll_context = nullptr;
    std::atomic<int> polls_asked{0};
    /// What on_poll installed, if somebody asks for it; token held.
    int poll_others() noexcept { return polls_asked.load(std::memory_order_acquire) == 0 ? 0 : poll_function(poll_context); }
    void (*long_wait_function)(void*, long_wait const&) = nullptr;
    void* long_wait_context = nullptr;
    std::atomic<bool (*)(void*, bool)> outside_look{nullptr};
    /// As engine::take_next; token held.
    bool take_next(peer from, transport::component&, bool (*take)(void*, handler_id, std::span<std::byte const>), void* context);
    void set_waiting_for(char const* what) noexcept;
    [[nodiscard]] bool deaths_moved() const noexcept;
    void require_open() const;
    void wake() noexcept
    {
        if (config.event != nullptr)
            config.event->notify(config.fences);
    }

    // Sending (send.cpp, queue.cpp).
    enum class when_busy { progress, queue };
    [[nodiscard]] when_busy manners() const noexcept { return running_handlers == nullptr ? when_busy::progress : when_busy::queue; }
    /// The peer, its transport chosen and known to be alive; throws otherwise.
    peer_state& reach(peer to);
    void resolve(peer to, peer_state&);
    [[nodiscard]] bool post(peer to, peer_state&, transport::handler_id, std::span<std::byte const> head, std::span<std::byte const> body,
                            when_busy);
    void enqueue(peer to, peer_state&, transport::handler_id, std::span<std::byte const> head, std::span<std::byte const> body);
    bool flush(peer to, peer_state&);
    void flush_queues();
    [[nodiscard]] bool post_stream(peer to, peer_state&, std::span<std::span<std::byte const> const> parts, std::uint64_t total, when_busy);
    /// Small messages of the protocol itself: never wait.
    template <class T>
    void post_control(peer to, wire::kind kind, T const& value)
    {
        peer_state& p = peers[to];
        (void)post(to, p, kind, wire::bytes_of(value), {}, when_busy::queue);
    }
    [[noreturn]] void throw_dead(peer to) const;
    void send(outgoing const&);
    std::atomic<std::uint64_t> next_stream{1};
    std::mutex queued_mutex;
    std::vector<peer> queued_peers;
    std::atomic<std::size_t> queued_messages{0};
    std::atomic<bool> peer_is_away{false};  ///< something of it did not leave while see_off waited, and has not since
    void left_queue(std::size_t messages) noexcept
    {
        if (queued_messages.fetch_sub(messages, std::memory_order_release) == messages)
            peer_is_away.store(false, std::memory_order_relaxed);
    }

    // Sender's side of blocks (outbox.cpp, jobs.cpp).
    outbox pending;
    void finish(outbox::ended&&, bool ok);
    void complete(completion const& c, bool ok);
    void give_back(std::vector<kept_block> const&);
    struct pull_job {
        peer to;
        wire::pull_message what;
    };
    std::deque<pull_job> pulls;
    void serve_pulls();
    [[nodiscard]] bool serve(pull_job&);
    struct help_job {
        peer to;
        wire::help_message what;
        copy_task* task;
        std::byte* destination;
    };
    std::deque<help_job> helps;
    int serve_helps();
    struct push_job {
        peer to;
        wire::push_message what;
        push_window* window;
        std::uint32_t next;  ///< piece
    };
    std::deque<push_job> pushes;
    int serve_pushes();
    [[nodiscard]] bool serve(push_job&);
    [[nodiscard]] bool serve(help_job const&);

    // Receiving (receive.cpp).
    static void on_small(void* context, peer source, std::span<std::byte const> payload);
    static void on_unknown(void* context, peer source, std::span<std::byte const> payload);
    static void on_message(void* context, peer source, std::span<std::byte const> payload);
    static void on_fragment(void* context, peer source, std::span<std::byte const> payload);
    static void on_done(void* context, peer source, std::span<std::byte const> payload);
    static void on_pull(void* context, peer source, std::span<std::byte const> payload);
    static void on_piece(void* context, peer source, std::span<std::byte const> payload);
    static void on_help(void* context, peer source, std::span<std::byte const> payload);
    static void on_helped(void* context, peer source, std::span<std::byte const> payload);
    static void on_push(void* context, peer source, std::span<std::byte const> payload);
    static void on_pushed(void* context, peer source, std::span<std::byte const> payload);
    void handle_message(peer source, std::span<std::byte const> payload);
    static void on_failure(void* context, peer source, std::string_view why);
    /// Says once per message that it was dropped, and why (of very many, less often).
    std::atomic<std::uint64_t> dropped{0};
    void drop(peer source, std::string const& why);
    struct stream {
        std::vector<std::byte> bytes;
        std::uint64_t total = 0;
    };
    std::map<std::pair<peer, std::uint64_t>, stream> streams;

    // Receiver's side of blocks (fetch.cpp).
    std::mutex fetches_mutex;
    base::slot_table<fetching> fetches;
    /// Counts what became of a block that was in reach; once per block.
    static void count_block(impl&, block_state&, bool copied) noexcept;
    void start_pull(message_state&, std::size_t block, void* destination);
    void start_get(message_state&, std::size_t block, void* destination);
    void fetch_ended(message_state&, bool ok);
    static void get_ended(void* context, bool ok);
    void ask_for(fetching&, std::uint64_t bytes);
    void fail_fetches(peer from);

    // Lent plain memory of peers (attachments.cpp).
    /// Looks for the peer's process, once it has told of it: its pid, proven, or peer_state::no_process, or ::unasked.
    std::int32_t find_process(peer);
    /// It will not be read any more; said once.
    void refuse_process(peer, int why);
    /// The process of a peer that lives, to be read by process_vm_readv; 0: it cannot be.
    [[nodiscard]] pid_t readable_process(peer);
    /// The sender: plain memory may be lent to that peer.
    [[nodiscard]] bool may_attach(peer to);
    /// A read failed: notes what will not go away, and says so.
    void cannot_read(message_state const&, block_state const&, std::uint64_t left, int why);
    [[nodiscard]] bool look_attached(message_state const&, block_state&, void* destination);
    void forget_attachments(peer);
    /// Copies the sender's plain memory, whichever way; false: it cannot be read, and its sender has to be asked for the bytes.
    [[nodiscard]] bool read_attached(message_state&, block_state&, void* destination);

    // Blocks that are copied together with their sender (cooperation.cpp).
    std::mutex tasks_mutex;
    base::slot_table<task_slot> tasks;
    std::span<copy_task> unused_tasks;
    /// Null where the arena is full.
    [[nodiscard]] task_slot* claim_task();
    [[nodiscard]] bool may_cooperate(message_state const&, block_state const&, void const* destination) const noexcept;
    /// Copies a block of which `may_cooperate` holds. Null: all is there; else the state (on the heap now) of a fetch that ends later.
    [[nodiscard]] message_state* copy_together(message_state&, std::size_t block, void* destination);
    void end_task(std::uint64_t number);
    /// A task in which the sender has units that it has not copied.
    struct task_wait {
        copy_task const* task;
        std::uint64_t number;
        peer from;
        std::uint32_t senders;
    };
    /// Waits until the sender has copied what it took (true), or has died. Whoever was only lost by its transport may be writing still, and
    /// is waited for.
    [[nodiscard]] bool outlast(task_wait const&);
    /// Ends the fetches that wait for what a sender, or anyone, has under way, once it is out of our memory.
    void end_tasks(std::optional<peer> from = {});

    // Blocks that their sender pushes (pushing.cpp).
    std::mutex windows_mutex;
    base::slot_table<window_slot> windows;
    /// Null where the arena is full.
    [[nodiscard]] window_slot* claim_window();
    /// Bytes of an attached block, from its first on, that its sender brought: all, or as many as came before it went away.
    [[nodiscard]] std::uint64_t receive_pushed(message_state&, std::size_t block, void* destination);

    // For the poller (jobs.cpp).
    struct get_job {
        message_state* state;
        std::size_t block;
        void* destination;
    };
    std::mutex jobs_mutex;
    std::vector<get_job> gets;
    std::vector<peer> suspects;  ///< a transport said: unreachable
    /// The number of portions of work done.
    int run_jobs();
    [[nodiscard]] bool begin_get(get_job const&);
    std::vector<get_context*> gets_under_way;  ///< that a transport has; touched under the token
    void suspect(peer);

    // Deaths (deaths.cpp).
    /// Buries who died since the last look; with `all`, asks for every peer even if the job's counter did not move (who left in good
    /// order answers no more either). Token held.
    void look_for_deaths(bool all = false);
    void bury(peer);
    void (*death_function)(void*, peer) = nullptr;
    void* death_context = nullptr;

    // Background thread (background.cpp).
    void start_background();
    void stop_background() noexcept;
    void watch();
    void take_over();
    void unpark() noexcept;
    std::thread background;
    std::mutex background_mutex;
    std::condition_variable background_changed;
    std::atomic<bool> background_stop{false};
    std::atomic<bool> background_parked{false};

    // The helper thread (onload.cpp): copies blocks, and makes progress when nobody else does.
    struct copy_job {
        message_state* state;
        std::size_t block;
        void* destination;
    };
    void start_onload();
    /// Leaves the copy of a block that is in reach, or attached, to the helper; false: copy it here. The state is on the heap then.
    [[nodiscard]] bool submit_copy(incoming::state*& s, std::size_t block, void* destination);
    /// Ends of copies; token held. How many.
    int poll_copies();
    void copy_ended(onload::completion const&);
    /// Bytes that the calling thread has copied, if it is the helper.
    void count_if_onloaded(std::uint64_t bytes) noexcept
    {
        if (helper != nullptr && helper->on_helper())
            counts.add(job::counter::bytes_onloaded, bytes);
    }
    [[nodiscard]] std::chrono::nanoseconds idle_helper();
    [[nodiscard]] std::chrono::nanoseconds poll_attentively(onload::helper_engine&);
    std::unique_ptr<onload::copy_engine> copier;   ///< null: no on-loading
    onload::helper_engine* helper = nullptr;       ///< the same
    std::atomic<onload::helper_engine*> helper_started{nullptr};  ///< the same, for its own thread
    std::atomic<std::uint64_t> attended{0};        ///< large transfers so far
    /// Touched by the helper only.
    struct helper_view {
        std::uint64_t attended = 0;
        std::uint64_t polls = 0;
        std::int64_t attentive_until = 0;
        std::int64_t next_look = 0;
        std::chrono::nanoseconds nap = thresholds::watch_first;
    } helper_sees;

    // Forks (living.cpp), and the end (engine.cpp).
    [[nodiscard]] bool in_child() const noexcept;
    void close() noexcept;
    /// Takes the transports down and ends what only they could have ended. Closed before; not in a child.
    void end();
};

/// The polling token as a wait of this thread holds it. A condition that sends, polls or waits itself must not wait for its own thread.
struct wait_hold {
    engine::impl& owner;
    wait_hold* outer;
    bool token = false;

    explicit wait_hold(engine::impl& e) noexcept;
    ~wait_hold();
    wait_hold(wait_hold const&) = delete;
    wait_hold& operator=(wait_hold const&) = delete;
    void let_go() noexcept
    {
        if (std::exchange(token, false))
            owner.release_token();
    }
    /// The calling thread is in a wait of this engine.
    [[nodiscard]] static bool inside(engine::impl const&) noexcept;
    /// Lets go what an outer wait of this thread holds of this engine's token; it will take it again.
    static void let_go_outer(engine::impl&) noexcept;
};

/// Marks the calling thread as inside a handler of an engine for a scope.
class handler_scope {
public:
    explicit handler_scope(engine::impl* e) noexcept : before_(running_handlers) { running_handlers = e; }
    ~handler_scope() { running_handlers = before_; }
    handler_scope(handler_scope const&) = delete;
    handler_scope& operator=(handler_scope const&) = delete;

private:
    engine::impl* before_;
};

} // namespace towline::engine
