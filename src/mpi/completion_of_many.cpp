// Completion of any, some or all of many requests (3.7.5).

#include "mpi/calls.hpp"
#include "mpi/completion.hpp"
#include "mpi/entry.hpp"
#include "mpi/error_codes.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace towline::mpi {
namespace {

/// True if the request succeeded and is no activity, whose result may be taken only once.
[[nodiscard]] bool went_well(request const& r) noexcept
{
    return r.what == request::kind::nothing || !r.is_active ||
           (r.what != request::kind::activity && r.operation.result().error == matching::outcome::ok);
}

/// The requests of a call on many. All are checked before anything is done.
class list {
public:
    list(int count, MPI_Request* handles, char const* count_name) : count_(count), handles_(handles)
    {
        check_count(count, count_name);
        if (count > 0)
            require(handles, "array_of_requests");
        request_table const& table = request_table::instance();
        while (complete_at_start_ < count && (handles[complete_at_start_] == MPI_REQUEST_NULL ||
                                          table.is_nothing(reinterpret_cast<std::uint64_t>(handles[complete_at_start_]))))
            ++complete_at_start_;
        for (int i = complete_at_start_; i < count; ++i) {
            request* const r = handles[i] == MPI_REQUEST_NULL ? nullptr : find(handles[i]);
            if (r == nullptr && handles[i] != MPI_REQUEST_NULL) [[unlikely]]
                (void)get(handles[i], fmt::format("array_of_requests[{}]", i).c_str());
            if (std::size_t const place = place_of(i); place < found_.size())
                found_[place] = r;
        }
    }
    [[nodiscard]] int size() const noexcept { return count_; }
    /// How many at the front are null, or were complete when they started, as short sends are.
    [[nodiscard]] int complete_at_start() const noexcept { return complete_at_start_; }
    [[nodiscard]] request* at(int i) const noexcept
    {
        if (handles_[i] == MPI_REQUEST_NULL)
            return nullptr;
        std::size_t const place = place_of(i);
        if (place >= found_.size()) [[unlikely]]
            return find(handles_[i]);
        return found_[place]->handle() == handles_[i] ? found_[place] : nullptr;  // a handle that is twice in the list may have ended
    }
    [[nodiscard]] MPI_Request& handle(int i) const noexcept { return handles_[i]; }

    [[nodiscard]] bool any_takes_part() const noexcept
    {
        for (int i = 0; i < count_; ++i)
            if (takes_part(at(i)))
                return true;
        return false;
    }
    [[nodiscard]] bool any_done() const
    {
        for (int i = 0; i < count_; ++i)
            if (request* const r = at(i); takes_part(r) && r->done())
                return true;
        return false;
    }
    /// The one of these requests that ended first. The order among those that were complete when they started is unknown: they come before
    /// those that ended after a request was last `reported`, and behind those that had ended before that.
    [[nodiscard]] std::optional<int> first_done() const
    {
        std::optional<int> at_start, first;
        std::uint64_t place_of_first = 0;
        for (int i = 0; i < count_; ++i) {
            request* const r = at(i);
            if (!takes_part(r) || !r->done())
                continue;
            std::uint64_t const place = r->place(the_matcher());
            if (place == 0) {
                if (!at_start)
                    at_start = i;
            } else if (!first || place < place_of_first) {
                first = i;
                place_of_first = place;
            }
        }
        return at_start && (!first || place_of_first > reported.load(std::memory_order_relaxed)) ? at_start : first;
    }
    /// Called when one request is reported to the program. Requests that have ended by now come before those that are complete when they
    /// start from now on.
    static void report() noexcept { reported.store(the_matcher().completions(), std::memory_order_relaxed); }
    /// Sorts indices of done requests in the order in which they ended.
    void sort(int* first, int* last) const
    {
        std::sort(first, last, [this](int a, int b) {
            return std::pair(at(a)->place(the_matcher()), a) < std::pair(at(b)->place(the_matcher()), b);
        });
    }
    [[nodiscard]] bool all_done() const
    {
        for (int i = complete_at_start_; i < count_; ++i)
            if (request* const r = at(i); r != nullptr && !r->done())
                return false;
        return true;
    }

private:
    /// Index of a handle in `found_`; beyond its end if it is not kept there.
    [[nodiscard]] std::size_t place_of(int i) const noexcept
    {
        return static_cast<std::size_t>(i) - static_cast<std::size_t>(complete_at_start_);
    }

