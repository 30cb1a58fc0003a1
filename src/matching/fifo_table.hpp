#pragma once
// A hash table of queues: finds the oldest node of a key, in constant time however many nodes and keys there are. Intrusive: a node carries
// its links, so that only the buckets are allocated.

#include "matching/envelope.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace towline::matching {

template <class Node>
struct chain_link {
    Node* before = nullptr;
    Node* after = nullptr;
    std::uint64_t hash = 0;  ///< of the key, while in a table
};

/// A queue through one of a node's links.
template <class Node, class Links>
struct chain {
    Node* first = nullptr;
    Node* last = nullptr;

    void append(Node& n) noexcept
    {
        auto& l = Links::of(n);
        l.before = last;
        l.after = nullptr;
        (last != nullptr ? Links::of(*last).after : first) = &n;
        last = &n;
    }
    void remove(Node& n) noexcept
    {
        auto const& l = Links::of(n);
        (l.before != nullptr ? Links::of(*l.before).after : first) = l.after;
        (l.after != nullptr ? Links::of(*l.after).before : last) = l.before;
    }
};

/// `Access::of(node)` is the node's chain_link for this table, `Access::key(node)` its key, which must not change while the node is in it.
/// Not thread-safe. Nodes are not owned.
template <class Node, class Access>
class fifo_table {
public:
    fifo_table() : buckets_(std::make_unique<bucket[]>(first_buckets)) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// Behind all nodes of the same key. Seldom makes the table larger; if there is no memory for that, stays as it is.
    void append(Node& n) noexcept
    {
        if (size_ >= std::size_t{1} << (64 - shift_)) [[unlikely]]
            grow();
        std::uint64_t const h = hash(Access::key(n));
        Access::of(n).hash = h;
        buckets_[h >> shift_].append(n);
        ++size_;
    }
    void remove(Node& n) noexcept
    {
        buckets_[Access::of(n).hash >> shift_].remove(n);
        --size_;
    }
    /// The oldest node of the key, or null.
    [[nodiscard]] Node* first(pattern const& key) const noexcept
    {
        for (Node* n = buckets_[hash(key) >> shift_].first; n != nullptr; n = Access::of(*n).after) {
            if (Access::key(*n) == key)
                return n;
        }
        return nullptr;
    }
    /// Every node, in no order; the function may remove the node it is given.
    template <class Function>
    void for_each(Function&& f)
    {
        for (std::size_t i = 0; i < std::size_t{1} << (64 - shift_); ++i) {
            for (Node* n = buckets_[i].first; n != nullptr;) {
                Node* const after = Access::of(*n).after;
                f(*n);
                n = after;
            }
        }
    }

private:
    using bucket = chain<Node, Access>;
    static constexpr std::size_t first_buckets = 64;
    static constexpr int most_bits = 22;

    /// Contexts, ranks and tags are small and dense. The factors are 2^64 times the powers of 1/g, g^4 = g + 1, whose sums of small
    /// multiples lie evenly between 0 and 1 (M. Roberts, "The unreasonable effectiveness of quasirandom sequences"): the high bits differ.
    [[nodiscard]] static std::uint64_t hash(pattern const& k) noexcept
    {
        return static_cast<std::uint32_t>(k.tag) * std::uint64_t{0xd1b54a32d192ed03} +
               static_cast<std::uint32_t>(k.source) * std::uint64_t{0xabc98388fb8fac03} + k.context * std::uint64_t{0x8cb92ba72f3d8dd7};
    }

    void grow() noexcept
    {
        if (shift_ <= 64 - most_bits)
            return;
        std::size_t const before = std::size_t{1} << (64 - shift_);
        std::unique_ptr<bucket[]> more(new (std::nothrow) bucket[before * 4]);
        if (!more)
            return;
        shift_ -= 2;
        auto const old = std::exchange(buckets_, std::move(more));
        // Nodes of one key share a bucket and are moved in order, so they stay in order.
        for (std::size_t i = 0; i < before; ++i) {
            for (Node* n = old[i].first; n != nullptr;) {
                Node* const after = Access::of(*n).after;
                buckets_[Access::of(*n).hash >> shift_].append(*n);
                n = after;
            }
        }
    }

    int shift_ = 64 - std::countr_zero(first_buckets);
    std::size_t size_ = 0;
    std::unique_ptr<bucket[]> buckets_;
};

} // namespace towline::matching
