// Partitioned communication (4): any thread marks parts of a message ready. The message is sent when all its parts are ready, so that the
// parts arrive together.
//
// The n-th MPI_Psend_init to a rank with a tag matches that rank's n-th MPI_Precv_init from here with the tag. Both sides count, and
// messages carry the number in their source, above all ranks, in plane::tagged. No other message there has such sources.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/entry.hpp"
#include "mpi/partitioned.hpp"
#include "mpi/request.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <mutex>
#include <vector>

namespace towline::mpi {
namespace {

/// One side of a partitioned message.
class partitioned final : public activity {
public:
    partitioned(communicator& c, payload const& data, bool is_receive, int partitions, int rank, int tag)
        : comm_(c), data_(data), type_(data.type()), is_receive_(is_receive), partitions_(partitions), rank_(rank), tag_(tag),
          ready_(static_cast<std::size_t>(is_receive ? 0 : partitions))
    {
        if (rank == MPI_PROC_NULL)
            return;
        std::uint32_t const number = c.pairs().next(is_receive, rank, tag);
        int const senders = is_receive ? c.peers() : c.size();
        int const times = std::numeric_limits<int>::max() / senders - 1;
        source_ = (is_receive ? rank : c.rank()) + senders * (1 + static_cast<int>(number % static_cast<std::uint32_t>(times)));
    }

    void start() override
    {
        if (is_receive_) {
            if (rank_ != MPI_PROC_NULL)
                the_matcher().start_receive(operation_, {comm_->context(plane::tagged), source_, tag_}, comm_->peer(rank_), data_.sink());
            return;
        }
        std::scoped_lock const lock(mutex_);
        std::fill(ready_.begin(), ready_.end(), false);
        missing_ = partitions_;
        sent_ = false;
        if (partitions_ == 0)
            send();
    }
    bool done() override
    {
        if (is_receive_)
            return operation_.done();
        std::scoped_lock const lock(mutex_);
        return sent_ && operation_.done();
    }
    int result(MPI_Status& status) override
    {
        status.MPI_ERROR = MPI_SUCCESS;  // programs read it after MPI_Wait, too, which may leave it unset
        if (!is_receive_) {
            set_empty_but_error(status);
            return rank_ == MPI_PROC_NULL ? MPI_SUCCESS : code_of(operation_.result().error);
        }
        if (rank_ == MPI_PROC_NULL) {
            fill_no_process(&status);
            return MPI_SUCCESS;
        }
        fill(&status, operation_.result(), data_.bytes());
        status.MPI_SOURCE = rank_;
        return code_of(operation_.result().error);
    }
    bool cancel() override { return is_receive_ && rank_ != MPI_PROC_NULL && the_matcher().cancel(operation_); }

    [[nodiscard]] int partitions() const noexcept { return partitions_; }
    [[nodiscard]] bool is_receive() const noexcept { return is_receive_; }

    void make_ready(int first, int last)
    {
        std::scoped_lock const lock(mutex_);
        for (int i = first; i <= last; ++i) {
            if (ready_[static_cast<std::size_t>(i)])
                throw failure(MPI_ERR_ARG, fmt::format("partition {} was made ready already", i)).on(*comm_);
            ready_[static_cast<std::size_t>(i)] = true;
            if (--missing_ == 0)
                send();
        }
    }

private:
    static void set_empty_but_error(MPI_Status& status) noexcept
    {
        status.MPI_SOURCE = MPI_ANY_SOURCE;
        status.MPI_TAG = MPI_ANY_TAG;
        set_bytes(status, 0);
        set_cancelled(status, false);
    }
    /// Lock held.
    void send()
    {
        if (rank_ != MPI_PROC_NULL) {
            packed_.reset();
            if (!data_.in_a_row())
                packed_ = data_.packed();
            the_matcher().start_send(operation_, comm_->peer(rank_), {comm_->context(plane::tagged), source_, tag_},
                                     packed_ ? packed_.get() : data_.data(), static_cast<std::uint64_t>(data_.bytes()));
        }
        sent_ = true;
        the_matcher().note_end();  // a thread may wait for the request that completes here
    }

    ref<communicator> const comm_;
    payload data_;
    ref<datatype> const type_;
    bool const is_receive_;
    int const partitions_;
    int const rank_;
    int const tag_;
    int source_ = 0;
    matching::request operation_;
    std::unique_ptr<std::byte[]> packed_;

