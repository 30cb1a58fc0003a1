#include "base/copy_ways.hpp"

#include <cstdint>
#include <cstring>

#ifdef TOWLINE_COPY_WAYS
#include <immintrin.h>
#endif

namespace towline::base::copy_ways {

#ifdef TOWLINE_COPY_WAYS
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t step = 128;  ///< bytes that a turn of a loop moves

/// Whole turns; what is left is less than a turn. Past the caches `to` is aligned to a line.
template <bool PastCaches>
[[gnu::target("avx2")]] std::size_t copy_turns(std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    std::size_t i = 0;
    for (; i + step <= bytes; i += step) {
        auto const* const s = reinterpret_cast<__m256i const*>(from + i);
        auto* const d = reinterpret_cast<__m256i*>(to + i);
        __m256i const a = _mm256_loadu_si256(s), b = _mm256_loadu_si256(s + 1);
        __m256i const c = _mm256_loadu_si256(s + 2), e = _mm256_loadu_si256(s + 3);
        if constexpr (PastCaches) {
            _mm256_stream_si256(d, a);
            _mm256_stream_si256(d + 1, b);
            _mm256_stream_si256(d + 2, c);
            _mm256_stream_si256(d + 3, e);
        } else {
            _mm256_storeu_si256(d, a);
            _mm256_storeu_si256(d + 1, b);
            _mm256_storeu_si256(d + 2, c);
            _mm256_storeu_si256(d + 3, e);
        }
    }
    if constexpr (PastCaches)
        _mm_sfence();  // those stores are ordered with no others
    return i;
}

bool has_avx2() noexcept
{
    static bool const has = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") != 0;
    }();
    return has;
}

} // namespace

bool is_there(way w) noexcept
{
    return w == way::memcpy || w == way::string || has_avx2();
}

void copy(way w, std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    if (w == way::string) {
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
    if (w != way::memcpy && bytes >= step + line && has_avx2()) {
        std::size_t const head = -reinterpret_cast<std::uintptr_t>(to) % line;
        std::memcpy(to, from, head);
        to += head;
        from += head;
        bytes -= head;
        std::size_t const done = w == way::past ? copy_turns<true>(to, from, bytes) : copy_turns<false>(to, from, bytes);
        to += done;
        from += done;
        bytes -= done;
    }
    if (bytes != 0)
        std::memcpy(to, from, bytes);
}

#else

bool is_there(way w) noexcept
{
    return w == way::memcpy;
}

void copy(way, std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    if (bytes != 0)
        std::memcpy(to, from, bytes);
}

#endif

} // namespace towline::base::copy_ways
