#pragma once
// Error handlers (9.3): called for the error of an MPI call.

#include "mpi/abi.hpp"
#include "mpi/object.hpp"

#include <mutex>
#include <string>

namespace towline::mpi {

enum class handled : std::uint8_t { any, comm, file, session, win };

class errhandler final : public object {
public:
    enum class action : std::uint8_t { fatal, abort, give_back, call };
    using user_function = void();  ///< one of MPI_Comm_errhandler_function and its like; `of` says which

    explicit errhandler(action);
    errhandler(handled of, user_function*);

    [[nodiscard]] action does() const noexcept { return action_; }
    [[nodiscard]] handled of() const noexcept { return of_; }
    [[nodiscard]] user_function* function() const noexcept { return function_; }

    /// The three predefined error handlers.
    [[nodiscard]] static errhandler& predefined(MPI_Errhandler) noexcept;

    /// The program's handle. MPI_Comm_get_errhandler returns the same one until the program has freed it as often as it got it.
    /// Thread-safe.
    [[nodiscard]] MPI_Errhandler handle();
    static void free(MPI_Errhandler);

private:
    action const action_;
    handled const of_ = handled::any;
    user_function* const function_ = nullptr;
    MPI_Errhandler handle_;
    int given_ = 0;  ///< times the program got the handle minus times it freed it
};

/// The error handler of one object. Thread-safe.
class handler_slot {
public:
    explicit handler_slot(errhandler& initial) : handler_(initial) {}
    [[nodiscard]] ref<errhandler> get() const
    {
        std::scoped_lock const lock(mutex_);
        return handler_;
    }
    void set(ref<errhandler> handler)
    {
        std::scoped_lock const lock(mutex_);
        handler_ = std::move(handler);
        was_set_ = true;
    }
    /// True once `set` was called, even with the initial handler.
    [[nodiscard]] bool was_set() const
    {
        std::scoped_lock const lock(mutex_);
        return was_set_;
    }

private:
    mutable std::mutex mutex_;
    ref<errhandler> handler_;
    bool was_set_ = false;
};

/// The handler for errors outside any object while MPI does not run (9.3.2, the initial error handler), and for file calls without a file.
[[nodiscard]] handler_slot& initial_handler() noexcept;
[[nodiscard]] handler_slot& file_handler() noexcept;

/// The error handler that an error goes to, and its object.
struct error_site {
    ref<errhandler> handler;
    std::string name;  ///< "the error handler of MPI_COMM_WORLD"; for a person
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Session session = MPI_SESSION_NULL;
};

[[nodiscard]] error_site file_error_site();

/// Calls the error handler, and returns if the handler does. `happened` explains the error if the handler ends the program.
void call_handler(error_site const&, int code, std::string const& happened);

/// Ends the job: prints the explanation as one line, and exits with a code derived from `code` (0 only for 0).
[[noreturn]] void abort_job(int code, std::string const& explanation) noexcept;

} // namespace towline::mpi
