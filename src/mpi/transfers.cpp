// Nonblocking sends and receives (3.7), and code that they share with the blocking ones.

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/request.hpp"
#include "mpi/session.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

[[nodiscard]] matching::send_mode mode_of(send_kind k) noexcept
{
    return k == send_kind::synchronous ? matching::send_mode::synchronous
           : k == send_kind::ready     ? matching::send_mode::ready
                                       : matching::send_mode::standard;
}

/// A request that is released if starting its operation throws.
class new_request {
public:
    new_request() : r_(request_table::instance().acquire()) {}
    ~new_request()
    {
        if (!kept_)
            request_table::instance().release(r_);
    }
    new_request(new_request const&) = delete;
    new_request& operator=(new_request const&) = delete;
    request& operator*() const noexcept { return r_; }
    request* operator->() const noexcept { return &r_; }
    [[nodiscard]] MPI_Request keep() noexcept
    {
        kept_ = true;
        return r_.handle();
    }

private:
    request& r_;
    bool kept_ = false;
};

/// Least bytes for which a helper thread takes over the progress of a transfer.
constexpr auto large_transfer = static_cast<std::int64_t>(engine::thresholds::onload_least);

/// A receive from MPI_PROC_NULL, with its status.
class no_transfer final : public activity {
public:
    bool done() override { return true; }
    int result(MPI_Status& status) override
    {
        fill_no_process(&status);
        return MPI_SUCCESS;
    }
};

/// A receive and a send in one operation; its status is the receive's.
class exchange final : public activity {
public:
    exchange(communicator& c, payload const& out, int dest, int send_tag, payload const& in, int source, int receive_tag,
             std::unique_ptr<std::byte[]> copy)
        : comm_(c), in_(in), type_(in.type()), copy_(std::move(copy)), receives_(source != MPI_PROC_NULL)
    {
        matching::matcher& m = the_matcher();
        if (receives_)
            m.start_receive(receive_, pattern_of(c, source, receive_tag), source_peer(c, source), in_.sink());
        if (dest == MPI_PROC_NULL)
            return;
        if (!copy_)
            shown_ = out.shown();
        auto const bytes = static_cast<std::uint64_t>(out.bytes());
        try {
            if (!copy_ && !out.in_a_row() && m.start_send_laid(send_, c.peer(dest), envelope_of(c, send_tag), out.source(shown_.get())))
                return;
            if (!copy_ && !out.in_a_row())
                copy_ = out.packed();
            m.start_send(send_, c.peer(dest), envelope_of(c, send_tag), copy_ ? copy_.get() : out.data(), bytes);
        } catch (...) {
            if (receives_ && !m.cancel(receive_))
                m.wait(receive_);
            throw;
        }
    }
    bool done() override { return receive_.done() && send_.done(); }
    [[nodiscard]] std::uint64_t place() const override { return std::max(receive_.place(), send_.place()); }
    int result(MPI_Status& status) override
    {
        if (receives_)
            fill(&status, receive_.result(), in_.bytes());
        else
            fill_no_process(&status);
        int const code = receives_ ? code_of(receive_.result().error) : MPI_SUCCESS;
        return code != MPI_SUCCESS ? code : code_of(send_.result().error);
    }

private:
    ref<communicator> const comm_;
    payload in_;
    ref<datatype> const type_;
    std::unique_ptr<std::byte[]> copy_;
    std::shared_ptr<matching::shown_layout const> shown_;
    matching::request receive_, send_;
    bool const receives_;
};

[[gnu::always_inline]] inline void begin_send(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                              send_kind kind, MPI_Request* handle)
{
    communicator& c = get(comm, "comm");
    check_send_tag(tag);
    request_table& all = request_table::instance();
    if (!is_destination(c, dest)) {
        (void)payload::of_nobody(count, datatype);
        *handle = all.nothing().handle();
        return;
    }
    payload const data(buf, count, datatype);
    if (kind == send_kind::buffered) {
        buffer_for(c).send(the_matcher(), c.peer(dest), envelope_of(c, tag), data);
        *handle = all.nothing().handle();
        return;
    }
    if (data.in_a_row() && the_matcher().try_send(c.peer(dest), envelope_of(c, tag), data.data(),
                                                      static_cast<std::uint64_t>(data.bytes()), mode_of(kind))) {
        *handle = all.nothing().handle();
        return;
    }
    if (!data.in_a_row() && data.is_short() && data.packed_briefly([&](void const* row) {
            return the_matcher().try_send(c.peer(dest), envelope_of(c, tag), row, static_cast<std::uint64_t>(data.bytes()), mode_of(kind));
        })) {
        *handle = all.nothing().handle();
        return;
    }
    new_request r;
    start(*r, c, kind, data, dest, tag);
    *handle = r.keep();
}

} // namespace

