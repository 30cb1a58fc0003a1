#pragma once
// strided_view: a view of a part of a multidimensional array. It may be an argument of a remote call and a row of the operations
// of a team:
//
//     double field[64][64][64];
//     towline::strided_view<double, 3> all(&field[0][0][0], {64, 64, 64});
//     auto face = all.slice(2, 63);                                        // field[i][j][63], a strided_view<double, 2>
//     async<&take>(peer, face);                                            // copied before async returns
//     async<&take>(peer, borrow(face));                                    // leave it alone until sent()
//     double sum(towline::strided_view<double const, 2> face);             // looks at it while the function runs
//     t.all_gather(face, halos);
//
// An argument travels without its gaps, in row-major order; it is packed once before async returns. A strided_view parameter refers to the
// packed elements, a std::vector<T> or rma_vector<T> parameter owns them. A borrowed view of 8 KiB or more in shared memory is not packed,
// unless its elements fill less than a quarter of their cache lines: a strided_view parameter refers to the caller's memory with its
// strides, and copy() from there into an array of the callee moves each byte once. A function returns a std::vector<T>, which copy() writes
// into a part of an array of the caller.

#include <towline/archive.hpp>
#include <towline/detail/strided_api.hpp>
#include <towline/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>

namespace towline {

/// A type with the interface of std::mdspan over memory: elements at data_handle(), at the distances of its mapping.
template <class M>
concept mdspan_like = requires(M const& m, std::size_t i) {
    typename M::element_type;
    { M::rank() } -> std::convertible_to<std::size_t>;
    { m.data_handle() } -> std::convertible_to<typename M::element_type*>;
    { m.extent(i) } -> std::convertible_to<std::size_t>;
    { m.mapping().stride(i) } -> std::convertible_to<std::ptrdiff_t>;
};

/// N extents and strides over memory that the view does not own. The memory must outlive the view and its copies; as in a span, const
/// applies to T only. Strides count elements. They may be negative (then the first element is not at the lowest address). A stride may be 0
/// if elements are only read: it repeats the same one. Elements that are written must not overlap. Threads: as the elements.
///
/// Constructors throw usage_error if the size in bytes does not fit std::ptrdiff_t. Indexes are not checked; parts are.
template <class T, std::size_t N>
class strided_view {
    static_assert(N >= 1 && N <= detail::most_dimensions, "towline: a strided_view has 1 to 16 dimensions");
    static_assert(std::is_trivially_copyable_v<T> && !std::is_volatile_v<T>,
                  "towline: the elements of a strided_view are copied as bytes, so they must be trivially copyable; send others in a "
                  "container");

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using extents_type = std::array<std::size_t, N>;
    using strides_type = std::array<std::ptrdiff_t, N>;

    /// A view of no elements.
    constexpr strided_view() noexcept = default;
    /// Contiguous: the last index changes fastest.
    constexpr strided_view(T* data, extents_type const& extents) : data_(data), extents_(extents)
    {
        check_size();
        std::size_t row = 1;
        for (std::size_t i = N; i-- > 0; row *= extents_[i])
            strides_[i] = static_cast<std::ptrdiff_t>(row);
    }
    /// `data` is the first element: the one at index 0 in all dimensions.
    constexpr strided_view(T* data, extents_type const& extents, strides_type const& strides)
        : data_(data), extents_(extents), strides_(strides)
    {
        check_size();
    }
    /// A whole contiguous range.
    template <std::ranges::contiguous_range Range>
        requires(N == 1 && std::ranges::sized_range<Range> &&
                 std::is_convertible_v<std::remove_reference_t<std::ranges::range_reference_t<Range>> (*)[], T (*)[]>)
    constexpr strided_view(Range&& range) : strided_view(std::ranges::data(range), {std::ranges::size(range)})
    {
    }
    template <mdspan_like M>
        requires(M::rank() == N && std::is_convertible_v<typename M::element_type (*)[], T (*)[]>)
    constexpr strided_view(M const& m) : data_(m.data_handle())
    {
        for (std::size_t i = 0; i < N; ++i) {
            extents_[i] = static_cast<std::size_t>(m.extent(i));
            strides_[i] = static_cast<std::ptrdiff_t>(m.mapping().stride(i));
        }
        check_size();
    }
    /// Conversion to a view of const elements.
    template <class U>
        requires(!std::is_same_v<U, T> && std::is_convertible_v<U (*)[], T (*)[]>)
    constexpr strided_view(strided_view<U, N> const& other) noexcept
        : data_(other.data_handle()), extents_(other.extents()), strides_(other.strides())
    {
    }

