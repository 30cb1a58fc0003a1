#include "base/copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOWLINE_PLAIN_COPY
#endif
#endif
#else
#define TOWLINE_PLAIN_COPY
#endif

#ifndef TOWLINE_PLAIN_COPY
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace towline::base {

#ifdef TOWLINE_PLAIN_COPY  // another processor, or a sanitizer that looks at what memcpy touches

void copy_block(void* to, void const* from, std::size_t bytes) noexcept
{
    if (bytes != 0)
        std::memcpy(to, from, bytes);
}

void copy_part(void* to, void const* from, std::size_t bytes, std::size_t) noexcept
{
    copy_block(to, from, bytes);
}

#else

namespace {

// Which way is the fastest depends on the processor and on the size; libc's memcpy is never far off for warm blocks up to 2 MiB, and far off
// above. Between two processes, 4 KiB pages, blocks aligned alike, as those of arenas are (the time of one copy, us; on the
// left nobody looks at the data, on the right they were just written and are read afterwards):
//
//   AMD EPYC 9004 (Zen 4), 32 MiB of L3              memcpy      rep movsb    AVX2 loop    past the caches
//     4 MiB                                         118 / 259     90 / 236     86 / 236      150 / 303
//     8 MiB                                         520 / 606    256 / 596    250 / 581      297 / 634
//    16 MiB                                         900 / 1490   809 / 1345   749 / 1365     646 / 1334
//    32 MiB                                        3060 / 4670  2600 / 4050  2690 / 4330    1806 / 3500
//   256 MiB                                       24200 / 34000 17100 / 27200 23900 / 33700 16500 / 25400
//
// Intel Skylake-SP: the AVX2 loop is the best up to 256 KiB (44 GB/s warm, 28 by the two others) and from 16 MiB on (5.4 cold; 5.0, 5.0, and
// past the caches 4 to 4.7), rep movsb between them (19.8 at 1 MiB; 19.5, 13).

constexpr std::size_t line = 64;
constexpr std::size_t step = 128;  ///< bytes that a turn of a loop moves

enum class way : std::uint8_t { memcpy, movsb, loop, past };

struct choice {
    way small = way::memcpy;   ///< below `middle`
    way medium = way::memcpy;
    way large = way::memcpy;   ///< from `big` on
    std::size_t middle = 0, big = 0;
};

/// Bytes of an AMD processor's last cache, as far as one core reaches (libc adds up all of the package's, and more).
std::size_t last_cache() noexcept
{
    constexpr unsigned leaf = 0x8000001d;
    constexpr unsigned third_level = 3;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, third_level, &a, &b, &c, &d) == 0 || (a & 0x1f) == 0)
        return std::size_t{32} << 20;
    return std::size_t{(b >> 22) + 1} * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * (std::size_t{c} + 1);
}

choice choose() noexcept
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return {};
    if (__builtin_cpu_is("amd")) {
        // From where source and destination do not fit into the last cache together: stores that do not read what they overwrite.
        return {way::loop, way::loop, way::past, 0, last_cache() / 2};
    }
    return {way::loop, way::movsb, way::loop, (std::size_t{256} << 10) + 1, std::size_t{16} << 20};
}

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

} // namespace

void copy_block(void* to, void const* from, std::size_t bytes) noexcept
{
    copy_part(to, from, bytes, bytes);
}

void copy_part(void* to, void const* from, std::size_t bytes, std::size_t whole) noexcept
{
    static choice const ways = choose();
    auto* d = static_cast<std::byte*>(to);
    auto const* s = static_cast<std::byte const*>(from);
    if (bytes >= 16 * line) {
        way const how = whole >= ways.big ? ways.large : whole >= ways.middle ? ways.medium : ways.small;
        if (how == way::movsb) {
            asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(bytes) : : "memory");
            return;
        }
        if (how != way::memcpy) {
            std::size_t const head = -reinterpret_cast<std::uintptr_t>(d) % line;
            std::memcpy(d, s, head);
            d += head;
            s += head;
            bytes -= head;
            std::size_t const done = how == way::past ? copy_turns<true>(d, s, bytes) : copy_turns<false>(d, s, bytes);
            d += done;
            s += done;
            bytes -= done;
        }
    }
    if (bytes != 0)
        std::memcpy(d, s, bytes);
}

#endif

} // namespace towline::base
