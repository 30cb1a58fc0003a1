// Calls on operations (6.9.5 to 6.9.7).

#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/reduction.hpp"

namespace towline::mpi {
namespace {

/// The predefined operations; never destroyed, because programs call MPI from destructors.
[[maybe_unused]] bool const made_at_load = [] {
    for (MPI_Op const op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC,
                            MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP})
        predefined_of<MPI_Op>[bits_of(op) - handle_traits<MPI_Op>::first] = new operation(op, op != MPI_REPLACE && op != MPI_NO_OP);
    return true;
}();

template <class Function>
MPI_Op created(Function* function, int commute)
{
    if (function == nullptr)
        throw failure(MPI_ERR_ARG, "user_fn is a null pointer");
    return give<MPI_Op>(make<operation>(function, commute != 0));
}

} // namespace

namespace calls {

void op_create(MPI_User_function* user_fn, int commute, MPI_Op* op)
{
    *op = created(user_fn, commute);
}

void op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op)
{
    *op = created(user_fn, commute);
}

void op_commutative(MPI_Op op, int* commute)
{
    *commute = get(op, "op").commutes();
}

void op_free(MPI_Op* op)
{
    (void)take(*op, "op");
    *op = MPI_OP_NULL;
}

} // namespace calls
} // namespace towline::mpi
