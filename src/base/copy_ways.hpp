#pragma once
// The ways of copying between which copy.cpp chooses. All of them: the ranges do not overlap; any alignment, any size.

#include <cstddef>

// On other processors everything goes by memcpy. The sanitizers' builds have all ways: copy_ways.cpp tells the sanitizers what is touched.
#if defined(__x86_64__)
#define TOWLINE_COPY_WAYS 1
#endif

namespace towline::base::copy_ways {

enum class way : unsigned char {
    memcpy,
    string,  ///< rep movsb
    loop,    ///< AVX2
    past,    ///< AVX2, with stores that go past the caches and do not read what they overwrite
    taking,  ///< AVX2; takes the lines of `from`, which is mapped for writing (take_lines)
};

/// Whether this processor has it.
[[nodiscard]] bool is_there(way) noexcept;
/// Copies. When it returns, whoever sees a later store of this thread sees the copy. What is not there is done by memcpy.
void copy(way, std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// Writes a byte of each whole line back as it is: then the lines are this core's own, and nobody else's.
void take_lines(std::byte const* block, std::size_t bytes) noexcept;

} // namespace towline::base::copy_ways
