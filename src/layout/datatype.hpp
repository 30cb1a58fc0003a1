#pragma once
// Datatypes: where in memory the basic elements of a message lie (MPI-5.0, chapter "Datatypes").
//
// A datatype is an immutable value: copying it shares one description, which ends with its last copy; any thread may use and copy it. So a
// duplicate (MPI_Type_dup) is a copy. Every constructor of the standard is a function below; the description is brought into a small
// canonical form at once: neighbouring blocks are one block, equal steps are a loop, and no constructor's time depends on a count, only on
// the lengths of its lists. How data is moved by it: stream.hpp.
//
// Units: displacements, strides of the h-forms, extents and bounds are bytes; counts, lengths and other displacements are elements of the
// old type. All are 64 bits wide. Errors: usage_error for an argument the standard forbids, limit_error where a size, a bound or an extent
// does not fit 64 bits or types are nested beyond `deepest`; what() names the constructor and the argument.

#include "layout/kind.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace towline::layout {

struct description;

class datatype {
public:
    /// The predefined datatype of a kind. Allocates; keep it.
    [[nodiscard]] static datatype of(kind);

    /// Bytes of data in one element: what one takes in a packed stream.
    [[nodiscard]] std::int64_t size() const noexcept;
    /// Bytes of data in external32.
    [[nodiscard]] std::int64_t external_size() const noexcept;
    /// Basic elements in one; a pair has two.
    [[nodiscard]] std::int64_t elements() const noexcept;

    [[nodiscard]] std::int64_t lb() const noexcept;
    [[nodiscard]] std::int64_t ub() const noexcept;
    /// From one element to the next; may be negative (`resized`), may be less than what the data spans.
    [[nodiscard]] std::int64_t extent() const noexcept;
    /// Where the data begins and ends, whatever `resized` said; both 0 without data.
    [[nodiscard]] std::int64_t true_lb() const noexcept;
    [[nodiscard]] std::int64_t true_ub() const noexcept;
    [[nodiscard]] std::int64_t true_extent() const noexcept;

    /// True if one element is one block of bytes in the order of the stream, at displacement true_lb (or has no data).
    [[nodiscard]] bool is_block() const noexcept;
    /// True if any number of elements in a row is one block.
    [[nodiscard]] bool is_contiguous() const noexcept;

    /// The kind if this is a predefined datatype, or a copy of one.
    [[nodiscard]] std::optional<kind> predefined() const noexcept;
    /// The predefined datatype that all of it is made of, however laid out, if there is just one (pairs as a whole). None without data.
    [[nodiscard]] std::optional<kind> uniform() const noexcept;

    /// What the first `bytes` bytes of a packed stream of any number of elements hold in basic elements; nullopt if they end inside one
    /// (MPI_Get_elements: MPI_UNDEFINED) or the type has no data and `bytes` is not 0. O(depth).
    [[nodiscard]] std::optional<std::int64_t> elements_in(std::int64_t bytes) const noexcept;
    /// Backwards: the bytes that the first `elements` basic elements of a stream take (MPI_Status_set_elements); nullopt if it does not
    /// fit 64 bits or there is no data.
    [[nodiscard]] std::optional<std::int64_t> bytes_of(std::int64_t elements) const noexcept;

    /// The canonical form of the bytes in words, for logs and tests: "at 4: loop 10 x 32 of block 8".
    [[nodiscard]] std::string describe() const;

    /// For this layer: the trees.
    [[nodiscard]] description const& describes() const noexcept { return *description_; }
    explicit datatype(std::shared_ptr<description const> d) noexcept : description_(std::move(d)) {}

private:
    std::shared_ptr<description const> description_;
};

/// Levels of loops and lists that cannot be brought into one; walking recurses this deep at most (a few hundred bytes of stack each).
inline constexpr int deepest = 512;

[[nodiscard]] datatype contiguous(std::int64_t count, datatype const& old);
[[nodiscard]] datatype vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, datatype const& old);
[[nodiscard]] datatype hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, datatype const& old);
/// The lists of the following five are as long as each other; they are read during the call only.
[[nodiscard]] datatype indexed(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements,
                               datatype const& old);
[[nodiscard]] datatype hindexed(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements,
                                datatype const& old);
[[nodiscard]] datatype indexed_block(std::int64_t blocklength, std::span<std::int64_t const> displacements, datatype const& old);
[[nodiscard]] datatype hindexed_block(std::int64_t blocklength, std::span<std::int64_t const> displacements, datatype const& old);
/// MPI_Type_create_struct.
[[nodiscard]] datatype structure(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements,
                                 std::span<datatype const> types);
/// MPI_Type_create_resized; the extent may be negative.
[[nodiscard]] datatype resized(datatype const& old, std::int64_t lb, std::int64_t extent);

/// Which index of an array varies fastest in memory: the last (C) or the first (Fortran).
enum class array_order : std::uint8_t { c, fortran };

/// The part of `subsizes` elements from `starts` on (counted from 0) of an array of `sizes`; lb 0, extent that of the whole array.
[[nodiscard]] datatype subarray(std::span<std::int64_t const> sizes, std::span<std::int64_t const> subsizes,
                                std::span<std::int64_t const> starts, array_order, datatype const& old);

enum class distribution : std::uint8_t { none, block, cyclic };

/// One dimension of a distributed array.
struct distributed_dimension {
    std::int64_t size = 0;                  ///< of the whole array
    distribution how = distribution::none;
    std::optional<std::int64_t> argument;   ///< elements in a block; nullopt: MPI_DISTRIBUTE_DFLT_DARG
    std::int64_t processes = 1;             ///< of the grid in this dimension; 1 with distribution::none
};
/// The part of a distributed array that belongs to `rank` of a grid of `processes` (their product), ranks in row-major order whatever the
/// array's order is; lb 0, extent that of the whole array.
[[nodiscard]] datatype darray(std::int64_t processes, std::int64_t rank, std::span<distributed_dimension const> dimensions, array_order,
                              datatype const& old);

} // namespace towline::layout
