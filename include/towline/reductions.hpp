#pragma once
// What elements are combined with in the reductions of a team: the function objects of <functional>, these, or any function of two
// elements.

#include <towline/detail/language.hpp>

#include <utility>

namespace towline {

/// The smaller of two; of floating-point numbers a NaN on either side gives a NaN.
struct minimum {
    template <class T>
    constexpr T operator()(T const& a, T const& b) const
    {
        return b < a || b != b ? b : a;
    }
};

/// The larger of two; a NaN as above.
struct maximum {
    template <class T>
    constexpr T operator()(T const& a, T const& b) const
    {
        return a < b || b != b ? b : a;
    }
};

/// An operation whose operands may change places: commutative([](point a, point b) { ... }). Others keep the order of ranks, and are only
/// grouped differently. On numbers those of <functional> and of this header need no such mark.
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
