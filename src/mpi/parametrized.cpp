// Datatypes for Fortran's numbers by precision and range (19.1.5). They are predefined and unnamed: committed, one for equal arguments,
// never freed.

#include "mpi/calls.hpp"
#include "mpi/datatype.hpp"

#include <array>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <span>

namespace towline::mpi {
namespace {

/// The capacity of a kind of number: decimal digits, and powers of ten.
struct number {
    int precision, range;
    MPI_Datatype type;
};

number const reals[] = {{6, 37, MPI_REAL4}, {15, 307, MPI_REAL8}, {33, 4931, MPI_REAL16}};
number const complexes[] = {{6, 37, MPI_COMPLEX8}, {15, 307, MPI_COMPLEX16}, {33, 4931, MPI_COMPLEX32}};
number const integers[] = {{0, 2, MPI_INTEGER1}, {0, 4, MPI_INTEGER2}, {0, 9, MPI_INTEGER4}, {0, 18, MPI_INTEGER8}, {0, 38, MPI_INTEGER16}};

/// The datatype of the smallest kind that is large enough; an undefined argument sets no limit.
MPI_Datatype made(int combiner, std::span<number const> numbers, int p, int r)
{
    static std::mutex& mutex = *new std::mutex;  // never destroyed, because programs call MPI from destructors
    static auto& all = *new std::map<std::array<int, 3>, MPI_Datatype>;
    using list_of_integers = decltype(construction::integers);
    bool const is_integer = combiner == MPI_COMBINER_F90_INTEGER;
    for (number const& n : numbers) {
        if ((p != MPI_UNDEFINED && p > n.precision) || (r != MPI_UNDEFINED && r > n.range))
            continue;
        std::scoped_lock const lock(mutex);
        MPI_Datatype& handle = all.try_emplace({combiner, p, r}, MPI_DATATYPE_NULL).first->second;
        if (handle == MPI_DATATYPE_NULL) {
            list_of_integers const arguments = is_integer ? list_of_integers{r} : list_of_integers{p, r};
            ref<datatype> const type = make<datatype>(get(n.type, "type").layout(), construction{combiner, arguments, {}, {}, {}});
            type->make_lasting();
            handle = type->lasting_handle();
        }
        return handle;
    }
    throw failure(MPI_ERR_ARG, is_integer ? fmt::format("r is {}, but integers have 38 digits at most", r)
                                          : fmt::format("p is {} and r is {}, but reals have 33 digits and a range of 4931 at most", p, r));
}

void check_reals(int p, int r)
{
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        throw failure(MPI_ERR_ARG, "p and r are MPI_UNDEFINED: at least one of them must be given");
}

} // namespace

namespace calls {

void type_create_f90_real(int p, int r, MPI_Datatype* newtype)
{
    check_reals(p, r);
    *newtype = made(MPI_COMBINER_F90_REAL, reals, p, r);
}

void type_create_f90_complex(int p, int r, MPI_Datatype* newtype)
{
    check_reals(p, r);
    *newtype = made(MPI_COMBINER_F90_COMPLEX, complexes, p, r);
}

void type_create_f90_integer(int r, MPI_Datatype* newtype)
{
    *newtype = made(MPI_COMBINER_F90_INTEGER, integers, 0, r);
}

} // namespace calls
} // namespace towline::mpi
