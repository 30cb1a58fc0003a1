// The end of operations: waiting, testing, looking (3.7.3 to 3.7.6).

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/entry.hpp"
#include "mpi/request.hpp"

#include <fmt/format.h>

#include <optional>

namespace towline::mpi {

int code_of(matching::outcome o) noexcept
{
    switch (o) {
    case matching::outcome::ok: return MPI_SUCCESS;
    case matching::outcome::truncated: return MPI_ERR_TRUNCATE;
    case matching::outcome::peer_died: return MPI_ERR_PROC_ABORTED;
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

/// What takes part in a completion: not null, and not an inactive persistent one.
[[nodiscard]] bool takes_part(request const* r) noexcept
{
    return r != nullptr && r->is_active;
}

/// A request of one call is done: its status, its end, and its error thrown.
void conclude(request& r, MPI_Request& handle, MPI_Status* status)
{
    int const code = final_result(r, status);
    if (code == MPI_SUCCESS) [[likely]]
        return retire(r, handle);
    failure const f = failure_of(r, code);
    retire(r, handle);
    throw f;
}

/// It is known without asking an activity, which may be asked once.
[[nodiscard]] bool went_well(request const& r) noexcept
{
    return r.what == request::kind::nothing || !r.is_active ||
           (r.what != request::kind::activity && r.operation.result().error == matching::outcome::ok);
}

/// The requests of a call on many; all are looked at before anything is done.
class list {
public:
    list(int count, MPI_Request* handles, char const* count_name) : count_(count), handles_(handles)
    {
        check_count(count, count_name);
        if (count > 0)
            require(handles, "array_of_requests");
        request_table const& table = request_table::instance();
        while (ended_at_once_ < count && (handles[ended_at_once_] == MPI_REQUEST_NULL ||
                                          table.is_nothing(reinterpret_cast<std::uint64_t>(handles[ended_at_once_]))))
            ++ended_at_once_;
        for (int i = ended_at_once_; i < count; ++i) {
            request* const r = handles[i] == MPI_REQUEST_NULL ? nullptr : find(handles[i]);
            if (r == nullptr && handles[i] != MPI_REQUEST_NULL) [[unlikely]]
                (void)get(handles[i], fmt::format("array_of_requests[{}]", i).c_str());
            if (std::size_t const place = place_of(i); place < found_.size())
                found_[place] = r;
        }
    }
    [[nodiscard]] int size() const noexcept { return count_; }
    /// How many at the begin are null, or stand for what ended when it began: small sends do.
    [[nodiscard]] int ended_at_once() const noexcept { return ended_at_once_; }
    [[nodiscard]] request* at(int i) const noexcept
    {
        if (handles_[i] == MPI_REQUEST_NULL)
            return nullptr;
        std::size_t const place = place_of(i);
        if (place >= found_.size()) [[unlikely]]
            return find(handles_[i]);
        return found_[place]->handle() == handles_[i] ? found_[place] : nullptr;  // one that stands twice in the list may have ended
    }
    [[nodiscard]] MPI_Request& handle(int i) const noexcept { return handles_[i]; }

    [[nodiscard]] bool any_takes_part() const noexcept
    {
        for (int i = 0; i < count_; ++i)
            if (takes_part(at(i)))
                return true;
        return false;
    }
    /// The first that is done, of those that take part.
    [[nodiscard]] std::optional<int> first_done() const
    {
        for (int i = 0; i < count_; ++i)
            if (request* const r = at(i); takes_part(r) && r->done())
                return i;
        return std::nullopt;
    }
    [[nodiscard]] bool all_done() const
    {
        for (int i = ended_at_once_; i < count_; ++i)
            if (request* const r = at(i); r != nullptr && !r->done())
                return false;
        return true;
    }

private:
    /// Of a handle among `found_`; larger than any where it is not kept there.
    [[nodiscard]] std::size_t place_of(int i) const noexcept { return static_cast<std::size_t>(i) - static_cast<std::size_t>(ended_at_once_); }

    int const count_;
    MPI_Request* const handles_;
    int ended_at_once_ = 0;
    std::array<request*, 64> found_;  ///< of the first that did not end at once
};

/// The statuses of many requests: where one failed each says how its own ended, and the call fails with MPI_ERR_IN_STATUS.
class statuses {
public:
    explicit statuses(MPI_Status* array) : array_(array) {}

    /// Fills the next status. `r` may be null. `last`: it is retired next.
    void add(request* r, int position, bool last = false)
    {
        MPI_Status* const s = array_ != MPI_STATUSES_IGNORE ? array_ + filled_ : MPI_STATUS_IGNORE;
        int code = MPI_SUCCESS;
        if (r != nullptr)
            code = last ? final_result(*r, s) : result(*r, s);
        else
            set_empty(s);
        if (code != MPI_SUCCESS && !failed_) {
            failure const f = failure_of(*r, code);
            failed_.emplace(MPI_ERR_IN_STATUS, fmt::format("array_of_requests[{}]: {}", position, f.what()));
            if (f.raised_on() != nullptr)
                failed_.emplace(failed_->on(*f.raised_on()));
            for (int i = 0; i < filled_ && array_ != MPI_STATUSES_IGNORE; ++i)
                array_[i].MPI_ERROR = MPI_SUCCESS;
        }
        if (failed_ && s != MPI_STATUS_IGNORE)
            s->MPI_ERROR = code;
        ++filled_;
    }
    void end() const
    {
        if (failed_) [[unlikely]]
            throw failure(*failed_);
    }

private:
    MPI_Status* const array_;
    int filled_ = 0;
    std::optional<failure> failed_;
};

void progress()
{
    the_matcher().transport().progress();
}

/// Progress once, unless it is true already.
template <class Condition>
[[nodiscard]] bool now_or_after_progress(Condition&& condition)
{
    if (condition())
        return true;
    progress();
    return condition();
}

void finish_all(list const& all, MPI_Status* array)
{
    int i = 0;
    if (array == MPI_STATUSES_IGNORE) {
        for (; i < all.ended_at_once(); ++i)
            all.handle(i) = MPI_REQUEST_NULL;
        // Nobody wants to know more than that all went well.
        for (; i < all.size(); ++i) {
            request* const r = all.at(i);
            if (r != nullptr && !went_well(*r)) [[unlikely]]
                break;
            if (takes_part(r))
                retire(*r, all.handle(i));
        }
    }
    statuses s(array);
    for (; i < all.size(); ++i) {
        request* const r = all.at(i);
        s.add(r, i, takes_part(r));
        if (takes_part(r))
            retire(*r, all.handle(i));
    }
    s.end();
}

/// Those that are done, of those that take part; how many. `retires`: they end.
int finish_some(list const& all, int* indices, MPI_Status* array, bool retires)
{
    statuses s(array);
    int n = 0;
    for (int i = 0; i < all.size(); ++i) {
        request* const r = all.at(i);
        if (!takes_part(r) || !r->done())
            continue;
        indices[n++] = i;
        s.add(r, i, retires);
        if (retires)
            retire(*r, all.handle(i));
    }
    s.end();
    return n;
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

void waitany(int count, MPI_Request* array_of_requests, int* indx, MPI_Status* status)
{
    list const all(count, array_of_requests, "count");
    *indx = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return set_empty(status);
    std::optional<int> done;
    the_matcher().wait_until([&] { return (done = all.first_done()).has_value(); }, "MPI_Waitany");
    *indx = *done;
    conclude(*all.at(*done), all.handle(*done), status);
}

void testany(int count, MPI_Request* array_of_requests, int* indx, int* flag, MPI_Status* status)
{
    list const all(count, array_of_requests, "count");
    *indx = MPI_UNDEFINED;
    *flag = 1;
    if (!all.any_takes_part())
        return set_empty(status);
    std::optional<int> done;
    *flag = now_or_after_progress([&] { return (done = all.first_done()).has_value(); });
    if (!done)
        return;
    *indx = *done;
    conclude(*all.at(*done), all.handle(*done), status);
}

void waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses)
{
    list const all(count, array_of_requests, "count");
    for (int i = all.ended_at_once(); i < count; ++i)
        if (auto* const r = all.at(i); takes_part(r) && !r->done())
            await(*r, "MPI_Waitall");
    finish_all(all, array_of_statuses);
}

void testall(int count, MPI_Request* array_of_requests, int* flag, MPI_Status* array_of_statuses)
{
    list const all(count, array_of_requests, "count");
    *flag = now_or_after_progress([&] { return all.all_done(); });
    if (*flag != 0)
        finish_all(all, array_of_statuses);
}

void waitsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices, MPI_Status* array_of_statuses)
{
    list const all(incount, array_of_requests, "incount");
    *outcount = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return;
    require(array_of_indices, "array_of_indices");
    the_matcher().wait_until([&] { return all.first_done().has_value(); }, "MPI_Waitsome");
    *outcount = 0;
    *outcount = finish_some(all, array_of_indices, array_of_statuses, true);
}

void testsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices, MPI_Status* array_of_statuses)
{
    list const all(incount, array_of_requests, "incount");
    *outcount = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return;
    require(array_of_indices, "array_of_indices");
    *outcount = 0;
    if (now_or_after_progress([&] { return all.first_done().has_value(); }))
        *outcount = finish_some(all, array_of_indices, array_of_statuses, true);
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

void request_get_status_all(int count, MPI_Request const* array_of_requests, int* flag, MPI_Status* array_of_statuses)
{
    list const all(count, const_cast<MPI_Request*>(array_of_requests), "count");
    *flag = now_or_after_progress([&] { return all.all_done(); });
    if (*flag == 0)
        return;
    statuses s(array_of_statuses);
    for (int i = 0; i < count; ++i)
        s.add(all.at(i), i);
    s.end();
}

void request_get_status_any(int count, MPI_Request const* array_of_requests, int* indx, int* flag, MPI_Status* status)
{
    list const all(count, const_cast<MPI_Request*>(array_of_requests), "count");
    *indx = MPI_UNDEFINED;
    *flag = 1;
    if (!all.any_takes_part())
        return set_empty(status);
    std::optional<int> done;
    *flag = now_or_after_progress([&] { return (done = all.first_done()).has_value(); });
    if (!done)
        return;
    *indx = *done;
    if (int const code = result(*all.at(*done), status); code != MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = code;
}

void request_get_status_some(int incount, MPI_Request const* array_of_requests, int* outcount, int* array_of_indices,
                             MPI_Status* array_of_statuses)
{
    list const all(incount, const_cast<MPI_Request*>(array_of_requests), "incount");
    *outcount = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return;
    require(array_of_indices, "array_of_indices");
    *outcount = 0;
    if (now_or_after_progress([&] { return all.first_done().has_value(); }))
        *outcount = finish_some(all, array_of_indices, array_of_statuses, false);
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
