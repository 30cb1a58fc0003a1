// Sending: small messages at once; what has to wait for its receiver behind a slot.

#include "matching/core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace towline::matching {
namespace {

template <class T>
std::span<std::byte const> bytes_of(T const& value) noexcept
{
    return {reinterpret_cast<std::byte const*>(&value), sizeof value};
}

[[nodiscard]] std::vector<std::byte> joined(std::span<std::byte const> head, void const* data, std::uint64_t bytes)
{
    std::vector<std::byte> whole(head.size() + bytes);
    std::memcpy(whole.data(), head.data(), head.size());
    if (bytes != 0)
        std::memcpy(whole.data() + head.size(), data, bytes);
    return whole;
}

} // namespace

void core::throw_bad_send(envelope const& e, std::uint64_t bytes)
{
    if (e.source < 0 || e.tag < 0)
        throw usage_error(fmt::format("matching: a message from {} with tag {}: both are 0 or more", e.source, e.tag));
    throw usage_error(fmt::format("matching: {} bytes at a null pointer are to be sent", bytes));
}

namespace {

[[nodiscard]] std::span<std::byte const> eager_header(packed_envelope const& e) noexcept
{
    return bytes_of(e).first(sizeof(wire::eager_header));
}
static_assert(offsetof(wire::eager_header, tag) == offsetof(packed_envelope, tag) && std::endian::native == std::endian::little);

[[nodiscard]] engine::handler_id eager_handler(engine::handler_id first, send_mode mode) noexcept
{
    return static_cast<engine::handler_id>(first + (mode == send_mode::ready ? wire::ready : wire::eager));
}

} // namespace

void core::send_eager(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    engine_.send_small(to, eager_handler(first_handler, mode), eager_header(e), {static_cast<std::byte const*>(data), bytes});
}

[[gnu::always_inline]] inline bool core::try_send_tiny(peer to, packed_envelope const& e, void const* data, std::uint64_t bytes,
                                                       send_mode mode)
{
    constexpr std::uint64_t most = 236;  // what fits four lines with its envelope and the transport's word
    return bytes <= most && engine_.try_send_tiny(to, {eager_handler(first_handler, mode), sizeof(wire::eager_header),
                                                       static_cast<std::uint8_t>(bytes)},
                                                  eager_header(e).data(), static_cast<std::byte const*>(data));
}

bool core::try_send_eager(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    if (engine_.try_send_small(to, eager_handler(first_handler, mode), eager_header(e), {static_cast<std::byte const*>(data), bytes}))
        return true;
    if (engine_.in_handler()) {  // its messages are queued at once
        send_eager(to, e, data, bytes, mode);
        return true;
    }
    // A peer that is taking messages has room soon; waiting for one that is not would be no nonblocking send.
    constexpr int tries = 64;
    for (int i = 0; i < tries; ++i) {
        engine_.progress();
        if (engine_.try_send_small(to, eager_handler(first_handler, mode), eager_header(e), {static_cast<std::byte const*>(data), bytes}))
            return true;
    }
    return false;
}

sending_slot& core::open_slot(request& r, peer to, std::uint64_t bytes, std::uint8_t ends, bool wants_match,
                              std::uint64_t& token)
{
    guard const g(*this);
    sending_slot& s = slots.claim();
    ++slots_in_use;
    s = {.owner = this, .target = &r, .to = to, .ends = ends, .wants_match = wants_match, .bytes = bytes};
    r.behind_ = &s;
    token = slots.number_of(s);
    return s;
}

request* core::end_one(sending_slot& s, bool ok) noexcept
{
    s.failed = s.failed || !ok;
    if (--s.ends != 0)
        return nullptr;
    request* const r = std::exchange(s.target, nullptr);
    if (r != nullptr) {
        r->behind_ = nullptr;
        r->result_.error = s.failed ? outcome::peer_died : outcome::ok;
        r->result_.cancelled = s.withdrawn && !s.failed;
    }
    slots.free(s);
    --slots_in_use;
    return r;
}

void core::on_sent(void* slot, bool ok)
{
    auto& s = *static_cast<sending_slot*>(slot);
    core& self = *s.owner;
    request* r = nullptr;
    {
        guard const g(self);
        r = self.end_one(s, ok);
    }
    if (r != nullptr) {
        self.finish(*r);
        self.engine_.notify();
    }
}

