#pragma once
// Conversion between handles and objects.

#include "mpi/abi.hpp"
#include "mpi/failure.hpp"
#include "mpi/handle_table.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace towline::mpi {

class communicator;
class datatype;
class errhandler;
class group;
class info;
class operation;

/// Per type of handle: its objects, its predefined values, and the error class for a wrong handle. A predefined handle has an object only
/// while it is usable (MPI_COMM_WORLD: between MPI_Init and MPI_Finalize).
template <class Handle>
struct handle_traits;

template <class Object, object_kind Kind, std::uintptr_t First, std::size_t Predefined, int Error>
struct handle_traits_of {
    using object = Object;
    static constexpr object_kind kind = Kind;
    static constexpr std::uintptr_t first = First;           ///< the null handle
    static constexpr std::size_t predefined = Predefined;  ///< number of predefined values from there on
    static constexpr int error = Error;
};

template <>
struct handle_traits<MPI_Comm> : handle_traits_of<communicator, object_kind::comm, 0x100, 3, MPI_ERR_COMM> {};
template <>
struct handle_traits<MPI_Group> : handle_traits_of<group, object_kind::group, 0x108, 2, MPI_ERR_GROUP> {};
template <>
struct handle_traits<MPI_Info> : handle_traits_of<info, object_kind::info, 0x130, 2, MPI_ERR_INFO> {};
template <>
struct handle_traits<MPI_Errhandler> : handle_traits_of<errhandler, object_kind::errhandler, 0x140, 4, MPI_ERR_ERRHANDLER> {};
template <>
struct handle_traits<MPI_Op> : handle_traits_of<operation, object_kind::op, 0x20, 32, MPI_ERR_OP> {};

template <>
struct handle_traits<MPI_Datatype> : handle_traits_of<datatype, object_kind::datatype, 0x200, 256, MPI_ERR_TYPE> {};

template <class Handle>
using object_of = typename handle_traits<Handle>::object;

template <class Handle>
inline constinit handle_table<object_of<Handle>, handle_traits<Handle>::kind> table_of{};

/// Indexed by the distance from the null handle.
template <class Handle>
inline constinit std::array<std::atomic<object_of<Handle>*>, handle_traits<Handle>::predefined> predefined_of{};

[[nodiscard]] inline std::uint64_t bits_of(auto* handle) noexcept
{
    return reinterpret_cast<std::uintptr_t>(handle);
}

template <class Handle>
[[nodiscard]] bool is_predefined(Handle handle) noexcept
{
    return bits_of(handle) < handle_bits::predefined_end;
}

/// The object, or null. Part of every call: inlined, a few instructions.
template <class Handle>
[[nodiscard, gnu::always_inline]] inline object_of<Handle>* find(Handle handle) noexcept
{
    std::uint64_t const bits = bits_of(handle);
    if (bits < handle_bits::predefined_end) {
        std::uint64_t const place = bits - handle_traits<Handle>::first;
        return place < handle_traits<Handle>::predefined ? predefined_of<Handle>[place].load(std::memory_order_acquire) : nullptr;
    }
    return table_of<Handle>.find(bits);
}

/// Throws the failure that explains why `find` does not know the handle.
[[noreturn, gnu::cold]] void throw_bad_handle(object_kind wanted, int error, std::uint64_t handle, bool freed, char const* parameter);

/// The same for an attempt to free a predefined handle.
[[noreturn, gnu::cold]] void throw_predefined(int error, std::uint64_t handle, char const* parameter);

template <class Handle>
[[noreturn, gnu::cold, gnu::noinline]] void throw_unknown(Handle handle, char const* parameter)
{
    throw_bad_handle(handle_traits<Handle>::kind, handle_traits<Handle>::error, bits_of(handle),
                     table_of<Handle>.was_freed(bits_of(handle)), parameter);
}

/// The object; throws a failure that names the parameter.
template <class Handle>
[[nodiscard, gnu::always_inline]] inline object_of<Handle>& get(Handle handle, char const* parameter)
{
    object_of<Handle>* const object = find(handle);
    if (object == nullptr) [[unlikely]]
        throw_unknown(handle, parameter);
    return *object;
}

/// A new handle for the object.
template <class Handle>
[[nodiscard]] Handle give(ref<object_of<Handle>> object)
{
    return reinterpret_cast<Handle>(table_of<Handle>.insert(std::move(object)));
}

/// Frees the handle. Throws a failure for predefined ones, which stay.
template <class Handle>
ref<object_of<Handle>> take(Handle handle, char const* parameter)
{
    if (is_predefined(handle) && find(handle) != nullptr)
        throw_predefined(handle_traits<Handle>::error, bits_of(handle), parameter);
    ref<object_of<Handle>> object = table_of<Handle>.remove(bits_of(handle));
    if (!object) [[unlikely]]
        throw_unknown(handle, parameter);
    return object;
}

/// "communicator", "datatype", ...
[[nodiscard]] char const* noun(object_kind) noexcept;
/// The kind of a predefined handle, by the ranges of the ABI.
[[nodiscard]] std::optional<object_kind> predefined_kind(std::uint64_t handle) noexcept;

/// The name of a predefined handle ("MPI_COMM_WORLD", ...); null if there is none. Generated from mpi.h by generate.py.
[[nodiscard]] char const* predefined_name(std::uint64_t handle) noexcept;
/// The name of a standard error class ("MPI_ERR_COMM", ...); null if there is none. Generated from mpi.h by generate.py.
[[nodiscard]] char const* error_class_name(int error_class) noexcept;

} // namespace towline::mpi
