// Messages that came before their receives: their memory, and what senders are told about it.

#include "matching/core.hpp"

namespace towline::matching {

unexpected_message& core::add_unexpected(peer from, envelope const& e, std::uint64_t bytes, std::uint64_t captured, std::uint64_t token)
{
    unexpected_message* m = free_nodes;
    if (m != nullptr) {
        free_nodes = m->links[0].after;
        --free_node_count;
    } else {
        m = new unexpected_message;
    }
    m->letter = e;
    m->from = from;
    m->bytes = bytes;
    m->captured = captured;
    m->token = token;
    m->number = token;
    m->laid = false;
    m->where = 0;
    m->relay = {};
    unexpected.add(*m);
    early.store(unexpected.size(), std::memory_order_relaxed);
    unexpected_bytes += captured;
    accounts[from].bytes += captured + note_cost;
    arrivals.store(arrivals.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return *m;
}

bool core::take_unexpected(unexpected_message& m) noexcept
{
    unexpected.remove(m);
    early.store(unexpected.size(), std::memory_order_relaxed);
    unexpected_bytes -= m.captured;
    accounts[m.from].bytes -= m.captured + note_cost;
    return unbalanced(m.from);
}

void core::regulate(peer from) noexcept
{
    wire::throttle_message t{};
    {
        guard const g(*this);
        if (!unbalanced(from))
            return;
        account& a = accounts[from];
        a.held = !a.held;
        throttled += a.held ? 1 : 0;
        t = {++a.number, a.held ? 1u : 0u};
    }
    control(from, wire::throttle, {reinterpret_cast<std::byte const*>(&t), sizeof t});
}

void core::give_back(unexpected_message& m) noexcept
{
    m.lent.reset();
    m.large.reset();
    {
        guard const g(*this);
        constexpr std::size_t most_free = 1024;
        if (free_node_count < most_free) {
            ++free_node_count;
            m.links[0].after = free_nodes;
            free_nodes = &m;
            return;
        }
    }
    delete &m;
}

void core::discard(unexpected_message& m) noexcept
{
    if (m.token != 0)
        acknowledge(m.from, m.token);
    if (m.relay.number != 0)
        drop_relayed(m.relay);
    give_back(m);
}

void core::control(peer to, wire::kind kind, std::span<std::byte const> message) noexcept
{
    try {
        engine_.send_small(to, static_cast<engine::handler_id>(first_handler + kind), message);
    } catch (...) {
        // It died, or the engine has ended: nobody waits for this any more.
    }
}

void core::acknowledge(peer to, std::uint64_t token) noexcept
{
    wire::matched_message const m{token};
    control(to, wire::matched, {reinterpret_cast<std::byte const*>(&m), sizeof m});
}

} // namespace towline::matching
