// Sending: small messages before the call returns; what has to wait for its receiver behind a slot.

#include "matching/core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace towline::matching {
namespace {

[[nodiscard]] std::vector<std::byte> joined(std::span<std::byte const> head, void const* data, std::uint64_t bytes)
{
    std::vector<std::byte> whole(head.size() + bytes);
    std::memcpy(whole.data(), head.data(), head.size());
    if (bytes != 0)
        std::memcpy(whole.data() + head.size(), data, bytes);
    return whole;
}

[[nodiscard]] std::span<std::byte const> eager_header(packed_envelope const& e) noexcept
{
    return bytes_of(e).first(sizeof(wire::eager_header));
}
static_assert(offsetof(wire::eager_header, tag) == offsetof(packed_envelope, tag) && std::endian::native == std::endian::little);

[[nodiscard]] wire::kind eager_kind(send_mode mode) noexcept
{
    return mode == send_mode::ready ? wire::ready : wire::eager;
}

} // namespace

void core::throw_bad_send(envelope const& e, std::uint64_t bytes)
{
    if (e.source < 0 || e.tag < 0)
        throw usage_error(fmt::format("matching: a message from {} with tag {}: both are 0 or more", e.source, e.tag));
    throw usage_error(fmt::format("matching: {} bytes at a null pointer are to be sent", bytes));
}

void core::send_eager(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    engine_.send_small(to, handler_of(eager_kind(mode)), eager_header(e), {static_cast<std::byte const*>(data), bytes});
}

[[gnu::always_inline]] inline bool core::try_send_tiny(peer to, packed_envelope const& e, void const* data, std::uint64_t bytes,
                                                       send_mode mode)
{
    return bytes <= thresholds::tiny &&
           engine_.try_send_tiny(to, {handler_of(eager_kind(mode)), sizeof(wire::eager_header), static_cast<std::uint8_t>(bytes)},
                                 eager_header(e).data(), static_cast<std::byte const*>(data));
}

bool core::try_send_eager(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    std::span<std::byte const> const body{static_cast<std::byte const*>(data), bytes};
    if (engine_.try_send_small(to, handler_of(eager_kind(mode)), eager_header(e), body))
        return true;
    if (engine_.in_handler()) {  // its messages are queued where there is no room
        send_eager(to, e, data, bytes, mode);
        return true;
    }
    // Only a few polls: waiting for a peer that takes no messages would make this send a blocking one.
    for (int i = 0; i < thresholds::room_polls; ++i) {
        engine_.progress();
        if (engine_.try_send_small(to, handler_of(eager_kind(mode)), eager_header(e), body))
            return true;
    }
    return false;
}

void core::post(peer to, wire::kind kind, std::span<std::byte const> head, void const* data, std::uint64_t bytes)
{
    if (!engine_.try_send_small(to, handler_of(kind), head, {static_cast<std::byte const*>(data), bytes}))
        engine_.send({.to = to, .handler = handler_of(kind), .head = joined(head, data, bytes), .waits = false});
}

template <class Post>
void core::start_in_slot(request& r, peer to, envelope const& e, std::uint64_t bytes, std::uint8_t ends_due, bool wants_match, Post&& post)
{
    r.pattern_ = {e.context, e.source, e.tag};
    r.peer_ = to;
    r.result_ = {};
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    auto const slot = out.open(r, to, bytes, ends_due, wants_match);
    try {
        post(slot);
    } catch (...) {
        if (!out.end_unsent(slot, ends_due))
            throw;
    }
}

void core::send_waiting(request& r, peer to, envelope const& e, void const* data, std::uint64_t bytes, send_mode mode)
{
    if (to >= size)
        throw usage_error(fmt::format("matching: there is no rank {} in a world of {}", to, size));
    if (std::uint64_t const where = bytes > config.eager && mode != send_mode::ready ? shown(to, data, bytes) : 0; where != 0) {
        return start_in_slot(r, to, e, bytes, 1, true, [&](sends::opened const& slot) {
            // In whole words: see packed_envelope.
            std::array<std::uint64_t, 4> const header{packed_envelope(e).context_and_source,
                                                      static_cast<std::uint32_t>(e.tag) | bytes << 32, slot.token, where};
            static_assert(sizeof header == sizeof(wire::here_header) && offsetof(wire::here_header, bytes) == 12 &&
                          offsetof(wire::here_header, token) == 16 && offsetof(wire::here_header, where) == 24);
            post(to, wire::here, bytes_of(header));
        });
    }
    bool const wants_match = mode == send_mode::synchronous || out.holds_back(to);
    if (!is_eager(data, bytes)) {
        return start_in_slot(r, to, e, bytes, wants_match ? 2 : 1, wants_match, [&](sends::opened const& slot) {
            std::uint32_t const flags = (mode == send_mode::ready ? wire::is_ready : 0) | (wants_match ? wire::wants_match : 0);
            wire::lent_header const header{e.context, e.source, e.tag, flags, slot.token};
            engine::block const block{data, bytes};
            engine_.send({.to = to, .handler = handler_of(wire::lent), .head = bytes_of(header), .blocks = {&block, 1},
                          .sent = {&sends::on_sent, &slot.slot}, .waits = false});
        });
    }
    start_in_slot(r, to, e, bytes, 1, wants_match, [&](sends::opened const& slot) {
        if (wants_match) {
            wire::synchronous_header const header{e.context, e.source, e.tag, 0, slot.token};
            return post(to, wire::synchronous, bytes_of(header), data, bytes);
        }
        // There is no room at the peer: the send ends when the message has arrived there.
        engine_.send({.to = to, .handler = handler_of(eager_kind(mode)), .head = joined(eager_header(e), data, bytes),
                      .delivered = {&sends::on_sent, &slot.slot}, .waits = false});
    });
}

