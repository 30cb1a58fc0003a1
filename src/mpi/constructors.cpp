// Constructors of datatypes (5.1.2 to 5.1.4, 5.1.7, 5.1.11): the layout, and a record of the call.

#include "mpi/calls.hpp"
#include "mpi/datatype.hpp"

#include <towline/error.hpp>

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>
#include <optional>
#include <span>

namespace towline::mpi {
namespace {

using list = boost::container::small_vector<std::int64_t, 8>;

template <class List>
auto all_of(List const& l)
{
    return std::span<typename List::value_type const>(l.data(), l.size());
}

list read(wide_array values, std::int64_t count, char const* parameter)
{
    if (count > 0 && values.is_null())
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and {} entries are wanted", parameter, count));
    list all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = values[i];
    return all;
}

/// Records the arguments of a call in order. Counts and addresses of the large form are recorded as MPI_Count.
class record {
public:
    record(int combiner, bool large) : large_(large) { made_.combiner = combiner; }

    record& integer(int value)
    {
        made_.integers.push_back(value);
        return *this;
    }
    record& integers(int const* values, std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i)
            made_.integers.push_back(values[i]);
        return *this;
    }
    record& count(std::int64_t value)
    {
        if (large_)
            made_.counts.push_back(value);
        else
            made_.integers.push_back(static_cast<int>(value));
        return *this;
    }
    record& counts(list const& values)
    {
        for (std::int64_t const v : values)
            count(v);
        return *this;
    }
    record& address(std::int64_t value)
    {
        if (large_)
            made_.counts.push_back(value);
        else
            made_.addresses.push_back(value);
        return *this;
    }
    record& addresses(list const& values)
    {
        for (std::int64_t const v : values)
            address(v);
        return *this;
    }
    record& type(datatype& t)
    {
        made_.types.push_back(ref<datatype>(t));
        return *this;
    }
    [[nodiscard]] construction done() { return std::move(made_); }

private:
    bool large_;
    construction made_;
};

/// Makes the layout. Converts its errors to argument errors of the call.
template <class Build>
layout::datatype laid_out(Build build)
{
    try {
        return build();
    } catch (usage_error const& e) {
        throw failure(MPI_ERR_ARG, e.what());
    } catch (limit_error const& e) {
        throw failure(MPI_ERR_ARG, e.what());
    }
}

MPI_Datatype given(layout::datatype layout, record& call)
{
    return give<MPI_Datatype>(make<datatype>(std::move(layout), call.done()));
}

/// The four constructors with lists of displacements, recorded as counts (of elements) or as addresses (of bytes).
template <class Build>
MPI_Datatype indexed(Build build, int combiner, record& (record::*displacements_as)(list const&), bool large, MPI_Count count,
                     wide_array blocklengths, wide_array displacements, MPI_Datatype oldtype)
{
    check_count(count, "count");
    datatype& old = get(oldtype, "oldtype");
    list const lengths = read(blocklengths, count, "array_of_blocklengths");
    list const places = read(displacements, count, "array_of_displacements");
    return given(laid_out([&] { return build(all_of(lengths), all_of(places), old.layout()); }),
                 (record(combiner, large).count(count).counts(lengths).*displacements_as)(places).type(old));
}

/// The same for blocks of equal length.
template <class Build>
MPI_Datatype indexed(Build build, int combiner, record& (record::*displacements_as)(list const&), bool large, MPI_Count count,
                     MPI_Count blocklength, wide_array displacements, MPI_Datatype oldtype)
{
    check_count(count, "count");
    datatype& old = get(oldtype, "oldtype");
    list const places = read(displacements, count, "array_of_displacements");
    return given(laid_out([&] { return build(blocklength, all_of(places), old.layout()); }),
                 (record(combiner, large).count(count).count(blocklength).*displacements_as)(places).type(old));
}

layout::array_order order_of(int order)
{
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        throw failure(MPI_ERR_ARG, fmt::format("order is {}; it is MPI_ORDER_C or MPI_ORDER_FORTRAN", order));
    return order == MPI_ORDER_C ? layout::array_order::c : layout::array_order::fortran;
}

void check_dimensions(int ndims)
{
    if (ndims < 1)
        throw failure(MPI_ERR_DIMS, fmt::format("ndims is {}, and an array has at least 1 dimension", ndims));
}

void check_integers(int const* values, char const* parameter)
{
    if (values == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer", parameter));
}

layout::distribution distribution_of(int value, std::size_t i)
{
    switch (value) {
    case MPI_DISTRIBUTE_NONE: return layout::distribution::none;
    case MPI_DISTRIBUTE_BLOCK: return layout::distribution::block;
    case MPI_DISTRIBUTE_CYCLIC: return layout::distribution::cyclic;
    default:
        throw failure(MPI_ERR_ARG, fmt::format("array_of_distribs[{}] is {}; it is MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK or "
                                               "MPI_DISTRIBUTE_CYCLIC", i, value));
    }
}

} // namespace

namespace calls {

void type_contiguous(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype, bool large)
{
    check_count(count, "count");
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::contiguous(count, old.layout()); }),
                     record(MPI_COMBINER_CONTIGUOUS, large).count(count).type(old));
}

void type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype, bool large)
{
    check_count(count, "count");
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::vector(count, blocklength, stride, old.layout()); }),
                     record(MPI_COMBINER_VECTOR, large).count(count).count(blocklength).count(stride).type(old));
}

void type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype, bool large)
{
    check_count(count, "count");
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::hvector(count, blocklength, stride, old.layout()); }),
                     record(MPI_COMBINER_HVECTOR, large).count(count).count(blocklength).address(stride).type(old));
}