    std::mutex mutex_;
    std::vector<bool> ready_;
    int missing_ = 0;
    bool sent_ = false;
};

MPI_Request prepare(void const* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int rank, int tag, communicator& c,
                    MPI_Info info, bool is_receive)
{
    if (partitions < 0)
        throw failure(MPI_ERR_ARG, fmt::format("partitions is {}, and cannot be negative", partitions));
    MPI_Count all = 0;
    check_count(count, "count");
    if (__builtin_mul_overflow(count, partitions, &all))
        throw failure(MPI_ERR_COUNT, fmt::format("{} partitions of {} elements are more than can be counted", partitions, count));
    payload const data = rank == MPI_PROC_NULL ? payload::of_nobody(count, datatype) : payload(buf, all, datatype);
    if (info != MPI_INFO_NULL)
        (void)get(info, "info");
    auto work = std::make_unique<partitioned>(c, data, is_receive, partitions, rank, tag);
    request& r = request_table::instance().acquire();
    r.work = std::move(work);
    r.comm = ref<communicator>(c);
    r.what = request::kind::activity;
    r.is_persistent = true;
    r.is_active = false;
    return r.handle();
}

[[nodiscard]] partitioned& find_partitioned(MPI_Request handle, bool is_receive, bool has_to_be_active)
{
    request& r = get(handle, "request");
    auto* const p = dynamic_cast<partitioned*>(r.work.get());
    if (p == nullptr || p->is_receive() != is_receive)
        throw failure(MPI_ERR_REQUEST, fmt::format("request is none of {}", is_receive ? "MPI_Precv_init" : "MPI_Psend_init"));
    if (has_to_be_active && !r.is_active)
        throw failure(MPI_ERR_REQUEST, "request is inactive: MPI_Start begins it").on(*r.comm);
    return *p;
}

void check_partition(partitioned const& p, int partition, char const* parameter)
{
    if (partition < 0 || partition >= p.partitions())
        throw failure(MPI_ERR_ARG,
                      fmt::format("{} is {}; the request has the partitions 0 to {}", parameter, partition, p.partitions() - 1));
}

} // namespace

namespace calls {

void psend_init(void const* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info,
                MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    check_send_tag(tag);
    (void)is_destination(c, dest);
    *request = prepare(buf, partitions, count, datatype, dest, tag, c, info, false);
}

void precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Info info,
                MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    check_send_tag(tag);  // no wildcards (4.2.1)
    if (source == MPI_ANY_SOURCE)
        throw failure(MPI_ERR_RANK, "source is MPI_ANY_SOURCE, which partitioned communication does not allow");
    (void)is_source(c, source);
    *request = prepare(buf, partitions, count, datatype, source, tag, c, info, true);
}

void pready(int partition, MPI_Request request)
{
    partitioned& p = find_partitioned(request, false, true);
    check_partition(p, partition, "partition");
    p.make_ready(partition, partition);
}

void pready_range(int partition_low, int partition_high, MPI_Request request)
{
    partitioned& p = find_partitioned(request, false, true);
    check_partition(p, partition_low, "partition_low");
    check_partition(p, partition_high, "partition_high");
    if (partition_low > partition_high)
        throw failure(MPI_ERR_ARG, fmt::format("partition_low is {}, above partition_high, which is {}", partition_low, partition_high));
    p.make_ready(partition_low, partition_high);
}

void pready_list(int length, int const* array_of_partitions, MPI_Request request)
{
    partitioned& p = find_partitioned(request, false, true);
    check_count(length, "length");
    if (length > 0)
        require(array_of_partitions, "array_of_partitions");
    for (int i = 0; i < length; ++i)
        check_partition(p, array_of_partitions[i], "an element of array_of_partitions");
    for (int i = 0; i < length; ++i)
        p.make_ready(array_of_partitions[i], array_of_partitions[i]);
}

void parrived(MPI_Request request, int partition, int* flag)
{
    *flag = 1;
    if (request == MPI_REQUEST_NULL)
        return;
    partitioned& p = find_partitioned(request, true, false);
    check_partition(p, partition, "partition");
    auto& r = get(request, "request");
    if (!r.is_active || r.done())
        return;
    the_matcher().transport().progress();
    *flag = r.done();
}

} // namespace calls
} // namespace towline::mpi
