// Receiving: a message and its request have found each other.

#include "matching/core.hpp"

#include "base/log.hpp"
#include "job/counters.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace towline::matching {

using job::counter;

namespace {

/// memcpy that is inline for what shares a line with its envelope.
inline void copy(void* to, std::byte const* from, std::size_t n) noexcept
{
    if (n == 8)
        std::memcpy(to, from, 8);
    else if (n != 0)
        std::memcpy(to, from, n);
}

} // namespace

inline void core::place(sink const& to, envelope const& e, std::span<std::byte const> bytes, status& result) noexcept
{
    result = {e.source, e.tag, bytes.size(), outcome::ok, false};
    if (bytes.size() > to.capacity) [[unlikely]] {
        result.error = outcome::truncated;
        bytes = bytes.first(to.capacity);
    }
    if (to.unpack != nullptr)
        to.take(bytes, result);
    else
        copy(to.data, bytes.data(), bytes.size());
}

void core::bring(sink const& to, envelope const& e, peer from, std::uint64_t where, std::uint64_t bytes, status& result) noexcept
{
    try {
        std::byte const* const there = engine_.look(where, bytes);
        if (to.unpack != nullptr || bytes > to.capacity) [[unlikely]]
            return place(to, e, {there, bytes}, result);
        engine_.bring(to.data, there, bytes);
        result = {e.source, e.tag, bytes, outcome::ok, false};
    } catch (error const& x) {
        base::log(base::log_level::error, "rank {}: {} bytes from peer {} cannot be received: {}", engine_.rank(), bytes, from, x.what());
        result = {e.source, e.tag, bytes, outcome::lost, false};
    }
}

void core::bring_laid(sink const& to, peer from, wire::laid_header const& h, status& result) noexcept
{
    result = {h.source, h.tag, h.bytes, h.bytes > to.capacity ? outcome::truncated : outcome::ok, false};
    try {
        auto const* const form = engine_.look(h.form, std::size_t{h.words} * sizeof(std::uint64_t));
        if (reinterpret_cast<std::uintptr_t>(form) % alignof(std::uint64_t) != 0)
            throw layout::bad_layout("a layout that is not aligned");
        laid_message const m{{engine_.look(h.where, h.span), h.span},
                             {reinterpret_cast<std::uint64_t const*>(form), h.words},
                             {h.meaning[0], h.meaning[1]},
                             h.bytes};
        std::uint64_t const bytes = std::min(h.bytes, to.capacity);
        if (to.unpack == nullptr) {
            copy_laid({nullptr, static_cast<std::int64_t>(bytes), to.data}, m);
        } else if (to.lay != nullptr) {
            laid_sink where;
            if (!to.lay(to.data, bytes, where) && result.error == outcome::ok)
                result.error = outcome::unlike;
            copy_laid(where, m);
        } else {
            auto const packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
            copy_laid({nullptr, static_cast<std::int64_t>(bytes), packed.get()}, m);
            to.take({packed.get(), bytes}, result);
        }
        for (auto const c : {counter::bytes_copied_once, counter::bytes_mapped, counter::bytes_laid})
            engine_.count(c, bytes);
        engine_.count(counter::copied_once, 1);
    } catch (std::exception const& x) {
        base::log(base::log_level::error, "rank {}: {} bytes from peer {} cannot be received: {}", engine_.rank(), h.bytes, from, x.what());
        result.error = outcome::lost;
    }
}

void core::deliver(request& r, envelope const& e, std::span<std::byte const> bytes) noexcept
{
    place(r.sink_, e, bytes, r.result_);
}

