#include "collective/laid_rows.hpp"

#include "collective/lanes/lane_tables.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

namespace towline::collective {
namespace {

using kind = lane_step::kind;

[[nodiscard]] bool goes_straight(kind what) noexcept
{
    return what == kind::take || what == kind::take_block || what == kind::copy;
}

} // namespace

laid_rows::row const* laid_rows::around(void const* memory) const noexcept
{
    auto const* const p = static_cast<std::byte const*>(memory);
    auto const behind = std::ranges::upper_bound(rows_, p, std::less<>(), &row::at);
    if (behind == rows_.begin())
        return nullptr;
    row const& r = *(behind - 1);
    return r.offset_of(p) < r.bytes ? &r : nullptr;
}

/// What is there stays there until the end.
void laid_rows::keep(void const* memory) noexcept
{
    if (row* const r = find_any(memory))
        r->is_straight = false;
}

void laid_rows::settle(std::vector<lane_step> const& steps)
{
    std::ranges::sort(rows_, std::less<>(), &row::at);
    for (lane_step const& s : steps) {
        if (s.what == kind::table) {
            for (lane_block const& b : std::span(static_cast<lane_block const*>(s.from), s.size)) {
                keep(b.from);
                keep(b.to);
            }
            continue;
        }
        keep(s.from);
        row* const r = find_any(s.to);
        if (r == nullptr)
            continue;
        if (s.what == kind::lend) {
            r->is_written = true;
            continue;
        }
        std::uint64_t const room = r->bytes - r->offset_of(s.to);
        r->is_straight = r->is_straight && goes_straight(s.what) && s.size <= room;
        for (row* next = r + 1; s.size > room && next != rows_.data() + rows_.size() && next->at < r->at + r->bytes + (s.size - room); ++next)
            next->is_straight = false;  // several results at once
    }
}

void laid_rows::finish(std::byte const* at, std::vector<lane_step> const& steps) const
{
    row const* const r = around(at);
    if (r == nullptr)
        return;
    if (!r->is_straight)
        return r->put(r->at, r->bytes, r->at);
    if (!r->is_written)
        return;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (lane_step const& s : steps)
        if (goes_straight(s.what) && s.size != 0 && around(s.to) == r)
            taken.emplace_back(r->offset_of(s.to), r->offset_of(s.to) + s.size);
    std::ranges::sort(taken);
    taken.emplace_back(r->bytes, r->bytes);
    std::uint64_t end = 0;
    for (auto const& [first, last] : taken) {
        if (first > end)
            r->put(r->at + end, first - end, r->at + end);
        end = std::max(end, last);
    }
}

} // namespace towline::collective