void type_indexed(MPI_Count count, wide_array array_of_blocklengths, wide_array array_of_displacements, MPI_Datatype oldtype,
                  MPI_Datatype* newtype, bool large)
{
    *newtype = indexed(layout::indexed, MPI_COMBINER_INDEXED, &record::counts, large, count, array_of_blocklengths, array_of_displacements,
                       oldtype);
}

void type_create_hindexed(MPI_Count count, wide_array array_of_blocklengths, wide_array array_of_displacements, MPI_Datatype oldtype,
                          MPI_Datatype* newtype, bool large)
{
    *newtype = indexed(layout::hindexed, MPI_COMBINER_HINDEXED, &record::addresses, large, count, array_of_blocklengths,
                       array_of_displacements, oldtype);
}

void type_create_indexed_block(MPI_Count count, MPI_Count blocklength, wide_array array_of_displacements, MPI_Datatype oldtype,
                               MPI_Datatype* newtype, bool large)
{
    *newtype = indexed(layout::indexed_block, MPI_COMBINER_INDEXED_BLOCK, &record::counts, large, count, blocklength,
                       array_of_displacements, oldtype);
}

void type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, wide_array array_of_displacements, MPI_Datatype oldtype,
                                MPI_Datatype* newtype, bool large)
{
    *newtype = indexed(layout::hindexed_block, MPI_COMBINER_HINDEXED_BLOCK, &record::addresses, large, count, blocklength,
                       array_of_displacements, oldtype);
}

void type_create_struct(MPI_Count count, wide_array array_of_blocklengths, wide_array array_of_displacements,
                        MPI_Datatype const array_of_types[], MPI_Datatype* newtype, bool large)
{
    check_count(count, "count");
    list const lengths = read(array_of_blocklengths, count, "array_of_blocklengths");
    list const displacements = read(array_of_displacements, count, "array_of_displacements");
    if (count > 0 && array_of_types == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("array_of_types is a null pointer, and {} entries are wanted", count));
    record call(MPI_COMBINER_STRUCT, large);
    call.count(count).counts(lengths).addresses(displacements);
    boost::container::small_vector<layout::datatype, 8> layouts;
    layouts.reserve(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        datatype* const type = find(array_of_types[i]);
        if (type == nullptr)
            throw_unknown(array_of_types[i], fmt::format("array_of_types[{}]", i).c_str());
        layouts.push_back(type->layout());
        call.type(*type);
    }
    *newtype = given(laid_out([&] { return layout::structure(all_of(lengths), all_of(displacements), all_of(layouts)); }), call);
}

void type_create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype, bool large)
{
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::resized(old.layout(), lb, extent); }),
                     record(MPI_COMBINER_RESIZED, large).address(lb).address(extent).type(old));
}

void type_create_subarray(int ndims, wide_array array_of_sizes, wide_array array_of_subsizes, wide_array array_of_starts, int order,
                          MPI_Datatype oldtype, MPI_Datatype* newtype, bool large)
{
    check_dimensions(ndims);
    list const sizes = read(array_of_sizes, ndims, "array_of_sizes");
    list const subsizes = read(array_of_subsizes, ndims, "array_of_subsizes");
    list const starts = read(array_of_starts, ndims, "array_of_starts");
    layout::array_order const how = order_of(order);
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::subarray(all_of(sizes), all_of(subsizes), all_of(starts), how, old.layout()); }),
                     record(MPI_COMBINER_SUBARRAY, large).integer(ndims).counts(sizes).counts(subsizes).counts(starts).integer(order)
                         .type(old));
}

void type_create_darray(int size, int rank, int ndims, wide_array array_of_gsizes, int const array_of_distribs[],
                        int const array_of_dargs[],
                        int const array_of_psizes[], int order, MPI_Datatype oldtype, MPI_Datatype* newtype, bool large)
{
    check_dimensions(ndims);
    list const sizes = read(array_of_gsizes, ndims, "array_of_gsizes");
    check_integers(array_of_distribs, "array_of_distribs");
    check_integers(array_of_dargs, "array_of_dargs");
    check_integers(array_of_psizes, "array_of_psizes");
    layout::array_order const how = order_of(order);
    std::vector<layout::distributed_dimension> dimensions;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        dimensions.push_back({sizes[i], distribution_of(array_of_distribs[i], i),
                              array_of_dargs[i] == MPI_DISTRIBUTE_DFLT_DARG ? std::nullopt : std::optional<std::int64_t>(array_of_dargs[i]),
                              array_of_psizes[i]});
    datatype& old = get(oldtype, "oldtype");
    *newtype = given(laid_out([&] { return layout::darray(size, rank, dimensions, how, old.layout()); }),
                     record(MPI_COMBINER_DARRAY, large).integer(size).integer(rank).integer(ndims).counts(sizes)
                         .integers(array_of_distribs, sizes.size()).integers(array_of_dargs, sizes.size())
                         .integers(array_of_psizes, sizes.size()).integer(order).type(old));
}

void type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    datatype& old = get(oldtype, "oldtype");
    ref<datatype> const copy = make<datatype>(old.layout(), record(MPI_COMBINER_DUP, false).type(old).done());
    if (old.is_committed())
        copy->commit();
    MPI_Datatype const handle = give<MPI_Datatype>(copy);
    try {
        old.attributes().copy_to(oldtype, copy->attributes(), handle);
    } catch (...) {
        (void)take(handle, "newtype");
        throw;
    }
    *newtype = handle;
}

} // namespace calls
} // namespace towline::mpi
