#pragma once
// Rows of the operations of teams, and how a row becomes part of a call. Internal.

#include <towline/detail/archive_bitwise.hpp>
#include <towline/detail/combining.hpp>
#include <towline/detail/team_api.hpp>
#include <towline/strided_view.hpp>

#include <cstddef>
#include <ranges>
#include <type_traits>

namespace towline::detail {

template <class R>
concept plain_row = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;
template <class R>
concept strided_row = is_strided<std::remove_cvref_t<R>> && requires(R const& r) { r.data_handle(); };
template <class R>
concept row = plain_row<R> || strided_row<R>;

template <row R>
struct element_of_row : std::remove_reference<std::ranges::range_reference_t<R>> {};
template <strided_row R>
struct element_of_row<R> : std::type_identity<typename std::remove_cvref_t<R>::element_type> {};

/// A row that is written.
template <class R>
concept writable_row = row<R> && !std::is_const_v<typename element_of_row<R>::type>;
template <class T>
concept single = !std::ranges::range<T> && !std::is_pointer_v<T> && !strided_row<T>;

template <class T>
consteval void check_element()
{
    static_assert((bitwise<T> && std::is_trivially_copyable_v<T>) || number_of<T>().has_value(),
                  "towline: the operations of a team are for elements whose bytes are their value: no pointers, no padding. Opt a padded "
                  "type in with towline::bitwise<T>; send other objects by calls (async<&f>(w.all(), ...))");
    static_assert(alignof(T) <= 16, "towline: elements that are aligned to more than 16 bytes cannot take part");
}

/// The type of the elements of all these rows.
template <class First, class... Others>
struct element_of_rows {
    using type = std::remove_cv_t<typename element_of_row<First>::type>;
    static_assert((std::is_same_v<type, std::remove_cv_t<typename element_of_row<Others>::type>> && ...),
                  "towline: what goes out has other elements than what comes in");
};

template <class Row>
void send_from(team_call& c, Row const& r)
{
    if constexpr (strided_row<Row>) {
        c.send = r.data_handle();
        c.send_size = r.size();
        if (!r.is_contiguous())
            c.send_shape = {Row::rank(), r.extents().data(), r.strides().data()};
    } else {
        c.send = std::ranges::data(r);
        c.send_size = std::ranges::size(r);
    }
}

template <class Row>
void receive_in(team_call& c, Row& r)
{
    if constexpr (strided_row<Row>) {
        c.receive = r.data_handle();
        c.receive_size = r.size();
        if (!r.is_contiguous())
            c.receive_shape = {Row::rank(), r.extents().data(), r.strides().data()};
    } else {
        c.receive = std::ranges::data(r);
        c.receive_size = std::ranges::size(r);
    }
}

} // namespace towline::detail
