#include "base/processor.hpp"
#include "layout/rows_kernels.hpp"
#include "layout/transposes.hpp"

#include <algorithm>

namespace towline::layout {

constinit row_tables const baseline_rows = make_row_tables();

row_tables const& best_rows() noexcept
{
#if defined(__x86_64__)
    static bool const runs_avx2 = base::has(base::instructions::avx2);
    if (runs_avx2)
        return avx2_rows;
#endif
    return baseline_rows;
}

namespace {

[[nodiscard]] std::uint64_t distance(std::int64_t step) noexcept
{
    return step < 0 ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
}

/// Steps that walk an array across: each block of an inner row lies on lines of its own, and the next row's are beside them.
[[nodiscard]] bool goes_across(std::int64_t outer, std::int64_t inner, nest const& s) noexcept
{
    constexpr std::uint64_t line = 64;
    std::uint64_t whole = 0;
    return distance(outer) < line && distance(inner) >= line &&
           !__builtin_mul_overflow(distance(outer), static_cast<std::uint64_t>(s.m), &whole) && whole <= distance(inner);
}

/// No two blocks overlap: inner rows lie within a step of the outer ones, or the other way around.
[[nodiscard]] bool lie_apart(std::int64_t outer, std::int64_t inner, nest const& s) noexcept
{
    auto const within = [&](std::int64_t small, std::int64_t times, std::int64_t large) {
        std::uint64_t whole = 0;
        return distance(small) >= static_cast<std::uint64_t>(s.bytes) &&
               !__builtin_mul_overflow(distance(small), static_cast<std::uint64_t>(times), &whole) && whole <= distance(large);
    };
    return within(inner, s.n, outer) || within(outer, s.m, inner);
}

} // namespace

void copy_nest(std::byte* to, std::byte const* from, nest const& s) noexcept
{
    stepped_kernel const rows = best_rows().of[size_class(s.bytes)].stepped;
    auto const run = [&](std::int64_t outer, std::int64_t inner, std::int64_t n) {
        auto const at = [&](std::uintptr_t base, std::int64_t o, std::int64_t i) {
            return base + static_cast<std::uintptr_t>(outer) * static_cast<std::uintptr_t>(o) +
                   static_cast<std::uintptr_t>(inner) * static_cast<std::uintptr_t>(i);
        };
        rows(written(at(number(to), s.to_outer, s.to_inner)), s.to_inner, read(at(number(from), s.from_outer, s.from_inner)),
             s.from_inner, n, s.bytes);
    };
    if (s.m > 1 && s.n > 1 && transposer_class(s.bytes) >= 0) {
        // Along the lines of one side, across those of the other.
        bool const inner_is_across = s.to_inner == s.bytes && s.from_outer == s.bytes;
        bool const outer_is_across = s.to_outer == s.bytes && s.from_inner == s.bytes;
        if (inner_is_across && lie_apart(s.to_outer, s.to_inner, s) && transpose(to, s.to_outer, from, s.from_inner, s.n, s.m, s.bytes))
            return;
        if (!inner_is_across && outer_is_across && lie_apart(s.to_outer, s.to_inner, s) &&
            transpose(to, s.to_inner, from, s.from_outer, s.m, s.n, s.bytes))
            return;
    }
    // Across an array: so many lines of a tile stay in the first cache, or in the second where they want the same places of the first,
    // until the rows beside them have been.
    constexpr std::int64_t tile = 32;
    bool const reads_across = goes_across(s.from_outer, s.from_inner, s), writes_across = goes_across(s.to_outer, s.to_inner, s);
    if (s.m > 1 && s.n > 1 && reads_across && writes_across && lie_apart(s.to_outer, s.to_inner, s)) {  // so along both
        nest const along{s.n, s.m, s.bytes, s.to_inner, s.to_outer, s.from_inner, s.from_outer};
        if (s.to_outer == s.bytes && s.from_outer == s.bytes)
            best_rows().of[size_class(s.m * s.bytes)].stepped(to, s.to_inner, from, s.from_inner, s.n, s.m * s.bytes);
        else
            copy_nest(to, from, along);
        return;
    }
    if (s.m > 1 && s.n > tile && (reads_across || writes_across) && lie_apart(s.to_outer, s.to_inner, s)) {
        constexpr std::int64_t beside = 16;
        for (std::int64_t outer = 0; outer < s.m; outer += beside)
            for (std::int64_t inner = 0; inner < s.n; inner += tile)
                for (std::int64_t o = outer; o < std::min(outer + beside, s.m); ++o)
                    run(o, inner, std::min(tile, s.n - inner));
        return;
    }
    for (std::int64_t outer = 0; outer < s.m; ++outer)
        run(outer, 0, s.n);
}

namespace {

[[nodiscard]] std::int64_t place_of(places const& p, std::int64_t i) noexcept
{
    return p.displacements != nullptr ? p.displacements[i] : i * p.step;
}

/// Fields in rising order, none over another; where the last one ends, or 0.
[[nodiscard]] std::int64_t span_of(fields const& f) noexcept
{
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < f.n; ++i) {
        if (f.displacements[i] < end)
            return 0;
        end = f.displacements[i] + f.bytes(i);
    }
    return end;
}

/// Records [first, last) in rising order, none over another.
[[nodiscard]] bool rise(places const& p, std::int64_t first, std::int64_t last, std::int64_t span) noexcept
{
    if (span == 0)
        return false;
    if (p.displacements == nullptr)
        return distance(p.step) >= static_cast<std::uint64_t>(span);
    for (std::int64_t i = first + 1; i < last; ++i)
        if (p.displacements[i] < p.displacements[i - 1] || p.displacements[i] - p.displacements[i - 1] < span)
            return false;
    return true;
}

/// A row of the i-th field of n records; `Field` has copy(record, field, n).
template <class Field>
void by_fields(places const& written_to, bool in_a_row, fields const& f, std::int64_t n, Field const& copy) noexcept
{
    constexpr std::int64_t tile = 64;  // records whose lines stay in the first cache from field to field
    constexpr std::int64_t least = 4;
    std::int64_t const span = in_a_row ? 0 : span_of(f);
    for (std::int64_t first = 0; first < n; first += tile) {
        std::int64_t const last = std::min(first + tile, n);
        if (last - first >= least && (in_a_row || rise(written_to, first, last, span))) {
            for (std::int64_t k = 0; k < f.n; ++k)
                copy(first, k, last - first);
        } else {
            for (std::int64_t i = first; i < last; ++i)
                for (std::int64_t k = 0; k < f.n; ++k)
                    copy(i, k, 1);
        }
    }
}

} // namespace

