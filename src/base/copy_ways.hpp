#pragma once
// The ways of copying from which copy.cpp chooses. Of each: the ranges do not overlap; any alignment, any size.

#include <cstddef>

// Other processors have memcpy only. Sanitizer builds have all ways: copy_ways.cpp tells the sanitizer which bytes a way touches.
#if defined(__x86_64__)
#define TOWLINE_COPY_WAYS 1
#endif

namespace towline::base::copy_ways {

enum class way : unsigned char {
    memcpy,
    string,  ///< rep movsb
    loop,    ///< AVX2
    past,    ///< AVX2 with non-temporal stores, which do not fetch the lines that they overwrite
    taking,  ///< AVX2; takes the lines of `from`, which must be mapped for writing (take_lines)
};

/// Whether this processor has it.
[[nodiscard]] bool is_there(way) noexcept;
/// Copies. After it returns, whoever sees a later store of this thread sees the copy. A way that this processor lacks is memcpy.
void copy(way, std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// Writes one byte of each whole line back unchanged: this core owns the lines then, exclusively.
void take_lines(std::byte const* block, std::size_t bytes) noexcept;

} // namespace towline::base::copy_ways
