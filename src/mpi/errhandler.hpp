#pragma once
// Error handlers (9.3): what becomes of the error of a call.

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

    /// The three that are always there.
    [[nodiscard]] static errhandler& predefined(MPI_Errhandler) noexcept;

    /// The handle that the program has for it: MPI_Comm_get_errhandler gives the same as long as the program did not free it as often as
    /// it got it. Thread-safe.
    [[nodiscard]] MPI_Errhandler handle();
    static void free(MPI_Errhandler);

private:
    action const action_;
    handled const of_ = handled::any;
    user_function* const function_ = nullptr;
    MPI_Errhandler handle_;
    int given_ = 0;  ///< times that the program got the handle and did not free it
};

/// A place that has an error handler. Thread-safe.
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
    /// `set` was called: it is no longer the initial one, or was made so on purpose.
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

/// For errors of calls without an object while MPI does not run (9.3.2, the initial error handler), and of file calls without a file.
[[nodiscard]] handler_slot& initial_handler() noexcept;
[[nodiscard]] handler_slot& file_handler() noexcept;

/// Whose error handler an error goes to.
struct error_site {
    ref<errhandler> handler;
    std::string name;  ///< "the error handler of MPI_COMM_WORLD"; for a person
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Session session = MPI_SESSION_NULL;
};

[[nodiscard]] error_site file_error_site();

/// Calls the error handler: returns if that returns. `happened` is what the program's end is explained with.
void call_handler(error_site const&, int code, std::string const& happened);

/// Ends the job: prints the explanation as one line and leaves with a code made of `code` (never 0 unless that is 0).
[[noreturn]] void abort_job(int code, std::string const& explanation) noexcept;

} // namespace towline::mpi
