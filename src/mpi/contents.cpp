// How a datatype was constructed (5.1.13).

#include "mpi/calls.hpp"
#include "mpi/datatype.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

/// The construction, for calls without large counts; throws if it has some.
construction const& small(datatype const& type)
{
    if (!type.made().counts.empty())
        throw failure(MPI_ERR_TYPE, "datatype was constructed with large counts, which only the function with _c at its end returns");
    return type.made();
}

template <class T, std::size_t Near>
void copy_out(boost::container::small_vector<T, Near> const& from, T* to, MPI_Count max, char const* max_parameter, char const* parameter)
{
    auto const n = static_cast<MPI_Count>(from.size());
    if (max < n)
        throw failure(MPI_ERR_ARG, fmt::format("{} is {}, and there are {}", max_parameter, max, n));
    if (n > 0 && to == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and there are {}", parameter, n));
    std::copy(from.begin(), from.end(), to);
}

/// Returns predefined datatypes themselves, and duplicates of others, which the caller frees.
MPI_Datatype handle_for(datatype& type)
{
    return type.lasting_handle() != MPI_DATATYPE_NULL ? type.lasting_handle() : give<MPI_Datatype>(make<datatype>(type));
}

} // namespace

namespace calls {

void type_get_envelope_c(MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses, MPI_Count* num_large_counts,
                         MPI_Count* num_datatypes, int* combiner)
{
    construction const& made = get(datatype, "datatype").made();
    *num_integers = static_cast<MPI_Count>(made.integers.size());
    *num_addresses = static_cast<MPI_Count>(made.addresses.size());
    *num_large_counts = static_cast<MPI_Count>(made.counts.size());
    *num_datatypes = static_cast<MPI_Count>(made.types.size());
    *combiner = made.combiner;
}

void type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes, int* combiner)
{
    construction const& made = small(get(datatype, "datatype"));
    *num_integers = static_cast<int>(made.integers.size());
    *num_addresses = static_cast<int>(made.addresses.size());
    *num_datatypes = static_cast<int>(made.types.size());
    *combiner = made.combiner;
}

void type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
                         MPI_Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                         MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
    construction const& made = get(datatype, "datatype").made();
    if (made.combiner == MPI_COMBINER_NAMED)
        throw failure(MPI_ERR_TYPE, "datatype is predefined: it was not constructed from others");
    auto const types = static_cast<MPI_Count>(made.types.size());
    if (max_datatypes < types)
        throw failure(MPI_ERR_ARG, fmt::format("max_datatypes is {}, and there are {}", max_datatypes, types));
    if (types > 0 && array_of_datatypes == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("array_of_datatypes is a null pointer, and there are {}", types));
    copy_out(made.integers, array_of_integers, max_integers, "max_integers", "array_of_integers");
    copy_out(made.addresses, array_of_addresses, max_addresses, "max_addresses", "array_of_addresses");
    copy_out(made.counts, array_of_large_counts, max_large_counts, "max_large_counts", "array_of_large_counts");
    std::transform(made.types.begin(), made.types.end(), array_of_datatypes, [](auto const& type) { return handle_for(*type); });
}

void type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes, int array_of_integers[],
                       MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    (void)small(get(datatype, "datatype"));
    type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, array_of_integers, array_of_addresses, nullptr,
                        array_of_datatypes);
}

} // namespace calls
} // namespace towline::mpi