bool core::receive_next(pattern const& p, peer from, sink const& to, status& result)
{
    // What is larger comes another way, most of the time, and finds its receive posted.
    if (from >= size || to.capacity >= std::max<std::uint64_t>(config.eager + 1, behind_shown()) ||
        (to.data == nullptr && to.capacity != 0))
        return false;
    auto const came_before = [&] { return unexpected.size() != 0 && unexpected.find(p) != nullptr; };
    if (early.load(std::memory_order_relaxed) != 0) {
        guard const g(*this);
        if (came_before())
            return false;
    }
    auto const is_ours = [&](envelope const& e) {
        if (!p.matches(e))
            return false;
        // Another thread may have polled before, unseen so far, or posted a receive.
        guard const g(*this);
        return !came_before() && !posted.has_match(e);
    };
    std::uint64_t token = 0;
    bool const taken = engine_.take_next(from, [&](engine::handler_id id, std::span<std::byte const> head) {
        if (id == first_handler + wire::eager) [[likely]] {
            envelope e;
            if (!read_eager(from, head, e) || !is_ours(e))
                return false;
            place(to, e, head.subspan(sizeof(wire::eager_header)), result);
            return true;
        }
        if (id == first_handler + wire::relayed) {
            envelope e;
            relayed m;
            if (!read_relayed(from, head, e, m) || !is_ours(e))
                return false;
            take_relayed(to, e, from, m, result);
            return true;
        }
        if (id == first_handler + wire::laid) {
            wire::laid_header h;
            if (!read_laid(from, head, h) || !is_ours({h.context, h.source, h.tag}))
                return false;
            bring_laid(to, from, h, result);
            token = h.token;
            return true;
        }
        wire::here_header h;
        if (id != first_handler + wire::here || !read_here(from, head, h) || !is_ours({h.context, h.source, h.tag}))
            return false;
        bring(to, {h.context, h.source, h.tag}, from, h.where, h.bytes, result);
        token = h.token;
        return true;
    });
    if (token != 0)
        acknowledge(from, token);
    return taken;
}

void core::deliver_lent(request& r, peer from, envelope const& e, engine::incoming& message) noexcept
{
    std::uint64_t const size_there = message.block_size(0);
    sink const to = r.sink_;
    bool const in_pieces = to.unpack != nullptr || size_there > to.capacity;
    if (in_pieces) {
        if (void const* const bytes = message.view(0); bytes != nullptr || size_there == 0) {
            deliver(r, e, {static_cast<std::byte const*>(bytes), size_there});
            return finish(r);
        }
        if (size_there > to.capacity) {
            r.result_ = {e.source, e.tag, size_there, outcome::truncated, false};
            return finish(r);
        }
    }
    r.result_ = {e.source, e.tag, size_there, outcome::ok, false};
    std::unique_ptr<std::byte[]> temporary;
    try {
        if (in_pieces)
            temporary = std::make_unique_for_overwrite<std::byte[]>(size_there);
        message.fetch(0, in_pieces ? temporary.get() : to.data, engine::incoming::pace::may_lag);
    } catch (std::exception const& x) {
        base::log(base::log_level::error, "rank {}: {} bytes from peer {} cannot be received: {}", engine_.rank(), size_there, from,
                  x.what());
        r.result_.error = outcome::lost;
        return finish(r);
    }
    if (message.ready()) {
        bool const ok = !message.failed();
        if (!ok)
            r.result_.error = outcome::lost;
        else if (in_pieces)
            to.take({temporary.get(), size_there}, r.result_);
        return finish(r);
    }
    auto l = std::make_unique<landing>();
    l->owner = this;
    l->target = &r;
    l->from = from;
    l->letter = e;
    l->bytes = size_there;
    l->temporary = std::move(temporary);
    {
        guard const g(*this);
        r.behind_ = l.get();
        landings.append(*l);
    }
    engine::incoming::when_ready(std::move(message), &on_landed, l.release());
}

void core::on_landed(void* context, bool ok, engine::incoming& message)
{
    std::unique_ptr<landing> const l(static_cast<landing*>(context));
    core& self = *l->owner;
    {
        // The sender may go on before the receiver does.
        engine::incoming const over(std::move(message));
    }
    request* r = nullptr;
    {
        guard const g(self);
        self.landings.remove(*l);
        r = std::exchange(l->target, nullptr);
        if (r != nullptr) {
            r->behind_ = nullptr;
            bool const gone = std::find(self.dead.begin(), self.dead.end(), l->from) != self.dead.end();
            if (!ok)
                r->result_.error = gone ? outcome::peer_died : outcome::lost;
        }
    }
    if (r == nullptr)
        return;
    if (ok && l->temporary)
        r->sink_.take({l->temporary.get(), l->bytes}, r->result_);
    self.finish(*r);
    self.engine_.notify();
}

