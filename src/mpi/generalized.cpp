// Generalized requests (13.2): operations that the program carries out and waits for like any other.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/entry.hpp"
#include "mpi/request.hpp"
#include "mpi/status.hpp"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace towline::mpi {
namespace {

/// The program's callbacks, and the state of the operation. Shared by the request and, until it is completed, by `under_way`.
class generalized_operation {
public:
    generalized_operation(MPI_Grequest_query_function* asks, MPI_Grequest_free_function* frees, MPI_Grequest_cancel_function* cancels,
                          void* state) noexcept
        : query_(asks), free_(frees), cancel_(cancels), state_(state)
    {
    }

    [[nodiscard]] bool is_complete() const
    {
        std::lock_guard const lock(mutex_);
        return complete_;
    }
    /// Completes the operation. If MPI_Request_free has freed its handle, also ends it.
    void complete()
    {
        bool last = false;
        {
            std::lock_guard const lock(mutex_);
            complete_ = true;
            last = freed_;
        }
        if (last)
            (void)end();
    }
    void released()
    {
        std::lock_guard const lock(mutex_);
        freed_ = true;
    }
    int query(MPI_Status& status) const { return query_ != nullptr ? query_(state_, &status) : MPI_SUCCESS; }
    int cancel() const { return cancel_ != nullptr ? cancel_(state_, is_complete() ? 1 : 0) : MPI_SUCCESS; }
    /// Ends the operation; called once.
    int end()
    {
        {
            std::lock_guard const lock(mutex_);
            if (ended_)
                return MPI_SUCCESS;
            ended_ = true;
        }
        return free_ != nullptr ? free_(state_) : MPI_SUCCESS;
    }

private:
    MPI_Grequest_query_function* const query_;
    MPI_Grequest_free_function* const free_;
    MPI_Grequest_cancel_function* const cancel_;
    void* const state_;
    std::mutex mutable mutex_;
    bool complete_ = false, freed_ = false, ended_ = false;
};

class generalized final : public activity {
public:
    explicit generalized(std::shared_ptr<generalized_operation> operation) : operation_(std::move(operation)) {}
    /// Ends an operation that was freed without a wait and completed before.
    ~generalized() override
    {
        if (operation_->is_complete())
            (void)operation_->end();
    }
    bool done() override { return operation_->is_complete(); }
    int result(MPI_Status& status) override
    {
        MPI_Status own;
        set_empty(&own);
        own.MPI_ERROR = MPI_SUCCESS;
        int const code = operation_->query(own);
        own.MPI_ERROR = status.MPI_ERROR;
        status = own;
        return code;
    }
    int end() override { return operation_->end(); }
    void released() override { operation_->released(); }
    bool cancel() override
    {
        if (int const code = operation_->cancel(); code != MPI_SUCCESS)
            throw failure(code, "the cancel function of the generalized request failed");
        return true;
    }

private:
    std::shared_ptr<generalized_operation> const operation_;
};

/// Operations that are not completed, by handle, because a handle may be completed after it was freed.
struct {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<generalized_operation>> operations;
} under_way;

} // namespace

namespace calls {

void grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn, MPI_Grequest_cancel_function* cancel_fn,
                    void* extra_state, MPI_Request* request)
{
    auto operation = std::make_shared<generalized_operation>(query_fn, free_fn, cancel_fn, extra_state);
    auto work = std::make_unique<generalized>(operation);
    std::lock_guard const lock(under_way.mutex);
    mpi::request& r = request_table::instance().acquire();
    r.work = std::move(work);
    r.what = mpi::request::kind::activity;
    *request = r.handle();
    under_way.operations.emplace(bits_of(*request), std::move(operation));
}

void grequest_complete(MPI_Request request)
{
    std::shared_ptr<generalized_operation> operation;
    {
        std::lock_guard const lock(under_way.mutex);
        if (auto const found = under_way.operations.find(bits_of(request)); found != under_way.operations.end()) {
            operation = std::move(found->second);
            under_way.operations.erase(found);
        }
    }
    if (operation == nullptr) {
        bool const generalizes = dynamic_cast<generalized const*>(get(request, "request").work.get()) != nullptr;
        throw failure(MPI_ERR_REQUEST, generalizes ? "request was completed already" : "request is no generalized request");
    }
    operation->complete();
    the_matcher().note_end();
}

} // namespace calls
} // namespace towline::mpi