    int const count_;
    MPI_Request* const handles_;
    int complete_at_start_ = 0;
    std::array<request*, 64> found_;  ///< requests from the first that was not complete when it started
    static inline std::atomic<std::uint64_t> reported{0};
};

/// The error code of one request, for its status.
[[nodiscard, gnu::cold]] int code_for_status(failure const& f, int position)
{
    return error_instances::instance().add(
        f.code(), fmt::format("{}: array_of_requests[{}]: {}", error_codes::instance().name_of(f.code()), position, f.what()));
}

/// The statuses of many requests. If one failed, each status has its own error code and the call fails with MPI_ERR_IN_STATUS.
class statuses {
public:
    explicit statuses(MPI_Status* array) : array_(array) {}

    /// Fills the next status. `r` may be null. `last`: the caller retires it next.
    void add(request* r, int position, bool last = false)
    {
        MPI_Status* const s = array_ != MPI_STATUSES_IGNORE ? array_ + filled_ : MPI_STATUS_IGNORE;
        int code = MPI_SUCCESS;
        if (r != nullptr)
            code = last ? final_result(*r, s) : result(*r, s);
        else
            set_empty(s);
        std::optional<failure> f;
        if (code != MPI_SUCCESS)
            f.emplace(failure_of(*r, code));
        if (f && !failed_) {
            failed_.emplace(MPI_ERR_IN_STATUS, fmt::format("array_of_requests[{}]: {}", position, f->what()));
            if (f->raised_on() != nullptr)
                failed_.emplace(failed_->on(*f->raised_on()));
            for (int i = 0; i < filled_ && array_ != MPI_STATUSES_IGNORE; ++i)
                array_[i].MPI_ERROR = MPI_SUCCESS;
        }
        if (failed_ && s != MPI_STATUS_IGNORE)
            s->MPI_ERROR = f ? code_for_status(*f, position) : code;
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

void finish_all(list const& all, MPI_Status* array)
{
    int i = 0;
    if (array == MPI_STATUSES_IGNORE) {
        for (; i < all.complete_at_start(); ++i)
            all.handle(i) = MPI_REQUEST_NULL;
        // Without statuses only the success of all matters.
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

/// Reports the done requests in the order in which they ended; if `retires`, retires them. Writes all outputs even if one failed.
void finish_some(list const& all, int* count, int* indices, MPI_Status* array, bool retires)
{
    int n = 0;
    for (int i = 0; i < all.size(); ++i)
        if (request* const r = all.at(i); takes_part(r) && r->done())
            indices[n++] = i;
    if (n > 1)
        all.sort(indices, indices + n);
    *count = 0;
    statuses s(array);
    for (int k = 0; k < n; ++k) {
        int const i = indices[k];
        request* const r = all.at(i);
        if (!takes_part(r))
            continue;  // it is twice in the list, and has ended
        indices[(*count)++] = i;
        s.add(r, i, retires);
        if (retires)
            retire(*r, all.handle(i));
    }
    s.end();
}

} // namespace

namespace calls {

void waitany(int count, MPI_Request* array_of_requests, int* indx, MPI_Status* status)
{
    list const all(count, array_of_requests, "count");
    *indx = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return set_empty(status);
    std::optional<int> done;
    the_matcher().wait_until([&] { return (done = all.first_done()).has_value(); }, "MPI_Waitany");
    *indx = *done;
    list::report();
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
    list::report();
    conclude(*all.at(*done), all.handle(*done), status);
}

void waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses)
{
    list const all(count, array_of_requests, "count");
    for (int i = all.complete_at_start(); i < count; ++i)
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
    the_matcher().wait_until([&] { return all.any_done(); }, "MPI_Waitsome");
    finish_some(all, outcount, array_of_indices, array_of_statuses, true);
}

void testsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices, MPI_Status* array_of_statuses)
{
    list const all(incount, array_of_requests, "incount");
    *outcount = MPI_UNDEFINED;
    if (!all.any_takes_part())
        return;
    require(array_of_indices, "array_of_indices");
    *outcount = 0;
    if (now_or_after_progress([&] { return all.any_done(); }))
        finish_some(all, outcount, array_of_indices, array_of_statuses, true);
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
    if (now_or_after_progress([&] { return all.any_done(); }))
        finish_some(all, outcount, array_of_indices, array_of_statuses, false);
}

} // namespace calls
} // namespace towline::mpi
