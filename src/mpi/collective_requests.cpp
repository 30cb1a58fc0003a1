// Requests for collective operations: nonblocking and persistent ones.

#include "collective/operations.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/process.hpp"
#include "mpi/status.hpp"

#include <atomic>
#include <optional>
#include <string>

namespace towline::mpi {
namespace {

class collective_activity final : public activity {
public:
    collective_activity(communicator& c, pooled_operation o) : comm_(c), sequence_(c.team().next_sequence()), operation_(std::move(o)) {}

    void start() override
    {
        finished_ = false;
        if (collective::checks_calls() && !check_) [[unlikely]]
            return start_check();
        operation_->start(*comm_, sequence_);
        operation_->leave();
    }
    bool done() override
    {
        if (checking_.load(std::memory_order_acquire))
            return false;
        if (!finished_ && !why_.empty()) {
            finished_ = true;
        } else if (!finished_ && operation_->done()) {
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
    [[nodiscard]] char const* explain(int code) const override { return why_.empty() ? operation_->explain(code) : why_.c_str(); }

private:
    /// Starts the check of calls, once. The operation begins after it.
    void start_check()
    {
        check_.emplace(comm_->team(), operation_->card());
        collective::schedule& s = exchange_.schedule();
        s.clear();
        check_->build(s);
        exchange_.user = this;
        exchange_.then = [](collective::collective_request& r) { static_cast<collective_activity*>(r.user)->end_check(); };
        checking_.store(true, std::memory_order_relaxed);
        exchange_.start(process::instance().matcher(), comm_->team(), collective::team::check_sequence(sequence_));
    }
    void end_check() noexcept
    {
        try {
            if (exchange_.result() != collective::ending::ok)
                fail(code_of(exchange_.result()), collective_operation::meaning_of(code_of(exchange_.result())));
            else if (auto const found = check_->find())
                fail(code_of(found->what), found->text);
            else
                operation_->start(*comm_, sequence_);
        } catch (...) {
            fail(MPI_ERR_NO_MEM, "there is no memory to begin it");
        }
        checking_.store(false, std::memory_order_release);
    }
    void fail(int code, std::string why)
    {
        code_ = code;
        why_ = std::move(why);
    }

    ref<communicator> const comm_;
    std::uint32_t const sequence_;
    pooled_operation operation_;
    bool finished_ = true;
    int code_ = MPI_SUCCESS;
    std::optional<collective::call_check> check_;
    collective::collective_request exchange_;
    std::atomic<bool> checking_{false};
    std::string why_;  ///< the difference that the check found
};

/// A new request for the operation, which `use` may start; freed if `use` throws.
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

void run_planned(communicator& c, char const* call, collective_operation& o)
{
    if (!o.schedule().is_spoiled() && collective::may_run_now(c.team().quick_lanes(), o.call())) {
        o.pack();
        collective::programs::with_routine(o.call().what, [&](auto what) { (void)run_now<what()>(c, call, o.call()); });
        return o.unpack();
    }
    if (c.team().is_time_for_lanes(operations_before_lanes())) [[unlikely]] {
        introduce(c, call);
        o.schedule().allow(c.team().lanes(), c.team().levels());
    }
    collective::build(o.schedule(), c.team(), o.call());
    std::uint32_t const sequence = c.team().next_sequence();
    if (collective::checks_calls()) [[unlikely]]
        check_calls(c, call, o, sequence);
    o.start(c, sequence);
    o.wait(c, call);
    if (int const code = o.finish(); code != MPI_SUCCESS) [[unlikely]]
        throw failure(code, o.explain(code));
}

MPI_Request begin(communicator& c, pooled_operation o)
{
    collective::build(o->schedule(), c.team(), o->call());
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
    collective::build(o->schedule(), c.team(), o->call());
    return requested(c, std::move(o), [](request& r, collective_activity&) {
        r.is_persistent = true;
        r.is_active = false;
        return r.handle();
    });
}

} // namespace towline::mpi
