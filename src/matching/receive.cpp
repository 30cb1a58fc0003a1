// Receiving: from where the next message arrived, from the early messages, or as a posted receive.

#include "matching/core.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

namespace towline::matching {

bool core::receive_next(pattern const& p, peer from, sink const& to, status& result)
{
    if (from == no_peer && size == 2)  // from anywhere: the other one is the likelier of two
        from = 1 - engine_.rank();
    // Larger messages mostly come another way, and find their receive posted.
    if (from >= size || to.capacity >= std::max<std::uint64_t>(config.eager + 1, behind_shown()) ||
        (to.data == nullptr && to.capacity != 0))
        return false;
    if (early.any()) {
        guard const g(*this);
        if (early.find(p) != nullptr)
            return false;
    }
    auto const is_ours = [&](envelope const& e) {
        if (!p.matches(e))
            return false;
        // Another thread may have polled before, unseen so far, or posted a receive.
        guard const g(*this);
        return early.find(p) == nullptr && !posted.has_match(e);
    };
    std::uint64_t token = 0;
    bool const taken = engine_.take_next(from, [&](engine::handler_id id, std::span<std::byte const> head) {
        if (id == handler_of(wire::eager)) [[likely]] {
            envelope e;
            if (!read_eager(from, head, e) || !is_ours(e))
                return false;
            deliveries::place(to, e, head.subspan(sizeof(wire::eager_header)), result);
            return true;
        }
        if (id == handler_of(wire::relayed)) {
            envelope e;
            relayed block;
            if (!relaying.read(from, head, e, block) || !is_ours(e))
                return false;
            relaying.take(to, e, from, block, result);
            return true;
        }
        here_message h;
        bool const is_read = id == handler_of(wire::here)   ? read_here<wire::here>(from, head, h)
                             : id == handler_of(wire::laid) ? read_here<wire::laid>(from, head, h)
                                                            : false;
        if (!is_read || !is_ours(h.letter))
            return false;
        in.bring(to, h.letter, from, h.bytes, h.at, 0, result);  // it must not send
        token = h.token;
        return true;
    });
    if (token != 0)
        acknowledge(from, token);
    return taken;
}

void matcher::start_receive(request& r, pattern const& p, peer from, sink const& to)
{
    core& c = *core_;
    requests::begin(r, operation::receive);
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
        m = c.early.find(p);
        if (m != nullptr) {
            tell = c.early.take(*m);
        } else if (!c.groups.is_hopeless(p, from)) [[likely]] {
            r.posted_ = true;
            c.posted.post(r);
            return;
        }
    }
    if (m == nullptr) {
        r.result_ = {p.source, p.tag, 0, outcome::peer_died, false};
        return c.ends.finish_in_start(r);
    }
    peer const sender = m->from;
    c.in.deliver(r, *m);
    if (tell)
        c.early.regulate(sender);
}

void matcher::start_receive(request& r, taken_message& message, sink const& to)
{
    core& c = *core_;
    if (!message)
        throw usage_error("matching: the message that is to be received was received before, or none was found");
    requests::begin(r, operation::receive);
    unexpected_message& m = *std::exchange(message.node_, nullptr);
    r.pattern_ = {m.letter.context, m.letter.source, m.letter.tag};
    r.peer_ = m.from;
    r.sink_ = to;
    r.state_.store(request::state::pending, std::memory_order_relaxed);
    c.in.deliver(r, m);
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
    core_->wait_or_abandon(r, call);
    status const& s = r.result();
    result = {s.source, s.tag, s.bytes, s.error, s.cancelled};  // field by field: they were written just now
}

} // namespace towline::matching
