// Early messages: their memory, and what senders are told about it.

#include "matching/unexpected.hpp"

namespace towline::matching {

unexpected_messages::~unexpected_messages()
{
    std::vector<unexpected_message*> left;
    queue_.for_each([&](unexpected_message& m) { left.push_back(&m); });
    for (auto* const m : left)
        delete m;
    while (free_ != nullptr)
        delete std::exchange(free_, free_->links[0].after);
}

unexpected_message& unexpected_messages::add(peer from, envelope const& e, std::uint64_t bytes, std::uint64_t captured,
                                             std::uint64_t token)
{
    unexpected_message* m = free_;
    if (m != nullptr) {
        free_ = m->links[0].after;
        --free_count_;
    } else {
        m = new unexpected_message;
    }
    m->letter = e;
    m->from = from;
    m->bytes = bytes;
    m->captured = captured;
    m->token = token;
    m->number = token;
    queue_.add(*m);
    count_.store(queue_.size(), std::memory_order_relaxed);
    bytes_ += captured;
    accounts_[from].bytes += captured + thresholds::early_cost;
    note_arrival();
    return *m;
}

bool unexpected_messages::take(unexpected_message& m) noexcept
{
    queue_.remove(m);
    count_.store(queue_.size(), std::memory_order_relaxed);
    bytes_ -= m.captured;
    accounts_[m.from].bytes -= m.captured + thresholds::early_cost;
    return is_unbalanced(m.from);
}

void unexpected_messages::numbers(matcher::statistics& to) const noexcept
{
    to.unexpected = queue_.size();
    to.unexpected_bytes = bytes_;
    to.throttled = throttled_;
}

void unexpected_messages::regulate(peer from) noexcept
{
    wire::throttle_message t{};
    {
        common::guard const g(common_);
        if (!is_unbalanced(from))
            return;
        account& a = accounts_[from];
        a.held = !a.held;
        throttled_ += a.held ? 1 : 0;
        t = {++a.number, a.held ? 1u : 0u};
    }
    common_.tell(from, wire::throttle, t);
}

void unexpected_messages::give_back(unexpected_message& m) noexcept
{
    m.elsewhere.emplace<std::monostate>();
    m.large.reset();
    {
        common::guard const g(common_);
        if (free_count_ < thresholds::early_nodes) {
            ++free_count_;
            m.links[0].after = free_;
            free_ = &m;
            return;
        }
    }
    delete &m;
}

} // namespace towline::matching
