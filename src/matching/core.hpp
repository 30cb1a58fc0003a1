#pragma once
// The matcher's inside. Everything here is guarded by `lock` unless said; nothing of the engine that could poll, and no function of the
// owner's, is called while it is held.

#include "base/coldness.hpp"
#include "base/slot_table.hpp"
#include "heap/heap.hpp"
#include "layout/stream.hpp"
#include "matching/laid.hpp"
#include "matching/lock.hpp"
#include "matching/matcher.hpp"
#include "matching/queues.hpp"
#include "matching/relay.hpp"
#include "matching/wire.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace towline::matching {

/// A message that came before its receive.
struct unexpected_message {
    envelope letter;
    peer from = 0;
    std::array<chain_link<unexpected_message>, 4> links;
    std::uint64_t bytes = 0;
    std::uint64_t captured = 0;             ///< of them, what takes memory here
    std::uint64_t token = 0;                ///< the sender asks to be told when it is matched
    std::uint64_t number = 0;               ///< by which the sender may withdraw it; 0: it may not
    bool laid = false;                      ///< the bytes are apart in the sender's heap; `large` has the header that says where
    std::uint64_t where = 0;                ///< the bytes are in the sender's heap, who waits until they are not needed there; else
    relayed relay;                          ///< they are, or come, in a relay block, if it has a number; else
    std::optional<engine::incoming> lent;   ///< they come this way; else they are here:
    std::unique_ptr<std::byte[]> large;
    static constexpr std::size_t small_bytes = 64;
    alignas(16) std::byte small[small_bytes];

    [[nodiscard]] std::byte const* data() const noexcept { return large ? large.get() : small; }
};

/// A send that has not ended when it began.
struct sending_slot {
    core* owner = nullptr;
    request* target = nullptr;  ///< null: nobody is told
    peer to = 0;
    std::uint8_t ends = 0;      ///< what is still to come of *sent*, *matched* and *withdrawn*
    bool wants_match = false;
    bool wants_back = false;    ///< was cancelled, and the receiver has not answered
    bool withdrawn = false;
    bool failed = false;
    std::uint64_t bytes = 0;
};

/// A matched message whose bytes are on their way.
struct landing {
    core* owner = nullptr;
    request* target = nullptr;  ///< null: nobody is told
    chain_link<landing> link;
    peer from = 0;
    envelope letter;
    std::uint64_t bytes = 0;
    std::unique_ptr<std::byte[]> temporary;  ///< until it is unpacked

    struct links {
        [[nodiscard]] static chain_link<landing>& of(landing& l) noexcept { return l.link; }
    };
};

struct core {
    core(engine::engine&, options const&);
    ~core();

    engine::engine& engine_;
    options const config;
    peer const size;
    engine::handler_id first_handler = 0;
    queue_lock mutable lock;

    posted_queue<request, posted_access> posted;
    unexpected_queue<unexpected_message> unexpected;
    std::uint64_t unexpected_bytes = 0;
    std::atomic<std::size_t> early{0};          ///< read without the lock: unexpected messages now
    std::atomic<std::uint64_t> arrivals{0};     ///< read without the lock: unexpected messages and deaths so far
    std::atomic<std::uint64_t> completions{0};  ///< no lock
    std::atomic<std::uint64_t> ready_errors{0}; ///< no lock

    struct guard {
        core const& c;
        explicit guard(core const& owner) noexcept : c(owner) { c.lock.lock(); }
        ~guard() { c.lock.unlock(); }
        guard(guard const&) = delete;
        guard& operator=(guard const&) = delete;
    };

