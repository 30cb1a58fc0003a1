#pragma once
// Archives of strided views (docs/wire.md, "The archive"). Included by towline/strided_view.hpp, below the class.

#include <towline/archive.hpp>
#include <towline/detail/encode.hpp>
#include <towline/detail/rma_storage.hpp>
#include <towline/strided_view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace towline::detail {

/// The form of the elements behind a view's extents in the archive.
enum class strided_form : std::uint8_t {
    row,      ///< in row-major order
    strided,  ///< the index of the first one in the range that follows, and the strides
};

/// The elements of a view, and everything between them.
template <class E>
struct strided_cover {
    E const* begin = nullptr;
    std::size_t count = 0;
    std::size_t first = 0;  ///< position of index 0
};
template <class E, std::size_t N>
strided_cover<E> cover_of(strided_view<E const, N> const& v) noexcept
{
    std::ptrdiff_t low = 0, high = 0;
    for (std::size_t i = 0; i < N; ++i) {
        std::ptrdiff_t const last = (static_cast<std::ptrdiff_t>(v.extent(i)) - 1) * v.stride(i);
        (last < 0 ? low : high) += last;
    }
    return {v.data_handle() + low, static_cast<std::size_t>(high - low) + 1, static_cast<std::size_t>(-low)};
}

/// The length of a view's contiguous runs, in the best order of its dimensions, and the distance of the next run. 0 if there is only one
/// run: the view has every element between the lowest and the highest (rows in another order, or repeated).
struct strided_run {
    std::size_t bytes = 0, step = 0;
    /// True if reading the elements transfers less than four times their bytes, because whole cache lines are transferred.
    [[nodiscard]] bool fills_lines() const noexcept { return 4 * bytes >= std::min<std::size_t>(step, 64); }
};
template <class E, std::size_t N>
strided_run run_of(strided_view<E const, N> const& v) noexcept
{
    std::array<std::pair<std::size_t, std::size_t>, N> steps{};
    for (std::size_t i = 0; i < N; ++i) {
        std::ptrdiff_t const s = v.stride(i);
        steps[i] = {static_cast<std::size_t>(s < 0 ? -s : s) * sizeof(E), v.extent(i)};
    }
    std::ranges::sort(steps);
    std::size_t row = sizeof(E);
    for (auto const& [step, extent] : steps) {
        if (step == 0 || extent == 1)
            continue;
        if (step != row)
            return {row, step};
        row *= extent;
    }
    return {row, 0};
}

/// The elements as a range in the index.
template <class E, std::size_t N>
out_cursor pack_into_index(archive_writer& w, out_cursor c, strided_view<E const, N> const& v)
{
    std::size_t const n = v.size(), bytes = n * sizeof(E);
    c = w.ensure(c, max_count_size + 15 + bytes);
    c.p = put_count(c.p, n);
    std::size_t const padding = padding_at<alignof(E)>(c.p);
    std::memset(c.p, 0, padding);
    c.p += padding;
    copy_strided(c.p, nullptr, v.data_handle(), {N, v.extents().data(), v.strides().data()}, sizeof(E));
    c.p += bytes;
    return c;
}

template <class E, std::size_t N>
out_cursor put_shape(archive_writer& w, out_cursor c, strided_view<E const, N> const& v, strided_form form, std::size_t first)
{
    c = w.ensure(c, 8 * (2 * N + 1) + 1);
    auto const put = [&c](std::uint64_t word) {
        store_raw(c.p, word);
        c.p += 8;
    };
    for (std::size_t const e : v.extents())
        put(e);
    *c.p++ = static_cast<std::byte>(form);
    if (form == strided_form::strided) {
        put(first);
        for (std::ptrdiff_t const s : v.strides())
            put(static_cast<std::uint64_t>(s));
    }
    return c;
}

/// Encoding: extents, 8 bytes each; the form, 1 byte; of the strided form the first element and the strides, 8 bytes each; a range of
/// elements.
template <class T, std::size_t N>
struct codec<strided_view<T, N>> : varying_codec<8 * N + 2> {
    using E = std::remove_const_t<T>;
    using view = strided_view<T, N>;
    static constexpr bool holds_view = true;

    /// Packs elements that are not contiguous into the index, because no parcel keeps a copy of them.
    static out_cursor put(archive_writer& w, out_cursor c, strided_view<E const, N> v, std::uint32_t depth)
    {
        static_assert(bitwise<E>, "towline: elements of a strided_view that have padding, or are bool, travel only if they are opted in: "
                                  "specialise towline::bitwise<T> as true");
        c = put_shape(w, c, v, strided_form::row, 0);
        if (!v.is_contiguous())
            return pack_into_index(w, c, v);
        std::span<E const> const row(v.data_handle(), v.size());
        return put_value(w, c, row, depth);
    }

