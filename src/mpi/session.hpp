#pragma once
// Sessions (11.3): MPI without MPI_Init. A session gives names of sets of processes; groups of them make communicators.

#include "mpi/buffered.hpp"
#include "mpi/communicator.hpp"
#include "mpi/errhandler.hpp"
#include "mpi/handles.hpp"
#include "mpi/object.hpp"

#include <string_view>

namespace towline::mpi {

class session final : public object {
public:
    explicit session(errhandler& initial) : handler_(initial) {}

    [[nodiscard]] handler_slot& handler() noexcept { return handler_; }
    /// What the program attached for buffered sends of communicators that come from the session.
    [[nodiscard]] bsend_space& buffer() noexcept { return buffer_; }
    [[nodiscard]] mpi::error_site error_site(MPI_Session handle) const
    {
        mpi::error_site site{handler_.get(), "the error handler of the session"};
        site.session = handle;
        return site;
    }

private:
    handler_slot handler_;
    bsend_space buffer_;
};

template <>
struct handle_traits<MPI_Session> : handle_traits_of<session, object_kind::session, 0x120, 1, MPI_ERR_SESSION> {};

/// Where buffered sends of the communicator go: what was attached to it, to the session that its group comes from, or to the process.
[[nodiscard]] bsend_space& buffer_for(communicator&);

/// MPI runs from now on, with at least that level of threads where it did not run before. Throws what process::start throws.
void begin_session(int thread_level);
/// The last one: MPI does not run any more, unless MPI_Init was called and MPI_Finalize was not. A new session begins it again.
void end_session();

/// The level that a text names, as in the info key thread_level; throws MPI_ERR_INFO_VALUE.
[[nodiscard]] int level_of_name(std::string_view name);
[[nodiscard]] char const* name_of_level(int level) noexcept;

} // namespace towline::mpi