void matcher::start_send(request& r, peer to, envelope const& e, void const* data, std::uint64_t bytes, send_mode mode)
{
    core& c = *core_;
    core::check(e, data, bytes);
    requests::begin(r, operation::send);
    try {
        if (relays::may_relay(bytes, mode) && c.relaying.relay(to, e, data, bytes))
            return c.ends.finish_send(r);
        if (c.needs_no_slot(to, data, bytes, mode) && c.try_send_eager(to, e, data, bytes, mode)) [[likely]]
            return c.ends.finish_send(r);
        c.send_waiting(r, to, e, data, bytes, mode);
    } catch (peer_error const&) {
        c.ends.finish_lost_send(r);
    }
}

bool matcher::start_send_laid(request& r, peer to, envelope const& e, laid_source const& from, send_mode mode)
{
    core& c = *core_;
    core::check(e, &from, from.bytes);
    if (to >= c.size || from.bytes < least_laid)
        return false;
    std::uint64_t where = 0, form = 0;
    // Up to the eager limit a send waits for no receiver; a message in mode ready asks its receiver to look for the receive.
    if (shown_layout const* const l = from.shown; l != nullptr && from.bytes > c.config.eager && mode != send_mode::ready) {
        auto const* const memory =
            reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from.buffer) + static_cast<std::uintptr_t>(l->low()));
        where = c.engine_.share(to, memory, l->span());
        form = l->form().size() <= UINT32_MAX ? c.engine_.share(to, l->form().data(), l->form().size_bytes()) : 0;
    }
    bool const may_be_read = where != 0 && form != 0;
    if (relays::may_relay(from.bytes, mode, thresholds::relay_most_laid) && c.relaying.relay_laid(to, e, from, may_be_read)) {
        requests::begin(r, operation::send);
        c.ends.finish_send(r);
        return true;
    }
    if (!may_be_read)
        return false;
    requests::begin(r, operation::send);
    try {
        c.start_in_slot(r, to, e, from.bytes, 1, true, [&](sends::opened const& slot) {
            shown_layout const& l = *from.shown;
            {
                core::guard const g(c);
                slot.slot.laid.emplace(*from.type, from.count, from.buffer);
            }
            wire::laid_header const header{e.context, e.source, e.tag, static_cast<std::uint32_t>(l.form().size()), slot.token, from.bytes,
                                           where, l.span(), form, {l.meaning().first, l.meaning().second}};
            c.post(to, wire::laid, bytes_of(header));
        });
    } catch (peer_error const&) {
        c.ends.finish_lost_send(r);
    }
    return true;
}

std::optional<status> matcher::send_laid(peer to, envelope const& e, laid_source const& from, send_mode mode, char const* call)
{
    request r;
    if (!start_send_laid(r, to, e, from, mode))
        return std::nullopt;
    core_->wait_or_abandon(r, call);
    return r.result();
}

bool matcher::try_send(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    core& c = *core_;
    core::check(e, data, bytes);
    if (!c.needs_no_slot(to, data, bytes, mode))
        return false;
    try {
        // Larger messages are relayed by start_send: a message's way is chosen once.
        return (relays::may_relay(bytes, mode) && c.relaying.relay(to, e, data, bytes)) || c.try_send_tiny(to, e, data, bytes, mode) ||
               c.try_send_eager(to, e, data, bytes, mode);
    } catch (peer_error const&) {
        return false;
    }
}

status matcher::send(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode, char const* call)
{
    core& c = *core_;
    core::check(e, data, bytes);
    if (c.needs_no_slot(to, data, bytes, mode)) [[likely]] {
        if (!relays::may_relay(bytes, mode) || !c.relaying.relay(to, e, data, bytes))
            c.send_eager(to, e, data, bytes, mode);
        return {};
    }
    if (c.engine_.in_handler())
        throw usage_error("matching: a handler sends and waits; it may start a send");
    request r;
    start_send(r, to, e.unpacked(), data, bytes, mode);
    c.wait_or_abandon(r, call);
    return r.result();
}

} // namespace towline::matching
