#pragma once
// The inner loops of everything that moves data by a layout: rows of blocks of one size, from places to places. One kernel for each size
// of block up to 64 bytes that programs have, and for ranges of sizes between and above; the best that the processor runs, found once.
//
// Steps and displacements are bytes, and may be negative or 0. Blocks do not overlap those that they are copied from. Where they overlap
// each other, the last one of the row stays. Nothing is read or written outside of the blocks. No kernel allocates; any thread.

#include <cstddef>
#include <cstdint>

namespace towline::layout {

/// n blocks of `bytes` (1 or more), each a step behind the last.
using stepped_kernel = void (*)(std::byte* to, std::int64_t to_step, std::byte const* from, std::int64_t from_step, std::int64_t n,
                                std::int64_t bytes) noexcept;
/// The same, on one side or both at displacements.
using gathering_kernel = void (*)(std::byte* to, std::int64_t to_step, std::byte const* from, std::int64_t const* displacements,
                                  std::int64_t n, std::int64_t bytes) noexcept;
using scattering_kernel = void (*)(std::byte* to, std::int64_t const* displacements, std::byte const* from, std::int64_t from_step,
                                   std::int64_t n, std::int64_t bytes) noexcept;
using listed_kernel = void (*)(std::byte* to, std::int64_t const* to_displacements, std::byte const* from,
                               std::int64_t const* from_displacements, std::int64_t n, std::int64_t bytes) noexcept;

struct row_kernels {
    stepped_kernel stepped;
    gathering_kernel gathering;
    scattering_kernel scattering;
    listed_kernel listed;
};

/// A kernel for each class of sizes.
inline constexpr int size_classes = 17;
struct row_tables {
    row_kernels of[size_classes];
};

inline constexpr std::int64_t short_block = 64;    ///< up to here each class has its own loads and stores
inline constexpr std::int64_t middle_block = 256; ///< up to here a block is a few loads and stores in a loop; memcpy above

/// 1, 2, 4, 8, 12, 16, 24, 32, 48 and 64 bytes; else up to 4, 8, 16, 32, 64, `middle_block` and any.
[[nodiscard]] constexpr int size_class(std::int64_t bytes) noexcept
{
    switch (bytes) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    case 8: return 3;
    case 12: return 4;
    case 16: return 5;
    case 24: return 6;
    case 32: return 7;
    case 48: return 8;
    case 64: return 9;
    default: return bytes < 4 ? 10 : bytes < 8 ? 11 : bytes < 16 ? 12 : bytes < 32 ? 13 : bytes < 64 ? 14 : bytes <= middle_block ? 15 : 16;
    }
}

/// What the processor runs best.
[[nodiscard]] row_tables const& best_rows() noexcept;

extern row_tables const baseline_rows;
#if defined(__x86_64__)
extern row_tables const avx2_rows;  ///< only where best_rows() says so
#endif

/// A row of rows: `m` times n blocks.
struct nest {
    std::int64_t m = 1, n = 1, bytes = 0;
    std::int64_t to_outer = 0, to_inner = 0;      ///< steps
    std::int64_t from_outer = 0, from_inner = 0;
};

/// The same as m rows one after the other, in the order that is kind to the caches if no two blocks of `to` overlap.
void copy_nest(std::byte* to, std::byte const* from, nest const&) noexcept;

/// Blocks within a record: the i-th is starts[i + 1] - starts[i] bytes at displacements[i].
struct fields {
    std::int64_t const* displacements;
    std::int64_t const* starts;
    std::int64_t n;
    [[nodiscard]] std::int64_t bytes(std::int64_t i) const noexcept { return starts[i + 1] - starts[i]; }
    [[nodiscard]] std::int64_t size() const noexcept { return starts[n]; }
};

/// Where records begin.
struct places {
    std::int64_t const* displacements = nullptr;  ///< null: `step` after `step`
    std::int64_t step = 0;
};

/// `n` records one after the other, each field from where it lies in the record to its start in a row of all fields, or (`scatter`) back.
/// The fields of some records go together where their order does not matter.
void gather_records(std::byte* to, std::byte const* from, places, fields const&, std::int64_t n) noexcept;
void scatter_records(std::byte* to, places, std::byte const* from, fields const&, std::int64_t n) noexcept;
/// From records to others with the same fields.
void copy_records(std::byte* to, places, std::byte const* from, places, fields const&, std::int64_t n) noexcept;

} // namespace towline::layout
