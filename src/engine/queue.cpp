// Getting encoded messages to a peer in order: straight into the transport, or behind what already waits for room.

#include "engine/impl.hpp"

#include "base/idle.hpp"
#include "base/log.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <sched.h>
#include <time.h>

namespace towline::engine {

void engine::impl::throw_dead(peer to) const
{
    throw peer_error(fmt::format("rank {} ended: nothing can be sent to it", to), static_cast<int>(to));
}

void engine::impl::resolve(peer to, peer_state& p)
{
    std::lock_guard lock(p.mutex);
    if ((p.flags.load(std::memory_order_relaxed) & peer_state::unresolved) == 0)
        return;
    std::string reasons;
    for (auto const& t : config.transports) {
        std::string const why = t->why_not(to);
        if (why.empty()) {
            auto const& caps = t->caps();
            p.via = t.get();
            p.maps = caps.can_map;
            p.gets = caps.can_get;
            p.max_inline = static_cast<std::uint32_t>(std::min<std::size_t>(caps.max_inline, 255));
            p.max_eager = static_cast<std::uint32_t>(std::min<std::size_t>(caps.max_eager, std::size_t{1} << 30));
            // Whoever sees the bit gone sees the transport.
            p.flags.fetch_and(~peer_state::unresolved, std::memory_order_release);
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

peer_state& engine::impl::reach(peer to)
{
    if (to >= config.size)
        throw usage_error(fmt::format("there is no rank {} in a world of {}", to, config.size));
    peer_state& p = peers[to];
    std::uint32_t flags = p.flags.load(std::memory_order_acquire);
    if (flags == 0) [[likely]]
        return p;
    if ((flags & peer_state::closed) != 0)
        require_open();
    if ((flags & peer_state::unresolved) != 0)
        resolve(to, p);
    if ((flags & peer_state::dead) != 0)
        throw_dead(to);
    return p;
}

namespace {

/// A thread that waits for room at a peer: yields first, then naps, so that it costs little while the peer computes.
class room_waiter {
public:
    void pause(bool has_core)
    {
        ++rounds_;
        if (rounds_ < (has_core ? thresholds::spins : thresholds::spins_shared) / thresholds::room_spin_fraction)
            base::cpu_relax();
        else if (rounds_ < thresholds::room_rounds)
            ::sched_yield();
        else {
            timespec const nap{0, thresholds::room_nap.count()};
            ::nanosleep(&nap, nullptr);
        }
    }
    [[nodiscard]] bool long_since() const noexcept { return rounds_ > thresholds::room_rounds_untold; }
    void reset() noexcept { rounds_ = 0; }

private:
    std::uint32_t rounds_ = 0;
};

} // namespace

bool engine::impl::post(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head,
                        std::span<std::byte const> body, when_busy manner)
{
    room_waiter room;
    bool announced = false;
    struct unannounce {
        impl& m;
        bool& announced;
        ~unannounce()
        {
            if (announced)
                m.set_waiting_for(nullptr);
        }
    } const end{*this, announced};
    for (;;) {
        std::uint32_t const flags = p.flags.load(std::memory_order_acquire);
        if ((flags & (peer_state::dead | peer_state::closed)) != 0) [[unlikely]]
            return false;
        if ((flags & peer_state::unresolved) != 0) [[unlikely]] {
            // The first word to a peer may be the engine's own, in answer to one who has died since: then nobody is to be told.
            try {
                resolve(to, p);
            } catch (peer_error const&) {
                return false;
            }
        }
        if ((flags & peer_state::queued) == 0) [[likely]] {
            switch (p.via->try_send(to, kind, head, body)) {
            case transport::send_status::sent: return true;
            case transport::send_status::unreachable: suspect(to); return false;
            case transport::send_status::busy: break;
            }
            if (manner == when_busy::queue) {
                enqueue(to, p, kind, head, body);
                return true;
            }
        } else {
            std::unique_lock lock(p.mutex);
            // Behind what waits; if that is gone by now, try again.
            if (p.queue.empty())
                continue;
            if (manner == when_busy::queue || p.queue_bytes < thresholds::queue_bound) {
                lock.unlock();
                enqueue(to, p, kind, head, body);
                return true;
            }
        }
        if (face.progress(thresholds::poll_budget) > 0) {
            room.reset();
            continue;
        }
        room.pause(has_core());
        if (room.long_since()) {
            if (deaths_moved() && acquire_token()) {
                look_for_deaths();
                release_token();
            }
            if (!announced) {
                announced = true;
                set_waiting_for(fmt::format("room to send to rank {}", to).c_str());
            }
        }
    }
}

void engine::impl::enqueue(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head,
                           std::span<std::byte const> body)
{
    peer_state::waiting_message m{kind, std::vector<std::byte>(head.size() + body.size())};
    if (!head.empty())
        std::memcpy(m.payload.data(), head.data(), head.size());
    if (!body.empty())
        std::memcpy(m.payload.data() + head.size(), body.data(), body.size());
    bool first = false;
    {
        std::lock_guard lock(p.mutex);
        if ((p.flags.load(std::memory_order_relaxed) & peer_state::dead) != 0)
            return;
        p.queue_bytes += m.payload.size() + sizeof m;
        p.queue.push_back(std::move(m));
        first = (p.flags.load(std::memory_order_relaxed) & peer_state::queued) == 0;
        // A later send of this thread, or of one that learnt of this send, sees the flag and goes behind.
        p.flags.fetch_or(peer_state::queued, std::memory_order_release);
        queued_messages.fetch_add(1, std::memory_order_relaxed);
    }
    counts.add(job::counter::messages_queued, 1);
    if (first) {
        {
            std::lock_guard lock(queued_mutex);
            queued_peers.push_back(to);
        }
        work.fetch_add(1, std::memory_order_release);
        if (running_handlers != this)
            wake();  // whoever sleeps should nap instead
    }
}

bool engine::impl::flush(peer to, peer_state& p)
{
    std::unique_lock lock(p.mutex);
    while (!p.queue.empty()) {
        auto& m = p.queue.front();
        auto const status = p.via->try_send(to, m.kind, m.payload, {});
        if (status == transport::send_status::busy)
            return false;
        if (status == transport::send_status::unreachable) {
            lock.unlock();
            suspect(to);
            return true;
        }
        p.queue_bytes -= m.payload.size() + sizeof m;
        p.queue.pop_front();
        left_queue(1);
    }
    p.flags.fetch_and(~peer_state::queued, std::memory_order_release);
    return true;
}

void engine::impl::flush_queues()
{
    std::vector<peer> waiting;
    {
        std::lock_guard lock(queued_mutex);
        waiting.swap(queued_peers);
    }
    std::vector<peer> still;
    for (peer const to : waiting) {
        if (flush(to, peers[to]))
            work.fetch_sub(1, std::memory_order_relaxed);
        else
            still.push_back(to);
    }
    if (!still.empty()) {
        std::lock_guard lock(queued_mutex);
        queued_peers.insert(queued_peers.end(), still.begin(), still.end());
    }
}

bool engine::impl::post_stream(peer to, peer_state& p, std::span<std::span<std::byte const> const> parts, std::uint64_t total,
                               when_busy manner)
{
    // The parts are one sequence of bytes: long ones go from where they are, short ones are put together.
    counts.add(job::counter::messages_cut, 1);
    wire::fragment_header header{next_stream.fetch_add(1, std::memory_order_relaxed), total, 0};
    std::size_t const room = (p.max_eager - sizeof header) & ~std::size_t{7};
    std::vector<std::byte> together;
    auto const out = [&](std::span<std::byte const> bytes) {
        bool const taken = post(to, p, wire::fragment, wire::bytes_of(header), bytes, manner);
        header.offset += bytes.size();
        return taken;
    };
    for (auto part : parts) {
        while (!part.empty()) {
            std::size_t const n = std::min(room - together.size(), part.size());
            if (n == room) {
                if (!out(part.first(n)))
                    return false;
            } else {
                together.insert(together.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n));
                if (together.size() == room) {
                    if (!out(together))
                        return false;
                    together.clear();
                }
            }
            part = part.subspan(n);
        }
    }
    return together.empty() || out(together);
}

} // namespace towline::engine
