#pragma once
// A handful of doubles that one instruction works on. GCC's and Clang's vector types bring the operators and `mask ? a : b`;
// everything templated on the number type gives the same bits for a lane of a pack as for a plain double.
// Internal linkage on purpose: this is compiled for several instruction sets, and none may borrow another's copy.

#include <cmath>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace blast {
namespace {

#if defined(__AVX512F__)
inline constexpr int lanes = 8;
#elif defined(__AVX__)
inline constexpr int lanes = 4;
#else
inline constexpr int lanes = 2;
#endif

using pack __attribute__((vector_size(8 * lanes))) = double;

template <class Number>
inline Number load(double const* p)
{
    Number n;
    std::memcpy(&n, p, sizeof n);
    return n;
}

template <class Number>
inline void store(double* p, Number n)
{
    std::memcpy(p, &n, sizeof n);
}

inline double root(double x)
{
    return std::sqrt(x);
}

inline pack root(pack x)
{
#if defined(__AVX512F__)
    return _mm512_maskz_sqrt_pd(0xff, x); // all lanes; the plain form makes GCC 12 warn about its own header
#elif defined(__AVX__)
    return _mm256_sqrt_pd(x);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(x);
#else
    return pack{std::sqrt(x[0]), std::sqrt(x[1])};
#endif
}

template <class Number>
inline Number magnitude(Number x)
{
    return x < 0 ? -x : x;
}

template <class Number>
inline Number lesser(Number a, Number b)
{
    return a < b ? a : b;
}

template <class Number>
inline Number greater(Number a, Number b)
{
    return a > b ? a : b;
}

/// The same number in every lane.
template <class Number>
inline Number spread(double x)
{
    return Number{} + x;
}

inline double least_lane(double x)
{
    return x;
}

inline double least_lane(pack x)
{
    double least = x[0];
    for (int i = 1; i < lanes; ++i)
        least = lesser<double>(least, x[i]);
    return least;
}

inline double greatest_lane(double x)
{
    return x;
}

inline double greatest_lane(pack x)
{
    double greatest = x[0];
    for (int i = 1; i < lanes; ++i)
        greatest = greater<double>(greatest, x[i]);
    return greatest;
}

} // namespace
} // namespace blast