void core::deliver_unexpected(request& r, unexpected_message& m) noexcept
{
    if (m.laid) {
        wire::laid_header h;
        std::memcpy(&h, m.large.get(), sizeof h);
        bring_laid(r.sink_, m.from, h, r.result_);
        discard(m);
        return finish_at_once(r);
    }
    if (m.where != 0) {
        bring(r.sink_, m.letter, m.from, m.where, m.bytes, r.result_);
        discard(m);
        return finish_at_once(r);
    }
    if (m.relay.number != 0) {
        take_relayed(r.sink_, m.letter, m.from, m.relay, r.result_);
        give_back(m);
        return finish_at_once(r);
    }
    if (m.token != 0)
        acknowledge(m.from, m.token);
    if (m.lent) {
        engine::incoming message = std::move(*m.lent);
        peer const from = m.from;
        envelope const e = m.letter;
        give_back(m);
        return deliver_lent(r, from, e, message);
    }
    deliver(r, m.letter, {m.data(), m.bytes});
    give_back(m);
    finish_at_once(r);
}

void matcher::start_receive(request& r, pattern const& p, peer from, sink const& to)
{
    core& c = *core_;
    c.begin(r, operation::receive);
    if (to.data == nullptr && to.capacity != 0 && to.unpack == nullptr) [[unlikely]]
        throw usage_error(fmt::format("matching: {} bytes are to be received at a null pointer", to.capacity));
    // Field by field: see read_envelope.
    r.pattern_.context = p.context;
    r.pattern_.source = p.source;
    r.pattern_.tag = p.tag;
    r.peer_ = from;
    r.sink_.data = to.data;
    r.sink_.capacity = to.capacity;
    r.sink_.unpack = to.unpack;
    r.sink_.lay = to.lay;
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    unexpected_message* m = nullptr;
    bool tell = false;
    {
        core::guard const g(c);
        if (c.unexpected.size() != 0)
            m = c.unexpected.find(p);
        if (m != nullptr) {
            tell = c.take_unexpected(*m);
        } else if (c.dead.empty() || !c.hopeless(p, from)) [[likely]] {
            r.posted_ = true;
            c.posted.post(r);
            return;
        }
    }
    if (m == nullptr) {
        r.result_ = {p.source, p.tag, 0, outcome::peer_died, false};
        return c.finish_at_once(r);
    }
    peer const sender = m->from;
    c.deliver_unexpected(r, *m);
    if (tell)
        c.regulate(sender);
}

void matcher::start_receive(request& r, taken_message& message, sink const& to)
{
    core& c = *core_;
    if (!message)
        throw usage_error("matching: the message that is to be received was received before, or none was found");
    c.begin(r, operation::receive);
    unexpected_message& m = *std::exchange(message.node_, nullptr);
    r.pattern_ = {m.letter.context, m.letter.source, m.letter.tag};
    r.peer_ = m.from;
    r.sink_ = to;
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    c.deliver_unexpected(r, m);
}

status matcher::receive(pattern const& p, peer from, sink const& to, char const* call)
{
    if (core_->engine_.in_handler())
        throw usage_error("matching: a handler receives and waits; it may start a receive");
    status result;
    if (!core_->receive_next(p, from, to, result)) [[unlikely]]
        receive_and_wait(p, from, to, call, result);
    return result;
}

[[gnu::noinline]] void matcher::receive_and_wait(pattern const& p, peer from, sink const& to, char const* call, status& result)
{
    request r;
    start_receive(r, p, from, to);
    try {
        wait(r, call);
    } catch (...) {
        core_->abandon(r);
        throw;
    }
    status const& s = r.result();
    result = {s.source, s.tag, s.bytes, s.error, s.cancelled};  // field by field: they were written just now
}

} // namespace towline::matching
