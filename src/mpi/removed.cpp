// Functions of MPI 1 that MPI 3 removed (17), as their replacements.

#include "mpi/calls.hpp"

namespace towline::mpi::calls {

void address(void const* location, MPI_Aint* address)
{
    get_address(location, address);
}

void errhandler_create(MPI_Comm_errhandler_function* handler_fn, MPI_Errhandler* errhandler)
{
    comm_create_errhandler(handler_fn, errhandler);
}

void errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler)
{
    comm_get_errhandler(comm, errhandler);
}

void errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    comm_set_errhandler(comm, errhandler);
}

void type_extent(MPI_Datatype datatype, MPI_Aint* extent)
{
    MPI_Count lb = 0, all = 0;
    type_get_extent(datatype, &lb, &all);
    *extent = all;
}

void type_hindexed(int count, int const* array_of_blocklengths, MPI_Aint const* array_of_displacements, MPI_Datatype oldtype,
                   MPI_Datatype* newtype)
{
    type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype, false);
}

void type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    type_create_hvector(count, blocklength, stride, oldtype, newtype, false);
}

void type_lb(MPI_Datatype datatype, MPI_Aint* displacement)
{
    MPI_Count lb = 0, extent = 0;
    type_get_extent(datatype, &lb, &extent);
    *displacement = lb;
}

void type_struct(int count, int const* array_of_blocklengths, MPI_Aint const* array_of_displacements, MPI_Datatype const* array_of_types,
                 MPI_Datatype* newtype)
{
    type_create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype, false);
}

void type_ub(MPI_Datatype datatype, MPI_Aint* displacement)
{
    MPI_Count lb = 0, extent = 0;
    type_get_extent(datatype, &lb, &extent);
    *displacement = lb + extent;
}

} // namespace towline::mpi::calls