    // Ends (matcher.cpp). No lock held.
    static void begin(request& r, operation what)
    {
        if (!r.done()) [[unlikely]]
            throw_under_way();
        r.what_ = what;
        r.behind_ = nullptr;
    }
    [[noreturn, gnu::cold]] static void throw_under_way();
    /// The result is written; tells the owner. The request may be gone afterwards.
    void finish(request&) noexcept;
    /// The request ended within its start: nobody can wait for it yet.
    [[gnu::always_inline]] void finish_at_once(request& r) noexcept
    {
        r.place_ = next_place();
        count_end();
        r.state_.store(request::state::ended, std::memory_order_release);
        if (r.then != nullptr)
            r.then(r);
    }
    /// Whoever is to end the request finds nobody there. It is idle afterwards.
    void abandon(request&) noexcept;
    void recycle(request&) noexcept;
    void count_end() noexcept
    {
        if (config.threaded)
            completions.fetch_add(1, std::memory_order_release);
        else
            completions.store(completions.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    /// What ends next comes after all that `count_end` has counted.
    [[nodiscard]] std::uint64_t next_place() const noexcept { return completions.load(std::memory_order_relaxed) + 1; }

    // Sending (send.cpp).
    /// Waits for room at the peer.
    void send_eager(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode);
    /// Does not; false: there is none.
    [[nodiscard]] bool try_send_eager(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode);
    /// Only what fits a few lines, and where nothing is in its way.
    [[nodiscard]] bool try_send_tiny(peer to, packed_envelope const&, void const* data, std::uint64_t bytes, send_mode);
    [[nodiscard]] bool is_eager(void const* data, std::uint64_t bytes) const noexcept
    {
        return bytes <= config.eager || (bytes <= config.eager_outside && !heap::reaches(data));
    }
    /// What lies in our heap, where the receiver reaches it, is told of in one small message and copied there, where that needs no second
    /// thread. The word for it; 0: not so.
    [[nodiscard]] std::uint64_t shown(peer to, void const* data, std::uint64_t bytes) const noexcept
    {
        return bytes >= engine_.sizes().map_lent && bytes < behind_shown() && to != engine_.rank() ? engine_.share(to, data, bytes) : 0;
    }
    [[nodiscard]] std::uint64_t behind_shown() const noexcept
    {
        return std::min<std::uint64_t>(engine_.sizes().cooperate, engine::thresholds::onload_least);
    }
    [[nodiscard]] bool at_once(peer to, void const* data, std::uint64_t bytes, send_mode mode) const noexcept
    {
        return to < size && is_eager(data, bytes) && mode != send_mode::synchronous &&
               held_back[to].load(std::memory_order_relaxed) == 0;
    }
    void send_waiting(request&, peer to, envelope const&, void const* data, std::uint64_t bytes, send_mode);
    static void check(packed_envelope e, void const* data, std::uint64_t bytes)
    {
        if (static_cast<std::int64_t>(e.context_and_source) < 0 || e.tag < 0 || (data == nullptr && bytes != 0)) [[unlikely]]
            throw_bad_send(e.unpacked(), bytes);
    }
    [[noreturn, gnu::cold]] static void throw_bad_send(envelope const&, std::uint64_t bytes);
    [[nodiscard]] sending_slot& open_slot(request&, peer to, std::uint64_t bytes, std::uint8_t ends, bool wants_match,
                                          std::uint64_t& token);
    /// One of its ends has come. Lock held; the request to finish, or null.
    [[nodiscard]] request* end_one(sending_slot&, bool ok) noexcept;
    static void on_sent(void* slot, bool ok);
    base::slot_table<sending_slot> slots;
    std::atomic<std::size_t> slots_in_use{0};  ///< changed under the lock
    std::unique_ptr<std::atomic<std::uint8_t>[]> held_back;  ///< by peer: it told us to hold back. No lock
    std::unique_ptr<std::uint32_t[]> throttle_seen;          ///< by peer; touched by handlers only

    // Relayed messages (relay.cpp).
    [[nodiscard]] static bool may_relay(std::uint64_t bytes, send_mode mode, std::uint64_t most = relay_block::most) noexcept
    {
        return bytes >= relay_block::least && bytes <= most && mode == send_mode::standard;
    }
    /// Sends the message so, if that is its way now. The send has ended then. False: nothing happened.
    [[nodiscard]] bool relay(peer to, packed_envelope, void const* data, std::uint64_t bytes) noexcept;
    /// The same of data that do not lie in a row. `may_be_read`: the receiver can copy them from where they are.
    [[nodiscard]] bool relay_laid(peer to, packed_envelope, laid_source const&, bool may_be_read) noexcept;
    [[nodiscard]] relay_path* path_to(peer) noexcept;
    /// The path, which is busy from now on; null: it is already, or nothing is relayed to that peer now.
    [[nodiscard]] relay_path* take_path(peer) noexcept;
    [[nodiscard]] send_way way_of(relay_path&, peer to, void const* data, std::uint64_t bytes) noexcept;
    [[nodiscard]] send_way way_of_laid(relay_path&, laid_source const&, layout::stream const&, bool may_be_read) noexcept;
    [[nodiscard]] bool has_room(relay_path::place&, peer to, std::uint64_t bytes) noexcept;
    /// put(to, at, n) copies bytes [at, at + n) of the message. `past`: with stores past the caches.
    template <class Put>
    [[nodiscard]] bool pass_on(relay_path&, peer to, packed_envelope, std::uint64_t bytes, bool past, Put const& put) noexcept;
    void forget_paths() noexcept;
    std::unique_ptr<std::atomic<relay_path*>[]> paths;  ///< by peer; null: none so far. No lock
    std::atomic<std::uint64_t> relay_bytes{0};          ///< of all blocks. No lock
    base::recent_blocks sent{std::uint64_t{256} << 20}; ///< what was sent lately, and what was in it. No lock
    /// Copies a relayed message out. Waits, if need be, for a sender that is in the middle of copying it in.
    void take_relayed(sink const&, envelope const&, peer from, relayed const&, status&) noexcept;
    /// Nobody wants it.
    void drop_relayed(relayed const&) noexcept;
    [[nodiscard]] bool read_relayed(peer from, std::span<std::byte const> head, envelope&, relayed&) const noexcept;
    static void on_relayed(void*, engine::engine&, engine::incoming&);

    // Arriving (arrive.cpp). Handlers.
    /// The envelope of what came for the handler of eager messages; false: it is none.
    [[nodiscard]] bool read_eager(peer from, std::span<std::byte const> head, envelope&) const noexcept;
    /// The same of what is told to lie in the sender's heap.
    [[nodiscard]] bool read_here(peer from, std::span<std::byte const> head, wire::here_header&) const noexcept;
    [[nodiscard]] bool read_laid(peer from, std::span<std::byte const> head, wire::laid_header&) const noexcept;
    /// The posted receive for a message whose bytes lie elsewhere. Null: it came early, and was added; keep(message) notes where they are.
    template <class Keep>
    [[nodiscard]] request* match_or_add(peer from, envelope const& e, std::uint64_t bytes, std::uint64_t token, Keep&& keep)
    {
        bool tell = false;
        {
            guard const g(*this);
            if (request* const r = posted.match(e)) {
                r->posted_ = false;
                return r;
            }
            keep(add_unexpected(from, e, bytes, 0, token));
            tell = unbalanced(from);
        }
        if (tell)
            regulate(from);
        return nullptr;
    }
    static void on_eager(void*, engine::engine&, engine::incoming&);
    static void on_ready(void*, engine::engine&, engine::incoming&);
    static void on_synchronous(void*, engine::engine&, engine::incoming&);
    static void on_lent(void*, engine::engine&, engine::incoming&);
    static void on_here(void*, engine::engine&, engine::incoming&);
    static void on_laid(void*, engine::engine&, engine::incoming&);
    static void on_matched(void*, engine::engine&, engine::incoming&);
    static void on_throttle(void*, engine::engine&, engine::incoming&);
    // Cancelled sends (cancel.cpp).
    static void on_withdraw(void*, engine::engine&, engine::incoming&);
    static void on_withdrawn(void*, engine::engine&, engine::incoming&);
    void ask_back(request&);
    void arrive(peer from, envelope const&, std::span<std::byte const> bytes, std::uint64_t token, bool is_ready);
    void arrive_lent(engine::incoming&, envelope const&, std::uint64_t number, std::uint32_t flags);
    void note_ready_error(peer from, envelope const&);
    void drop(peer from, std::string_view why);
    std::uint64_t dropped = 0;  ///< touched by handlers only

    // Unexpected messages (unexpected.cpp).
    /// Lock held. `captured`: how many of the bytes will be kept here.
    [[nodiscard]] unexpected_message& add_unexpected(peer from, envelope const&, std::uint64_t bytes, std::uint64_t captured,
                                                     std::uint64_t token);
    /// Lock held. Out of the queue and of the account; the node is the caller's. True: regulate then.
    bool take_unexpected(unexpected_message&) noexcept;
    /// Lock held. The sender should be told something.
    [[nodiscard]] bool unbalanced(peer from) const noexcept
    {
        account const& a = accounts[from];
        return a.held ? a.bytes <= config.unexpected / 2 : a.bytes > config.unexpected;
    }
    /// Tells the sender to hold back or to go on, if the account still calls for it. No lock held.
    void regulate(peer from) noexcept;
    void give_back(unexpected_message&) noexcept;
    /// The same, and a synchronous sender is told that it is done.
    void discard(unexpected_message&) noexcept;
    struct account {
        std::uint64_t bytes = 0;
        std::uint32_t number = 0;
        bool held = false;
    };
    std::unique_ptr<account[]> accounts;  ///< by sender
    static constexpr std::uint64_t note_cost = 128;
    std::uint64_t throttled = 0;
    unexpected_message* free_nodes = nullptr;
    std::size_t free_node_count = 0;

    // Receiving (receive.cpp). No lock held.
    /// A blocking receive takes its message from where it arrived, if that comes within a moment and nothing stands before it.
    [[nodiscard]] bool receive_next(pattern const&, peer from, sink const&, status&);
    static void place(sink const&, envelope const&, std::span<std::byte const> bytes, status&) noexcept;
    /// The same from the sender's heap. It is to be acknowledged then.
    void bring(sink const&, envelope const&, peer from, std::uint64_t where, std::uint64_t bytes, status&) noexcept;
    /// The same from where they lie apart.
    void bring_laid(sink const&, peer from, wire::laid_header const&, status&) noexcept;
    void deliver(request&, envelope const&, std::span<std::byte const> bytes) noexcept;
    void deliver_lent(request&, peer from, envelope const&, engine::incoming& message) noexcept;
    void deliver_unexpected(request&, unexpected_message&) noexcept;
    static void on_landed(void* landing, bool ok, engine::incoming& message);
    void acknowledge(peer to, std::uint64_t token) noexcept;
    void control(peer to, wire::kind, std::span<std::byte const>) noexcept;
    [[nodiscard]] std::optional<status> peek(pattern const&) const noexcept;
    /// Out of the queue; its sender is told to go on if it held back.
    [[nodiscard]] unexpected_message* take(pattern const&) noexcept;
    /// Blocks until `look()` is true, which is called when a message or a death has come.
    template <class Look>
    void await_arrival(Look&& look, pattern const&, peer from, char const* call);
    chain<landing, landing::links> landings;

    // Deaths (contexts.cpp).
    struct membership {
        bool (*is_member)(void*, peer) = nullptr;
        void* members = nullptr;
    };
    std::unordered_map<context_id, membership> members;
    std::vector<peer> dead;
    /// Lock held. Whether a receive must wait in vain.
    [[nodiscard]] bool hopeless(pattern const&, peer from) const noexcept;
    void peer_died(peer);

    std::deque<request> pool;
    request* free_requests = nullptr;
};

[[nodiscard]] inline status status_of(unexpected_message const& m) noexcept
{
    return {m.letter.source, m.letter.tag, m.bytes, outcome::ok, false};
}

} // namespace towline::matching
