#include "layout/node.hpp"

#include "layout/datatype.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace towline::layout {
namespace {

constexpr std::int64_t flat = 256;          ///< nested lists become one up to this length
constexpr int compared = 3;                 ///< levels of two trees that are compared; deeper ones are the same only if shared

std::int64_t unit_size(kind unit) noexcept
{
    return info(unit).size;
}

int deeper(int depth)
{
    if (depth >= deepest)
        throw limit_error("datatype: nested more than " + std::to_string(deepest) + " levels deep; build it from fewer, longer lists");
    return depth + 1;
}

[[nodiscard]] node_pointer new_block(kind unit, std::int64_t bytes)
{
    auto made = std::make_shared<node>();
    made->unit = unit;
    made->size = bytes;
    made->elements = bytes / unit_size(unit);
    return made;
}

/// Blocks of one element are parts of many trees. Never destroyed: programs make datatypes in destructors.
[[nodiscard]] node_pointer const& one_element(kind unit)
{
    static auto const& all = *[] {
        auto* const made = new std::array<node_pointer, kinds>;
        for (std::size_t k = 0; k < kinds; ++k)
            (*made)[k] = new_block(static_cast<kind>(k), unit_size(static_cast<kind>(k)));
        return made;
    }();
    return all[static_cast<std::size_t>(unit)];
}

} // namespace

placed make_block(kind unit, std::int64_t bytes)
{
    if (bytes == 0)
        return {};
    if (bytes == unit_size(unit))
        return {0, one_element(unit)};
    return {0, new_block(unit, bytes)};
}

placed repeat(placed const& child, std::int64_t count, std::int64_t stride)
{
    if (count == 0 || !child.tree)
        return {};
    if (count == 1)
        return child;
    node const& c = *child.tree;
    if (c.what == form::block && c.size == stride)
        return {child.displacement, make_block(c.unit, c.size * count).tree};
    auto made = std::make_shared<node>();
    made->what = form::loop;
    made->size = c.size * count;
    made->elements = c.elements * count;
    std::int64_t whole = 0;
    if (c.what == form::loop && !__builtin_mul_overflow(c.count, c.stride, &whole) && whole == stride) {
        made->count = c.count * count;
        made->stride = c.stride;
        made->child = c.child;
        made->depth = c.depth;
    } else {
        made->count = count;
        made->stride = stride;
        made->child = child.tree;
        made->depth = deeper(c.depth);
    }
    return {child.displacement, std::move(made)};
}

bool same(node const& a, node const& b, bool units) noexcept
{
    if (&a == &b)
        return true;
    if (a.depth > compared || a.depth != b.depth || a.what != b.what || (units && a.unit != b.unit) || a.size != b.size || a.count != b.count ||
        a.stride != b.stride)
        return false;
    if (a.displacements != b.displacements || a.starts != b.starts || (a.child && !same(*a.child, *b.child, units)))
        return false;
    return std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                      [units](node_pointer const& x, node_pointer const& y) { return same(*x, *y, units); });
}

void gatherer::add_block(std::int64_t displacement, kind unit, std::int64_t bytes)
{
    if (bytes == 0)
        return;
    if (!items_.empty()) {
        item& last = items_.back();
        // The end of a block fits 64 bits: the bounds of the type were checked before.
        if (!last.tree && (last.unit == unit || !units_) && last.displacement + last.size == displacement) {
            last.size += bytes;
            return;
        }
    }
    items_.push_back({displacement, bytes, unit, nullptr});
}

void gatherer::add(std::int64_t displacement, placed const& what)
{
    if (!what.tree)
        return;
    if (what.tree->what == form::block)
        add_block(displacement + what.displacement, what.tree->unit, what.tree->size);
    else
        items_.push_back({displacement + what.displacement, what.tree->size, what.tree->unit, what.tree});
}

