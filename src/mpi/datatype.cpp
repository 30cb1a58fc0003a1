// The predefined datatypes, and the members of datatype.

#include "mpi/datatype.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace towline::mpi {
namespace {

struct named {
    MPI_Datatype handle;
    layout::kind kind;
};

/// The predefined datatypes; never destroyed, because programs call MPI from destructors.
[[maybe_unused]] bool const made_at_load = [] {
    using enum layout::kind;
    for (auto const [handle, kind] : {
             named{MPI_AINT, aint}, {MPI_COUNT, count}, {MPI_OFFSET, offset}, {MPI_PACKED, packed}, {MPI_BYTE, byte},
             // C
             {MPI_CHAR, character_c}, {MPI_SIGNED_CHAR, signed_char_c}, {MPI_UNSIGNED_CHAR, unsigned_char_c}, {MPI_WCHAR, wide_char_c},
             {MPI_SHORT, short_c}, {MPI_UNSIGNED_SHORT, unsigned_short_c}, {MPI_INT, int_c}, {MPI_UNSIGNED, unsigned_c},
             {MPI_LONG, long_c}, {MPI_UNSIGNED_LONG, unsigned_long_c}, {MPI_LONG_LONG, long_long_c},
             {MPI_UNSIGNED_LONG_LONG, unsigned_long_long_c}, {MPI_INT8_T, int8}, {MPI_UINT8_T, uint8}, {MPI_INT16_T, int16},
             {MPI_UINT16_T, uint16}, {MPI_INT32_T, int32}, {MPI_UINT32_T, uint32}, {MPI_INT64_T, int64}, {MPI_UINT64_T, uint64},
             {MPI_C_BOOL, bool_c}, {MPI_FLOAT, float_c}, {MPI_DOUBLE, double_c}, {MPI_LONG_DOUBLE, long_double_c},
             {MPI_C_FLOAT_COMPLEX, float_complex_c}, {MPI_C_DOUBLE_COMPLEX, double_complex_c},
             {MPI_C_LONG_DOUBLE_COMPLEX, long_double_complex_c},
             // C++
             {MPI_CXX_BOOL, bool_cxx}, {MPI_CXX_FLOAT_COMPLEX, float_complex_cxx}, {MPI_CXX_DOUBLE_COMPLEX, double_complex_cxx},
             {MPI_CXX_LONG_DOUBLE_COMPLEX, long_double_complex_cxx},
             // Fortran
             {MPI_CHARACTER, character}, {MPI_LOGICAL, logical}, {MPI_INTEGER, integer}, {MPI_REAL, real},
             {MPI_DOUBLE_PRECISION, double_precision}, {MPI_COMPLEX, complex}, {MPI_DOUBLE_COMPLEX, double_complex},
             {MPI_LOGICAL1, logical1}, {MPI_LOGICAL2, logical2}, {MPI_LOGICAL4, logical4}, {MPI_LOGICAL8, logical8},
             {MPI_LOGICAL16, logical16}, {MPI_INTEGER1, integer1}, {MPI_INTEGER2, integer2}, {MPI_INTEGER4, integer4},
             {MPI_INTEGER8, integer8}, {MPI_INTEGER16, integer16}, {MPI_REAL2, real2}, {MPI_REAL4, real4}, {MPI_REAL8, real8},
             {MPI_REAL16, real16}, {MPI_COMPLEX4, complex4}, {MPI_COMPLEX8, complex8}, {MPI_COMPLEX16, complex16},
             {MPI_COMPLEX32, complex32},
             // pairs
             {MPI_FLOAT_INT, float_int}, {MPI_DOUBLE_INT, double_int}, {MPI_LONG_INT, long_int}, {MPI_2INT, two_int},
             {MPI_SHORT_INT, short_int}, {MPI_LONG_DOUBLE_INT, long_double_int}, {MPI_2REAL, two_real},
             {MPI_2DOUBLE_PRECISION, two_double_precision}, {MPI_2INTEGER, two_integer}})
        predefined_of<MPI_Datatype>[bits_of(handle) - handle_traits<MPI_Datatype>::first] =
            new datatype(layout::datatype::of(kind), layout::info(kind).name, handle);
    return true;
}();

} // namespace

datatype::datatype(layout::datatype layout, std::string_view name, MPI_Datatype handle)
    : layout_(std::move(layout)), handle_(handle), name_(name)
{
    commit();
}

// Datatypes hold those that they were made of, in chains of any length. Destroys them in a loop, not by recursion.
datatype::~datatype()
{
    thread_local std::vector<decltype(made_.types)>* ending = nullptr;
    if (ending != nullptr) {
        ending->push_back(std::move(made_.types));
        return;
    }
    std::vector<decltype(made_.types)> mine;
    ending = &mine;
    made_.types.clear();
    while (!mine.empty()) {
        auto const last = std::move(mine.back());
        mine.pop_back();
    }
    ending = nullptr;
}

void datatype::make_lasting()
{
    commit();
    handle_ = give<MPI_Datatype>(ref<datatype>(*this));
}

void throw_not_committed(char const* parameter)
{
    throw failure(MPI_ERR_TYPE, fmt::format("{} was not committed: call MPI_Type_commit before it is used for messages", parameter));
}

void throw_negative_count(std::int64_t count, char const* parameter)
{
    throw failure(MPI_ERR_COUNT, fmt::format("{} is {}, and a count cannot be negative", parameter, count));
}

void throw_no_buffer(void const* buffer, std::int64_t count, char const* parameter)
{
    if (buffer == MPI_IN_PLACE)
        throw failure(MPI_ERR_BUFFER, fmt::format("{} is MPI_IN_PLACE, which has no meaning here", parameter));
    if (buffer == nullptr)
        throw failure(MPI_ERR_BUFFER, fmt::format("{} is NULL, and {} elements shall lie there (MPI_BOTTOM is NULL, too: the datatype's "
                                                  "displacements are no addresses)", parameter, count));
    throw failure(MPI_ERR_BUFFER, fmt::format("{} is {:#x}, and {} elements shall lie there: the datatype's displacements are no addresses",
                                              parameter, reinterpret_cast<std::uintptr_t>(buffer), count));
}

std::shared_ptr<matching::shown_layout const> datatype::shown(std::int64_t count)
{
    if (matching::wished_design() == matching::layout_design::basic)
        return matching::shown_layout::make(layout_, count);
    std::shared_ptr<matching::shown_layout const> before;  // destroyed after the lock is released
    std::scoped_lock const lock(mutex_);
    if (!shown_)
        shown_ = std::make_unique<shown_counts>();
    auto& all = shown_->all;
    auto const at = std::ranges::find(all, count, &shown_count::count);
    if (at == all.end()) {
        before = std::exchange(all.back(), {count, false, nullptr}).layout;
        std::ranges::rotate(all, all.end() - 1);
        return nullptr;
    }
    std::rotate(all.begin(), at, at + 1);
    shown_count& asked = all.front();
    if (!asked.is_made) {
        asked.layout = matching::shown_layout::make(layout_, count);
        asked.is_made = true;
    }
    return asked.layout;
}

} // namespace towline::mpi
