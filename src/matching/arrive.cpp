// Arrival: the handlers. Nothing here believes what it reads before checking it.

#include "matching/core.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>

namespace towline::matching {
namespace {

/// The envelope at the head's beginning. Field by field: a load that covers several stores waits until they have left for the cache.
template <class Header>
[[nodiscard]] bool read_envelope(std::span<std::byte const> head, envelope& to) noexcept
{
    if (head.size() < sizeof(Header))
        return false;
    std::memcpy(&to.context, head.data() + offsetof(Header, context), sizeof to.context);
    std::memcpy(&to.source, head.data() + offsetof(Header, source), sizeof to.source);
    std::memcpy(&to.tag, head.data() + offsetof(Header, tag), sizeof to.tag);
    return true;
}

/// A flood of nonsense must not become a flood of lines.
[[nodiscard]] bool is_logged(std::uint64_t number) noexcept
{
    return number <= thresholds::logged_singly || std::has_single_bit(number);
}

} // namespace

void common::tell(peer to, wire::kind kind, std::span<std::byte const> message) noexcept
{
    try {
        engine_.send_small(to, handler_of(kind), message);
    } catch (...) {
        // It died, or the engine has ended: nobody waits for this any more.
    }
}

void common::drop(peer from, std::string_view why)
{
    if (is_logged(++dropped_))
        base::log(base::log_level::warning, "rank {} dropped a message from rank {} (the {}. so far): {}", engine_.rank(), from, dropped_,
                  why);
}

void common::drop(engine::incoming const& m, char const* what)
{
    drop(m.source(), fmt::format("{} of {} bytes with {} blocks is none", what, m.head().size(), m.blocks()));
}

void common::tell_loss(peer from, std::uint64_t bytes, std::exception const& why) const noexcept
{
    base::log(base::log_level::error, "rank {}: {} bytes from peer {} cannot be received: {}", engine_.rank(), bytes, from, why.what());
}

void core::note_ready_error(peer from, envelope const& e)
{
    std::uint64_t const n = ready_errors.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_logged(n))
        base::log(base::log_level::warning,
                  "rank {}: a ready send from rank {} (peer {}) with tag {} in context {} found no receive posted; it waits for one "
                  "(error {})",
                  engine_.rank(), e.source, from, e.tag, e.context, n);
}

bool core::read_eager(peer from, std::span<std::byte const> head, envelope& e) const noexcept
{
    return read_envelope<wire::eager_header>(head, e) && is_possible(from, e);
}

[[gnu::always_inline]] inline void core::arrive(engine::incoming& m, std::span<std::byte const> bytes, envelope const& e,
                                                std::uint64_t token, bool is_ready)
{
    peer const from = m.source();
    if (!is_possible(from, e)) [[unlikely]]
        return drop(from, fmt::format("from source {} with tag {}: both are 0 or more", e.source, e.tag));
    request* const r = match_or_add(from, e, bytes.size(), bytes.size(), token, [&](unexpected_message& u) { u.capture(bytes); });
    if (r != nullptr) [[likely]] {
        if (token != 0)
            acknowledge(from, token);
        deliveries::place(r->sink_, e, bytes, r->result_);
        return ends.finish(*r);
    }
    if (is_ready)
        note_ready_error(from, e);
}

void core::on_eager(engine::incoming& m)
{
    envelope e;
    if (!read_envelope<wire::eager_header>(m.head(), e) || m.blocks() != 0) [[unlikely]]
        return drop(m, "an eager message");
    arrive(m, m.head().subspan(sizeof(wire::eager_header)), e, 0, false);
}

void core::on_ready(engine::incoming& m)
{
    envelope e;
    if (!read_envelope<wire::eager_header>(m.head(), e) || m.blocks() != 0)
        return drop(m, "a ready message");
    arrive(m, m.head().subspan(sizeof(wire::eager_header)), e, 0, true);
}

void core::on_synchronous(engine::incoming& m)
{
    wire::synchronous_header h;
    envelope e;
    if (!read_header(m.head(), h, e) || m.blocks() != 0 || h.token == 0)
        return drop(m, "a synchronous message");
    arrive(m, m.head().subspan(sizeof h), e, h.token, false);
}

void core::on_lent(engine::incoming& m)
{
    wire::lent_header h;
    envelope e;
    peer const from = m.source();
    if (!read_header(m.head(), h, e) || m.head().size() != sizeof h || m.blocks() != 1)
        return drop(m, "a lent message");
    if (!is_possible(from, e))
        return drop(from, fmt::format("lent from source {} with tag {}: both are 0 or more", e.source, e.tag));
    std::uint64_t const token = (h.flags & wire::wants_match) != 0 ? h.token : 0;
    request* const r = match_or_add(from, e, m.block_size(0), 0, token, [&](unexpected_message& u) {
        u.number = h.token;
        m.keep();  // copies at most what came inside; calls nothing
        u.elsewhere = std::move(m);
    });
    if (r != nullptr) {
        if (token != 0)
            acknowledge(from, token);
        return in.deliver(*r, from, e, m);
    }
    if ((h.flags & wire::is_ready) != 0)
        note_ready_error(from, e);
}

template <wire::kind Kind>
void core::on_here(engine::incoming& m)
{
    here_message h;
    peer const from = m.source();
    if (!read_here<Kind>(from, m.head(), h) || m.blocks() != 0)
        return drop(m, Kind == wire::here ? "a here message" : "a laid message");
    request* const r = match_or_add(from, h.letter, h.bytes, 0, h.token, [&](unexpected_message& u) { u.elsewhere = h.at; });
    if (r == nullptr)
        return;
    if (in.is_to_be_deferred(r->sink_, h.bytes, h.at.form != 0))
        return in.defer(*r, {.from = from, .letter = h.letter, .bytes = h.bytes, .token = h.token, .elsewhere = h.at});
    in.bring(r->sink_, h.letter, from, h.bytes, h.at, h.token, r->result_);
    acknowledge(from, h.token);
    ends.finish(*r);
}
template void core::on_here<wire::here>(engine::incoming&);
template void core::on_here<wire::laid>(engine::incoming&);

void core::on_relayed(engine::incoming& m)
{
    peer const from = m.source();
    envelope e;
    relayed block;
    if (!relaying.read(from, m.head(), e, block) || m.blocks() != 0)
        return drop(m, "a relayed message");
    request* const r = match_or_add(from, e, block.bytes, 0, 0, [&](unexpected_message& u) { u.elsewhere = block; });
    if (r == nullptr)
        return;
    if (in.is_to_be_deferred(r->sink_, block.bytes, false))
        return in.defer(*r, {.from = from, .letter = e, .bytes = block.bytes, .elsewhere = block});
    relaying.take(r->sink_, e, from, block, r->result_);
    ends.finish(*r);
}

} // namespace towline::matching
