#pragma once
// The two queues of matching: receives that wait for messages, and messages that wait for receives. Both find the oldest match in constant
// time, wildcards included. A receive is in one table under its own pattern, and only four patterns can match a given message (or it is in
// the row in front of the table, see there). A message is in four tables, one for each kind of pattern. Not thread-safe.

#include "matching/fifo_table.hpp"
#include "matching/request.hpp"

#include <array>
#include <cstdint>
#include <utility>

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

/// Receives are mostly posted and matched in the same order, so those without wildcards stand in a row first, where the oldest are looked
/// at one by one. When none of these is meant, the whole row moves to the table: nobody moves twice. `Access`: of, key, sequence. Used with
/// posted_access, and with the nodes of a plain list in tests.
template <class Node, class Access>
class posted_queue {
public:
    [[nodiscard]] std::size_t size() const noexcept { return table_.size() + in_row_; }

    void post(Node& n) noexcept
    {
        Access::sequence(n) = ++last_;
        wildcards const kind = kind_of(Access::key(n));
        if (kind == wildcards::none) [[likely]] {
            row_.append(n);
            ++in_row_;
        } else {
            ++count_[static_cast<unsigned>(kind)];
            table_.append(n);
        }
    }
    void remove(Node& n) noexcept
    {
        wildcards const kind = kind_of(Access::key(n));
        if (kind == wildcards::none && Access::sequence(n) > moved_)
            return leave_row(n);
        --count_[static_cast<unsigned>(kind)];
        table_.remove(n);
    }
    /// The first posted node that takes the message, which leaves the queue; or null.
    [[nodiscard]] Node* match(envelope const& e) noexcept
    {
        if (table_.empty() && row_.first != nullptr && meant(*row_.first, e)) [[likely]] {
            Node& n = *row_.first;
            leave_row(n);
            return &n;
        }
        Node* const best = find(e);
        if (best != nullptr)
            remove(*best);
        return best;
    }
    /// Whether there is one.
    [[nodiscard]] bool has_match(envelope const& e) noexcept { return size() != 0 && find(e) != nullptr; }
    /// Every node, in no order; the function may remove the node it is given.
    template <class Function>
    void for_each(Function&& f)
    {
        empty_row();
        table_.for_each(f);
    }

private:
    static constexpr unsigned looks = 4;  ///< so many neighbours of a small stencil may answer in any order

    /// Of a node without wildcards.
    [[nodiscard]] static bool meant(Node const& n, envelope const& e) noexcept
    {
        pattern const& p = Access::key(n);
        return p.tag == e.tag && p.source == e.source && p.context == e.context;
    }
    void leave_row(Node& n) noexcept
    {
        row_.remove(n);
        --in_row_;
    }
    void empty_row() noexcept
    {
        for (Node* n = row_.first; n != nullptr;) {
            Node* const after = Access::of(*n).after;
            table_.append(*n);
            n = after;
        }
        count_[0] += std::exchange(in_row_, 0);
        row_ = {};
        moved_ = last_;
    }
    /// The first posted node that takes the message; it stays.
    [[nodiscard]] Node* find(envelope const& e) noexcept
    {
        Node* best = count_[0] != 0 ? table_.first(opened(e, wildcards::none)) : nullptr;
        if (best == nullptr && in_row_ != 0)  // all in the row are younger
            best = find_in_row(e);
        if (table_.size() != count_[0]) [[unlikely]]
            best = older(best, e);
        return best;
    }
    [[nodiscard]] Node* find_in_row(envelope const& e) noexcept
    {
        Node* n = row_.first;
        for (unsigned i = 0; i < looks && n != nullptr; ++i) {
            if (meant(*n, e))
                return n;
            n = Access::of(*n).after;
        }
        if (n == nullptr)
            return nullptr;
        empty_row();
        return table_.first(opened(e, wildcards::none));
    }
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

    chain<Node, Access> row_;
    std::size_t in_row_ = 0;
    std::uint64_t moved_ = 0;  ///< sequence of the last node when the row moved to the table
    fifo_table<Node, Access> table_;
    std::array<std::size_t, 4> count_{};  ///< in the table
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
