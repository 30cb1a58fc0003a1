// The tools interface (15.3), without variables, events or categories. Its functions return their own codes and call no error handler.
// Tools may use it before MPI_Init and after MPI_Finalize.

#include "mpi/calls.hpp"
#include "mpi/process.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace towline::mpi {
namespace {

std::mutex tools_mutex;
int starts = 0;
std::uintptr_t last_session = 0;

std::vector<MPI_T_pvar_session>& sessions()
{
    static auto& instance = *new std::vector<MPI_T_pvar_session>;  // never destroyed, because tools call it from destructors
    return instance;
}

/// Runs the body while the interface is started, with exclusive access.
template <class Body>
int started(Body&& body) noexcept
{
    std::scoped_lock const lock(tools_mutex);
    return starts > 0 ? body() : MPI_T_ERR_NOT_INITIALIZED;
}

int none(int code) noexcept
{
    return started([&] { return code; });
}

/// Sets a count to zero.
int zero(int* count) noexcept
{
    return started([&] {
        if (count == nullptr)
            return MPI_T_ERR_INVALID;
        *count = 0;
        return MPI_SUCCESS;
    });
}

int no_such_name(char const* name, int const* index) noexcept
{
    return none(name == nullptr || index == nullptr ? MPI_T_ERR_INVALID : MPI_T_ERR_INVALID_NAME);
}

bool is_open(MPI_T_pvar_session session)
{
    return std::ranges::find(sessions(), session) != sessions().end();
}

/// An action on a handle in a session. No handle exists, but all of them may be meant.
int on_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool all_is_possible) noexcept
{
    return started([&] {
        if (!is_open(session))
            return MPI_T_ERR_INVALID_SESSION;
        return handle == MPI_T_PVAR_ALL_HANDLES && all_is_possible ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
    });
}

} // namespace

namespace calls {

int t_init_thread(int required, int* provided) noexcept
{
    if (provided == nullptr)
        return MPI_T_ERR_INVALID;
    std::scoped_lock const lock(tools_mutex);
    ++starts;
    *provided = std::clamp<int>(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
    return MPI_SUCCESS;
}

int t_finalize() noexcept
{
    return started([] {
        if (--starts == 0)
            sessions().clear();
        return MPI_SUCCESS;
    });
}

// ---- control variables ----

int t_enum_get_info(MPI_T_enum, int*, char*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_enum_get_item(MPI_T_enum, int, int*, char*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_cvar_get_num(int* num_cvar) noexcept
{
    return zero(num_cvar);
}

int t_cvar_get_info(int, char*, int*, int*, MPI_Datatype*, MPI_T_enum*, char*, int*, int*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_cvar_get_index(char const* name, int* cvar_index) noexcept
{
    return no_such_name(name, cvar_index);
}

int t_cvar_handle_alloc(int, void*, MPI_T_cvar_handle* handle, int*) noexcept
{
    if (handle != nullptr)
        *handle = MPI_T_CVAR_HANDLE_NULL;
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_cvar_handle_free(MPI_T_cvar_handle*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_cvar_read(MPI_T_cvar_handle, void*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_cvar_write(MPI_T_cvar_handle, void const*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

// ---- performance variables ----

int t_pvar_get_num(int* num_pvar) noexcept
{
    return zero(num_pvar);
}

int t_pvar_get_info(int, char*, int*, int*, int*, MPI_Datatype*, MPI_T_enum*, char*, int*, int*, int*, int*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_pvar_get_index(char const* name, int, int* pvar_index) noexcept
{
    return no_such_name(name, pvar_index);
}

int t_pvar_session_create(MPI_T_pvar_session* session) noexcept
{
    return started([&] {
        if (session == nullptr)
            return MPI_T_ERR_INVALID;
        try {
            *session = reinterpret_cast<MPI_T_pvar_session>(++last_session);
            sessions().push_back(*session);
        } catch (std::bad_alloc const&) {
            *session = MPI_T_PVAR_SESSION_NULL;
            return MPI_T_ERR_OUT_OF_SESSIONS;
        }
        return MPI_SUCCESS;
    });
}

int t_pvar_session_free(MPI_T_pvar_session* session) noexcept
{
    return started([&] {
        if (session == nullptr || !is_open(*session))
            return MPI_T_ERR_INVALID_SESSION;
        std::erase(sessions(), *session);
        *session = MPI_T_PVAR_SESSION_NULL;
        return MPI_SUCCESS;
    });
}

int t_pvar_handle_alloc(MPI_T_pvar_session session, int, void*, MPI_T_pvar_handle* handle, int*) noexcept
{
    if (handle != nullptr)
        *handle = MPI_T_PVAR_HANDLE_NULL;
    return started([&] { return is_open(session) ? MPI_T_ERR_INVALID_INDEX : MPI_T_ERR_INVALID_SESSION; });
}

int t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle*) noexcept
{
    return on_handle(session, MPI_T_PVAR_HANDLE_NULL, false);
}

int t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept
{
    return on_handle(session, handle, true);
}

int t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept
{
    return on_handle(session, handle, true);
}

int t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void*) noexcept
{
    return on_handle(session, handle, false);
}

int t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void const*) noexcept
{
    return on_handle(session, handle, false);
}

int t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept
{
    return on_handle(session, handle, true);
}

int t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void*) noexcept
{
    return on_handle(session, handle, false);
}

// ---- events ----

int t_source_get_num(int* num_sources) noexcept
{
    return zero(num_sources);
}

int t_source_get_info(int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*, MPI_Info*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_source_get_timestamp(int, MPI_Count*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_event_get_num(int* num_events) noexcept
{
    return zero(num_events);
}

int t_event_get_info(int, char*, int*, int*, MPI_Datatype[], MPI_Aint[], int*, MPI_T_enum*, MPI_Info*, char*, int*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_event_get_index(char const* name, int* event_index) noexcept
{
    return no_such_name(name, event_index);
}

int t_event_handle_alloc(int, void*, MPI_Info, MPI_T_event_registration* event_registration) noexcept
{
    if (event_registration != nullptr)
        *event_registration = nullptr;
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_event_handle_set_info(MPI_T_event_registration, MPI_Info) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_handle_get_info(MPI_T_event_registration, MPI_Info*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_handle_free(MPI_T_event_registration, void*, MPI_T_event_free_cb_function*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_register_callback(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info, void*, MPI_T_event_cb_function*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_callback_set_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_callback_get_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_set_dropped_handler(MPI_T_event_registration, MPI_T_event_dropped_cb_function*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_read(MPI_T_event_instance, int, void*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_copy(MPI_T_event_instance, void*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_get_timestamp(MPI_T_event_instance, MPI_Count*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_get_source(MPI_T_event_instance, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_HANDLE);
}

// ---- categories ----

int t_category_get_num(int* num_cat) noexcept
{
    return zero(num_cat);
}

int t_category_changed(int* update_number) noexcept
{
    return zero(update_number);
}

int t_category_get_index(char const* name, int* cat_index) noexcept
{
    return no_such_name(name, cat_index);
}

int t_category_get_info(int, char*, int*, char*, int*, int*, int*, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_category_get_num_events(int, int*) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_category_get_cvars(int, int, int[]) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_category_get_pvars(int, int, int[]) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_category_get_events(int, int, int[]) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

int t_category_get_categories(int, int, int[]) noexcept
{
    return none(MPI_T_ERR_INVALID_INDEX);
}

// ---- profiling (15.2.4) ----

/// For tools that intercept it; the library has no profiling levels.
void pcontrol(int) {}

} // namespace calls
} // namespace towline::mpi
