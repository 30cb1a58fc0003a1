// Calls on attributes of communicators, and on keys of all kinds (7.7).

#include "job/job.hpp"
#include "mpi/calls.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"

#include <limits>

namespace towline::mpi::calls {
namespace {

// Callbacks of the kinds of key differ only in the type of a handle, which is always a pointer.
template <class Function>
keyval::copy_function* as_copy(Function* f) noexcept
{
    return reinterpret_cast<keyval::copy_function*>(f);
}
template <class Function>
keyval::delete_function* as_delete(Function* f) noexcept
{
    return reinterpret_cast<keyval::delete_function*>(f);
}

/// The address of a predefined attribute's value (9.1.2, 11.10.3); null if there is none.
int* predefined_attribute(int keyval)
{
    static int tag_ub = std::numeric_limits<int>::max();
    static int io = MPI_ANY_SOURCE;
    static int host = MPI_PROC_NULL;
    static int wtime_is_global = job::membership::instance().header().nodes == 1;  // all processes of one machine share a clock
    switch (keyval) {
    case MPI_TAG_UB: return &tag_ub;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: return &wtime_is_global;
    case MPI_APPNUM: {  // only launchers number programs
        std::uint32_t const number = job::membership::instance().self().program.load();
        static int appnum = static_cast<int>(number) - 1;
        return number != 0 ? &appnum : nullptr;
    }
    case MPI_LASTUSEDCODE: return error_codes::instance().last_used();
    default: return nullptr;
    }
}

void create(cached_on on, auto* copy, auto* erase, int* number, void* extra_state)
{
    *number = keyval::create(on, as_copy(copy), as_delete(erase), extra_state);
}

void free(cached_on on, int* number, char const* parameter)
{
    keyval::free(*number, on, parameter);
    *number = MPI_KEYVAL_INVALID;
}

} // namespace

void comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn, MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                        int* comm_keyval, void* extra_state)
{
    create(cached_on::comm, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state);
}

void type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn, MPI_Type_delete_attr_function* type_delete_attr_fn,
                        int* type_keyval, void* extra_state)
{
    create(cached_on::type, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state);
}

void win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn, MPI_Win_delete_attr_function* win_delete_attr_fn, int* win_keyval,
                       void* extra_state)
{
    create(cached_on::win, win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state);
}

void comm_free_keyval(int* comm_keyval)
{
    free(cached_on::comm, comm_keyval, "comm_keyval");
}

void type_free_keyval(int* type_keyval)
{
    free(cached_on::type, type_keyval, "type_keyval");
}

void win_free_keyval(int* win_keyval)
{
    free(cached_on::win, win_keyval, "win_keyval");
}

void comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val)
{
    get(comm, "comm").attributes().set(comm, keyval::get(comm_keyval, cached_on::comm, "comm_keyval"), attribute_val);
}

void comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag)
{
    communicator& c = get(comm, "comm");
    std::optional<void*> value;
    if (comm_keyval >= MPI_TAG_UB && comm_keyval <= MPI_UNIVERSE_SIZE) {
        if (int* const there = predefined_attribute(comm_keyval))
            value = there;
    } else
        value = c.attributes().get(keyval::get(comm_keyval, cached_on::comm, "comm_keyval"));
    *flag = value ? 1 : 0;
    if (value)
        *static_cast<void**>(attribute_val) = *value;
}

void comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    communicator& c = get(comm, "comm");
    c.attributes().erase(comm, keyval::get(comm_keyval, cached_on::comm, "comm_keyval"), "comm_keyval");
}

// The names of MPI-1.

void keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval, void* extra_state)
{
    create(cached_on::comm, copy_fn, delete_fn, keyval, extra_state);
}

void keyval_free(int* keyval)
{
    free(cached_on::comm, keyval, "keyval");
}

void attr_put(MPI_Comm comm, int keyval, void* attribute_val)
{
    comm_set_attr(comm, keyval, attribute_val);
}

void attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag)
{
    comm_get_attr(comm, keyval, attribute_val, flag);
}

void attr_delete(MPI_Comm comm, int keyval)
{
    comm_delete_attr(comm, keyval);
}

} // namespace towline::mpi::calls
