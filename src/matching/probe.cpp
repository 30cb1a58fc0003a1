// Probes: looks at early messages, and taking them out.

#include "matching/core.hpp"

namespace towline::matching {

std::optional<status> core::peek(pattern const& p) const noexcept
{
    guard const g(*this);
    auto const* const m = early.find(p);
    return m != nullptr ? std::optional(m->about()) : std::nullopt;
}

unexpected_message* core::take(pattern const& p) noexcept
{
    unexpected_message* m = nullptr;
    bool tell = false;
    {
        guard const g(*this);
        m = early.find(p);
        if (m == nullptr)
            return nullptr;
        tell = early.take(*m);
    }
    if (tell)
        early.regulate(m->from);
    return m;
}

template <class Look>
void core::await_arrival(Look&& look, pattern const& p, peer from, char const* call)
{
    std::uint64_t seen = early.arrivals();
    if (look())
        return;
    // A wait may call `ready` again after it was true.
    bool found = false;
    auto const ready = [&] {
        if (found)
            return true;
        std::uint64_t const now = early.arrivals();
        found = now != std::exchange(seen, now) && look();
        return found;
    };
    if (engine_.spin(ready, call))
        return;
    waited const about({operation::receive, p, from, 0, false});
    engine_.wait(ready, call, std::chrono::nanoseconds::max(), &about);
}

std::optional<status> matcher::iprobe(pattern const& p)
{
    core& c = *core_;
    auto found = c.peek(p);
    if (!found && !c.engine_.in_handler()) {
        c.engine_.progress();
        found = c.peek(p);
    }
    return found;
}

taken_message matcher::improbe(pattern const& p)
{
    core& c = *core_;
    auto* m = c.take(p);
    if (m == nullptr && !c.engine_.in_handler()) {
        c.engine_.progress();
        m = c.take(p);
    }
    return m != nullptr ? taken_message(c, *m) : taken_message();
}

status matcher::probe(pattern const& p, peer from, char const* call)
{
    core& c = *core_;
    std::optional<status> found;
    c.await_arrival(
        [&] {
            found = c.peek(p);
            if (!found) {
                core::guard const g(c);
                if (c.groups.is_hopeless(p, from))
                    found = status{p.source, p.tag, 0, outcome::peer_died, false};
            }
            return found.has_value();
        },
        p, from, call);
    return *found;
}

taken_message matcher::mprobe(pattern const& p, peer from, char const* call)
{
    core& c = *core_;
    unexpected_message* m = nullptr;
    c.await_arrival(
        [&] {
            m = c.take(p);
            if (m != nullptr)
                return true;
            core::guard const g(c);
            return c.groups.is_hopeless(p, from);
        },
        p, from, call);
    return m != nullptr ? taken_message(c, *m) : taken_message();
}

taken_message::~taken_message()
{
    if (node_ != nullptr)
        owner_->in.discard(*node_);
}

status taken_message::about() const noexcept
{
    return node_ != nullptr ? node_->about() : status{};
}

} // namespace towline::matching
