#pragma once
// Layouts as text: what `towline layout` reads. The constructors of MPI by their names, with their arguments in MPI's order, lists in
// brackets without their lengths:
//
//   message  [COUNT *] type
//   type     a predefined datatype, or a constructor:
//            contiguous(count, type)                                vector(count, blocklength, stride, type)
//            hvector(count, blocklength, stride in bytes, type)     indexed([blocklengths], [displacements], type)
//            hindexed([blocklengths], [bytes], type)                indexed_block(blocklength, [displacements], type)
//            hindexed_block(blocklength, [bytes], type)             struct([blocklengths], [bytes], [types])
//            subarray([sizes], [subsizes], [starts], type)          resized(type, lb, extent)
//            darray(processes, rank, [sizes], [distributions], [arguments], [grid], type)
//
// A number may be a product: 128*128*8. subarray and darray take MPI's order, `c` or `fortran`, before the type. A distribution is `none`,
// `block` or `cyclic`, its argument a number or `dflt`. Predefined datatypes are those of
// MPI, in letters of either case, with or without MPI_ where no digit follows that: double, MPI_INT, int32_t, MPI_2INT. MPI_Type_vector and
// MPI_Type_create_hvector are accepted, too.

#include "layout/datatype.hpp"
#include "towline/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace towline::tools {

struct layout_message {
    layout::datatype type;
    std::int64_t count = 1;
};

/// What is wrong with a text, and where: what() has three lines, "at column 12: ...", the text there, and a mark below it.
class layout_text_error : public usage_error {
public:
    layout_text_error(std::string_view text, std::size_t at, std::string const& what);
    /// From 1.
    [[nodiscard]] std::size_t column() const noexcept { return column_; }

private:
    std::size_t column_;
};

/// Throws layout_text_error, and nothing else but std::bad_alloc.
[[nodiscard]] layout_message parse_layout(std::string_view text);

} // namespace towline::tools
