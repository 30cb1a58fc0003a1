// What is under way, for people and watchdogs.

#include "matching/core.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace towline::matching {

std::vector<pending_operation> matcher::pending(std::size_t at_most) const
{
    std::vector<pending_operation> all;
    all.reserve(std::min(at_most, std::size_t{1024}));
    core& c = *core_;
    core::guard const g(c);
    c.out.for_each([&](sending_slot const& s) {
        if (all.size() < at_most && s.target != nullptr)
            all.push_back({operation::send, s.target->pattern_, s.to, s.bytes, false});
    });
    c.in.for_each([&](landing const& l) {
        if (all.size() < at_most && l.target != nullptr)
            all.push_back({operation::receive, {l.letter.context, l.letter.source, l.letter.tag}, l.from, l.bytes, true});
    });
    c.posted.for_each([&](request& r) {
        if (all.size() < at_most)
            all.push_back({operation::receive, r.pattern_, r.peer_, r.sink_.capacity, false});
    });
    return all;
}

std::vector<pending_operation> matcher::unreceived(std::size_t at_most) const
{
    std::vector<pending_operation> all;
    core& c = *core_;
    core::guard const g(c);
    c.early.for_each([&](unexpected_message& m) {
        if (all.size() < at_most)
            all.push_back({operation::none, {m.letter.context, m.letter.source, m.letter.tag}, m.from, m.bytes, false});
    });
    return all;
}

std::string matcher::describe(pending_operation const& o)
{
    if (o.what == operation::send)
        return fmt::format("send to peer {}, tag {}, context {}", o.with, o.about.tag, o.about.context);
    std::string who = o.about.source == any_source ? "any rank" : fmt::format("rank {}", o.about.source);
    if (o.with != no_peer)
        who += fmt::format(" (peer {})", o.with);
    std::string const tag = o.about.tag == any_tag ? "any tag" : fmt::format("tag {}", o.about.tag);
    return fmt::format("receive from {}, {}, context {}{}", who, tag, o.about.context, o.matched ? ", matched" : "");
}

matcher::statistics matcher::numbers() const
{
    core& c = *core_;
    core::guard const g(c);
    statistics all{.posted = c.posted.size(), .ready_errors = c.ready_errors.load(std::memory_order_relaxed)};
    c.early.numbers(all);
    return all;
}

std::uint64_t matcher::unexpected(bool (*counts)(context_id)) const
{
    core& c = *core_;
    core::guard const g(c);
    std::uint64_t n = 0;
    c.early.for_each([&](unexpected_message const& m) { n += counts(m.letter.context) ? 1 : 0; });
    return n;
}

} // namespace towline::matching
