// Probes, and matched messages (3.8).

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/entry.hpp"
#include "mpi/message.hpp"
#include "mpi/request.hpp"

#include <limits>

namespace towline::mpi {
namespace {

constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

/// Gives the message a handle, which the receive call frees.
[[nodiscard]] MPI_Message keep(communicator& c, matching::taken_message&& taken, MPI_Status* status)
{
    fill(status, taken.about(), any_size);
    return give<MPI_Message>(make<message>(c, std::move(taken)));
}

/// The message of a receive call; frees its handle. Empty for MPI_MESSAGE_NO_PROC.
[[nodiscard]] ref<message> take_out(MPI_Message& handle)
{
    ref<message> m;
    if (handle != MPI_MESSAGE_NO_PROC)
        m = take(handle, "message");
    handle = MPI_MESSAGE_NULL;
    return m;
}

} // namespace

namespace calls {

void probe(int source, int tag, MPI_Comm comm, MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    check_receive_tag(tag);
    if (!is_source(c, source))
        return fill_no_process(status);
    matching::status const s = the_matcher().probe(pattern_of(c, source, tag), source_peer(c, source), "MPI_Probe");
    if (s.error != matching::outcome::ok)
        throw_outcome(s, 0, true, source, tag);
    fill(status, s, any_size);
}

void iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    check_receive_tag(tag);
    *flag = 1;
    if (!is_source(c, source))
        return fill_no_process(status);
    auto const s = the_matcher().iprobe(pattern_of(c, source, tag));
    *flag = s.has_value();
    if (s)
        fill(status, *s, any_size);
}

void mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    check_receive_tag(tag);
    if (!is_source(c, source)) {
        *message = MPI_MESSAGE_NO_PROC;
        return fill_no_process(status);
    }
    *message = MPI_MESSAGE_NULL;
    matching::taken_message taken = the_matcher().mprobe(pattern_of(c, source, tag), source_peer(c, source), "MPI_Mprobe");
    if (!taken) {
        matching::status s;
        s.error = matching::outcome::peer_died;
        throw_outcome(s, 0, true, source, tag);
    }
    *message = keep(c, std::move(taken), status);
}

void improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    check_receive_tag(tag);
    *flag = 1;
    if (!is_source(c, source)) {
        *message = MPI_MESSAGE_NO_PROC;
        return fill_no_process(status);
    }
    *message = MPI_MESSAGE_NULL;
    matching::taken_message taken = the_matcher().improbe(pattern_of(c, source, tag));
    *flag = static_cast<bool>(taken);
    if (taken)
        *message = keep(c, std::move(taken), status);
}

void imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request)
{
    payload const data = *message == MPI_MESSAGE_NO_PROC ? payload::of_nobody(count, datatype) : payload(buf, count, datatype);
    ref<mpi::message> const m = take_out(*message);
    auto& r = request_table::instance().acquire();
    if (!m) {
        start(r, process::instance().self(), data, MPI_PROC_NULL, 0);
    } else {
        r.comm = m->on;
        r.data = data;
        r.type = data.type();
        r.what = request::kind::receive;
        the_matcher().start_receive(r.operation, m->taken, r.data.sink());
    }
    *request = r.handle();
}

void mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status)
{
    payload data = *message == MPI_MESSAGE_NO_PROC ? payload::of_nobody(count, datatype) : payload(buf, count, datatype);
    ref<mpi::message> const m = take_out(*message);
    if (!m)
        return fill_no_process(status);
    matching::status const about = m->taken.about();
    matching::request r;
    the_matcher().start_receive(r, m->taken, data.sink());
    the_matcher().wait(r, "MPI_Mrecv");
    fill(status, r.result(), data.bytes());
    if (r.result().error != matching::outcome::ok)
        throw failure(code_of(r.result().error), explain(r.result(), data.bytes(), true, about.source, about.tag)).on(*m->on);
}

} // namespace calls
} // namespace towline::mpi
