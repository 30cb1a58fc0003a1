// Brings encoded messages to a peer in order: straight into the transport, or behind what already waits for room.

#include "engine/sender.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cstring>

namespace towline::engine {

sender::outcome sender::try_post(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head,
                                 std::span<std::byte const> body, when_busy manner)
{
    for (;;) {
        std::uint32_t const flags = p.flags.load(std::memory_order_acquire);
        if ((flags & (peer_state::dead | peer_state::closed)) != 0) [[unlikely]]
            return outcome::gone;
        if ((flags & peer_state::unresolved) != 0) [[unlikely]] {
            // The first message to a peer may be the protocol's own answer to one that has died since: no error then.
            try {
                common_.resolve(to, p);
            } catch (peer_error const&) {
                return outcome::gone;
            }
        }
        if ((flags & peer_state::queued) == 0) [[likely]] {
            switch (p.via->try_send(to, kind, head, body)) {
            case transport::send_status::sent: return outcome::taken;
            case transport::send_status::unreachable: suspect(to); return outcome::gone;
            case transport::send_status::busy:
            case transport::send_status::lent: break;  // try_send lends nothing
            }
            if (manner == when_busy::progress)
                return outcome::busy;
        } else {
            std::lock_guard lock(p.mutex);
            // Behind what waits; if that is gone by now, try again.
            if (p.queue.empty())
                continue;
            if (manner == when_busy::progress && p.queue_bytes >= thresholds::queue_bound)
                return outcome::busy;
        }
        enqueue(to, p, kind, head, body);
        return outcome::taken;
    }
}

void sender::enqueue(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head, std::span<std::byte const> body)
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
        common_.queued_messages.fetch_add(1, std::memory_order_relaxed);
    }
    common_.counts.add(job::counter::messages_queued, 1);
    if (first) {
        {
            std::lock_guard lock(mutex_);
            queued_peers_.push_back(to);
        }
        common_.add_work();  // a thread that sleeps naps from now on
    }
}

void sender::left_queue(std::size_t messages) noexcept
{
    if (common_.queued_messages.fetch_sub(messages, std::memory_order_release) == messages)
        common_.peer_is_away.store(false, std::memory_order_relaxed);
}

bool sender::flush(peer to, peer_state& p)
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

void sender::flush_queues()
{
    std::vector<peer> waiting;
    {
        std::lock_guard lock(mutex_);
        waiting.swap(queued_peers_);
    }
    std::erase_if(waiting, [this](peer to) {
        bool const empty = flush(to, common_.peers[to]);
        if (empty)
            common_.work_done();
        return empty;
    });
    if (!waiting.empty()) {
        std::lock_guard lock(mutex_);
        queued_peers_.insert(queued_peers_.end(), waiting.begin(), waiting.end());
    }
}

void sender::bury_queue(peer who)
{
    peer_state& p = common_.peers[who];
    std::lock_guard lock(p.mutex);
    p.flags.fetch_or(peer_state::dead, std::memory_order_seq_cst);
    left_queue(p.queue.size());
    p.queue.clear();
    p.queue_bytes = 0;
}

void sender::suspect(peer p)
{
    {
        std::lock_guard lock(mutex_);
        if (std::find(suspects_.begin(), suspects_.end(), p) != suspects_.end())
            return;
        suspects_.push_back(p);
    }
    common_.add_work();
}

std::vector<peer> sender::take_suspects()
{
    std::lock_guard lock(mutex_);
    return std::exchange(suspects_, {});
}

} // namespace towline::engine
