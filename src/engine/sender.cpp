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
        if ((flags & peer_state::open) == 0) [[unlikely]] {
            // The first message to a peer may be the protocol's own answer to one that has died since: no error then.
            if (common_.closed.load(std::memory_order_acquire))
                return outcome::gone;
            try {
                common_.resolve(to, p);
            } catch (error const&) {  // or the engine is being closed
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
            peer_queue& q = p.own_queue();
            std::lock_guard lock(q.mutex);
            // Behind what waits; if that is gone by now, try again.
            if (q.messages.empty())
                continue;
            if (manner == when_busy::progress && q.bytes >= thresholds::queue_bound)
                return outcome::busy;
        }
        enqueue(to, p, kind, head, body);
        return outcome::taken;
    }
}

void sender::enqueue(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head, std::span<std::byte const> body)
{
    peer_queue::waiting_message m{kind, std::vector<std::byte>(head.size() + body.size())};
    if (!head.empty())
        std::memcpy(m.payload.data(), head.data(), head.size());
    if (!body.empty())
        std::memcpy(m.payload.data() + head.size(), body.data(), body.size());
    bool first = false;
    {
        peer_queue& q = p.own_queue();
        std::lock_guard lock(q.mutex);
        if ((p.flags.load(std::memory_order_relaxed) & peer_state::dead) != 0)
            return;
        q.bytes += m.payload.size() + sizeof m;
        q.messages.push_back(std::move(m));
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
    peer_queue& q = p.own_queue();
    std::unique_lock lock(q.mutex);
    while (!q.messages.empty()) {
        auto& m = q.messages.front();
        auto const status = p.via->try_send(to, m.kind, m.payload, {});
        if (status == transport::send_status::busy)
            return false;
        if (status == transport::send_status::unreachable) {
            lock.unlock();
            suspect(to);
            return true;
        }
        q.bytes -= m.payload.size() + sizeof m;
        q.messages.pop_front();
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
    peer_queue& q = p.own_queue();
    std::lock_guard lock(q.mutex);
    p.flags.fetch_or(peer_state::dead, std::memory_order_seq_cst);
    left_queue(q.messages.size());
    q.messages.clear();
    q.bytes = 0;
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
