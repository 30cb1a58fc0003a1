// The squares, for inclusion by one source file per set of instructions. Everything is in an unnamed namespace, so that no function compiled
// for one processor is taken for another.

#include "layout/transposes.hpp"

#include <immintrin.h>

namespace towline::layout {
namespace {

// A register of lanes of 16 bytes. across() turns a square of lanes: of lines a, b, ... (as many as lanes) the first lanes, the second, ...

#if defined(__AVX512F__)
using wide = __m512;
constexpr int lanes = 4;
[[gnu::always_inline]] inline wide load(std::byte const* p) noexcept { return _mm512_loadu_ps(p); }
[[gnu::always_inline]] inline void store(std::byte* p, wide v) noexcept { _mm512_storeu_ps(p, v); }
[[gnu::always_inline]] inline wide low_fours(wide a, wide b) noexcept { return _mm512_unpacklo_ps(a, b); }
[[gnu::always_inline]] inline wide high_fours(wide a, wide b) noexcept { return _mm512_unpackhi_ps(a, b); }
[[gnu::always_inline]] inline wide low_eights(wide a, wide b) noexcept
{
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
[[gnu::always_inline]] inline wide high_eights(wide a, wide b) noexcept
{
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
[[gnu::always_inline]] inline void across(wide const (&in)[lanes], wide (&out)[lanes]) noexcept
{
    constexpr int even = 0x88, odd = 0xdd;  // lanes 0 and 2, or 1 and 3, of both
    wide const ab_even = _mm512_shuffle_f32x4(in[0], in[1], even), cd_even = _mm512_shuffle_f32x4(in[2], in[3], even);
    wide const ab_odd = _mm512_shuffle_f32x4(in[0], in[1], odd), cd_odd = _mm512_shuffle_f32x4(in[2], in[3], odd);
    out[0] = _mm512_shuffle_f32x4(ab_even, cd_even, even);
    out[1] = _mm512_shuffle_f32x4(ab_odd, cd_odd, even);
    out[2] = _mm512_shuffle_f32x4(ab_even, cd_even, odd);
    out[3] = _mm512_shuffle_f32x4(ab_odd, cd_odd, odd);
}
#else
using wide = __m256;
constexpr int lanes = 2;
[[gnu::always_inline]] inline wide load(std::byte const* p) noexcept { return _mm256_loadu_ps(reinterpret_cast<float const*>(p)); }
[[gnu::always_inline]] inline void store(std::byte* p, wide v) noexcept { _mm256_storeu_ps(reinterpret_cast<float*>(p), v); }
[[gnu::always_inline]] inline wide low_fours(wide a, wide b) noexcept { return _mm256_unpacklo_ps(a, b); }
[[gnu::always_inline]] inline wide high_fours(wide a, wide b) noexcept { return _mm256_unpackhi_ps(a, b); }
[[gnu::always_inline]] inline wide low_eights(wide a, wide b) noexcept
{
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
[[gnu::always_inline]] inline wide high_eights(wide a, wide b) noexcept
{
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
[[gnu::always_inline]] inline void across(wide const (&in)[lanes], wide (&out)[lanes]) noexcept
{
    constexpr int low = 0x20, high = 0x31;
    out[0] = _mm256_permute2f128_ps(in[0], in[1], low);
    out[1] = _mm256_permute2f128_ps(in[0], in[1], high);
}
#endif

constexpr std::int64_t lane = 16;

/// One square: lanes * lane / Bytes rows and as many columns. `Per`: elements in a lane.
template <std::int64_t Bytes>
[[gnu::always_inline]] inline void square(std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line) noexcept
{
    constexpr int per = static_cast<int>(lane / Bytes), edge = lanes * per;
    // Of each `per` rows, turned within the lanes: turned[k][g] has the columns k, k + per, ... of the rows of group g.
    wide turned[per][lanes];
#pragma GCC unroll 4
    for (int g = 0; g < lanes; ++g) {
        std::byte const* const at = from + g * per * from_line;
        if constexpr (per == 1) {
            turned[0][g] = load(at);
        } else if constexpr (per == 2) {
            wide const a = load(at), b = load(at + from_line);
            turned[0][g] = low_eights(a, b);
            turned[1][g] = high_eights(a, b);
        } else {
            wide const a = load(at), b = load(at + from_line), c = load(at + 2 * from_line), d = load(at + 3 * from_line);
            wide const low_ab = low_fours(a, b), high_ab = high_fours(a, b), low_cd = low_fours(c, d), high_cd = high_fours(c, d);
            turned[0][g] = low_eights(low_ab, low_cd);
            turned[1][g] = high_eights(low_ab, low_cd);
            turned[2][g] = low_eights(high_ab, high_cd);
            turned[3][g] = high_eights(high_ab, high_cd);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < per; ++k) {
        wide out[lanes];
        across(turned[k], out);
#pragma GCC unroll 4
        for (int i = 0; i < lanes; ++i)
            store(to + (k + i * per) * to_line, out[i]);
    }
    static_assert(edge >= lanes);
}

template <std::int64_t Bytes>
void squares(std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line, std::int64_t rows,
             std::int64_t columns) noexcept
{
    constexpr std::int64_t edge = lanes * lane / Bytes;
    constexpr std::int64_t tile = 64;  // rows whose pages and lines stay known while their columns are passed
    for (std::int64_t first = 0; first < rows; first += tile) {
        std::int64_t const last = first + tile < rows ? first + tile : rows;
        for (std::int64_t c = 0; c < columns; c += edge)
            for (std::int64_t r = first; r < last; r += edge)
                square<Bytes>(to + c * to_line + r * Bytes, to_line, from + r * from_line + c * Bytes, from_line);
    }
}

constexpr transposers make_transposers() noexcept
{
    constexpr std::int64_t row = lanes * lane;
    return {{{&squares<4>, row / 4}, {&squares<8>, row / 8}, {&squares<16>, row / 16}}};
}

} // namespace
} // namespace towline::layout