void core::send_waiting(request& r, peer to, envelope const& e, void const* data, std::uint64_t bytes, send_mode mode)
{
    if (to >= size)
        throw usage_error(fmt::format("matching: there is no rank {} in a world of {}", to, size));
    std::uint64_t const where = bytes > config.eager && mode != send_mode::ready ? shown(to, data, bytes) : 0;
    bool const fits = where != 0 || is_eager(data, bytes);
    bool const wants_match = where != 0 || mode == send_mode::synchronous || held_back[to].load(std::memory_order_relaxed) != 0;
    // Without room at the peer: what is eager has ended when it is there.
    bool const wants_arrival = fits && !wants_match;
    r.pattern_ = {e.context, e.source, e.tag};
    r.peer_ = to;
    r.result_ = {};
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    // Another thread may hear of the death, or of the match, before this one goes on: the slot may be another's then.
    std::uint64_t token = 0;
    auto const ends = static_cast<std::uint8_t>((!fits || wants_arrival ? 1 : 0) + (wants_match ? 1 : 0));
    auto& slot = open_slot(r, to, bytes, ends, wants_match, token);
    try {
        if (where != 0) {
            // In whole words: see packed_envelope.
            std::array<std::uint64_t, 4> const header{packed_envelope(e).context_and_source, static_cast<std::uint32_t>(e.tag) | bytes << 32,
                                                      token, where};
            static_assert(sizeof header == sizeof(wire::here_header) && offsetof(wire::here_header, bytes) == 12 &&
                          offsetof(wire::here_header, token) == 16 && offsetof(wire::here_header, where) == 24);
            auto const id = static_cast<engine::handler_id>(first_handler + wire::here);
            if (!engine_.try_send_small(to, id, bytes_of(header), {}))
                engine_.send({.to = to, .handler = id, .head = bytes_of(header), .waits = false});
        } else if (wants_arrival) {
            std::vector<std::byte> const whole = joined(eager_header(e), data, bytes);
            engine_.send({.to = to, .handler = eager_handler(first_handler, mode), .head = whole,
                          .delivered = {&on_sent, &slot}, .waits = false});
        } else if (fits) {
            wire::synchronous_header const header{e.context, e.source, e.tag, 0, token};
            auto const id = static_cast<engine::handler_id>(first_handler + wire::synchronous);
            if (!engine_.try_send_small(to, id, bytes_of(header), {static_cast<std::byte const*>(data), bytes}))
                engine_.send({.to = to, .handler = id, .head = joined(bytes_of(header), data, bytes), .waits = false});
        } else {
            std::uint32_t const flags = (mode == send_mode::ready ? wire::is_ready : 0) | (wants_match ? wire::wants_match : 0);
            wire::lent_header const header{e.context, e.source, e.tag, flags, token};
            engine::block const block{data, bytes};
            engine_.send({.to = to, .handler = static_cast<engine::handler_id>(first_handler + wire::lent), .head = bytes_of(header),
                          .blocks = {&block, 1}, .sent = {&on_sent, &slot}, .waits = false});
        }
    } catch (...) {
        request* reported = nullptr;
        bool withdrawn = false;
        {
            guard const g(*this);
            // *Sent* never comes now, nor the arrival, so that the slot of such a message is still ours; *matched* may have come, with the
            // peer's death.
            bool const ours = slots.find(token) != nullptr;
            bool const match_came = wants_match && (!ours || slot.ends == (fits ? 0 : 1));
            if (ours && !match_came) {
                withdrawn = true;
                slot.target = nullptr;
                slot.ends = 1;
                (void)end_one(slot, false);
            } else if (ours) {
                reported = end_one(slot, false);
            }
        }
        if (withdrawn) {
            r.behind_ = nullptr;
            r.state_.store(request::state::idle, std::memory_order_relaxed);
            throw;
        }
        if (reported != nullptr)
            finish(*reported);
    }
}

void matcher::start_send(request& r, peer to, envelope const& e, void const* data, std::uint64_t bytes, send_mode mode)
{
    core& c = *core_;
    core::check(e, data, bytes);
    c.begin(r, operation::send);
    if (core::may_relay(bytes, mode) && c.relay(to, e, data, bytes)) {
        r.result_ = {};
        return c.finish_at_once(r);
    }
    if (c.at_once(to, data, bytes, mode) && c.try_send_eager(to, e, data, bytes, mode)) [[likely]] {
        r.result_ = {};
        return c.finish_at_once(r);
    }
    c.send_waiting(r, to, e, data, bytes, mode);
}

