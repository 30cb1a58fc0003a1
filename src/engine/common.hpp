#pragma once
// What every part of an engine uses: setup, peers, counters, and the count of work by which a part asks the next poll to look at it.
//
// engine::impl owns it and the parts; each part has a reference to it and to the few other parts that it needs. Any thread, unless said.

#include "base/sparse_array.hpp"
#include "engine/accounting.hpp"
#include "engine/engine.hpp"
#include "engine/peer_state.hpp"
#include "engine/telling.hpp"
#include "engine/wire.hpp"
#include "onload/helper_engine.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace towline::engine {

struct common;

/// The engine whose handlers or completions the calling thread is in.
extern constinit thread_local common const* running_handlers [[gnu::tls_model("initial-exec")]];

/// Marks the calling thread as inside a handler or completion of an engine, for a scope.
class handler_scope {
public:
    explicit handler_scope(common const& c) noexcept : before_(running_handlers) { running_handlers = &c; }
    ~handler_scope() { running_handlers = before_; }
    handler_scope(handler_scope const&) = delete;
    handler_scope& operator=(handler_scope const&) = delete;

private:
    common const* before_;
};

/// The mutex of a part, or nothing where one thread at a time calls (setup::one_thread). A locked instruction costs more than its own time:
/// it waits until all earlier stores have left for the cache, those to lines that a peer has, too.
class part_mutex {
public:
    explicit part_mutex(common const&) noexcept;
    void lock()
    {
        if (!alone_)
            mutex_.lock();
    }
    void unlock() noexcept
    {
        if (!alone_)
            mutex_.unlock();
    }

private:
    std::mutex mutex_;
    bool const alone_;
};

struct common {
    common(engine& self, setup&& s);
    virtual ~common() = default;  // here, so that heirs begin where this begins
    common(common const&) = delete;
    common& operator=(common const&) = delete;

    engine& face;
    setup config;
    long const owner_pid;
    base::sparse_array<peer_state> peers;
    ledger counts;
    told_ways const ways_told;

    /// Portions of work that parts have for the poller. While it is not 0, each poll looks at them.
    alignas(64) std::atomic<std::uint32_t> work{0};
    std::atomic<bool> closed{false};
    std::atomic<std::size_t> queued_messages{0};  ///< for want of room at a peer (sender)
    std::atomic<bool> peer_is_away{false};        ///< flush_before_return gave up on what is queued, and the queues were not empty since
    onload::copy_engine* copier = nullptr;        ///< null: no on-loading (onloading)
    onload::helper_engine* helper = nullptr;      ///< the same

    // Peers.

    /// The peer, with a transport chosen and known to be alive. Throws otherwise.
    peer_state& reach(peer to);
    /// Chooses the first transport that reaches the peer. Throws peer_error if there is none.
    void resolve(peer to, peer_state&);
    /// From now on the fast path to every peer is closed.
    void close_peers() noexcept;
    [[noreturn]] void throw_dead(peer to) const;
    [[nodiscard]] bool is_dead(peer p, std::memory_order order = std::memory_order_relaxed) const noexcept
    {
        return (peers[p].flags.load(order) & peer_state::dead) != 0;
    }
    /// Nothing is to be done for the peer any more.
    [[nodiscard]] bool is_dead_or_closed(peer p) const noexcept
    {
        return (peers[p].flags.load(std::memory_order_relaxed) & (peer_state::dead | peer_state::closed)) != 0;
    }
    /// Its process has ended, so that it writes nothing any more. Asked now, not as told.
    [[nodiscard]] bool has_died(peer p) const noexcept { return config.is_dead != nullptr && config.is_dead(config.context, p); }
    /// Waits until the sender has copied so many units of a task that it took (cooperation.cpp). False: it has died before. One that was
    /// only lost by its transport may still be writing, and is waited for.
    [[nodiscard]] bool outlast(copy_task const&, std::uint32_t units, peer from) const;
    /// Memory of the peer's that it wants written. Throws usage_error where it lies in another arena than the peer's own, and what
    /// heap::attach throws.
    [[nodiscard]] void* writable(peer whose, std::uint64_t where, std::size_t size) const;
    /// Throws usage_error where the engine was closed, or this is a forked child.
    void require_open() const;
    [[nodiscard]] bool in_child() const noexcept;

    // The poller.

    [[nodiscard]] bool in_handler() const noexcept { return running_handlers == this; }
    /// Wakes this engine's sleepers.
    void wake() noexcept
    {
        if (config.event != nullptr)
            config.event->notify(config.fences);
    }
    /// After a part stored one more portion of work. Release: the poller that sees the count finds it. A poller inside this engine looks
    /// anyway; otherwise one that sleeps is woken.
    void add_work() noexcept
    {
        work.fetch_add(1, std::memory_order_release);
        if (!in_handler())
            wake();
    }
    void work_done() noexcept { work.fetch_sub(1, std::memory_order_relaxed); }

    // Accounts.

    /// Logs that a message was dropped, and why; of very many, less often.
    void drop(peer source, std::string const& why);
    /// Bytes that the calling thread has copied, if it is the helper.
    void count_if_onloaded(std::uint64_t bytes) noexcept
    {
        if (helper != nullptr && helper->on_helper())
            counts.add(job::counter::bytes_onloaded, bytes);
    }
    void tell_arrival(peer from, arrival way, std::uint64_t bytes) const
    {
        if (config.ways != nullptr && static_cast<std::size_t>(way) < job::block_ways.size())
            config.ways->arrived(static_cast<std::size_t>(way), bytes, !config.one_thread);
        if (ways_told) [[unlikely]]
            ways_told.arrives(from, way, bytes);
    }

private:
    std::mutex resolving_;  ///< held while a transport is chosen
    std::atomic<std::uint64_t> dropped_{0};
};

inline part_mutex::part_mutex(common const& c) noexcept : alone_(c.config.one_thread) {}

/// Makes a member function of a part the transport's handler for one kind of message.
template <auto Function, class Part>
void handle(transport::component& t, wire::kind kind, Part& part)
{
    t.set_handler(
        kind, [](void* p, peer source, std::span<std::byte const> payload) { (static_cast<Part*>(p)->*Function)(source, payload); }, &part);
}

} // namespace towline::engine
