#pragma once
// Runs a blocking operation over lanes in the calling thread, without building steps.

#include "collective/lanes/immediate.hpp"
#include "collective/lanes/programs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace towline::collective {

namespace run_now_detail {

inline constexpr std::uint64_t too_many = ~std::uint64_t{0};

/// What a rank offers that gives so many blocks of so many bytes together; `largest` is the largest block that it gives or takes.
[[nodiscard]] inline std::uint64_t most_with_table(std::size_t given, std::uint64_t bytes, std::uint64_t largest) noexcept
{
    if (given > immediate::most_given || largest > lanes::payload_bytes)
        return too_many;
    std::uint64_t const table = bytes + given * (sizeof(lane_entry) + 7);
    return table > lanes::payload_bytes ? too_many : std::max(largest, std::min(table, lanes::slot_bytes + 1));
}

[[nodiscard, gnu::always_inline]] inline std::uint64_t most_of_lists(lanes& l, call const& c) noexcept
{
    auto const others = static_cast<std::size_t>(l.size() - 1);
    bool const is_root = l.rank() == c.root;
    if (l.is_tight())
        return too_many;
    switch (c.what) {
    case routine::gatherv: return is_root ? c.receiving.largest(l.size()) : c.bytes;
    case routine::scatterv:
        return is_root ? most_with_table(others, c.sending.total(l.size()), c.sending.largest(l.size())) : c.bytes;
    case routine::alltoallv: {
        layout_of_blocks const& out = c.send == in_place ? c.receiving : c.sending;
        return most_with_table(others, out.total(l.size()), std::max(out.largest(l.size()), c.receiving.largest(l.size())));
    }
    default: {
        auto const given = c.with.destinations.size(), taken = c.with.sources.size();
        if (taken > immediate::most_given)
            return too_many;
        auto const n = static_cast<int>(given);
        return most_with_table(given, c.sending.total(n), std::max(c.sending.largest(n), c.receiving.largest(static_cast<int>(taken))));
    }
    }
}

} // namespace run_now_detail

/// This rank may run the call now: its offer is shown, no other operation of these lanes is under way here, and its slot is free. Each rank
/// decides this by itself. Null: no lanes.
template <routine what>
[[nodiscard, gnu::always_inline]] inline bool may_run_now(lanes* l, call const& c) noexcept
{
    if (l == nullptr || what == routine::nothing)
        return false;
    std::uint64_t const most = programs::has_tables(what) ? run_now_detail::most_of_lists(*l, c)
                                                          : programs::most_offered(what, c, l->size());
    return l->are_shown(most) && l->is_turn_of(l->begun() + 1) && l->may_write(l->begun() + 1, most > lanes::slot_bytes);
}

/// Runs the call after may_run_now; returns how it ended. `Wait` is that of `immediate`.
template <routine what, class Wait>
[[nodiscard, gnu::always_inline]] inline lane_run::state run_now(lanes& l, bool crowded, call const& c, Wait const& wait)
{
    immediate x(l, called(what, c.root), crowded, wait);
    return x.run(programs::has_tables(what), [&]() __attribute__((always_inline)) { programs::perform<what>(x, c); });
}

// The same for callers that do not know the routine.

[[nodiscard]] inline bool may_run_now(lanes* l, call const& c) noexcept
{
    return programs::with_routine(c.what, [&](auto what) { return may_run_now<what()>(l, c); });
}
template <class Wait>
[[nodiscard]] lane_run::state run_now(lanes& l, bool crowded, call const& c, Wait const& wait)
{
    return programs::with_routine(c.what, [&](auto what) { return run_now<what()>(l, crowded, c, wait); });
}

} // namespace towline::collective
