// Calls on attached buffers (3.6).

#include "mpi/buffered.hpp"
#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/request.hpp"
#include "mpi/session.hpp"

namespace towline::mpi {
namespace {

void detach(bsend_space& space, void* buffer_addr, MPI_Count* size)
{
    bsend_space::attached const was = space.detach(the_matcher());
    *static_cast<void**>(buffer_addr) = was.buffer;
    *size = was.size;
}

/// The activity of MPI_Buffer_iflush and its variants.
class flush final : public activity {
public:
    flush(bsend_space& space, object& holds) : space_(space), holds_(holds) {}
    bool done() override
    {
        done_ = done_ || space_.is_empty();
        return done_;
    }
    int result(MPI_Status& status) override
    {
        fill(&status, {}, 0);
        return MPI_SUCCESS;
    }

private:
    bsend_space& space_;
    ref<object> const holds_;
    bool done_ = false;
};

[[nodiscard]] MPI_Request begin_flush(bsend_space& space, object& holds)
{
    auto& r = request_table::instance().acquire();
    r.work = std::make_unique<flush>(space, holds);
    r.what = request::kind::activity;
    return r.handle();
}

} // namespace

namespace calls {

void bsend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    ibsend(buf, count, datatype, dest, tag, comm, &request);  // complete when it returns
}

void buffer_attach(void* buffer, MPI_Count size)
{
    process::instance().buffer().attach(buffer, size);
}

void buffer_detach(void* buffer_addr, MPI_Count* size)
{
    detach(process::instance().buffer(), buffer_addr, size);
}

void buffer_flush()
{
    process::instance().buffer().flush(the_matcher());
}

void buffer_iflush(MPI_Request* request)
{
    *request = begin_flush(process::instance().buffer(), process::instance().self());
}

void comm_attach_buffer(MPI_Comm comm, void* buffer, MPI_Count size)
{
    get(comm, "comm").buffer().attach(buffer, size);
}

void comm_detach_buffer(MPI_Comm comm, void* buffer_addr, MPI_Count* size)
{
    detach(get(comm, "comm").buffer(), buffer_addr, size);
}

void comm_flush_buffer(MPI_Comm comm)
{
    get(comm, "comm").buffer().flush(the_matcher());
}

void comm_iflush_buffer(MPI_Comm comm, MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    *request = begin_flush(c.buffer(), c);
}

void session_attach_buffer(MPI_Session session, void* buffer, MPI_Count size)
{
    get(session, "session").buffer().attach(buffer, size);
}

void session_detach_buffer(MPI_Session session, void* buffer_addr, MPI_Count* size)
{
    detach(get(session, "session").buffer(), buffer_addr, size);
}

void session_flush_buffer(MPI_Session session)
{
    get(session, "session").buffer().flush(the_matcher());
}

void session_iflush_buffer(MPI_Session session, MPI_Request* request)
{
    mpi::session& s = get(session, "session");
    *request = begin_flush(s.buffer(), s);
}

} // namespace calls
} // namespace towline::mpi
