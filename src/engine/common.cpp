// What every part of an engine uses: choosing a peer's transport, refusing calls after the end, logging dropped messages.

#include "engine/common.hpp"

#include "base/log.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <unistd.h>

namespace towline::engine {

constinit thread_local common const* running_handlers [[gnu::tls_model("initial-exec")]] = nullptr;

common::common(engine& self, setup&& s)
    : face(self), config(std::move(s)), owner_pid(::getpid()), peers(config.size), ways_told(config.size)
{
    if (config.size == 0 || config.rank >= config.size)
        throw usage_error(fmt::format("engine: rank {} is outside a world of {}", config.rank, config.size));
    counts.attach(config.counters, config.active_ns, config.one_thread);
}

bool common::in_child() const noexcept
{
    return ::getpid() != owner_pid;
}

void* common::writable(peer whose, std::uint64_t where, std::size_t size) const
{
    auto const a = heap::unpack(where);
    if (!config.shared_arena && a.arena != whose)
        throw usage_error("an arena that is not its own");
    return heap::attach(a, size);
}

void common::require_open() const
{
    if (!closed.load(std::memory_order_acquire)) [[likely]]
        return;
    if (in_child())
        throw usage_error("this process was forked from a member of the job and is not part of it: only the parent may communicate");
    throw usage_error("the engine of this process has ended: nothing can be sent or waited for any more");
}

void common::throw_dead(peer to) const
{
    throw peer_error(fmt::format("rank {} ended: nothing can be sent to it", to), static_cast<int>(to));
}

void common::resolve(peer to, peer_state& p)
{
    std::lock_guard lock(resolving_);
    if ((p.flags.load(std::memory_order_relaxed) & peer_state::open) != 0)
        return;
    require_open();
    std::string reasons;
    for (auto const& t : config.transports) {
        std::string const why = t->why_not(to);
        if (why.empty()) {
            auto const& caps = t->caps();
            p.via = t.get();
            p.maps = caps.can_map;
            p.gets = caps.can_get;
            p.max_inline = static_cast<std::uint8_t>(std::min<std::size_t>(caps.max_inline, 255));
            p.max_eager = static_cast<std::uint32_t>(std::min<std::size_t>(t->max_eager_to(to), std::size_t{1} << 30));
            // Release: a thread that finds the bit set sees the transport. Sequential with close_peers: it sees this bit, or this sees it.
            p.flags.fetch_or(peer_state::open, std::memory_order_seq_cst);
            if (closed.load(std::memory_order_seq_cst))
                p.flags.fetch_or(peer_state::closed, std::memory_order_release);
            base::log(base::log_level::debug, "rank {} is reached by {}: messages of {} bytes, big blocks are {}{}", to, t->name(),
                      p.max_eager, p.maps ? "read where they are" : p.gets ? "fetched" : "sent in pieces",
                      reasons.empty() ? reasons : "; not by" + reasons.substr(1));
            return;
        }
        reasons += fmt::format("; {}: {}", t->name(), why);
    }
    throw peer_error(fmt::format("no transport reaches rank {}{}", to, reasons.empty() ? "; there are none" : reasons),
                     static_cast<int>(to));
}

peer_state& common::reach(peer to)
{
    if (to >= config.size)
        throw usage_error(fmt::format("there is no rank {} in a world of {}", to, config.size));
    peer_state& p = peers[to];
    std::uint32_t flags = p.flags.load(std::memory_order_acquire);
    if (flags == peer_state::open) [[likely]]
        return p;
    if ((flags & peer_state::closed) != 0)
        require_open();
    if ((flags & peer_state::open) == 0)
        resolve(to, p);
    if ((flags & peer_state::dead) != 0)
        throw_dead(to);
    return p;
}

void common::close_peers() noexcept
{
    closed.store(true, std::memory_order_seq_cst);
    // The others are refused when a transport would be chosen.
    for (peer p = 0; p < config.size; ++p)
        if (peers[p].flags.load(std::memory_order_seq_cst) != 0)
            peers[p].flags.fetch_or(peer_state::closed, std::memory_order_release);
}

void common::drop(peer source, std::string const& why)
{
    // A flood of nonsense must not become a flood of lines.
    std::uint64_t const n = dropped_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (n <= 100)
        base::log(base::log_level::warning, "rank {} dropped a message from rank {}: {}", config.rank, source, why);
    else if (std::has_single_bit(n))
        base::log(base::log_level::warning, "rank {} dropped {} messages so far, the last from rank {}: {}", config.rank, n, source, why);
}

} // namespace towline::engine
