// Completion of one request: wait, test and status calls (3.7.3, 3.7.6). Calls on many: completion_of_many.cpp.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/completion.hpp"
#include "mpi/entry.hpp"
#include "mpi/request.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {

int code_of(matching::outcome o) noexcept
{
    switch (o) {
    case matching::outcome::ok: return MPI_SUCCESS;
    case matching::outcome::truncated: return MPI_ERR_TRUNCATE;
    case matching::outcome::peer_died: return MPI_ERR_PROC_ABORTED;
    case matching::outcome::unlike: return MPI_ERR_TYPE;
    case matching::outcome::lost: break;
    }
    return MPI_ERR_OTHER;
}

void fill(MPI_Status* status, matching::status const& s, std::int64_t room)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = s.source;
    status->MPI_TAG = s.tag == matching::any_tag ? MPI_ANY_TAG : s.tag;
    set_bytes(*status, std::min(static_cast<std::int64_t>(s.bytes), room));
    set_cancelled(*status, s.cancelled);
}

std::string explain(matching::status const& s, std::int64_t room, bool is_receive, int rank, int tag)
{
    std::string const who = rank == MPI_ANY_SOURCE ? "any rank" : fmt::format("rank {}", rank);
    switch (s.error) {
    case matching::outcome::truncated:
        return fmt::format("the message from rank {} with tag {} has {} bytes, and the buffer has room for {}", s.source, s.tag, s.bytes,
                           room);
    case matching::outcome::unlike:
        return fmt::format("the message from rank {} with tag {} has {} bytes, which end inside an element of the receive's datatype",
                           s.source, s.tag, s.bytes);
    case matching::outcome::peer_died:
        if (is_receive)
            return rank == MPI_ANY_SOURCE ? "a rank ended that may have been the one to send the message"
                                          : fmt::format("{} ended before it sent the message", who);
        return fmt::format("{} ended before it received the message with tag {}", who, tag);
    default: return is_receive ? "the bytes of the message could not be brought here" : "the message could not be sent";
    }
}

void throw_outcome(matching::status const& s, std::int64_t room, bool is_receive, int rank, int tag)
{
    throw failure(code_of(s.error), explain(s, room, is_receive, rank, tag));
}

void await(request& r, char const* call)
{
    if (r.done())
        return;
    if (r.what == request::kind::activity)
        the_matcher().wait_until([&r] { return r.done(); }, call);
    else
        the_matcher().wait(r.operation, call);
}

int result(request& r, MPI_Status* status)
{
    if (r.what == request::kind::nothing || !r.is_active) {
        set_empty(status);
        return MPI_SUCCESS;
    }
    if (r.what == request::kind::activity) {
        MPI_Status unseen{};
        return r.work->result(status != MPI_STATUS_IGNORE ? *status : unseen);
    }
    matching::status const& s = r.operation.result();
    fill(status, s, r.what == request::kind::receive ? r.data.bytes() : 0);
    return code_of(s.error);
}

int final_result(request& r, MPI_Status* status)
{
    int const code = result(r, status);
    if (r.what != request::kind::activity || r.is_persistent) [[likely]]
        return code;
    int const end = r.work->end();
    return code != MPI_SUCCESS ? code : end;
}

failure failure_of(request& r, int code)
{
    auto const what = [&]() -> std::string {
        if (r.what == request::kind::send || r.what == request::kind::receive) {
            bool const is_receive = r.what == request::kind::receive;
            return explain(r.operation.result(), r.data.bytes(), is_receive, is_receive ? r.operation.result().source : r.rank, r.tag);
        }
        if (char const* const text = r.work ? r.work->explain(code) : nullptr)
            return text;
        return code == MPI_ERR_TRUNCATE ? "the message that came is longer than the buffer" : "the operation failed";
    };
    failure const f(code, what());
    return r.comm ? f.on(*r.comm) : f;
}

namespace {

[[nodiscard]] request* find_or_null(MPI_Request handle, char const* parameter)
{
    return handle == MPI_REQUEST_NULL ? nullptr : &get(handle, parameter);
}

} // namespace

namespace calls {

void wait(MPI_Request* request, MPI_Status* status)
{
    auto* const r = find_or_null(*request, "request");
    if (r == nullptr)
        return set_empty(status);
    await(*r, "MPI_Wait");
    conclude(*r, *request, status);
}

void test(MPI_Request* request, int* flag, MPI_Status* status)
{
    auto* const r = find_or_null(*request, "request");
    *flag = r == nullptr || now_or_after_progress([r] { return r->done(); });
    if (*flag == 0)
        return;
    if (r == nullptr)
        return set_empty(status);
    conclude(*r, *request, status);
}

void request_get_status(MPI_Request request, int* flag, MPI_Status* status)
{
    auto* const r = find_or_null(request, "request");
    *flag = r == nullptr || now_or_after_progress([r] { return r->done(); });
    if (*flag == 0)
        return;
    if (r == nullptr)
        return set_empty(status);
    if (int const code = result(*r, status); code != MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = code;
}

void request_free(MPI_Request* request)
{
    auto& r = get(*request, "request");
    if (r.work)
        r.work->released();
    request_table::instance().release(r);
    *request = MPI_REQUEST_NULL;
}

void cancel(MPI_Request* request)
{
    auto& r = get(*request, "request");
    if (!r.is_active)
        throw failure(MPI_ERR_REQUEST, "request is a persistent one that was not started");
    if (r.what == request::kind::receive || r.what == request::kind::send)
        (void)the_matcher().cancel(r.operation);
    else if (r.what == request::kind::activity)
        (void)r.work->cancel();
}

} // namespace calls
} // namespace towline::mpi
