// Calls that use datatypes (5.1.5 to 5.1.11), their names and attributes, and element counts in statuses.

#include "mpi/calls.hpp"
#include "mpi/datatype.hpp"
#include "mpi/status.hpp"
#include "mpi/strings.hpp"

#include <cstring>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

/// The predefined datatype of a class with this size (19.1.5).
MPI_Datatype sized(int typeclass, int size)
{
    switch (typeclass) {
    case MPI_TYPECLASS_INTEGER:
        switch (size) {
        case 1: return MPI_INTEGER1;
        case 2: return MPI_INTEGER2;
        case 4: return MPI_INTEGER4;
        case 8: return MPI_INTEGER8;
        case 16: return MPI_INTEGER16;
        default: return MPI_DATATYPE_NULL;
        }
    case MPI_TYPECLASS_REAL:
        switch (size) {
        case 2: return MPI_REAL2;
        case 4: return MPI_REAL4;
        case 8: return MPI_REAL8;
        case 16: return MPI_REAL16;
        default: return MPI_DATATYPE_NULL;
        }
    case MPI_TYPECLASS_COMPLEX:
        switch (size) {
        case 4: return MPI_COMPLEX4;
        case 8: return MPI_COMPLEX8;
        case 16: return MPI_COMPLEX16;
        case 32: return MPI_COMPLEX32;
        default: return MPI_DATATYPE_NULL;
        }
    default:
        throw failure(MPI_ERR_ARG, fmt::format("typeclass is {}; it is MPI_TYPECLASS_REAL, MPI_TYPECLASS_INTEGER or MPI_TYPECLASS_COMPLEX",
                                               typeclass));
    }
}

struct pair {
    MPI_Datatype value, index, both;
};

void set_elements(MPI_Status& status, layout::datatype const& type, MPI_Count count)
{
    check_count(count, "count");
    auto const bytes = type.bytes_of(count);
    if (!bytes)
        throw failure(MPI_ERR_COUNT, type.size() == 0 ? fmt::format("count is {}, and the datatype has no data", count)
                                                      : fmt::format("count is {}, more than 2^63 - 1 bytes", count));
    set_bytes(status, *bytes);
}

} // namespace

namespace calls {

// ---- use ----

void type_commit(MPI_Datatype* datatype)
{
    get(*datatype, "*datatype").commit();
}

void type_free(MPI_Datatype* datatype)
{
    mpi::datatype& type = get(*datatype, "*datatype");
    if (type.lasting_handle() != MPI_DATATYPE_NULL)
        throw failure(MPI_ERR_TYPE, fmt::format("*datatype is {}, and cannot be freed",
                                                type.made().combiner == MPI_COMBINER_NAMED ? type.name() + ", which is predefined"
                                                                                           : "one for Fortran, which the library keeps"));
    type.attributes().clear(*datatype);
    (void)take(*datatype, "*datatype");
    *datatype = MPI_DATATYPE_NULL;
}

void type_size(MPI_Datatype datatype, MPI_Count* size)
{
    *size = get(datatype, "datatype").layout().size();
}

void type_size_x(MPI_Datatype datatype, MPI_Count* size)
{
    type_size(datatype, size);
}

void type_get_extent(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)
{
    layout::datatype const& l = get(datatype, "datatype").layout();
    *lb = l.lb();
    *extent = l.extent();
}

void type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)
{
    type_get_extent(datatype, lb, extent);
}

void type_get_true_extent(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent)
{
    layout::datatype const& l = get(datatype, "datatype").layout();
    *true_lb = l.true_lb();
    *true_extent = l.true_extent();
}

void type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent)
{
    type_get_true_extent(datatype, true_lb, true_extent);
}

void type_match_size(int typeclass, int size, MPI_Datatype* datatype)
{
    MPI_Datatype const found = sized(typeclass, size);
    if (found == MPI_DATATYPE_NULL)
        throw failure(MPI_ERR_ARG, fmt::format("size is {}, but no type of that class has this size", size));
    *datatype = found;
}

void type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type)
{
    for (auto const& [handle, parameter] : {std::pair(value_type, "value_type"), {index_type, "index_type"}})
        if (get(handle, parameter).made().combiner != MPI_COMBINER_NAMED)
            throw failure(MPI_ERR_TYPE, fmt::format("{} is not a predefined datatype", parameter));
    *pair_type = MPI_DATATYPE_NULL;
    for (pair const& p : {pair{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT}, {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT}, {MPI_LONG, MPI_INT, MPI_LONG_INT},
                          {MPI_INT, MPI_INT, MPI_2INT}, {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                          {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT}, {MPI_REAL, MPI_REAL, MPI_2REAL},
                          {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION}, {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}})
        if (p.value == value_type && p.index == index_type)
            *pair_type = p.both;
}

// ---- names and attributes ----

void type_set_name(MPI_Datatype datatype, char const* type_name)
{
    get(datatype, "datatype").set_name({type_name, ::strnlen(type_name, MPI_MAX_OBJECT_NAME - 1)});
}

void type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen)
{
    *resultlen = copy_string(datatype == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : get(datatype, "datatype").name(), type_name,
                             MPI_MAX_OBJECT_NAME);
}

void type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val)
{
    get(datatype, "datatype").attributes().set(datatype, keyval::get(type_keyval, cached_on::type, "type_keyval"), attribute_val);
}

void type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag)
{
    mpi::datatype& type = get(datatype, "datatype");
    auto const value = type.attributes().get(keyval::get(type_keyval, cached_on::type, "type_keyval"));
    *flag = value ? 1 : 0;
    if (value)
        *static_cast<void**>(attribute_val) = *value;
}

void type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    mpi::datatype& type = get(datatype, "datatype");
    type.attributes().erase(datatype, keyval::get(type_keyval, cached_on::type, "type_keyval"), "type_keyval");
}

// ---- statuses ----

void get_count(MPI_Status const* status, MPI_Datatype datatype, MPI_Count* count)
{
    std::int64_t const size = get(datatype, "datatype").layout().size();
    std::int64_t const bytes = bytes_of(*status);
    if (bytes == 0)
        *count = 0;
    else
        *count = size != 0 && bytes % size == 0 ? bytes / size : MPI_Count{MPI_UNDEFINED};
}

void get_elements(MPI_Status const* status, MPI_Datatype datatype, MPI_Count* count)
{
    *count = get(datatype, "datatype").layout().elements_in(bytes_of(*status)).value_or(MPI_UNDEFINED);
}

void get_elements_x(MPI_Status const* status, MPI_Datatype datatype, MPI_Count* count)
{
    get_elements(status, datatype, count);
}

void status_set_elements(MPI_Status* status, MPI_Datatype datatype, MPI_Count count)
{
    set_elements(*status, get(datatype, "datatype").layout(), count);
}

void status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count)
{
    status_set_elements(status, datatype, count);
}

} // namespace calls
} // namespace towline::mpi
