// Inquiry, memory, error handlers and codes, timers (9), and addresses (5.1.5).

#include "base/clock.hpp"
#include "heap/heap.hpp"
#include "mpi/calls.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/strings.hpp"

#include <towline/version.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

namespace towline::mpi::calls {
namespace {

/// The error handler; throws if it is not one for this kind of object.
ref<errhandler> handler_for(handled what, MPI_Errhandler handle)
{
    errhandler& e = get(handle, "errhandler");
    if (e.of() != handled::any && e.of() != what)
        throw failure(MPI_ERR_ERRHANDLER, "errhandler was created for another kind of object");
    return ref<errhandler>(e);
}

MPI_Errhandler created(handled what, auto* function)
{
    if (function == nullptr)
        throw failure(MPI_ERR_ARG, "the function of the error handler is a null pointer");
    return make<errhandler>(what, reinterpret_cast<errhandler::user_function*>(function))->handle();
}

void check_file(MPI_File file, char const* parameter)
{
    if (file != MPI_FILE_NULL)
        throw failure(MPI_ERR_FILE, fmt::format("{} is {:#x}, and this library has no files yet", parameter, bits_of(file)));
}

std::string called_by_program(char const* function, int errorcode)
{
    return fmt::format("{} was called with {}.", function, error_codes::instance().name_of(errorcode));
}

} // namespace

// ---- inquiry ----

void get_version(int* version, int* subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
}

void get_library_version(char* version, int* resultlen)
{
    auto const v = library_version();
    *resultlen = copy_string(fmt::format("Towline {}.{}.{}, MPI {}.{}, MPI standard ABI {}.{}", v.major, v.minor, v.patch, MPI_VERSION,
                                         MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION),
                             version, MPI_MAX_LIBRARY_VERSION_STRING);
}

void get_processor_name(char* name, int* resultlen)
{
    std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0)
        throw failure(MPI_ERR_OTHER, "the host has no name: gethostname failed");
    *resultlen = copy_string(host.data(), name, MPI_MAX_PROCESSOR_NAME);
}

// ---- memory ----

void alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr)
{
    std::size_t alignment = 64;
    if (info != MPI_INFO_NULL)
        if (auto const text = get(info, "info").get("mpi_minimum_memory_alignment")) {
            std::size_t wanted = 0;
            auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), wanted);
            if (error != std::errc() || end != text->data() + text->size() || !std::has_single_bit(wanted))
                throw failure(MPI_ERR_INFO_VALUE, fmt::format("mpi_minimum_memory_alignment is {}, and not a power of two", *text));
            alignment = std::max(alignment, wanted);
        }
    if (size < 0)
        throw failure(MPI_ERR_ARG, fmt::format("size is {}, and a size cannot be negative", size));
    // Allocated in the shared heap, which peers on this machine read directly.
    *static_cast<void**>(baseptr) = heap::allocate(std::max<std::size_t>(static_cast<std::size_t>(size), 1), alignment);
}

void free_mem(void* base)
{
    if (base != nullptr && !heap::contains(base))
        throw failure(MPI_ERR_BASE, fmt::format("base is {:#x}, which MPI_Alloc_mem did not give", reinterpret_cast<std::uintptr_t>(base)));
    heap::deallocate(base);
}

// ---- error handlers ----

void comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler)
{
    *errhandler = created(handled::comm, comm_errhandler_fn);
}

void file_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler)
{
    *errhandler = created(handled::file, file_errhandler_fn);
}

void session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn, MPI_Errhandler* errhandler)
{
    *errhandler = created(handled::session, session_errhandler_fn);
}

void win_create_errhandler(MPI_Win_errhandler_function* win_errhandler_fn, MPI_Errhandler* errhandler)
{
    *errhandler = created(handled::win, win_errhandler_fn);
}

void comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    communicator& c = get(comm, "comm");
    c.handler().set(handler_for(handled::comm, errhandler));
}

void comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler)
{
    *errhandler = get(comm, "comm").handler().get()->handle();
}

void comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    communicator& c = get(comm, "comm");
    call_handler(c.error_site(), errorcode, called_by_program("MPI_Comm_call_errhandler", errorcode));
}

void file_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    check_file(file, "file");
    file_handler().set(handler_for(handled::file, errhandler));
}

void file_get_errhandler(MPI_File file, MPI_Errhandler* errhandler)
{
    check_file(file, "file");
    *errhandler = file_handler().get()->handle();
}

void file_call_errhandler(MPI_File fh, int errorcode)
{
    check_file(fh, "fh");
    call_handler(file_error_site(), errorcode, called_by_program("MPI_File_call_errhandler", errorcode));
}

void errhandler_free(MPI_Errhandler* errhandler)
{
    errhandler::free(*errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
}

// ---- error classes, codes and strings ----

void error_class(int errorcode, int* errorclass)
{
    *errorclass = error_codes::instance().class_of(errorcode);
}

void error_string(int errorcode, char* string, int* resultlen)
{
    *resultlen = copy_string(error_codes::instance().text_of(errorcode), string, MPI_MAX_ERROR_STRING);
}

void add_error_class(int* errorclass)
{
    *errorclass = error_codes::instance().add_class();
}

void add_error_code(int errorclass, int* errorcode)
{
    *errorcode = error_codes::instance().add_code(errorclass);
}

void add_error_string(int errorcode, char const* string)
{
    error_codes::instance().add_string(errorcode, string);
}

void remove_error_class(int errorclass)
{
    error_codes::instance().remove_class(errorclass);
}

void remove_error_code(int errorcode)
{
    error_codes::instance().remove_code(errorcode);
}

void remove_error_string(int errorcode)
{
    error_codes::instance().remove_string(errorcode);
}

// ---- timers ----

/// All processes of the machine share this clock.
double wtime() noexcept
{
    return static_cast<double>(base::monotonic_ns()) * 1e-9;
}

double wtick() noexcept
{
    return 1e-9;
}

// ---- addresses ----

void get_address(void const* location, MPI_Aint* address)
{
    *address = reinterpret_cast<MPI_Aint>(location);
}

// Unsigned arithmetic, because an address may be larger than the largest signed number.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) noexcept
{
    return static_cast<MPI_Aint>(static_cast<std::size_t>(base) + static_cast<std::size_t>(disp));
}

MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) noexcept
{
    return static_cast<MPI_Aint>(static_cast<std::size_t>(addr1) - static_cast<std::size_t>(addr2));
}

} // namespace towline::mpi::calls
