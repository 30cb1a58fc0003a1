// Requests for collective operations: nonblocking and persistent ones.

#include "mpi/collective_calls.hpp"
#include "mpi/status.hpp"

namespace towline::mpi {
namespace {

class collective_activity final : public activity {
public:
    collective_activity(communicator& c, pooled_operation o) : comm_(c), sequence_(c.team().next_sequence()), operation_(std::move(o)) {}

    void start() override
    {
        finished_ = false;
        operation_->start(*comm_, sequence_);
        operation_->leave();
    }
    bool done() override
    {
        if (!finished_ && operation_->done()) {
            code_ = operation_->finish();
            finished_ = true;
        }
        return finished_;
    }
    int result(MPI_Status& status) override
    {
        status.MPI_SOURCE = MPI_ANY_SOURCE;
        status.MPI_TAG = MPI_ANY_TAG;
        set_bytes(status, 0);
        set_cancelled(status, false);
        return code_;
    }
    [[nodiscard]] char const* explain(int code) const override { return collective_operation::explain(code); }

private:
    ref<communicator> const comm_;
    std::uint32_t const sequence_;
    pooled_operation operation_;
    bool finished_ = true;
    int code_ = MPI_SUCCESS;
};

/// A new request for the operation, which `use` begins or not; freed where that throws.
template <class Use>
[[nodiscard]] MPI_Request requested(communicator& c, pooled_operation o, Use use)
{
    request_table& all = request_table::instance();
    request& r = all.acquire();
    try {
        auto work = std::make_unique<collective_activity>(c, std::move(o));
        MPI_Request const handle = use(r, *work);
        if (handle != r.handle()) {
            all.release(r);
            return handle;
        }
        r.work = std::move(work);
        r.comm = ref<communicator>(c);
        r.what = request::kind::activity;
        return handle;
    } catch (...) {
        all.release(r);
        throw;
    }
}

} // namespace

MPI_Request begin(communicator& c, pooled_operation o)
{
    return requested(c, std::move(o), [](request& r, collective_activity& work) {
        MPI_Status unseen{};
        work.start();
        bool const over = work.done() && work.result(unseen) == MPI_SUCCESS;
        return over ? request_table::instance().nothing().handle() : r.handle();
    });
}

MPI_Request prepare(communicator& c, MPI_Info info, pooled_operation o)
{
    if (info != MPI_INFO_NULL)
        (void)get(info, "info");
    return requested(c, std::move(o), [](request& r, collective_activity&) {
        r.is_persistent = true;
        r.is_active = false;
        return r.handle();
    });
}

} // namespace towline::mpi