    static in_cursor get(archive_reader& r, in_cursor c, view& v, std::uint32_t depth)
    {
        static_assert(std::is_const_v<T>, "towline: the message cannot be written to; take strided_view<T const, N>");
        std::byte const* const begin = c.p;
        r.need(c, 8 * N + 1, typeid(view));
        auto const word = [&c] {
            auto const value = load_raw<std::uint64_t>(c.p);
            c.p += 8;
            return value;
        };
        typename view::extents_type extents{};
        std::uint64_t count = 1, bytes = sizeof(E);
        for (std::size_t& e : extents) {
            e = word();
            count *= e;
            if (e != 0 && __builtin_mul_overflow(bytes, e, &bytes))
                bytes = ~std::uint64_t{0};
        }
        if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()))
            r.fail_value(begin, "extents of more elements than there can be", "what fits into memory", typeid(view));
        auto const form = std::to_integer<std::uint8_t>(*c.p++);
        if (form > static_cast<std::uint8_t>(strided_form::strided))
            r.fail_value(c.p - 1, "form " + std::to_string(form), "0 (a row) or 1 (with strides)", typeid(view));
        if (form == static_cast<std::uint8_t>(strided_form::row)) {
            std::span<E const> row;
            c = get_value(r, c, row, depth);
            if (row.size() != count)
                r.fail_value(begin, std::to_string(row.size()) + " elements", "as many as its extents say", typeid(view));
            v = view(row.data(), extents);
            return c;
        }
        r.need(c, 8 * (N + 1), typeid(view));
        std::uint64_t const first = word();
        typename view::strides_type strides{};
        for (std::ptrdiff_t& s : strides)
            s = static_cast<std::ptrdiff_t>(word());
        std::span<E const> all;
        c = get_value(r, c, all, depth);
        if (!lies_within(extents, strides, first, all.size(), count))
            r.fail_value(begin, "elements outside of those that came with it", "strides that stay inside", typeid(view));
        v = view(count == 0 ? all.data() : all.data() + first, extents, strides);
        return c;
    }

private:
    static bool lies_within(typename view::extents_type const& extents, typename view::strides_type const& strides, std::uint64_t first,
                            std::uint64_t there, std::uint64_t count) noexcept
    {
        if (count == 0)
            return true;
        std::int64_t low = 0, high = 0;
        if (first >= there || __builtin_add_overflow(first, 0, &low))
            return false;
        high = low;
        for (std::size_t i = 0; i < N; ++i) {
            std::int64_t reach = 0;
            if (__builtin_mul_overflow(extents[i] - 1, strides[i], &reach))
                return false;
            std::int64_t& end = reach < 0 ? low : high;
            if (__builtin_add_overflow(end, reach, &end))
                return false;
        }
        return low >= 0 && static_cast<std::uint64_t>(high) < there;
    }
};

/// Writes the elements of a view as a range, packed if they are not contiguous; true if its block must be captured. `looked_at`: the callee
/// only views it, so that this rank keeps the block and finds it in its caches at the next use.
template <class E, std::size_t N>
bool put_elements_of(parcel& out, strided_view<E const, N> const& v, bool lent, bool looked_at)
{
    archive_writer& w = out.writer();
    std::size_t const n = v.size(), bytes = n * sizeof(E);
    if (v.is_contiguous()) {
        w.write(std::span<E const>(v.data_handle(), n));
        return !lent;
    }
    if (!w.makes_chunk(bytes)) {
        w.seek(pack_into_index(w, w.cursor(), v));
        return true;
    }
    strided_shape const shape{N, v.extents().data(), v.strides().data()};
    if (void* const block = pack_shared(v.data_handle(), shape, sizeof(E), bytes)) {
        if (out.shares() || looked_at)
            w.add_range(n, {.kind = chunk_kind::rma, .data = out.hold([&] { return rma_storage::adopt(block); }).block(), .size = bytes});
        else
            w.add_range(n, {.kind = chunk_kind::rma_given, .data = block, .size = bytes});
        return false;
    }
    auto const& kept = out.hold([&] { return std::make_unique_for_overwrite<std::byte[]>(bytes); });
    copy_strided(kept.get(), nullptr, v.data_handle(), shape, sizeof(E));
    w.add_range(n, {.kind = chunk_kind::pointer, .data = kept.get(), .size = bytes});
    return false;
}

/// The same for a parameter that is a view.
template <class E, std::size_t N>
bool put_view_of(parcel& out, strided_view<E const, N> const& v, bool lent)
{
    archive_writer& w = out.writer();
    if (!v.is_contiguous()) {
        strided_cover<E> const all = cover_of(v);
        strided_run const run = run_of(v);
        bool const in_place =
            lent && run.fills_lines() && w.makes_chunk(v.size() * sizeof(E)) && peers_reach(all.begin, all.count * sizeof(E));
        if (in_place || run.step == 0) {
            w.seek(put_shape(w, w.cursor(), v, strided_form::strided, all.first));
            w.write(std::span<E const>(all.begin, all.count));
            return !lent;
        }
    }
    w.seek(put_shape(w, w.cursor(), v, strided_form::row, 0));
    return put_elements_of(out, v, lent, true);
}

template <class Wire, class A>
bool put_strided(parcel& out, A const& argument)
{
    using given = strided_parts<A>;
    constexpr bool lent = [] {
        if constexpr (given::rank != 0)
            return given::lent;
        return false;
    }();
    auto const& elements = [&]() -> decltype(auto) {
        if constexpr (lent)
            return argument.view();
        else
            return (argument);
    }();
    constexpr bool views = is_view<Wire>;
    if constexpr (views)
        out.writer().set_viewed(true);
    bool captured = false;
    if constexpr (is_strided<Wire>) {
        using E = typename strided_parts<Wire>::element;
        static_assert(bitwise<E> && alignof(E) <= 16,
                      "towline: elements of a strided_view that have padding, or are bool, travel only if they are opted in: specialise "
                      "towline::bitwise<T> as true; a message is aligned to 16 bytes only");
        captured = put_view_of(out, strided_view<E const, strided_parts<Wire>::rank>(elements), lent);
    } else {
        using E = typename given::element;
        static_assert(bitwise<E>, "towline: elements of a strided_view that have padding, or are bool, travel only if they are opted in: "
                                  "specialise towline::bitwise<T> as true");
        captured = put_elements_of(out, strided_view<E const, given::rank>(elements), lent, views);
    }
    if constexpr (views)
        out.writer().set_viewed(false);
    return captured;
}

} // namespace towline::detail
