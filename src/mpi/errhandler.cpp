// Calls error handlers.

#include "mpi/errhandler.hpp"

#include "job/job.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"

#include <fmt/format.h>

namespace towline::mpi {
namespace {

std::mutex handles_mutex;

struct predefined_handlers {
    errhandler* fatal = new errhandler(errhandler::action::fatal);  // never destroyed, because programs call MPI from destructors
    errhandler* abort = new errhandler(errhandler::action::abort);
    errhandler* give_back = new errhandler(errhandler::action::give_back);
    predefined_handlers()
    {
        auto& all = predefined_of<MPI_Errhandler>;
        all[1] = fatal;
        all[2] = abort;
        all[3] = give_back;
    }
};

predefined_handlers const& handlers()
{
    static predefined_handlers const instance;
    return instance;
}

[[maybe_unused]] predefined_handlers const& made_at_load = handlers();

} // namespace

errhandler::errhandler(action a) : action_(a), handle_(MPI_ERRHANDLER_NULL)
{
    handle_ = a == action::fatal ? MPI_ERRORS_ARE_FATAL : a == action::abort ? MPI_ERRORS_ABORT : MPI_ERRORS_RETURN;
}

errhandler::errhandler(handled of, user_function* f) : action_(action::call), of_(of), function_(f), handle_(MPI_ERRHANDLER_NULL)
{
}

errhandler& errhandler::predefined(MPI_Errhandler handle) noexcept
{
    return handle == MPI_ERRORS_RETURN ? *handlers().give_back : handle == MPI_ERRORS_ABORT ? *handlers().abort : *handlers().fatal;
}

MPI_Errhandler errhandler::handle()
{
    if (action_ != action::call)
        return handle_;
    std::scoped_lock const lock(handles_mutex);
    if (given_ == 0)
        handle_ = give<MPI_Errhandler>(ref<errhandler>(*this));
    ++given_;
    return handle_;
}

void errhandler::free(MPI_Errhandler handle)
{
    errhandler& e = get(handle, "errhandler");
    if (e.action_ != action::call)
        return;  // handles from MPI_Comm_get_errhandler are freed, predefined ones, too (9.3.4)
    ref<errhandler> last;
    std::scoped_lock const lock(handles_mutex);
    if (--e.given_ == 0)
        last = take(handle, "errhandler");
}

handler_slot& initial_handler() noexcept
{
    static handler_slot& slot = *new handler_slot(errhandler::predefined(MPI_ERRORS_ARE_FATAL));
    return slot;
}

handler_slot& file_handler() noexcept
{
    static handler_slot& slot = *new handler_slot(errhandler::predefined(MPI_ERRORS_RETURN));  // 14.7
    return slot;
}

error_site file_error_site()
{
    return {file_handler().get(), "the error handler of MPI_FILE_NULL"};
}

void call_handler(error_site const& site, int code, std::string const& happened)
{
    switch (site.handler->does()) {
    case errhandler::action::give_back: return;
    case errhandler::action::call:
        // The standard leaves further arguments to the library (9.3.1): the third is the error text.
        if (site.handler->of() == handled::file) {
            MPI_File file = site.file;
            reinterpret_cast<MPI_File_errhandler_function*>(site.handler->function())(&file, &code, happened.c_str());
        } else if (site.handler->of() == handled::session) {
            MPI_Session session = site.session;
            reinterpret_cast<MPI_Session_errhandler_function*>(site.handler->function())(&session, &code, happened.c_str());
        } else {
            MPI_Comm comm = site.comm;
            reinterpret_cast<MPI_Comm_errhandler_function*>(site.handler->function())(&comm, &code, happened.c_str());
        }
        return;
    case errhandler::action::fatal:
    case errhandler::action::abort:
        abort_job(error_instances::without_instance(code), fmt::format("{} The job ends here, because {} is {}.", happened, site.name,
                                    predefined_name(bits_of(site.handler->handle()))));
    }
}

void abort_job(int code, std::string const& explanation) noexcept
{
    job::abort_process(process::instance_or_null() != nullptr ? &job::membership::instance() : nullptr, code, explanation);
}

} // namespace towline::mpi
