#pragma once
// Functions for the reductions of a team: the function objects of <functional>, these, or any function of two elements.

#include <towline/detail/language.hpp>

#include <utility>

namespace towline {

/// The smaller of two; NaN if either floating-point number is NaN.
struct minimum {
    template <class T>
    constexpr T operator()(T const& a, T const& b) const
    {
        return b < a || b != b ? b : a;
    }
};

/// The larger of two; NaN as above.
struct maximum {
    template <class T>
    constexpr T operator()(T const& a, T const& b) const
    {
        return a < b || b != b ? b : a;
    }
};

/// A commutative operation: commutative([](point a, point b) { ... }). Others keep the order of ranks, and are only grouped differently.
/// Functions of <functional> and of this header on numbers need no such mark.
template <class F>
struct commutative {
    F f;
    explicit constexpr commutative(F function) : f(std::move(function)) {}
    template <class T>
    constexpr T operator()(T const& a, T const& b) const
    {
        return f(a, b);
    }
};

} // namespace towline
