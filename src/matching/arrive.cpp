// Arrival: the handlers. Nothing here believes what it reads before checking it.

#include "matching/core.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>

namespace towline::matching {
namespace {

template <class T>
[[nodiscard]] bool read(std::span<std::byte const> from, T& to) noexcept
{
    if (from.size() < sizeof to)
        return false;
    std::memcpy(&to, from.data(), sizeof to);
    return true;
}

/// The envelope at the head's beginning. Field by field: what was stored in one piece and is loaded in others waits for the store.
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

[[nodiscard]] bool possible(core const& c, peer from, envelope const& e) noexcept
{
    return e.source >= 0 && e.tag >= 0 && from < c.size;
}

} // namespace

bool core::read_eager(peer from, std::span<std::byte const> head, envelope& e) const noexcept
{
    return read_envelope<wire::eager_header>(head, e) && possible(*this, from, e);
}

bool core::read_here(peer from, std::span<std::byte const> head, wire::here_header& h) const noexcept
{
    return head.size() == sizeof h && read(head, h) && possible(*this, from, {h.context, h.source, h.tag}) && h.token != 0 && h.where != 0;
}

bool core::read_laid(peer from, std::span<std::byte const> head, wire::laid_header& h) const noexcept
{
    return head.size() == sizeof h && read(head, h) && possible(*this, from, {h.context, h.source, h.tag}) &&
           wire::is_possible(h);
}

void core::drop(peer from, std::string_view why)
{
    // A flood of nonsense must not become a flood of lines.
    ++dropped;
    if (dropped <= 100 || std::has_single_bit(dropped))
        base::log(base::log_level::warning, "rank {} dropped a message from rank {} (the {}. so far): {}", engine_.rank(), from, dropped,
                  why);
}

void core::note_ready_error(peer from, envelope const& e)
{
    std::uint64_t const n = ready_errors.fetch_add(1, std::memory_order_relaxed) + 1;
    if (n <= 100 || std::has_single_bit(n))
        base::log(base::log_level::warning,
                  "rank {}: a ready send from rank {} (peer {}) with tag {} in context {} found no receive posted; it waits for one (error {})",
                  engine_.rank(), e.source, from, e.tag, e.context, n);
}

[[gnu::always_inline]] inline void core::arrive(peer from, envelope const& e, std::span<std::byte const> bytes, std::uint64_t token, bool is_ready)
{
    if (!possible(*this, from, e)) [[unlikely]]
        return drop(from, fmt::format("from source {} with tag {}: both are 0 or more", e.source, e.tag));
    request* r = nullptr;
    bool tell = false;
    {
        guard const g(*this);
        r = posted.match(e);
        if (r != nullptr) {
            r->posted_ = false;
        } else {
            unexpected_message& m = add_unexpected(from, e, bytes.size(), bytes.size(), token);
            tell = unbalanced(from);
            std::byte* to = m.small;
            if (bytes.size() > unexpected_message::small_bytes) {
                m.large = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
                to = m.large.get();
            }
            if (!bytes.empty())
                std::memcpy(to, bytes.data(), bytes.size());
        }
    }
    if (r != nullptr) [[likely]] {
        if (token != 0)
            acknowledge(from, token);
        deliver(*r, e, bytes);
        return finish(*r);
    }
    if (tell)
        regulate(from);
    if (is_ready)
        note_ready_error(from, e);
}

void core::on_eager(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    envelope e;
    if (!read_envelope<wire::eager_header>(m.head(), e) || m.blocks() != 0) [[unlikely]]
        return c.drop(m.source(), fmt::format("a message of {} bytes with {} blocks is none", m.head().size(), m.blocks()));
    c.arrive(m.source(), e, m.head().subspan(sizeof(wire::eager_header)), 0, false);
}

void core::on_ready(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    envelope e;
    if (!read_envelope<wire::eager_header>(m.head(), e) || m.blocks() != 0)
        return c.drop(m.source(), fmt::format("a ready message of {} bytes with {} blocks is none", m.head().size(), m.blocks()));
    c.arrive(m.source(), e, m.head().subspan(sizeof(wire::eager_header)), 0, true);
}

void core::on_synchronous(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::synchronous_header h;
    if (!read(m.head(), h) || m.blocks() != 0 || h.token == 0)
        return c.drop(m.source(), fmt::format("a synchronous message of {} bytes with {} blocks is none", m.head().size(), m.blocks()));
    c.arrive(m.source(), {h.context, h.source, h.tag}, m.head().subspan(sizeof h), h.token, false);
}

void core::on_lent(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::lent_header h;
    if (!read(m.head(), h) || m.head().size() != sizeof h || m.blocks() != 1)
        return c.drop(m.source(), fmt::format("a lent message with a head of {} bytes and {} blocks is none", m.head().size(), m.blocks()));
    envelope const e{h.context, h.source, h.tag};
    if (!possible(c, m.source(), e))
        return c.drop(m.source(), fmt::format("lent from source {} with tag {}: both are 0 or more", e.source, e.tag));
    c.arrive_lent(m, e, h.token, h.flags);
}

void core::arrive_lent(engine::incoming& message, envelope const& e, std::uint64_t number, std::uint32_t flags)
{
    std::uint64_t const token = (flags & wire::wants_match) != 0 ? number : 0;
    peer const from = message.source();
    request* r = nullptr;
    bool tell = false;
    {
        guard const g(*this);
        r = posted.match(e);
        if (r != nullptr) {
            r->posted_ = false;
        } else {
            message.keep();  // copies at most what came inside; calls nothing
            unexpected_message& m = add_unexpected(from, e, message.block_size(0), 0, token);
            m.number = number;
            tell = unbalanced(from);
            m.lent.emplace(std::move(message));
        }
    }
    if (r != nullptr) {
        if (token != 0)
            acknowledge(from, token);
        return deliver_lent(*r, from, e, message);
    }
    if (tell)
        regulate(from);
    if ((flags & wire::is_ready) != 0)
        note_ready_error(from, e);
}

void core::on_here(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::here_header h;
    if (!c.read_here(m.source(), m.head(), h) || m.blocks() != 0)
        return c.drop(m.source(), fmt::format("a message of {} bytes, whose bytes are elsewhere, with {} blocks is none", m.head().size(),
                                              m.blocks()));
    envelope const e{h.context, h.source, h.tag};
    peer const from = m.source();
    request* const r = c.match_or_add(from, e, h.bytes, h.token, [&](unexpected_message& u) { u.where = h.where; });
    if (r == nullptr)
        return;
    c.bring(r->sink_, e, from, h.where, h.bytes, r->result_);
    c.acknowledge(from, h.token);
    c.finish(*r);
}

void core::on_laid(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::laid_header h;
    if (!c.read_laid(m.source(), m.head(), h) || m.blocks() != 0)
        return c.drop(m.source(), fmt::format("a message of {} bytes, whose bytes are apart elsewhere, with {} blocks is none",
                                              m.head().size(), m.blocks()));
    envelope const e{h.context, h.source, h.tag};
    peer const from = m.source();
    request* const r = c.match_or_add(from, e, h.bytes, h.token, [&](unexpected_message& u) {
        u.laid = true;
        u.large = std::make_unique_for_overwrite<std::byte[]>(sizeof h);
        std::memcpy(u.large.get(), &h, sizeof h);
    });
    if (r == nullptr)
        return;
    c.bring_laid(r->sink_, from, h, r->result_);
    c.acknowledge(from, h.token);
    c.finish(*r);
}

void core::on_matched(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::matched_message a;
    if (!read(m.head(), a) || m.head().size() != sizeof a)
        return c.drop(m.source(), fmt::format("an answer of {} bytes is none", m.head().size()));
    request* r = nullptr;
    bool known = false;
    {
        guard const g(c);
        sending_slot* const s = c.slots.find(a.token);
        known = s != nullptr && s->wants_match && s->to == m.source();
        if (known) {
            s->wants_match = false;
            r = c.end_one(*s, true);
        }
    }
    if (!known)
        return c.drop(m.source(), fmt::format("an answer to send {:#x}, which waits for none", a.token));
    if (r != nullptr)
        c.finish(*r);
}

void core::on_throttle(void* self, engine::engine&, engine::incoming& m)
{
    auto& c = *static_cast<core*>(self);
    wire::throttle_message t;
    if (!read(m.head(), t) || m.head().size() != sizeof t || t.on > 1 || m.source() >= c.size)
        return c.drop(m.source(), fmt::format("a word about holding back, of {} bytes, is none", m.head().size()));
    // Two threads of the receiver may have sent theirs in the wrong order.
    std::uint32_t& seen = c.throttle_seen[m.source()];
    if (static_cast<std::int32_t>(t.number - seen) <= 0)
        return;
    seen = t.number;
    c.held_back[m.source()].store(static_cast<std::uint8_t>(t.on), std::memory_order_relaxed);
}

} // namespace towline::matching
