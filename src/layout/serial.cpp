#include "layout/serial.hpp"

#include "layout/datatype.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace towline::layout {
namespace {

constexpr std::uint64_t version = 1;

[[nodiscard]] std::uint64_t word(std::int64_t v) noexcept
{
    return static_cast<std::uint64_t>(v);
}

class writer {
public:
    explicit writer(std::vector<std::uint64_t>& out) noexcept : out_(out) {}
    [[nodiscard]] std::uint64_t nodes() const noexcept { return next_; }

    std::uint64_t write(node const& n)
    {
        if (auto const known = numbers_.find(&n); known != numbers_.end())
            return known->second;
        std::vector<std::uint64_t> children;
        if (n.child)
            children.push_back(write(*n.child));
        for (auto const& child : n.children)
            children.push_back(write(*child));
        out_.push_back(static_cast<std::uint64_t>(n.what));
        switch (n.what) {
        case form::block: out_.push_back(word(n.size)); break;
        case form::loop: out_.insert(out_.end(), {children[0], word(n.count), word(n.stride)}); break;
        case form::list:
            out_.insert(out_.end(), {children[0], word(n.count)});
            out_.insert(out_.end(), n.displacements.begin(), n.displacements.end());
            break;
        case form::pieces:
            out_.push_back(word(n.count));
            for (std::size_t i = 0; i < n.displacements.size(); ++i)
                out_.insert(out_.end(), {word(n.displacements[i]), word(n.starts[i + 1] - n.starts[i])});
            break;
        case form::sequence:
            out_.push_back(word(n.count));
            for (std::size_t i = 0; i < n.displacements.size(); ++i)
                out_.insert(out_.end(), {word(n.displacements[i]), children[i]});
            break;
        }
        numbers_.emplace(&n, next_);
        return next_++;
    }

private:
    std::vector<std::uint64_t>& out_;
    std::unordered_map<node const*, std::uint64_t> numbers_;
    std::uint64_t next_ = 0;
};

/// A node, and the bytes that it touches: [low, high), from where its data begins.
struct read_node {
    node_pointer tree;
    std::int64_t low = 0, high = 0;
};

class reader {
public:
    explicit reader(std::span<std::uint64_t const> words) noexcept : words_(words) {}

    [[nodiscard]] std::uint64_t next(char const* what)
    {
        if (at_ == words_.size())
            refuse(std::string("the form ends before ") + what);
        return __atomic_load_n(&words_[at_++], __ATOMIC_RELAXED);
    }
    [[nodiscard]] std::int64_t number(char const* what) { return static_cast<std::int64_t>(next(what)); }
    [[nodiscard]] std::size_t left() const noexcept { return words_.size() - at_; }

    [[nodiscard]] read_node read(std::vector<read_node> const& before)
    {
        self_ = before.size();
        std::uint64_t const what = next("a node's kind");
        auto made = std::make_shared<node>();
        node& n = *made;
        read_node all;
        bool first = true;
        // Takes in `size` bytes of which the ones at [low, high) are touched, at a displacement.
        auto const take = [&](std::int64_t displacement, std::int64_t low, std::int64_t high) {
            low = sum(displacement, low, "a place");
            high = sum(displacement, high, "a place");
            all.low = first ? low : std::min(all.low, low);
            all.high = first ? high : std::max(all.high, high);
            first = false;
        };
        switch (what) {
        case static_cast<std::uint64_t>(form::block):
            n.size = positive("the size of a block");
            take(0, 0, n.size);
            break;
        case static_cast<std::uint64_t>(form::loop): {
            read_node const& child = earlier(before);
            n.what = form::loop;
            n.count = positive("the count of a loop");
            n.stride = number("the stride of a loop");
            n.child = child.tree;
            n.size = product(n.child->size, n.count, "the size");
            take(0, child.low, child.high);
            take(product(n.count - 1, n.stride, "a place"), child.low, child.high);
            break;
        }
        case static_cast<std::uint64_t>(form::list): {
            read_node const& child = earlier(before);
            n.what = form::list;
            n.child = child.tree;
            n.count = entries(1);
            n.size = product(n.child->size, n.count, "the size");
            n.displacements.reserve(static_cast<std::size_t>(n.count));
            for (std::int64_t i = 0; i < n.count; ++i) {
                n.displacements.push_back(number("a displacement"));
                take(n.displacements.back(), child.low, child.high);
            }
            break;
        }
        case static_cast<std::uint64_t>(form::pieces):
        case static_cast<std::uint64_t>(form::sequence): {
            bool const pieces = what == static_cast<std::uint64_t>(form::pieces);
            n.what = pieces ? form::pieces : form::sequence;
            n.count = entries(2);
            n.displacements.reserve(static_cast<std::size_t>(n.count));
            n.starts.reserve(static_cast<std::size_t>(n.count) + 1);
            n.starts.push_back(0);
            for (std::int64_t i = 0; i < n.count; ++i) {
                n.displacements.push_back(number("a displacement"));
                std::int64_t size = 0;
                if (pieces) {
                    size = positive("the size of a piece");
                    take(n.displacements.back(), 0, size);
                } else {
                    read_node const& child = earlier(before);
                    n.children.push_back(child.tree);
                    size = child.tree->size;
                    take(n.displacements.back(), child.low, child.high);
                }
                n.starts.push_back(sum(n.starts.back(), size, "the size"));
            }
            n.size = n.starts.back();
            break;
        }
        default: refuse("of kind " + std::to_string(what) + ", which there is not");
        }
        n.elements = n.size;
        std::int32_t below = n.child ? n.child->depth : 0;
        for (auto const& child : n.children)
            below = std::max(below, child->depth);
        if (below >= deepest)
            refuse("nested more than " + std::to_string(deepest) + " levels deep");
        n.depth = below + 1;
        if (n.what == form::sequence) {
            n.element_starts = n.starts;
        }
        all.tree = std::move(made);
        return all;
    }

