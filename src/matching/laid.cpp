// Copies from layout to layout, and what a receiver remembers for them.

#include "matching/laid.hpp"

#include "base/settings.hpp"
#include "heap/heap.hpp"
#include "layout/stream.hpp"
#include "matching/thresholds.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace towline::matching {

layout_design wished_design()
{
    static auto const wish =
        static_cast<layout_design>(base::setting_choice("TOWLINE_LAYOUT", {"pack", "pipelined", "basic", "memo", "optimized"}, 4));
    return wish;
}

std::shared_ptr<shown_layout const> shown_layout::make(layout::datatype const& type, std::int64_t count) noexcept
{
    try {
        std::int64_t last = 0, low = 0, high = 0, span = 0;
        if (count < 1 || __builtin_mul_overflow(count - 1, type.extent(), &last) ||
            __builtin_add_overflow(type.true_lb(), std::min<std::int64_t>(0, last), &low) ||
            __builtin_add_overflow(type.true_ub(), std::max<std::int64_t>(0, last), &high) || __builtin_sub_overflow(high, low, &span))
            return nullptr;
        layout::placed whole = layout::elements_of(type, count);
        whole.displacement -= low;
        auto const words = layout::serialize(whole);
        std::shared_ptr<shown_layout> made(new shown_layout);
        void* const memory = heap::try_allocate(words.size() * sizeof(std::uint64_t));
        if (memory == nullptr)
            return nullptr;
        made->form_ = {static_cast<std::uint64_t*>(memory), words.size()};
        std::ranges::copy(words, made->form_.begin());
        made->low_ = low;
        made->span_ = static_cast<std::uint64_t>(span);
        if (wished_design() != layout_design::basic)
            made->meaning_ = layout::meaning_of(whole);
        return made;
    } catch (limit_error const&) {
        return nullptr;
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

shown_layout::~shown_layout()
{
    if (!form_.empty())
        heap::deallocate(form_.data());
}

namespace {

/// What is remembered of the layouts of a message's two sides.
struct known {
    layout::meaning meaning;            ///< of the sender's
    std::uint64_t bytes = 0, span = 0;  ///< that it was checked for
    layout::node_pointer kept;          ///< keeps `tree` what it is; null: a row
    std::int64_t begin = 0, extent = 0, count = 0;
    bool is_from = false;               ///< `kept` is the side that is copied from
    layout::placed sent;
    std::shared_ptr<layout::copy_plan const> plan;  ///< null: only `sent` is known
    std::size_t weight = 0;
};

/// The last few. A layout has its place in the set of eight that its meaning chooses, and replaces another one there.
class memo {
public:
    template <class Fits>
    [[nodiscard]] bool find(layout::meaning const& m, Fits fits, known& out)
    {
        std::scoped_lock const lock(mutex_);
        for (known const& k : set_of(m))
            if (k.meaning == m && fits(k)) {
                out = k;
                return true;
            }
        return false;
    }
    void keep(known&& k)
    {
        if (k.weight > thresholds::layout_most)
            return;
        known dropped;  // destroyed without the lock
        std::scoped_lock const lock(mutex_);
        auto set = set_of(k.meaning);
        known& place = set[next_++ % set.size()];
        weight_ += k.weight - place.weight;
        dropped = std::exchange(place, std::move(k));
        for (std::size_t i = 0; weight_ > thresholds::layouts_most && i < places_.size(); ++i)
            if (&places_[i] != &place)
                weight_ -= std::exchange(places_[i], {}).weight;
    }

private:
    static constexpr std::size_t ways = 8;
    [[nodiscard]] std::span<known> set_of(layout::meaning const& m) noexcept
    {
        return std::span(places_).subspan(m.first % (places_.size() / ways) * ways, ways);
    }
    std::mutex mutex_;
    std::array<known, 64> places_;
    std::size_t next_ = 0;
    std::size_t weight_ = 0;
};

[[nodiscard]] memo& plans()
{
    static auto* const all = new memo;  // never destroyed: programs receive from destructors
    return *all;
}
[[nodiscard]] memo& trees()
{
    static auto* const all = new memo;
    return *all;
}

/// The peer's layout, checked: remembered, or read from its form.
[[nodiscard]] layout::placed read(laid_message const& m, bool remembers)
{
    if (m.form.empty()) {
        if (m.bytes > m.memory.size())
            throw layout::bad_layout("a row that is longer than its memory");
        return layout::make_block(layout::kind::byte, static_cast<std::int64_t>(m.bytes));
    }
    known k;
    if (remembers && trees().find(m.meaning, [&](known const& x) { return x.bytes == m.bytes && x.span <= m.memory.size(); }, k))
        return k.sent;
    layout::placed const tree = layout::deserialize(m.form, static_cast<std::int64_t>(m.bytes),
                                                    {0, static_cast<std::int64_t>(m.memory.size())});
    if (remembers) {
        if (layout::meaning_of(tree) != m.meaning)
            throw layout::bad_layout("a layout that means something else than its sender says");
        trees().keep({m.meaning, m.bytes, m.memory.size(), {}, 0, 0, 0, false, tree, {}, m.form.size_bytes() * 2});
    }
    return tree;
}

/// Null where that is nested too deep.
[[nodiscard]] std::optional<layout::placed> tree_of(layout::datatype const* type, std::int64_t count)
{
    if (type == nullptr)
        return layout::make_block(layout::kind::byte, count);
    try {
        return layout::elements_of(*type, count);
    } catch (limit_error const&) {
        return std::nullopt;
    }
}

/// Between a peer's layout and the own one, which is the side that is copied from, or to.
[[nodiscard]] shared_plan plan_with(layout::datatype const* type, std::int64_t count, bool is_from, laid_message const& m)
{
    layout_design const design = wished_design();
    bool const remembers = m.form.empty() || m.meaning != layout::meaning{};
    layout::placed const one = type != nullptr ? layout::elements_of(*type, std::min<std::int64_t>(count, 1)) : layout::placed{};
    std::int64_t const extent = type != nullptr ? type->extent() : 0;
    bool const plans_too = remembers && design == layout_design::optimized;
    known k;
    if (plans_too && plans().find(m.meaning,
                                  [&](known const& x) {
                                      return x.kept == one.tree && x.begin == one.displacement && x.extent == extent && x.count == count &&
                                             x.is_from == is_from && x.bytes == m.bytes && x.span <= m.memory.size();
                                  },
                                  k))
        return k.plan;
    layout::placed const there = read(m, remembers);
    auto const own = tree_of(type, count);
    if (!own)
        return nullptr;
    auto plan = is_from ? std::make_shared<layout::copy_plan const>(there, *own) : std::make_shared<layout::copy_plan const>(*own, there);
    if (plans_too)
        plans().keep({m.meaning, m.bytes, m.memory.size(), one.tree, one.displacement, extent, count, is_from, {}, plan,
                      plan->weight() + m.form.size_bytes() * 2});
    return plan;
}

/// By way of a packed copy.
void copy_and_unpack(laid_sink const& to, laid_message const& m)
{
    layout::stream const elements(*to.type, to.count);
    std::int64_t const bytes = std::min(static_cast<std::int64_t>(m.bytes), elements.size());
    auto const packed = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    layout::copy_plan(layout::make_block(layout::kind::byte, bytes), read(m, m.meaning != layout::meaning{}))
        .copy(packed.get(), m.memory.data());
    elements.unpack(to.buffer, 0, bytes, packed.get());
}

} // namespace

shared_plan plan_to(laid_sink const& to, laid_message const& m)
{
    return plan_with(to.type, to.count, false, m);
}

shared_plan plan_from(layout::datatype const& type, std::int64_t count, laid_message const& to)
{
    return plan_with(&type, count, true, to);
}

void copy_laid(laid_sink const& to, laid_message const& m)
{
    if (auto const plan = plan_to(to, m))
        plan->copy(to.buffer, m.memory.data());
    else
        copy_and_unpack(to, m);
}

} // namespace towline::matching