void gather_records(std::byte* to, std::byte const* from, places there, fields const& f, std::int64_t n) noexcept
{
    row_tables const& rows = best_rows();
    by_fields({}, true, f, n, [&](std::int64_t i, std::int64_t k, std::int64_t many) {
        std::byte* const at = to + i * f.size() + f.starts[k];
        std::uintptr_t const field = number(from) + static_cast<std::uintptr_t>(f.displacements[k]);
        row_kernels const& kernels = rows.of[size_class(f.bytes(k))];
        if (there.displacements != nullptr)
            kernels.gathering(at, f.size(), read(field), there.displacements + i, many, f.bytes(k));
        else
            kernels.stepped(at, f.size(), read(field + static_cast<std::uintptr_t>(place_of(there, i))), there.step, many, f.bytes(k));
    });
}

void scatter_records(std::byte* to, places there, std::byte const* from, fields const& f, std::int64_t n) noexcept
{
    row_tables const& rows = best_rows();
    by_fields(there, false, f, n, [&](std::int64_t i, std::int64_t k, std::int64_t many) {
        std::byte const* const at = from + i * f.size() + f.starts[k];
        std::uintptr_t const field = number(to) + static_cast<std::uintptr_t>(f.displacements[k]);
        row_kernels const& kernels = rows.of[size_class(f.bytes(k))];
        if (there.displacements != nullptr)
            kernels.scattering(written(field), there.displacements + i, at, f.size(), many, f.bytes(k));
        else
            kernels.stepped(written(field + static_cast<std::uintptr_t>(place_of(there, i))), there.step, at, f.size(), many, f.bytes(k));
    });
}

void copy_records(std::byte* to, places to_there, std::byte const* from, places from_there, fields const& f, std::int64_t n) noexcept
{
    row_tables const& rows = best_rows();
    by_fields(to_there, false, f, n, [&](std::int64_t i, std::int64_t k, std::int64_t many) {
        std::uintptr_t const t = number(to) + static_cast<std::uintptr_t>(f.displacements[k]);
        std::uintptr_t const s = number(from) + static_cast<std::uintptr_t>(f.displacements[k]);
        auto const at = [i](places const& p) { return static_cast<std::uintptr_t>(place_of(p, i)); };
        row_kernels const& kernels = rows.of[size_class(f.bytes(k))];
        if (to_there.displacements != nullptr && from_there.displacements != nullptr)
            kernels.listed(written(t), to_there.displacements + i, read(s), from_there.displacements + i, many, f.bytes(k));
        else if (to_there.displacements != nullptr)
            kernels.scattering(written(t), to_there.displacements + i, read(s + at(from_there)), from_there.step, many, f.bytes(k));
        else if (from_there.displacements != nullptr)
            kernels.gathering(written(t + at(to_there)), to_there.step, read(s), from_there.displacements + i, many, f.bytes(k));
        else
            kernels.stepped(written(t + at(to_there)), to_there.step, read(s + at(from_there)), from_there.step, many, f.bytes(k));
    });
}

} // namespace towline::layout
