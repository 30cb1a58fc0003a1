// Chooses how a big block is copied: by its size, the processor, and where the memory is cached.

#include "base/copy.hpp"

#include "base/coldness.hpp"
#include "base/copy_ways.hpp"
#include "base/reading_habit.hpp"

#include <cstdint>
#include <cstring>

#ifdef TOWLINE_COPY_WAYS
#include <cpuid.h>
#endif

namespace towline::base {

using copy_ways::way;

// Which way is fastest depends on the processor, the size, and where the data are cached. libc's memcpy is near the best for warm blocks
// up to 2 MiB, and far from it above. Time of one copy between two processes in us, 4 KiB pages, source and destination aligned alike as in
// arenas. Left: neither side touches the data; right: they are written just before and read just after:
//
//   AMD EPYC 9004 (Zen 4), 32 MiB of L3              memcpy      rep movsb    AVX2 loop    past the caches
//     4 MiB                                         118 / 259     90 / 236     86 / 236      150 / 303
//     8 MiB                                         520 / 606    256 / 596    250 / 581      297 / 634
//    16 MiB                                         900 / 1490   809 / 1345   749 / 1365     646 / 1334
//    32 MiB                                        3060 / 4670  2600 / 4050  2690 / 4330    1806 / 3500
//   256 MiB                                       24200 / 34000 17100 / 27200 23900 / 33700 16500 / 25400
//
// The same where both sides copy one block together, of data in no cache (`cold`) and in a cache (`warm`):
//   64 KiB cold                                      8.5           8.0                          6.7
//    1 MiB cold / warm                              82 / 13       75 / 13                      52 / 37
//    4 MiB cold                                    294           265                          195
//
// Zen 5, processors that share caches: the AVX2 loop below 32 KiB, rep movsb from there on (64 KiB read where it lies 1.05 and 0.91 us, 1
// MiB 11.1 and 9.4; 4 KiB 0.21 and 0.22).
//
// Intel Skylake-SP: the AVX2 loop is the best up to 256 KiB (44 GB/s warm, 28 by the two others) and from 16 MiB on (5.4 cold; 5.0, 5.0,
// and past the caches 4 to 4.7), rep movsb between them (19.8 at 1 MiB; 19.5, 13).

namespace {

constexpr std::size_t least = 1024;  ///< bytes; below, nothing beats memcpy

#ifdef TOWLINE_COPY_WAYS

constexpr std::size_t never = ~std::size_t{0};

struct choice {
    way small = way::memcpy;   ///< below `middle`
    way medium = way::memcpy;
    way large = way::memcpy;   ///< from `big` on
    std::size_t middle = never, big = never;
    std::size_t cold = never;     ///< from here to `big`, an uncached destination is written by non-temporal stores
    std::size_t last_cache = 0;   ///< bytes
    bool takes = false;           ///< taking lines pays

    [[nodiscard]] way of(std::size_t whole) const noexcept { return whole >= big ? large : whole >= middle ? medium : small; }
};

/// Bytes of an AMD processor's last cache, as far as one core reaches (libc adds up all of the package's, and more).
std::size_t amd_last_cache() noexcept
{
    constexpr unsigned leaf = 0x8000001d;
    constexpr unsigned third_level = 3;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, third_level, &a, &b, &c, &d) == 0 || (a & 0x1f) == 0)
        return std::size_t{32} << 20;
    return std::size_t{(b >> 22) + 1} * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * (std::size_t{c} + 1);
}

bool is_amd() noexcept
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
}

unsigned family() noexcept
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0)
        return 0;
    unsigned const base = a >> 8 & 0xf;
    return base == 0xf ? base + (a >> 20 & 0xff) : base;
}

