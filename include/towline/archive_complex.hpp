#pragma once
// The archive of std::complex: real and imaginary part.

#include <towline/archive.hpp>

#include <complex>

namespace towline {

template <class T> inline constexpr bool bitwise<std::complex<T>> = bitwise<T>;

} // namespace towline
