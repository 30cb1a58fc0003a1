#pragma once
// Blocks of an array that is copied across: what lies along the lines of one side lies across the lines of the other. Elements of 4, 8 and
// 16 bytes are turned in registers, in squares as wide as a register, so that each line of either side is touched once for each square.
//
// Addresses only; nothing is read or written outside of the elements. Elements of `to` overlap neither each other nor those of `from`.

#include <cstddef>
#include <cstdint>

namespace towline::layout {

/// The element r * from_line + c * bytes of `from` goes to c * to_line + r * bytes. `rows` and `columns` are multiples of the square's
/// edge.
using transposing_kernel = void (*)(std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line, std::int64_t rows,
                                    std::int64_t columns) noexcept;

struct transposer {
    transposing_kernel run = nullptr;
    std::int64_t edge = 0;  ///< elements along the square's side; 0: there is none
};

/// For elements of 4, 8 and 16 bytes.
struct transposers {
    transposer of[3];
};
[[nodiscard]] constexpr int transposer_class(std::int64_t bytes) noexcept
{
    return bytes == 4 ? 0 : bytes == 8 ? 1 : bytes == 16 ? 2 : -1;
}

#if defined(__x86_64__)
extern transposers const avx2_transposers, avx512_transposers;  ///< only where the processor runs them
#endif

/// Any number of rows and columns of elements of 4, 8 or 16 bytes, by the best squares that the processor runs. False: it runs none that
/// fit, and nothing was copied.
[[nodiscard]] bool transpose(std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line, std::int64_t rows,
                             std::int64_t columns, std::int64_t bytes) noexcept;

} // namespace towline::layout
