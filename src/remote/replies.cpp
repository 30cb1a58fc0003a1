// The caller's side: replies arrive and complete their calls.

#include "remote/message.hpp"

#include <cstring>

namespace towline::remoting {
namespace {

void complete(pending_call const& call, detail::message_view& m) noexcept
{
    try {
        call.complete(*call.state, m);
    } catch (...) {
        call.state->set_error(std::current_exception());
    }
    call.state->release();
}

/// A reply whose blocks must be copied: a worker does that.
class reply_task final : public task, public detail::pooled {
public:
    reply_task(runtime& r, engine::incoming&& m, pending_call const& call, bool packed)
        : runtime_(r), message_(std::move(m)), call_(call), packed_(packed)
    {
        task::run = [](task* t) noexcept {
            auto* const self = static_cast<reply_task*>(t);
            {
                reply_message view(self->runtime_, self->message_, sizeof(wire::reply_footer), self->packed_, patience::may_wait);
                complete(self->call_, view);
            }
            delete self;
        };
    }

private:
    runtime& runtime_;
    engine::incoming message_;
    pending_call call_;
    bool packed_;
};

} // namespace

void runtime::on_reply(engine::incoming& m)
{
    auto const f = wire::tail<wire::reply_footer>(m.head());
    auto const call = f ? calls_.take({f->slot, f->generation}, m.source()) : std::nullopt;
    if (!call) {
        ++hostile_;
        return;
    }
    auto const order = [&] {
        std::uint64_t const n = replies_seen.load(std::memory_order_relaxed) + 1;
        replies_seen.store(n, std::memory_order_relaxed);
        call->state->set_order(n << 32);
    };
    if (f->outcome != wire::status::ok) {
        order();
        call->state->set_error(decode_error(*this, f->outcome, m.head().first(m.head().size() - sizeof *f), static_cast<int>(m.source()),
                                            call->action != nullptr ? call->action->name : "a call"));
        call->state->release();
        return calls_.ended();
    }
    bool const packed = (f->flags & wire::packed) != 0;
    bool const there = m.blocks() == 0 || blocks_in_reach(m);
    if (there && (m.blocks() == 0 || !active() || (f->flags & wire::all_given) != 0)) {
        order();
        reply_message view(*this, m, sizeof *f, packed, patience::none);
        complete(*call, view);
        return calls_.ended();
    }
    if (!active()) {
        call->state->set_error(std::make_exception_ptr(usage_error("the world ended before the data of an answer had come")));
        call->state->release();
        return calls_.ended();
    }
    m.keep();
    pool().push(*new reply_task(*this, std::move(m), *call, packed));
    calls_.ended();
}

} // namespace towline::remoting
