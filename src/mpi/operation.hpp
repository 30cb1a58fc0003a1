#pragma once
// Operations of reductions (6.9): predefined ones, and those of the program.

#include "mpi/abi.hpp"
#include "mpi/object.hpp"

namespace towline::mpi {

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

} // namespace towline::mpi
