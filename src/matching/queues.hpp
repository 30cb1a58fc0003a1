#pragma once
// The two queues of matching: receives that wait for messages, and messages that wait for receives. Both find the oldest match in constant
// time, wildcards included: a receive stands in one table under its own pattern, of which only four can match a given message; a message
// stands in four tables, one for each kind of pattern. Not thread-safe.

#include "matching/fifo_table.hpp"
#include "matching/request.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace towline::matching {

struct posted_access {
    [[nodiscard]] static chain_link<request>& of(request& r) noexcept { return r.link_; }
    [[nodiscard]] static pattern const& key(request const& r) noexcept { return r.pattern_; }
    [[nodiscard]] static std::uint64_t& sequence(request& r) noexcept { return r.sequence_; }
};

/// Which of source and tag are open.
enum class wildcards : unsigned { none = 0, tag = 1, source = 2, both = 3 };

[[nodiscard]] constexpr wildcards kind_of(pattern const& p) noexcept
{
    return static_cast<wildcards>((p.source == any_source ? 2u : 0u) | (p.tag == any_tag ? 1u : 0u));
}
[[nodiscard]] constexpr pattern opened(envelope const& e, wildcards k) noexcept
{
    auto const bits = static_cast<unsigned>(k);
    return {e.context, (bits & 2u) != 0 ? any_source : e.source, (bits & 1u) != 0 ? any_tag : e.tag};
}

/// `Access`: of, key, sequence. Used with posted_access, and with the model's nodes in tests.
template <class Node, class Access>
class posted_queue {
public:
    [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

    void post(Node& n) noexcept
    {
        Access::sequence(n) = ++last_;
        ++count_[static_cast<unsigned>(kind_of(Access::key(n)))];
        table_.append(n);
    }
    void remove(Node& n) noexcept
    {
        --count_[static_cast<unsigned>(kind_of(Access::key(n)))];
        table_.remove(n);
    }
    /// The first posted node that takes the message, which leaves the queue; or null.
    [[nodiscard]] Node* match(envelope const& e) noexcept
    {
        Node* best = count_[0] != 0 ? table_.first(opened(e, wildcards::none)) : nullptr;
        if (table_.size() != count_[0]) [[unlikely]]
            best = older(best, e);
        if (best != nullptr)
            remove(*best);
        return best;
    }
    /// Whether there is one.
    [[nodiscard]] bool has_match(envelope const& e) const noexcept
    {
        return table_.size() != 0 &&
               ((count_[0] != 0 && table_.first(opened(e, wildcards::none)) != nullptr) || older(nullptr, e) != nullptr);
    }
    template <class Function>
    void for_each(Function&& f)
    {
        table_.for_each(f);
    }

private:
    /// The same with wildcards: the oldest of the four kinds.
    [[nodiscard]] Node* older(Node* best, envelope const& e) const noexcept
    {
        for (unsigned k = 1; k < 4; ++k) {
            Node* const n = count_[k] != 0 ? table_.first(opened(e, static_cast<wildcards>(k))) : nullptr;
            if (n != nullptr && (best == nullptr || Access::sequence(*n) < Access::sequence(*best)))
                best = n;
        }
        return best;
    }

    fifo_table<Node, Access> table_;
    std::array<std::size_t, 4> count_{};
    std::uint64_t last_ = 0;
};

/// `Node` has `envelope letter` and `std::array<chain_link<Node>, 4> links`.
template <class Node>
class unexpected_queue {
public:
    [[nodiscard]] std::size_t size() const noexcept { return exact_.size(); }

    void add(Node& n) noexcept
    {
        exact_.append(n);
        by_source_.append(n);
        by_tag_.append(n);
        all_.append(n);
    }
    void remove(Node& n) noexcept
    {
        exact_.remove(n);
        by_source_.remove(n);
        by_tag_.remove(n);
        all_.remove(n);
    }
    /// The message that came first of those that the pattern takes; it stays.
    [[nodiscard]] Node* find(pattern const& p) const noexcept
    {
        switch (kind_of(p)) {
        case wildcards::none: return exact_.first(p);
        case wildcards::tag: return by_source_.first(p);
        case wildcards::source: return by_tag_.first(p);
        case wildcards::both: break;
        }
        return all_.first(p);
    }
    template <class Function>
    void for_each(Function&& f)
    {
        exact_.for_each(f);
    }

private:
    template <wildcards Kind>
    struct access {
        [[nodiscard]] static chain_link<Node>& of(Node& n) noexcept { return n.links[static_cast<unsigned>(Kind)]; }
        [[nodiscard]] static pattern key(Node const& n) noexcept { return opened(n.letter, Kind); }
    };
    fifo_table<Node, access<wildcards::none>> exact_;
    fifo_table<Node, access<wildcards::tag>> by_source_;
    fifo_table<Node, access<wildcards::source>> by_tag_;
    fifo_table<Node, access<wildcards::both>> all_;
};

} // namespace towline::matching