static_assert(matcher::least_laid == relay_block::least);

bool matcher::start_send_laid(request& r, peer to, envelope const& e, laid_source const& from, send_mode mode)
{
    core& c = *core_;
    core::check(e, &from, from.bytes);
    if (to >= c.size || from.bytes < least_laid)
        return false;
    std::uint64_t where = 0, form = 0;
    // What fits the eager limit waits for nobody; a message in mode ready is looked at by who checks that.
    if (shown_layout const* const l = from.shown; l != nullptr && from.bytes > c.config.eager && mode != send_mode::ready) {
        auto const* const memory =
            reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from.buffer) + static_cast<std::uintptr_t>(l->low()));
        where = c.engine_.share(to, memory, l->span());
        form = l->form().size() <= UINT32_MAX ? c.engine_.share(to, l->form().data(), l->form().size_bytes()) : 0;
    }
    bool const may_be_read = where != 0 && form != 0;
    if (core::may_relay(from.bytes, mode, relay_block::most_laid) && c.relay_laid(to, e, from, may_be_read)) {
        core::begin(r, operation::send);
        r.result_ = {};
        c.finish_at_once(r);
        return true;
    }
    if (!may_be_read)
        return false;
    shown_layout const& l = *from.shown;
    core::begin(r, operation::send);
    r.pattern_ = {e.context, e.source, e.tag};
    r.peer_ = to;
    r.result_ = {};
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    std::uint64_t token = 0;
    sending_slot& slot = c.open_slot(r, to, from.bytes, 1, true, token);
    wire::laid_header const header{e.context, e.source, e.tag, static_cast<std::uint32_t>(l.form().size()), token, from.bytes,
                                   where, l.span(), form, {l.meaning().first, l.meaning().second}};
    auto const id = static_cast<engine::handler_id>(c.first_handler + wire::laid);
    try {
        if (!c.engine_.try_send_small(to, id, bytes_of(header), {}))
            c.engine_.send({.to = to, .handler = id, .head = bytes_of(header), .waits = false});
    } catch (...) {
        {
            core::guard const g(c);
            if (c.slots.find(token) == nullptr)
                return true;  // ended with the peer's death
            slot.target = nullptr;
            (void)c.end_one(slot, false);
        }
        r.behind_ = nullptr;
        r.state_.store(request::state::idle, std::memory_order_relaxed);
        throw;
    }
    return true;
}

std::optional<status> matcher::send_laid(peer to, envelope const& e, laid_source const& from, send_mode mode, char const* call)
{
    request r;
    if (!start_send_laid(r, to, e, from, mode))
        return std::nullopt;
    try {
        wait(r, call);
    } catch (...) {
        core_->abandon(r);
        throw;
    }
    return r.result();
}

bool matcher::send_at_once(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode)
{
    core& c = *core_;
    core::check(e, data, bytes);
    if (!c.at_once(to, data, bytes, mode))
        return false;
    // What is larger is relayed by start_send: the way of a message is asked for once.
    return (core::may_relay(bytes, mode) && c.relay(to, e, data, bytes)) || c.try_send_tiny(to, e, data, bytes, mode) ||
           c.try_send_eager(to, e, data, bytes, mode);
}

status matcher::send(peer to, packed_envelope e, void const* data, std::uint64_t bytes, send_mode mode, char const* call)
{
    core& c = *core_;
    core::check(e, data, bytes);
    if (c.at_once(to, data, bytes, mode)) [[likely]] {
        if (core::may_relay(bytes, mode) && c.relay(to, e, data, bytes))
            return {};
        c.send_eager(to, e, data, bytes, mode);
        return {};
    }
    if (c.engine_.in_handler())
        throw usage_error("matching: a handler sends and waits; it may start a send");
    request r;
    start_send(r, to, e.unpacked(), data, bytes, mode);
    try {
        wait(r, call);
    } catch (...) {
        c.abandon(r);
        throw;
    }
    return r.result();
}

} // namespace towline::matching
