// Times reads of a few lines of a block, and decides by them whether it is in a cache.

#include "base/coldness.hpp"

#include "base/clock.hpp"
#include "base/copy_ways.hpp"

#include <algorithm>

#ifdef TOWLINE_COPY_WAYS
#include <immintrin.h>
#endif

namespace towline::base {

#ifdef TOWLINE_COPY_WAYS
namespace {

/// Ticks until both lines have arrived; the two fetches overlap.
std::uint64_t ticks_to_read(std::byte const* a, std::byte const* b) noexcept
{
    std::uint8_t x = 0, y = 0;
    _mm_lfence();
    std::uint64_t const begin = __rdtsc();
    _mm_lfence();
    asm volatile("movb %2, %0\n\tmovb %3, %1" : "=&q"(x), "=&q"(y) : "m"(*a), "m"(*b));
    _mm_lfence();
    return __rdtsc() - begin;
}

struct latencies {
    std::uint64_t near = 0;  ///< ticks for a line in the first-level cache
    std::uint64_t far = 0;   ///< ticks for a line that was flushed to memory; 0 where the clock cannot tell them apart
    /// Half-way between them. The last-level cache is well below: 52 (first), 78 to 104 (last), 390 (memory) ticks on Zen 4.
    [[nodiscard]] std::uint64_t limit() const noexcept { return far == 0 ? ~std::uint64_t{0} : near + (far - near) / 2; }
};

latencies measure() noexcept
{
    constexpr std::size_t times = 15;
    alignas(4096) static std::array<std::byte, 8192> lines;
    std::array<std::uint64_t, times> near{}, far{};
    std::byte* const a = &lines[1024];
    std::byte* const b = &lines[6144];
    *a = *b = std::byte{1};
    for (std::size_t i = 0; i < times; ++i) {
        _mm_clflush(a);
        _mm_clflush(b);
        _mm_mfence();
        far[i] = ticks_to_read(a, b);
        near[i] = ticks_to_read(a, b);
    }
    std::nth_element(near.begin(), near.begin() + times / 2, near.end());
    std::nth_element(far.begin(), far.begin() + times / 2, far.end());
    std::uint64_t const n = near[times / 2], f = far[times / 2];
    return {n, f > 2 * n && ticks_are_tsc() ? f : 0};
}

latencies const& measured() noexcept
{
    static latencies const found = measure();
    return found;
}

} // namespace

bool looks_cold(void const* block, std::size_t bytes) noexcept
{
    std::uint64_t const limit = measured().limit();
    if (bytes < least_seen)
        return false;
    auto const* const begin = static_cast<std::byte const*>(block);
    std::size_t const a = bytes / 3, b = bytes / 3 * 2;
    if (ticks_to_read(begin + a, begin + b) < limit)
        return false;
    // A TLB miss or a preemption may have taken the time: look at other lines of the same pages or next to them, too far away for a
    // prefetcher to have fetched them along.
    constexpr std::size_t aside = 2048 + 192;
    return ticks_to_read(begin + a + aside, begin + b + aside) >= limit;
}

std::uint64_t ticks_of_memory() noexcept
{
    return measured().far == 0 ? 0 : measured().far - measured().near;
}

#else

bool looks_cold(void const*, std::size_t) noexcept
{
    return false;
}

std::uint64_t ticks_of_memory() noexcept
{
    return 0;
}

#endif

} // namespace towline::base
