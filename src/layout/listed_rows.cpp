// Trees of long lists of blocks, straight from the lists.

#include "layout/listed_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace towline::layout {
namespace {

/// Blocks in the order of the stream; neighbours are one.
struct row_list {
    std::vector<std::int64_t> displacements;
    std::vector<std::int64_t> starts;  ///< one more: where they begin in the stream
    bool is_uniform = true;            ///< all blocks have the same size
    std::int64_t low = 0, high = 0;    ///< bounds of the data

    [[nodiscard]] std::int64_t size(std::size_t i) const noexcept { return starts[i + 1] - starts[i]; }
};

/// False where a number is negative or does not fit.
[[nodiscard]] bool collect(row_list& to, part const& one, std::span<std::int64_t const> lengths, std::int64_t length,
                           std::span<std::int64_t const> displacements, std::int64_t unit)
{
    to.displacements.resize(displacements.size());
    to.starts.resize(displacements.size() + 1);
    to.starts[0] = 0;
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
    std::int64_t end = 0, sum = 0;  // of the last block, in memory and in the stream
    std::size_t n = 0;
    for (std::size_t i = 0; i < displacements.size(); ++i) {
        std::int64_t const elements = lengths.empty() ? length : lengths[i];
        std::int64_t at = 0, bytes = 0, behind = 0;
        if (elements < 0 || __builtin_mul_overflow(displacements[i], unit, &at) || __builtin_mul_overflow(elements, one.size, &bytes) ||
            __builtin_add_overflow(at, one.bytes.displacement, &at) || __builtin_add_overflow(at, bytes, &behind) ||
            __builtin_add_overflow(sum, bytes, &sum))
            return false;
        if (bytes == 0)
            continue;
        low = std::min(low, at);
        high = std::max(high, behind);
        if (n == 0 || at != end)
            to.displacements[n++] = at;
        to.starts[n] = sum;
        end = behind;
    }
    to.displacements.resize(n);
    to.starts.resize(n + 1);
    to.low = low;
    to.high = high;
    std::int64_t span = 0;
    return n > 1 && !__builtin_sub_overflow(high, low, &span);
}

/// As gatherer::finish sees it: runs of equal steps would make it much shorter.
[[nodiscard]] bool folds(row_list const& l) noexcept
{
    std::size_t const n = l.displacements.size(), most = n / gatherer::worthwhile;
    std::size_t short_ones = 0;
    for (std::size_t i = 0; i < n; ++short_ones) {
        if (short_ones > most)
            return false;
        std::size_t run = 1;
        while (i + run < n && l.size(i + run) == l.size(i) &&
               (run == 1 || l.displacements[i + run] - l.displacements[i + run - 1] == l.displacements[i + 1] - l.displacements[i]))
            ++run;
        if (run == n)
            return true;
        i += run < gatherer::shortest_run ? 1 : run;
    }
    return short_ones <= most;
}

[[nodiscard]] placed tree_of(row_list const& l, node const& block)
{
    auto made = std::make_shared<node>();
    std::int64_t const first = l.displacements.front(), total = l.starts.back();
    made->count = static_cast<std::int64_t>(l.displacements.size());
    made->displacements.resize(l.displacements.size());
    std::ranges::transform(l.displacements, made->displacements.begin(), [first](std::int64_t d) { return d - first; });
    made->size = total;
    made->elements = total / block.size * block.elements;
    if (l.is_uniform) {
        made->what = form::list;
        made->child = make_block(block.unit, l.size(0)).tree;
        made->depth = made->child->depth + 1;
    } else {
        made->what = form::pieces;
        made->unit = block.unit;
        made->starts = l.starts;
    }
    return {first, std::move(made)};
}

} // namespace

bool is_row(part const& p, std::int64_t extent) noexcept
{
    return p.bytes.tree && p.bytes.tree->what == form::block && p.typed.tree->what == form::block && p.size == extent && !p.limits.marked &&
           p.limits.data && p.limits.true_ub - p.limits.true_lb == extent;
}

std::optional<part> listed_rows(part const& one, std::span<std::int64_t const> lengths, std::int64_t length,
                                std::span<std::int64_t const> displacements, std::int64_t unit)
{
    row_list l;
    if (!collect(l, one, lengths, length, displacements, unit))
        return std::nullopt;
    if (folds(l))
        return std::nullopt;
    for (std::size_t i = 1; i < l.displacements.size() && l.is_uniform; ++i)
        l.is_uniform = l.size(i) == l.size(0);
    part made;
    std::int64_t const elements = l.starts.back() / one.size;
    if (__builtin_mul_overflow(elements, one.external_size, &made.external_size))
        return std::nullopt;
    made.size = l.starts.back();
    made.elements = elements * one.elements;  // not more than bytes
    made.uniform = one.uniform;
    made.limits = {.data = true, .true_lb = l.low, .true_ub = l.high, .alignment = one.limits.alignment, .rounded_ub = l.high};
    made.bytes = tree_of(l, *one.bytes.tree);
    made.typed = one.has_one_tree() ? made.bytes : tree_of(l, *one.typed.tree);
    return made;
}

} // namespace towline::layout