    [[nodiscard]] static constexpr std::size_t rank() noexcept { return N; }
    [[nodiscard]] constexpr T* data_handle() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t extent(std::size_t i) const noexcept { return extents_[i]; }
    [[nodiscard]] constexpr std::ptrdiff_t stride(std::size_t i) const noexcept { return strides_[i]; }
    [[nodiscard]] constexpr extents_type const& extents() const noexcept { return extents_; }
    [[nodiscard]] constexpr strides_type const& strides() const noexcept { return strides_; }
    /// The number of elements.
    [[nodiscard]] constexpr std::size_t size() const noexcept
    {
        std::size_t n = 1;
        for (std::size_t const e : extents_)
            n *= e;
        return n;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
    /// True if the elements are contiguous in row-major order.
    [[nodiscard]] constexpr bool is_contiguous() const noexcept
    {
        std::size_t row = 1;
        for (std::size_t i = N; i-- > 0; row *= extents_[i])
            if (extents_[i] != 1 && strides_[i] != static_cast<std::ptrdiff_t>(row))
                return empty();
        return true;
    }

    template <std::convertible_to<std::ptrdiff_t>... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] constexpr T& operator()(I... i) const noexcept
    {
        std::size_t dimension = 0;
        std::ptrdiff_t at = 0;
        ((at += static_cast<std::ptrdiff_t>(i) * strides_[dimension++]), ...);
        return data_[at];
    }
    [[nodiscard]] constexpr T& operator[](extents_type const& index) const noexcept { return data_[place(index)]; }

    /// `extents` elements of each dimension from `offsets` on. Throws usage_error if they exceed the view.
    [[nodiscard]] constexpr strided_view subview(extents_type const& offsets, extents_type const& extents) const
    {
        bool none = false;
        for (std::size_t i = 0; i < N; ++i) {
            if (offsets[i] > extents_[i] || extents[i] > extents_[i] - offsets[i])
                detail::throw_bad_subview(i, offsets[i], extents[i], extents_[i]);
            none = none || extents[i] == 0;
        }
        return strided_view(none ? data_ : data_ + place(offsets), extents, strides_);
    }
    /// The elements with this index in a dimension. Throws usage_error for a dimension or index out of range.
    [[nodiscard]] constexpr strided_view<T, N - 1> slice(std::size_t dimension, std::size_t index) const
        requires(N > 1)
    {
        if (dimension >= N || index >= extents_[dimension])
            detail::throw_bad_subview(dimension, index, 1, dimension < N ? extents_[dimension] : 0);
        std::array<std::size_t, N - 1> extents{};
        std::array<std::ptrdiff_t, N - 1> strides{};
        for (std::size_t i = 0, k = 0; i < N; ++i)
            if (i != dimension) {
                extents[k] = extents_[i];
                strides[k++] = strides_[i];
            }
        bool const none = size() == 0;
        return {none ? data_ : data_ + static_cast<std::ptrdiff_t>(index) * strides_[dimension], extents, strides};
    }

private:
    [[nodiscard]] constexpr std::ptrdiff_t place(extents_type const& index) const noexcept
    {
        std::ptrdiff_t at = 0;
        for (std::size_t i = 0; i < N; ++i)
            at += static_cast<std::ptrdiff_t>(index[i]) * strides_[i];
        return at;
    }
    constexpr void check_size() const
    {
        std::size_t bytes = sizeof(T);
        for (std::size_t const e : extents_)
            if (e != 0 && bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / e)
                detail::throw_too_many_elements(sizeof(T));
            else if (e != 0)
                bytes *= e;
    }

    T* data_ = nullptr;
    extents_type extents_{};
    strides_type strides_{};
};

template <std::ranges::contiguous_range Range>
strided_view(Range&&) -> strided_view<std::remove_reference_t<std::ranges::range_reference_t<Range>>, 1>;
template <mdspan_like M>
strided_view(M const&) -> strided_view<typename M::element_type, M::rank()>;

/// Copies all elements to those with the same index in `to`; the arrays must not overlap. Copies along rows, and in tiles if the arrays are
/// transposed, with the kernels of derived datatypes; allocates nothing. Throws usage_error if the extents differ, or if a stride of `to`
/// is 0.
template <class T, class U, std::size_t N>
    requires(std::is_same_v<std::remove_const_t<U>, T>)
void copy(strided_view<T, N> to, strided_view<U, N> from)
{
    for (std::size_t i = 0; i < N; ++i)
        if (to.extent(i) != from.extent(i))
            detail::throw_bad_extents(i, to.extent(i), from.extent(i));
    detail::copy_strided(to.data_handle(), to.strides().data(), from.data_handle(), {N, from.extents().data(), from.strides().data()},
                         sizeof(T));
}
/// From a contiguous range in row-major order, and back. Throws usage_error also for another number of elements.
template <class T, std::size_t N>
void copy(strided_view<T, N> to, std::type_identity_t<std::span<T const>> row)
{
    copy(to, strided_view<T const, N>(detail::checked_row(row, to.size()), to.extents()));
}
template <class T, std::size_t N>
void copy(std::type_identity_t<std::span<std::remove_const_t<T>>> row, strided_view<T, N> from)
{
    copy(strided_view<std::remove_const_t<T>, N>(detail::checked_row(row, from.size()), from.extents()), from);
}

/// A view lent to a call: its elements must not change until the call is sent (call::sent).
template <class T, std::size_t N>
class borrowed_view {
public:
    explicit borrowed_view(strided_view<T const, N> const& elements) noexcept : elements_(elements) {}
    [[nodiscard]] strided_view<T const, N> const& view() const noexcept { return elements_; }

private:
    strided_view<T const, N> elements_;
};

template <class T, std::size_t N>
[[nodiscard]] borrowed_view<std::remove_const_t<T>, N> borrow(strided_view<T, N> const& elements) noexcept
{
    return borrowed_view<std::remove_const_t<T>, N>(strided_view<T const, N>(elements));
}

} // namespace towline

#include <towline/detail/strided_archive.hpp>
