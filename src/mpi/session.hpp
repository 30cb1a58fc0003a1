#pragma once
// Sessions (11.3): MPI without MPI_Init. A session names process sets, whose groups make communicators.

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
    /// The buffer attached for buffered sends of communicators made from the session.
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

/// The buffer for buffered sends on a communicator: its own, that of the session that its group comes from, or that of the process.
[[nodiscard]] bsend_space& buffer_for(communicator&);

/// Starts MPI if it does not run, with at least that thread level. Throws what process::start throws.
void begin_session(int thread_level);
/// Ends a session. The last one stops MPI, unless MPI_Init was called and MPI_Finalize was not. A new session starts it again.
void end_session();

/// Parses a thread level, as in the info key thread_level; throws MPI_ERR_INFO_VALUE.
[[nodiscard]] int level_of_name(std::string_view name);
[[nodiscard]] char const* name_of_level(int level) noexcept;

} // namespace towline::mpi
