// The kernels, for inclusion by one source file per set of instructions. Everything is in an unnamed namespace and calls nothing of the
// standard library but memcpy, so that no function compiled for one processor is taken for another.

#include "layout/rows.hpp"

#include "base/copy.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace towline::layout {
namespace {

// How one block is moved. `bytes` is known to the compiler where the class has one size.

template <std::int64_t Bytes>
struct fixed {
    static constexpr std::int64_t size = Bytes;
    static void copy(std::byte* to, std::byte const* from, std::int64_t) noexcept { __builtin_memcpy(to, from, Bytes); }
};

/// Half to 2 * Half bytes, as two that may overlap: no branch on the size.
template <std::int64_t Half>
struct ends {
    static constexpr std::int64_t size = 0;
    static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
    {
        std::byte head[Half], tail[Half];
        __builtin_memcpy(head, from, Half);
        __builtin_memcpy(tail, from + bytes - Half, Half);
        __builtin_memcpy(to, head, Half);
        __builtin_memcpy(to + bytes - Half, tail, Half);
    }
};

#if defined(__AVX2__)
/// More than 64 bytes: turns of 64, and the last 64, which may overlap them.
struct middle {
    static constexpr std::int64_t size = 0;
    static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
    {
        constexpr std::int64_t half = 32, turn = 64;
        auto const load = [](std::byte const* p) { return _mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)); };
        auto const store = [](std::byte* p, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); };
        __m256i const last = load(from + bytes - turn), end = load(from + bytes - half);
        for (std::int64_t at = 0; at + turn < bytes; at += turn) {
            __m256i const a = load(from + at), b = load(from + at + half);
            store(to + at, a);
            store(to + at + half, b);
        }
        store(to + bytes - turn, last);
        store(to + bytes - half, end);
    }
};
#else
struct middle {
    static constexpr std::int64_t size = 0;
    static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
    {
        __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
    }
};
#endif

struct any {
    static constexpr std::int64_t size = 0;
    static void copy(std::byte* to, std::byte const* from, std::int64_t bytes) noexcept
    {
        constexpr std::int64_t big = std::int64_t{1} << 20;  // from here on the block is left to what knows the caches
        if (bytes >= big)
            base::copy_block(to, from, static_cast<std::size_t>(bytes));
        else
            __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
    }
};

// Where the blocks of a row are. Addresses are integers: what is beyond the row is formed, and never used.

struct steps {
    std::uintptr_t at;
    std::int64_t step;
    [[nodiscard]] std::uintptr_t operator[](std::int64_t i) const noexcept
    {
        return at + static_cast<std::uintptr_t>(i) * static_cast<std::uintptr_t>(step);
    }
};
struct spots {
    std::uintptr_t at;
    std::int64_t const* displacements;
    [[nodiscard]] std::uintptr_t operator[](std::int64_t i) const noexcept { return at + static_cast<std::uintptr_t>(displacements[i]); }
};

std::uintptr_t number(std::byte const* p) noexcept
{
    return reinterpret_cast<std::uintptr_t>(p);
}
std::byte* written(std::uintptr_t a) noexcept
{
    return reinterpret_cast<std::byte*>(a);
}
std::byte const* read(std::uintptr_t a) noexcept
{
    return reinterpret_cast<std::byte const*>(a);
}

template <class How, class To, class From>
[[gnu::always_inline]] inline void row(To to, From from, std::int64_t i, std::int64_t n, std::int64_t bytes) noexcept
{
    for (; i + 4 <= n; i += 4) {
        How::copy(written(to[i]), read(from[i]), bytes);
        How::copy(written(to[i + 1]), read(from[i + 1]), bytes);
        How::copy(written(to[i + 2]), read(from[i + 2]), bytes);
        How::copy(written(to[i + 3]), read(from[i + 3]), bytes);
    }
    for (; i < n; ++i)
        How::copy(written(to[i]), read(from[i]), bytes);
}

#if defined(__AVX2__)

// Short blocks that go into a row without gaps are put together in a register: a store takes as long for 8 bytes as for 32.

[[gnu::always_inline]] inline __m128i four(std::uintptr_t a) noexcept
{
    return _mm_loadu_si32(reinterpret_cast<void const*>(a));
}
[[gnu::always_inline]] inline __m128i two_eights(std::uintptr_t a, std::uintptr_t b) noexcept
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(a)), _mm_loadl_epi64(reinterpret_cast<__m128i const*>(b)));
}
[[gnu::always_inline]] inline void store(std::byte* to, __m128i low, __m128i high) noexcept
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

