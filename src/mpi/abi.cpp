// The ABI's queries about itself, and handles as integers (20, 19.3.4).

#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/info.hpp"
#include "mpi/message.hpp"
#include "mpi/request.hpp"
#include "mpi/session.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace towline::mpi {
namespace {

/// Facts that a Fortran binding sets about its compiler, each once (20.4).
struct fortran_facts {
    struct booleans {
        bool set = false;
        std::array<std::byte, 16> yes{}, no{};
    };
    std::mutex mutex;
    ref<info> facts;
    std::array<booleans, 5> by_size;  ///< for sizes of 1, 2, 4, 8 and 16 bytes
};

fortran_facts& fortran()
{
    static fortran_facts& instance = *new fortran_facts;  // never destroyed: programs call MPI from destructors
    return instance;
}

fortran_facts::booleans& booleans_of(int logical_size)
{
    auto const size = static_cast<unsigned>(logical_size);
    if (logical_size < 1 || logical_size > 16 || !std::has_single_bit(size))
        throw failure(MPI_ERR_ARG, fmt::format("logical_size is {}; it is 1, 2, 4, 8 or 16", logical_size));
    return fortran().by_size[static_cast<std::size_t>(std::countr_zero(size))];
}

template <class Handle>
int to_integer(Handle handle) noexcept
{
    return static_cast<int>(bits_of(handle) & handle_bits::integer);
}

template <class Handle>
Handle from_integer(int integer) noexcept
{
    std::uint64_t bits = static_cast<std::uint32_t>(integer);
    if constexpr (requires { typename handle_traits<Handle>::object; })
        if (std::uint64_t const handle = table_of<Handle>.from_integer(static_cast<std::uint32_t>(integer)); handle != 0)
            bits = handle;
    return reinterpret_cast<Handle>(bits);  // a predefined or valid handle, or one that the next call refuses
}

} // namespace

namespace calls {

void abi_get_version(int* abi_major, int* abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
}

void abi_get_info(MPI_Info* info)
{
    ref<mpi::info> facts = make<mpi::info>();
    facts->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
    facts->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
    facts->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
    *info = give<MPI_Info>(std::move(facts));
}

void abi_set_fortran_info(MPI_Info info)
{
    ref<mpi::info> facts = get(info, "info").copy();
    std::scoped_lock const lock(fortran().mutex);
    if (fortran().facts)
        throw failure(MPI_ERR_ABI, "the facts about Fortran were set already: they can be set once");
    fortran().facts = std::move(facts);
}

void abi_get_fortran_info(MPI_Info* info)
{
    std::scoped_lock const lock(fortran().mutex);
    *info = fortran().facts ? give<MPI_Info>(fortran().facts->copy()) : MPI_INFO_NULL;
}

void abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false)
{
    auto& b = booleans_of(logical_size);
    if (logical_true == nullptr || logical_false == nullptr)
        throw failure(MPI_ERR_ARG, "logical_true and logical_false are pointers to the values: one is null");
    std::scoped_lock const lock(fortran().mutex);
    if (b.set)
        throw failure(MPI_ERR_ABI, fmt::format("the values of a LOGICAL of {} bytes were set already: they can be set once", logical_size));
    std::memcpy(b.yes.data(), logical_true, static_cast<std::size_t>(logical_size));
    std::memcpy(b.no.data(), logical_false, static_cast<std::size_t>(logical_size));
    b.set = true;
}

void abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set)
{
    auto& b = booleans_of(logical_size);
    std::scoped_lock const lock(fortran().mutex);
    *is_set = b.set;
    if (b.set && logical_true != nullptr && logical_false != nullptr) {
        std::memcpy(logical_true, b.yes.data(), static_cast<std::size_t>(logical_size));
        std::memcpy(logical_false, b.no.data(), static_cast<std::size_t>(logical_size));
    }
}

int comm_toint(MPI_Comm comm) noexcept
{
    return to_integer(comm);
}
MPI_Comm comm_fromint(int comm) noexcept
{
    return from_integer<MPI_Comm>(comm);
}

int errhandler_toint(MPI_Errhandler errhandler) noexcept
{
    return to_integer(errhandler);
}
MPI_Errhandler errhandler_fromint(int errhandler) noexcept
{
    return from_integer<MPI_Errhandler>(errhandler);
}

int file_toint(MPI_File file) noexcept
{
    return to_integer(file);
}
MPI_File file_fromint(int file) noexcept
{
    return from_integer<MPI_File>(file);
}

int group_toint(MPI_Group group) noexcept
{
    return to_integer(group);
}
MPI_Group group_fromint(int group) noexcept
{
    return from_integer<MPI_Group>(group);
}

int info_toint(MPI_Info info) noexcept
{
    return to_integer(info);
}
MPI_Info info_fromint(int info) noexcept
{
    return from_integer<MPI_Info>(info);
}

int message_toint(MPI_Message message) noexcept
{
    return to_integer(message);
}
MPI_Message message_fromint(int message) noexcept
{
    return from_integer<MPI_Message>(message);
}

int op_toint(MPI_Op op) noexcept
{
    return to_integer(op);
}
MPI_Op op_fromint(int op) noexcept
{
    return from_integer<MPI_Op>(op);
}

int request_toint(MPI_Request request) noexcept
{
    return to_integer(request);
}
MPI_Request request_fromint(int request) noexcept
{
    return from_integer<MPI_Request>(request);
}

int session_toint(MPI_Session session) noexcept
{
    return to_integer(session);
}
MPI_Session session_fromint(int session) noexcept
{
    return from_integer<MPI_Session>(session);
}

int type_toint(MPI_Datatype datatype) noexcept
{
    return to_integer(datatype);
}
MPI_Datatype type_fromint(int datatype) noexcept
{
    return from_integer<MPI_Datatype>(datatype);
}

int win_toint(MPI_Win win) noexcept
{
    return to_integer(win);
}
MPI_Win win_fromint(int win) noexcept
{
    return from_integer<MPI_Win>(win);
}

} // namespace calls
} // namespace towline::mpi
