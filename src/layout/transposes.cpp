#include "layout/transposes.hpp"

#include "base/processor.hpp"
#include "layout/rows.hpp"

#include <array>

namespace towline::layout {
namespace {

/// The widest first; one of no squares ends them.
using choice = std::array<transposers const*, 3>;

[[nodiscard]] choice const& runnable() noexcept
{
    static choice const all = [] {
        choice found{};
#if defined(__x86_64__)
        std::size_t n = 0;
        if (base::has(base::instructions::avx512f))
            found[n++] = &avx512_transposers;
        if (base::has(base::instructions::avx2))
            found[n++] = &avx2_transposers;
#endif
        return found;
    }();
    return all;
}

/// By the squares of `level` and those behind it; what is left at the edges goes row by row.
void by_squares(choice const& all, std::size_t level, std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line,
                std::int64_t rows, std::int64_t columns, std::int64_t bytes) noexcept
{
    if (rows == 0 || columns == 0)
        return;
    if (all[level] == nullptr) {
        stepped_kernel const row = best_rows().of[size_class(bytes)].stepped;
        if (rows >= columns)
            for (std::int64_t c = 0; c < columns; ++c)
                row(to + c * to_line, bytes, from + c * bytes, from_line, rows, bytes);
        else
            for (std::int64_t r = 0; r < rows; ++r)
                row(to + r * bytes, to_line, from + r * from_line, bytes, columns, bytes);
        return;
    }
    transposer const& squares = all[level]->of[transposer_class(bytes)];
    if (rows < squares.edge || columns < squares.edge)
        return by_squares(all, level + 1, to, to_line, from, from_line, rows, columns, bytes);
    std::int64_t const whole_rows = rows - rows % squares.edge, whole_columns = columns - columns % squares.edge;
    squares.run(to, to_line, from, from_line, whole_rows, whole_columns);
    by_squares(all, level + 1, to + whole_columns * to_line, to_line, from + whole_columns * bytes, from_line, rows, columns - whole_columns,
               bytes);
    by_squares(all, level + 1, to + whole_rows * bytes, to_line, from + whole_rows * from_line, from_line, rows - whole_rows, whole_columns,
               bytes);
}

} // namespace

bool transpose(std::byte* to, std::int64_t to_line, std::byte const* from, std::int64_t from_line, std::int64_t rows, std::int64_t columns,
               std::int64_t bytes) noexcept
{
    int const c = transposer_class(bytes);
    if (c < 0)
        return false;
    choice const& all = runnable();
    for (transposers const* some : all)
        if (some != nullptr && rows >= some->of[c].edge && columns >= some->of[c].edge) {
            by_squares(all, 0, to, to_line, from, from_line, rows, columns, bytes);
            return true;
        }
    return false;
}

} // namespace towline::layout
