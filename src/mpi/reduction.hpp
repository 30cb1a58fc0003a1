#pragma once
// An operation on a datatype (6.9), as collective operations combine elements.
//
// Elements lie as their program has them in memory where they leave no gaps: of predefined datatypes (pairs with C's padding), and of
// derived ones whose elements are blocks in a row. Others travel packed, and each is laid out for a while as the program's function expects
// it: with its extent, its lower bound and its alignment.

#include "collective/reductions/reduce.hpp"
#include "collective/schedule.hpp"
#include "mpi/datatype.hpp"
#include "mpi/payload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace towline::mpi {

/// The operation of a reduction: predefined, or the program's.
class operation final : public object {
public:
    operation(MPI_User_function* f, bool commute) noexcept : function_(f), commutes_(commute) {}
    operation(MPI_User_function_c* f, bool commute) noexcept : large_function_(f), commutes_(commute) {}
    /// A predefined one.
    operation(MPI_Op op, bool commute) noexcept : predefined_(op), commutes_(commute) {}

    [[nodiscard]] bool commutes() const noexcept { return commutes_; }
    /// Its constant; MPI_OP_NULL for one of the program.
    [[nodiscard]] MPI_Op predefined() const noexcept { return predefined_; }
    /// One of the two, where the program made it.
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

    /// How a predefined operation combines elements of a predefined datatype; null: another operation, or not defined for it. On MPI_CHAR,
    /// for which the standard defines none, it is that of C's char, as in other libraries; TOWLINE_CHECK=types has it told once.
    [[nodiscard]] static collective::reduction of_predefined(MPI_Op, MPI_Datatype) noexcept;

    /// Throws MPI_ERR_OP where the standard does not allow the operation on the datatype. Holds both until `clear`.
    void set(MPI_Op, MPI_Datatype);
    void clear() noexcept;

    /// Refers to this object.
    [[nodiscard]] collective::combination const& how() const noexcept { return how_; }

    /// A buffer of elements, checked.
    struct elements {
        payload data;
        void* at = nullptr;   ///< where they lie; not if `packed`
        bool packed = false;  ///< they take part as the packed bytes of `data`
        std::uint64_t bytes = 0;
    };
    /// Throws MPI_ERR_COUNT, MPI_ERR_BUFFER.
    [[nodiscard]] elements of(void const* buffer, std::int64_t count, payload_names const&) const;

    /// inout[i] = in[i] op inout[i] of two buffers of the program, in this thread.
    void apply_here(void const* in, void* inout, std::int64_t count);

private:
    static void apply_predefined(void const* in, void* inout, std::uint64_t count, void* self);
    static void join_predefined(void const* in, void const* other, void* out, std::uint64_t count, void* self);
    static void apply_rows(void const* in, void* inout, std::uint64_t count, void* self);
    static void apply_packed(void const* in, void* inout, std::uint64_t count, void* self);
    /// Both where element 0's displacement 0 lies.
    void call(void* in, void* inout, std::int64_t count) noexcept;
    /// The program's handle, or another where that was freed meanwhile.
    [[nodiscard]] MPI_Datatype handle() noexcept;
    void make_images();

    collective::combination how_;
    collective::reduction loop_ = nullptr;  ///< null: a function of the program
    ref<operation> op_;                     ///< of the program
    ref<datatype> type_;                    ///< where op_ is
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;  ///< as the call was given it
    MPI_Datatype lent_ = MPI_DATATYPE_NULL;
    bool has_padding_ = false;  ///< a pair of C with a gap, which takes part like data
    std::int64_t first_ = 0;    ///< displacement of an element's first byte

    std::unique_ptr<std::byte[]> memory_;
    std::byte* images_[2] = {};  ///< where displacement 0 of the first element lies
    std::int64_t at_once_ = 0;   ///< elements in an image
};

} // namespace towline::mpi