namespace {

template <class Item>
bool alike(Item const& a, Item const& b, bool units) noexcept
{
    if (!a.tree || !b.tree)
        return !a.tree && !b.tree && (a.unit == b.unit || !units) && a.size == b.size;
    return same(*a.tree, *b.tree, units);
}

template <class Item>
placed place(Item const& i)
{
    return {i.displacement, i.tree ? i.tree : make_block(i.unit, i.size).tree};
}

} // namespace

/// How many items from `first` on are alike and equally far from each other; at least 1.
std::size_t gatherer::run_length(list const& items, std::size_t first, bool units) noexcept
{
    std::size_t n = 1;
    while (first + n < items.size()) {
        item const& next = items[first + n];
        if (!alike(items[first], next, units))
            break;
        if (n > 1 && next.displacement - items[first + n - 1].displacement != items[first + 1].displacement - items[first].displacement)
            break;
        ++n;
    }
    return n;
}

/// Makes runs of equal steps loops; empty where that does not pay.
gatherer::list gatherer::fold(list const& items, bool units)
{
    list out;
    std::size_t const most = items.size() / gatherer::worthwhile;
    if (most == 0)
        return out;
    for (std::size_t i = 0; i < items.size() && out.size() <= most;) {
        std::size_t const n = run_length(items, i, units);
        if (n < gatherer::shortest_run) {
            out.push_back(items[i++]);
            continue;
        }
        placed const loop = repeat(place(items[i]), static_cast<std::int64_t>(n), items[i + 1].displacement - items[i].displacement);
        out.push_back({loop.displacement, loop.tree->size, loop.tree->unit, loop.tree});
        i += n;
    }
    if (out.size() > most)
        out.clear();
    return out;
}

/// Replaces nested lists by what they hold, where that stays short. False if nothing was to be replaced.
bool gatherer::flatten()
{
    std::int64_t all = 0;
    bool any = false;
    for (item const& i : items_) {
        bool const nested = i.tree && i.tree->what != form::loop;
        any = any || nested;
        all += nested ? i.tree->count : 1;
        if (all > flat)
            return false;
    }
    if (!any)
        return false;
    list const old = std::exchange(items_, {});
    for (item const& i : old) {
        if (!i.tree || i.tree->what == form::loop) {
            if (i.tree)
                items_.push_back(i);
            else
                add_block(i.displacement, i.unit, i.size);
            continue;
        }
        node const& n = *i.tree;
        for (std::size_t k = 0; k < n.displacements.size(); ++k) {
            std::int64_t const at = i.displacement + n.displacements[k];
            if (n.what == form::pieces)
                add_block(at, n.unit, n.starts[k + 1] - n.starts[k]);
            else
                add(at, {0, n.what == form::list ? n.child : n.children[k]});
        }
    }
    return true;
}

placed gatherer::finish()
{
    for (;;) {
        if (items_.empty())
            return {};
        item const& first = items_.front();
        if (items_.size() == 1)
            return place(first);
        if (std::size_t const run = run_length(items_, 0, units_); run == items_.size())
            return repeat(place(first), static_cast<std::int64_t>(run), items_[1].displacement - first.displacement);
        if (auto folded = fold(items_, units_); !folded.empty()) {
            items_ = std::move(folded);
            continue;
        }
        bool const uniform = std::all_of(items_.begin(), items_.end(), [&](item const& i) { return alike(i, first, units_); });
        if (!uniform && flatten())
            continue;

        auto made = std::make_shared<node>();
        made->count = static_cast<std::int64_t>(items_.size());
        made->displacements.reserve(items_.size());
        for (item const& i : items_)
            made->displacements.push_back(i.displacement - first.displacement);
        if (uniform) {
            made->what = form::list;
            made->child = place(first).tree;
            made->size = made->child->size * made->count;
            made->elements = made->child->elements * made->count;
            made->depth = deeper(made->child->depth);
            return {first.displacement, std::move(made)};
        }
        bool const blocks = std::all_of(items_.begin(), items_.end(), [&](item const& i) { return !i.tree && (i.unit == first.unit || !units_); });
        made->what = blocks ? form::pieces : form::sequence;
        made->starts.reserve(items_.size() + 1);
        made->starts.push_back(0);
        for (item const& i : items_)
            made->starts.push_back(made->starts.back() + i.size);
        made->size = made->starts.back();
        if (blocks) {
            made->unit = first.unit;
            made->elements = made->size / unit_size(first.unit);
            return {first.displacement, std::move(made)};
        }
        int below = 0;
        made->children.reserve(items_.size());
        made->element_starts.reserve(items_.size() + 1);
        made->element_starts.push_back(0);
        for (item const& i : items_) {
            made->children.push_back(place(i).tree);
            made->element_starts.push_back(made->element_starts.back() + made->children.back()->elements);
            below = std::max(below, made->children.back()->depth);
        }
        made->elements = made->element_starts.back();
        made->depth = deeper(below);
        return {first.displacement, std::move(made)};
    }
}