void start(request& r, communicator& c, send_kind kind, payload const& data, int dest, int tag)
{
    r.what = request::kind::nothing;
    if (dest == MPI_PROC_NULL)
        return;
    if (!r.comm)
        r.comm = ref<communicator>(c);
    if (kind == send_kind::buffered) {
        return buffer_for(c).send(the_matcher(), c.peer(dest), envelope_of(c, tag), data);
    }
    auto const bytes = static_cast<std::uint64_t>(data.bytes());
    r.shown = data.shown();
    if (data.in_a_row() || !the_matcher().start_send_laid(r.operation, c.peer(dest), envelope_of(c, tag), data.source(r.shown.get()),
                                                          mode_of(kind))) {
        if (!data.in_a_row())
            r.packed = data.packed();
        the_matcher().start_send(r.operation, c.peer(dest), envelope_of(c, tag), data.in_a_row() ? data.data() : r.packed.get(), bytes,
                                 mode_of(kind));
    }
    if (data.bytes() >= large_transfer && !r.operation.done())
        the_matcher().transport().attend(engine::engine::transfer::send);
    r.what = request::kind::send;
}

namespace {

/// The same with `r.data` set.
[[gnu::always_inline]] inline void start_receive(request& r, communicator& c, int source, int tag)
{
    r.what = request::kind::nothing;
    if (!r.comm)
        r.comm = ref<communicator>(c);
    if (source == MPI_PROC_NULL) [[unlikely]] {
        r.work = std::make_unique<no_transfer>();
        r.what = request::kind::activity;
        return;
    }
    if (!r.data.in_a_row()) [[unlikely]]
        r.type = r.data.type();
    the_matcher().start_receive(r.operation, pattern_of(c, source, tag), source_peer(c, source), r.data.sink());
    if (r.data.bytes() >= large_transfer && !r.operation.done())
        the_matcher().transport().attend(engine::engine::transfer::receive);
    r.what = request::kind::receive;
}

} // namespace

void start(request& r, communicator& c, payload const& data, int source, int tag)
{
    r.data = data;
    start_receive(r, c, source, tag);
}

namespace calls {

void isend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    begin_send(buf, count, datatype, dest, tag, comm, send_kind::standard, request);
}

void issend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    begin_send(buf, count, datatype, dest, tag, comm, send_kind::synchronous, request);
}

void irsend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    begin_send(buf, count, datatype, dest, tag, comm, send_kind::ready, request);
}

void ibsend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    begin_send(buf, count, datatype, dest, tag, comm, send_kind::buffered, request);
}

void irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    new_request r;
    check_receive_tag(tag);
    if (is_source(c, source)) [[likely]]
        std::construct_at(&r->data, buf, count, datatype);
    else
        r->data = payload::of_nobody(count, datatype);
    start_receive(*r, c, source, tag);
    *request = r.keep();
}

void isendrecv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    payload const out = dest == MPI_PROC_NULL ? payload::of_nobody(sendcount, sendtype, send_names)
                                              : payload(sendbuf, sendcount, sendtype, send_names);
    payload const in = source == MPI_PROC_NULL ? payload::of_nobody(recvcount, recvtype, receive_names)
                                               : payload(recvbuf, recvcount, recvtype, receive_names);
    check_send_tag(sendtag, "sendtag");
    check_receive_tag(recvtag, "recvtag");
    (void)is_destination(c, dest);
    (void)is_source(c, source);
    new_request r;
    r->work = std::make_unique<exchange>(c, out, dest, sendtag, in, source, recvtag, nullptr);
    r->comm = ref<communicator>(c);
    r->what = request::kind::activity;
    *request = r.keep();
}

void isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                       MPI_Request* request)
{
    communicator& c = get(comm, "comm");
    payload const data =
        dest == MPI_PROC_NULL && source == MPI_PROC_NULL ? payload::of_nobody(count, datatype) : payload(buf, count, datatype);
    check_send_tag(sendtag, "sendtag");
    check_receive_tag(recvtag, "recvtag");
    (void)is_destination(c, dest);
    (void)is_source(c, source);
    new_request r;
    r->work = std::make_unique<exchange>(c, data, dest, sendtag, data, source, recvtag, data.packed());
    r->comm = ref<communicator>(c);
    r->what = request::kind::activity;
    *request = r.keep();
}

} // namespace calls
} // namespace towline::mpi