choice choose() noexcept
{
    if (!copy_ways::is_there(way::loop))
        return {};
    if (is_amd()) {
        // From this size on source and destination do not fit the last-level cache together, whatever it held before.
        std::size_t const cache = amd_last_cache();
        constexpr unsigned zen_3_and_4 = 0x19, zen_5 = 0x1a;
        bool const is_new = family() >= zen_3_and_4;
        way const medium = family() >= zen_5 ? way::string : way::loop;
        return {way::loop, medium, way::past, std::size_t{32} << 10, cache / 2, is_new ? std::size_t{64} << 10 : never, cache, is_new};
    }
    return {way::loop, way::string, way::loop, (std::size_t{256} << 10) + 1, std::size_t{16} << 20, never, 0, false};
}

[[gnu::always_inline]] inline choice const& ways() noexcept
{
    static choice const chosen = choose();
    return chosen;
}

/// Whether the block goes past the caches: it was not copied recently, it is uncached, and the program does not read such blocks soon.
bool goes_past(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes, std::size_t last_cache) noexcept
{
    static recent_blocks recent(last_cache / 2);
    static reading_habit habit(last_cache / 16, last_cache / 2, 4 * last_cache, look_for_readers);
    return !recent.again(to, whole) && habit.asks(recent.passed()) && looks_cold(to + at, bytes) &&
           habit.passes(to, whole, recent.passed());
}

#endif

} // namespace

#ifdef TOWLINE_COPY_WAYS

way way_of_copy(std::size_t whole) noexcept
{
    return ways().of(whole);
}

way way_of_copy(std::byte const* to, std::size_t whole, std::size_t at, std::size_t bytes) noexcept
{
    choice const& c = ways();
    return whole >= c.cold && whole < c.big && goes_past(to, whole, at, bytes, c.last_cache) ? way::past : c.of(whole);
}

bool is_rewritten(void const* block, std::size_t bytes) noexcept
{
    choice const& c = ways();
    if (!c.takes || bytes < least)
        return false;
    static recent_blocks recent(c.last_cache / 2);
    return recent.see(block, bytes, sample(block, bytes)) == recent_blocks::sight::another;
}

bool takes_lines() noexcept
{
    return ways().takes;
}

void take_lines(void const* block, std::size_t bytes) noexcept
{
    if (takes_lines())
        copy_ways::take_lines(static_cast<std::byte const*>(block), bytes);
}

#else

bool is_rewritten(void const*, std::size_t) noexcept
{
    return false;
}

bool takes_lines() noexcept
{
    return false;
}

void take_lines(void const*, std::size_t) noexcept {}

way way_of_copy(std::size_t) noexcept
{
    return way::memcpy;
}

way way_of_copy(std::byte const*, std::size_t, std::size_t, std::size_t) noexcept
{
    return way::memcpy;
}

#endif

std::uint64_t sample(void const* block, std::size_t bytes) noexcept
{
    constexpr std::size_t samples = 4, line = 64;
    std::size_t const apart = bytes / samples / line * line;
    std::size_t const size = bytes < sizeof(std::uint64_t) ? bytes : sizeof(std::uint64_t);
    // Each word times an odd number of its own: the multiplications do not depend on each other.
    constexpr std::uint64_t factors[samples]{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < samples && bytes != 0; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<std::byte const*>(block) + i * apart, size);
        sum += (word ^ word >> 32) * factors[i];
    }
    return sum;
}

void copy_block(void* to, void const* from, std::size_t bytes) noexcept
{
    copy_part(to, from, bytes, bytes >= least ? way_of_copy(static_cast<std::byte const*>(to), bytes, 0, bytes) : way::memcpy);
}

void copy_taking(void* to, void const* from, std::size_t bytes) noexcept
{
    copy_part(to, from, bytes, way::taking);
}

void copy_past(void* to, void const* from, std::size_t bytes) noexcept
{
    copy_part(to, from, bytes, way::past);
}

void copy_part(void* to, void const* from, std::size_t bytes, way how) noexcept
{
    if (bytes != 0)
        copy_ways::copy(bytes >= least ? how : way::memcpy, static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
}

} // namespace towline::base