std::int64_t elements_before(node const& tree, std::int64_t bytes, bool& cut) noexcept
{
    node const* at = &tree;
    std::int64_t before = 0;
    while (bytes != 0) {
        if (bytes == at->size)
            return before + at->elements;
        if (at->what == form::block || at->what == form::pieces) {
            cut = cut || bytes % unit_size(at->unit) != 0;
            return before + bytes / unit_size(at->unit);
        }
        if (at->what == form::sequence) {
            auto const i = static_cast<std::size_t>(std::upper_bound(at->starts.begin(), at->starts.end(), bytes) - at->starts.begin() - 1);
            before += at->element_starts[i];
            bytes -= at->starts[i];
            at = at->children[i].get();
        } else {
            before += bytes / at->child->size * at->child->elements;
            bytes %= at->child->size;
            at = at->child.get();
        }
    }
    return before;
}

std::int64_t bytes_before(node const& tree, std::int64_t elements) noexcept
{
    node const* at = &tree;
    std::int64_t before = 0;
    while (elements != 0) {
        if (elements == at->elements)
            return before + at->size;
        if (at->what == form::block || at->what == form::pieces)
            return before + elements * unit_size(at->unit);
        if (at->what == form::sequence) {
            auto const& starts = at->element_starts;
            auto const i = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), elements) - starts.begin() - 1);
            before += at->starts[i];
            elements -= starts[i];
            at = at->children[i].get();
        } else {
            before += elements / at->child->elements * at->child->size;
            elements %= at->child->elements;
            at = at->child.get();
        }
    }
    return before;
}

namespace {

constexpr std::size_t shown = 8;  ///< entries of a list that are written out
constexpr int shown_depth = 8;

/// As a tree of bytes.
std::string describe(node const& n, int depth)
{
    if (depth == shown_depth)
        return "...";
    if (n.what == form::block)
        return "block " + std::to_string(n.size);
    if (n.what == form::loop)
        return "loop " + std::to_string(n.count) + " x " + std::to_string(n.stride) + " of " + describe(*n.child, depth + 1);
    std::string text = n.what == form::list ? "list " : n.what == form::pieces ? "pieces " : "sequence ";
    text += std::to_string(n.count) + " {";
    for (std::size_t i = 0; i < n.displacements.size(); ++i) {
        if (i == shown) {
            text += ", ...";
            break;
        }
        text += (i == 0 ? "" : ", ") + std::to_string(n.displacements[i]);
        if (n.what == form::pieces)
            text += ": " + std::to_string(n.starts[i + 1] - n.starts[i]);
        else if (n.what == form::sequence)
            text += ": " + describe(*n.children[i], depth + 1);
    }
    return text + (n.what == form::list ? "} of " + describe(*n.child, depth + 1) : "}");
}

} // namespace

std::string describe(placed const& p)
{
    return p.tree ? "at " + std::to_string(p.displacement) + ": " + describe(*p.tree, 0) : "nothing";
}

} // namespace towline::layout
