// The loops of copies: non-temporal, taking lines, rep movsb.

#include "base/copy_ways.hpp"

#include "base/processor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef TOWLINE_COPY_WAYS
#include <immintrin.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TOWLINE_BASE_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define TOWLINE_BASE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOWLINE_BASE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define TOWLINE_BASE_TSAN 1
#endif
#endif
#if defined(TOWLINE_BASE_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(TOWLINE_BASE_TSAN)
extern "C" void __tsan_read_range(void* begin, unsigned long bytes);
extern "C" void __tsan_write_range(void* begin, unsigned long bytes);
#endif

namespace towline::base::copy_ways {

#ifdef TOWLINE_COPY_WAYS
namespace {

/// Tells the sanitizer what a copy reads and writes: it sees neither string instructions nor non-temporal stores. Bytes that are written
/// back unchanged (take_lines) it would report as races; they are none, as nobody else writes there meanwhile.
[[gnu::always_inline]] inline void tell_sanitizer(std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
#if defined(TOWLINE_BASE_ASAN)
    if (__asan_region_is_poisoned(const_cast<std::byte*>(from), bytes) != nullptr || __asan_region_is_poisoned(to, bytes) != nullptr)
        std::memcpy(to, from, bytes);  // which reports it
#elif defined(TOWLINE_BASE_TSAN)
    __tsan_read_range(const_cast<std::byte*>(from), bytes);
    __tsan_write_range(to, bytes);
#else
    (void)to, (void)from, (void)bytes;
#endif
}
#define TOWLINE_TOLD __attribute__((no_sanitize("thread")))

constexpr std::size_t line = 64;
constexpr std::size_t step = 128;  ///< bytes that a turn of a loop moves

/// Writes the byte at `at` back, which was read as `value`, by a relaxed atomic store.
[[gnu::always_inline]] inline void write_back(std::byte const* at, int value) noexcept
{
    __atomic_store_n(const_cast<char*>(reinterpret_cast<char const*>(at)), static_cast<char>(value), __ATOMIC_RELAXED);
}

/// Copies whole turns; less than a turn is left. With non-temporal stores `to` must be aligned to a line.
template <way Way>
[[gnu::target("avx2")]] TOWLINE_TOLD std::size_t copy_turns(std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    std::size_t i = 0;
    for (; i + step <= bytes; i += step) {
        auto const* const s = reinterpret_cast<__m256i const*>(from + i);
        auto* const d = reinterpret_cast<__m256i*>(to + i);
        __m256i const a = _mm256_loadu_si256(s), b = _mm256_loadu_si256(s + 1);
        __m256i const c = _mm256_loadu_si256(s + 2), e = _mm256_loadu_si256(s + 3);
        if constexpr (Way == way::taking) {
            // Before the stores below, from the registers: a later load would alias with these stores (4 KiB aliasing) and wait for them.
            write_back(from + i, _mm256_extract_epi8(a, 0));
            write_back(from + i + line, _mm256_extract_epi8(c, 0));
        }
        if constexpr (Way == way::past) {
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
    if constexpr (Way == way::past)
        _mm_sfence();  // non-temporal stores are not ordered with others
    return i;
}

/// Whether lines of the two blocks at the same offset evict each other from the first-level cache: its way predictor hashes address bits
/// below 2^28, so that addresses that differ in higher bits only look the same to it.
bool collide(std::byte const* to, std::byte const* from) noexcept
{
    constexpr std::uintptr_t page = 4096, span = std::uintptr_t{1} << 28;
    return ((reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) + page) & (span - 1)) < 2 * page;
}

/// Whole turns, as above.
TOWLINE_TOLD std::size_t copy_and_take(std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    if (!collide(to, from))
        return copy_turns<way::taking>(to, from, bytes);
    // The blocks would evict each other between the copy of a line and its taking. Take the lines once for each page, not for each line.
    constexpr std::size_t batch = 4096;
    std::size_t done = 0;
    for (std::size_t n = 0; bytes - done >= step; done += n) {
        n = copy_turns<way::loop>(to + done, from + done, std::min(batch, bytes - done));
        take_lines(from + done, n);
    }
    return done;
}

[[gnu::always_inline]] inline bool has_avx2() noexcept
{
    static bool const has = base::has(instructions::avx2);
    return has;
}

} // namespace

bool is_there(way w) noexcept
{
    return w == way::memcpy || w == way::string || has_avx2();
}

void copy(way w, std::byte* to, std::byte const* from, std::size_t bytes) noexcept
{
    if (w != way::memcpy && bytes != 0)
        tell_sanitizer(to, from, bytes);
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
        std::size_t const done = w == way::past     ? copy_turns<way::past>(to, from, bytes)
                                 : w == way::taking ? copy_and_take(to, from, bytes)
                                                    : copy_turns<way::loop>(to, from, bytes);
        to += done;
        from += done;
        bytes -= done;
    }
    if (bytes != 0)
        std::memcpy(to, from, bytes);
}

TOWLINE_TOLD void take_lines(std::byte const* block, std::size_t bytes) noexcept
{
    std::size_t const head = -reinterpret_cast<std::uintptr_t>(block) % line;
    for (std::size_t at = head; at < bytes; at += line)
        write_back(block + at, __atomic_load_n(reinterpret_cast<char const*>(block + at), __ATOMIC_RELAXED));
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

void take_lines(std::byte const*, std::size_t) noexcept {}

#endif

} // namespace towline::base::copy_ways
