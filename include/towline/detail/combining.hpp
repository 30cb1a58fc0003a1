#pragma once
// Converts an operation on two elements to one on rows. Internal.

#include <towline/detail/team_api.hpp>
#include <towline/reductions.hpp>

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

namespace towline::detail {

template <class T>
consteval std::optional<ready_number> number_of()
{
    if constexpr (std::is_same_v<T, bool>)
        return ready_number::bool_;
    else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
        constexpr ready_number of_signed[] = {ready_number::int8, ready_number::int16, ready_number::int32, ready_number::int64};
        constexpr ready_number of_unsigned[] = {ready_number::uint8, ready_number::uint16, ready_number::uint32, ready_number::uint64};
        constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return std::is_signed_v<T> ? of_signed[log] : of_unsigned[log];
    } else if constexpr (std::is_same_v<T, float>)
        return ready_number::float_;
    else if constexpr (std::is_same_v<T, double>)
        return ready_number::double_;
    else if constexpr (std::is_same_v<T, long double>)
        return ready_number::long_double;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return ready_number::float_complex;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return ready_number::double_complex;
    else
        return std::nullopt;
}

template <class Op, class T, template <class> class Standard>
inline constexpr bool is_standard = std::is_same_v<Op, Standard<void>> || std::is_same_v<Op, Standard<T>>;

template <class T, class Op>
consteval std::optional<ready_operation> ready_operation_of()
{
    if constexpr (is_standard<Op, T, std::plus>)
        return ready_operation::plus;
    else if constexpr (is_standard<Op, T, std::multiplies>)
        return ready_operation::multiplies;
    else if constexpr (std::is_same_v<Op, minimum>)
        return ready_operation::minimum;
    else if constexpr (std::is_same_v<Op, maximum>)
        return ready_operation::maximum;
    else if constexpr (is_standard<Op, T, std::bit_and>)
        return ready_operation::bit_and;
    else if constexpr (is_standard<Op, T, std::bit_or>)
        return ready_operation::bit_or;
    else if constexpr (is_standard<Op, T, std::bit_xor>)
        return ready_operation::bit_xor;
    else if constexpr (is_standard<Op, T, std::logical_and>)
        return ready_operation::logical_and;
    else if constexpr (is_standard<Op, T, std::logical_or>)
        return ready_operation::logical_or;
    else
        return std::nullopt;
}

template <class Op>
inline constexpr bool is_marked_commutative = false;
template <class F>
inline constexpr bool is_marked_commutative<commutative<F>> = true;

template <class T, class Op>
[[nodiscard]] combining combining_of(Op& op)
{
    static_assert(std::is_invocable_r_v<T, Op const&, T const&, T const&>,
                  "towline: the operation of a reduction takes two elements and gives one: T op(T const&, T const&) const");
    constexpr auto number = number_of<T>();
    constexpr auto ready = ready_operation_of<T, Op>();
    if constexpr (number && ready) {
        if (ready_loop const loop = find_ready_loop(*ready, *number)) {
            return {[](void const* in, void* inout, std::uint64_t n, void* l) { reinterpret_cast<ready_loop>(l)(in, inout, inout, n); },
                    [](void const* in, void const* other, void* out, std::uint64_t n, void* l) {
                        reinterpret_cast<ready_loop>(l)(in, other, out, n);
                    },
                    reinterpret_cast<void*>(loop), true};
        }
    }
    auto const join = [](void const* in, void const* other, void* out, std::uint64_t n, void* f) noexcept {
        auto const& combine = *static_cast<Op const*>(f);
        for (std::uint64_t i = 0; i < n; ++i)
            static_cast<T*>(out)[i] = static_cast<T>(combine(static_cast<T const*>(in)[i], static_cast<T const*>(other)[i]));
    };
    return {[](void const* in, void* inout, std::uint64_t n, void* f) { decltype(join){}(in, inout, inout, n, f); }, join,
            const_cast<void*>(static_cast<void const*>(&op)), (number && ready) || is_marked_commutative<Op>};
}

} // namespace towline::detail
