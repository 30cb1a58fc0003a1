#pragma once
// An operation on a datatype (6.9), by which collective operations combine elements.
//
// Elements without gaps (predefined ones, pairs with C's padding, derived ones whose elements are contiguous) are combined in the program's
// memory. Others travel packed, and are unpacked for the program's function with their extent, lower bound and alignment.

#include "collective/reductions/reduce.hpp"
#include "collective/schedule.hpp"
#include "mpi/datatype.hpp"
#include "mpi/payload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace towline::mpi {

/// The operation of a reduction: predefined, or made by the program.
class operation final : public object {
public:
    operation(MPI_User_function* f, bool commute) noexcept : function_(f), commutes_(commute) {}
    operation(MPI_User_function_c* f, bool commute) noexcept : large_function_(f), commutes_(commute) {}
    /// A predefined operation.
    operation(MPI_Op op, bool commute) noexcept : predefined_(op), commutes_(commute) {}

    [[nodiscard]] bool commutes() const noexcept { return commutes_; }
    /// Its constant; MPI_OP_NULL for an operation of the program.
    [[nodiscard]] MPI_Op predefined() const noexcept { return predefined_; }
    /// The functions of an operation of the program; one of the two is set.
    [[nodiscard]] MPI_User_function* function() const noexcept { return function_; }
    [[nodiscard]] MPI_User_function_c* large_function() const noexcept { return large_function_; }

private:
    MPI_Op const predefined_ = MPI_OP_NULL;
    MPI_User_function* const function_ = nullptr;
    MPI_User_function_c* const large_function_ = nullptr;
    bool const commutes_;
};

class reduction {
public:
    reduction() = default;
    reduction(reduction const&) = delete;
    reduction& operator=(reduction const&) = delete;

    /// The loop of a predefined operation on a predefined datatype; null for any other operation, or if it is not defined for the type. On
    /// MPI_CHAR, where the standard defines none, it is the loop of C's char, as in other libraries; TOWLINE_CHECK=types warns once.
    [[nodiscard]] static collective::reduction of_predefined(MPI_Op, MPI_Datatype) noexcept;

    /// Throws MPI_ERR_OP if the standard does not allow the operation on the datatype. Holds both until `clear`.
    void set(MPI_Op, MPI_Datatype);
    void clear() noexcept;

    /// Refers to this object.
    [[nodiscard]] collective::combination const& how() const noexcept { return how_; }

    /// A buffer of elements, checked.
    struct elements {
        payload data;
        void* at = nullptr;   ///< their address; not used if `packed`
        bool packed = false;  ///< the packed bytes of `data` are combined
        std::uint64_t bytes = 0;
    };
    /// Throws MPI_ERR_COUNT, MPI_ERR_BUFFER.
    [[nodiscard]] elements of(void const* buffer, std::int64_t count, payload_names const&) const;

    /// inout[i] = in[i] op inout[i] for two buffers of the program, in this thread.
    void apply_here(void const* in, void* inout, std::int64_t count);

private:
    static void apply_predefined(void const* in, void* inout, std::uint64_t count, void* self);
    static void join_predefined(void const* in, void const* other, void* out, std::uint64_t count, void* self);
    static void apply_rows(void const* in, void* inout, std::uint64_t count, void* self);
    static void apply_packed(void const* in, void* inout, std::uint64_t count, void* self);
    /// Calls the program's function. Both pointers are the addresses of displacement 0 of element 0.
    void call(void* in, void* inout, std::int64_t count) noexcept;
    /// The program's handle, or a new one if that was freed meanwhile.
    [[nodiscard]] MPI_Datatype handle() noexcept;
    void make_images();

    collective::combination how_;
    collective::reduction loop_ = nullptr;  ///< null: a function of the program
    ref<operation> op_;                     ///< an operation of the program
    ref<datatype> type_;                    ///< its datatype
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;  ///< as passed to the call
    MPI_Datatype lent_ = MPI_DATATYPE_NULL;
    bool has_padding_ = false;  ///< a C pair with a gap, which is copied like data
    std::int64_t first_ = 0;    ///< displacement of an element's first byte

    std::unique_ptr<std::byte[]> memory_;
    std::byte* images_[2] = {};  ///< address of displacement 0 of the first element
    std::int64_t per_image_ = 0;   ///< elements in an image
};

} // namespace towline::mpi