template <class From>
[[gnu::always_inline]] inline std::int64_t join_eights(std::byte* to, From from, std::int64_t n) noexcept
{
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        store(to + i * 8, two_eights(from[i], from[i + 1]), two_eights(from[i + 2], from[i + 3]));
        store(to + i * 8 + 32, two_eights(from[i + 4], from[i + 5]), two_eights(from[i + 6], from[i + 7]));
    }
    return i;
}

template <class From>
[[gnu::always_inline]] inline std::int64_t join_fours(std::byte* to, From from, std::int64_t n) noexcept
{
    auto const two = [&](std::int64_t i) { return _mm_unpacklo_epi32(four(from[i]), four(from[i + 1])); };
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * 4), _mm_unpacklo_epi64(two(i), two(i + 2)));
    return i;
}

/// Every other of words of 4 bytes; the last load ends before the last block does.
[[gnu::always_inline]] inline std::int64_t join_every_other(std::byte* to, std::byte const* from, std::int64_t n) noexcept
{
    std::int64_t i = 0;
    for (; i + 9 <= n; i += 8) {
        auto const* const s = reinterpret_cast<float const*>(from + i * 8);
        __m256 const both = _mm256_shuffle_ps(_mm256_loadu_ps(s), _mm256_loadu_ps(s + 8), 0x88);
        _mm256_storeu_pd(reinterpret_cast<double*>(to + i * 4), _mm256_permute4x64_pd(_mm256_castps_pd(both), 0xd8));
    }
    return i;
}

#endif

/// Puts blocks together from the first on, where that pays. How many.
template <class How, class From>
[[gnu::always_inline]] inline std::int64_t joined(std::byte* to, std::int64_t to_step, From const& from, std::int64_t n) noexcept
{
#if defined(__AVX2__)
    if constexpr (How::size == 8) {
        if (to_step == 8)
            return join_eights(to, from, n);
    } else if constexpr (How::size == 4) {
        if constexpr (requires { from.step; })
            if (to_step == 4 && from.step == 8)
                return join_every_other(to, read(from.at), n);
        if (to_step == 4)
            return join_fours(to, from, n);
    }
#endif
    (void)to, (void)to_step, (void)from, (void)n;
    return 0;
}

template <class How>
struct kernels_of {
    static void stepped(std::byte* to, std::int64_t to_step, std::byte const* from, std::int64_t from_step, std::int64_t n,
                        std::int64_t bytes) noexcept
    {
        steps const f{number(from), from_step};
        std::int64_t const i = joined<How>(to, to_step, f, n);
        if (How::size != 0 && to_step == How::size)
            row<How>(steps{number(to), How::size}, f, i, n, bytes);
        else if (How::size != 0 && from_step == How::size)
            row<How>(steps{number(to), to_step}, steps{number(from), How::size}, i, n, bytes);
        else
            row<How>(steps{number(to), to_step}, f, i, n, bytes);
    }
    static void gathering(std::byte* to, std::int64_t to_step, std::byte const* from, std::int64_t const* at, std::int64_t n,
                          std::int64_t bytes) noexcept
    {
        spots const f{number(from), at};
        row<How>(steps{number(to), to_step}, f, joined<How>(to, to_step, f, n), n, bytes);
    }
    static void scattering(std::byte* to, std::int64_t const* at, std::byte const* from, std::int64_t from_step, std::int64_t n,
                           std::int64_t bytes) noexcept
    {
        row<How>(spots{number(to), at}, steps{number(from), from_step}, 0, n, bytes);
    }
    static void listed(std::byte* to, std::int64_t const* to_at, std::byte const* from, std::int64_t const* from_at, std::int64_t n,
                       std::int64_t bytes) noexcept
    {
        row<How>(spots{number(to), to_at}, spots{number(from), from_at}, 0, n, bytes);
    }
};

template <class How>
constexpr row_kernels kernels{&kernels_of<How>::stepped, &kernels_of<How>::gathering, &kernels_of<How>::scattering,
                              &kernels_of<How>::listed};

/// In the order of size_class.
constexpr row_tables make_row_tables() noexcept
{
    return {{kernels<fixed<1>>, kernels<fixed<2>>, kernels<fixed<4>>, kernels<fixed<8>>, kernels<fixed<12>>, kernels<fixed<16>>,
             kernels<fixed<24>>, kernels<fixed<32>>, kernels<fixed<48>>, kernels<fixed<64>>, kernels<ends<2>>, kernels<ends<4>>,
             kernels<ends<8>>, kernels<ends<16>>, kernels<ends<32>>, kernels<middle>, kernels<any>}};
}

} // namespace
} // namespace towline::layout