    [[noreturn]] void refuse(std::string const& what) const
    {
        throw bad_layout("a layout of " + std::to_string(words_.size()) + " words, node " + std::to_string(self_) + ": " + what);
    }
    [[nodiscard]] std::int64_t sum(std::int64_t a, std::int64_t b, char const* what) const
    {
        std::int64_t r = 0;
        if (__builtin_add_overflow(a, b, &r))
            refuse(std::string(what) + " does not fit 64 bits");
        return r;
    }

private:
    [[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b, char const* what) const
    {
        std::int64_t r = 0;
        if (__builtin_mul_overflow(a, b, &r))
            refuse(std::string(what) + " does not fit 64 bits");
        return r;
    }
    [[nodiscard]] std::int64_t positive(char const* what)
    {
        std::int64_t const v = number(what);
        if (v < 1)
            refuse(std::string(what) + " is " + std::to_string(v));
        return v;
    }
    /// How many entries of so many words follow.
    [[nodiscard]] std::int64_t entries(std::size_t words)
    {
        std::int64_t const n = positive("the length of a list");
        if (static_cast<std::uint64_t>(n) > left() / words)
            refuse("a list of " + std::to_string(n) + " entries, and " + std::to_string(left()) + " words are left");
        return n;
    }
    /// So no node can hold itself.
    [[nodiscard]] read_node const& earlier(std::vector<read_node> const& before)
    {
        std::uint64_t const i = next("a child");
        if (i >= before.size())
            refuse("its child is node " + std::to_string(i) + ", which does not come before it");
        return before[static_cast<std::size_t>(i)];
    }

    std::span<std::uint64_t const> words_;
    std::size_t at_ = 0;
    std::size_t self_ = 0;
};

} // namespace

std::vector<std::uint64_t> serialize(placed const& p)
{
    std::vector<std::uint64_t> out{version, word(p.displacement)};
    if (p.tree) {
        writer w(out);
        w.write(*p.tree);
        out[0] |= w.nodes() << 32;
    }
    return out;
}

placed deserialize(std::span<std::uint64_t const> words, std::int64_t size, segment within)
{
    reader in(words);
    std::uint64_t const head = in.next("its head");
    std::int64_t const displacement = in.number("its displacement");
    if ((head & 0xffffffff) != version)
        in.refuse("of version " + std::to_string(head & 0xffffffff) + "; this is version " + std::to_string(version));
    std::uint64_t const nodes = head >> 32;
    if (nodes > in.left() / 2)
        in.refuse(std::to_string(nodes) + " nodes, and " + std::to_string(in.left()) + " words are left");
    std::vector<read_node> all;
    all.reserve(static_cast<std::size_t>(nodes));
    while (all.size() < nodes)
        all.push_back(in.read(all));
    if (in.left() != 0)
        in.refuse(std::to_string(in.left()) + " words are left behind the last node");
    std::int64_t const found = all.empty() ? 0 : all.back().tree->size;
    if (found != size)
        in.refuse(std::to_string(found) + " bytes of data, where the message has " + std::to_string(size));
    if (all.empty())
        return {};
    std::int64_t const low = in.sum(displacement, all.back().low, "a place"), high = in.sum(displacement, all.back().high, "a place");
    if (low < within.low || high > within.high)
        in.refuse("bytes " + std::to_string(low) + " to " + std::to_string(high) + " of a segment that has " + std::to_string(within.low) +
                  " to " + std::to_string(within.high));
    return {displacement, all.back().tree};
}

} // namespace towline::layout
