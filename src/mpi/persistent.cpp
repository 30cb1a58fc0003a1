// Persistent requests (3.9).

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/entry.hpp"
#include "mpi/request.hpp"

#include <fmt/format.h>

namespace towline::mpi {
namespace {

[[nodiscard]] MPI_Request make_persistent(communicator& c, payload const& data, bool is_receive, send_kind mode, int rank, int tag)
{
    request& r = request_table::instance().acquire();
    r.is_persistent = true;
    r.is_active = false;
    r.comm = ref<communicator>(c);
    r.data = data;
    r.type = data.type();
    r.is_receive = is_receive;
    r.mode = mode;
    r.rank = rank;
    r.tag = tag;
    return r.handle();
}

void send_init(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, send_kind mode,
               MPI_Request* handle)
{
    communicator& c = get(comm, "comm");
    check_send_tag(tag);
    payload const data = is_destination(c, dest) ? payload(buf, count, datatype) : payload::of_nobody(count, datatype);
    *handle = make_persistent(c, data, false, mode, dest, tag);
}

void check_startable(request const& r, char const* parameter)
{
    if (!r.is_persistent)
        throw failure(MPI_ERR_REQUEST, fmt::format("{} is no persistent request", parameter));
    if (r.is_active)
        throw failure(MPI_ERR_REQUEST, fmt::format("{} was started, and has not been waited for", parameter));
}

void restart(request& r)
{
    payload const data = r.data;
    r.forget_place();
    if (r.work)
        r.work->start();
    else if (r.is_receive)
        start(r, *r.comm, data, r.rank, r.tag);
    else
        start(r, *r.comm, r.mode, data, r.rank, r.tag);
    r.is_active = true;
}

} // namespace

namespace calls {

void send_init(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    mpi::send_init(buf, count, datatype, dest, tag, comm, send_kind::standard, request);
}

void ssend_init(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    mpi::send_init(buf, count, datatype, dest, tag, comm, send_kind::synchronous, request);
}

void rsend_init(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    mpi::send_init(buf, count, datatype, dest, tag, comm, send_kind::ready, request);
}

void bsend_init(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    mpi::send_init(buf, count, datatype, dest, tag, comm, send_kind::buffered, request);
}

void recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    check_receive_tag(tag);
    payload const data = is_source(c, source) ? payload(buf, count, datatype) : payload::of_nobody(count, datatype);
    *request = make_persistent(c, data, true, send_kind::standard, source, tag);
}

void start(MPI_Request* request)
{
    auto& r = get(*request, "request");
    check_startable(r, "request");
    restart(r);
}

void startall(int count, MPI_Request* array_of_requests)
{
    check_count(count, "count");
    if (count > 0)
        require(array_of_requests, "array_of_requests");
    for (int i = 0; i < count; ++i) {
        std::string const name = fmt::format("array_of_requests[{}]", i);
        check_startable(get(array_of_requests[i], name.c_str()), name.c_str());
    }
    for (int i = 0; i < count; ++i)
        restart(get(array_of_requests[i], "array_of_requests"));
}

} // namespace calls
} // namespace towline::mpi
