// Blocking sends and receives (3.2, 3.4, 3.11).

#include "mpi/calls.hpp"
#include "mpi/checks.hpp"
#include "mpi/request.hpp"

#include <array>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace towline::mpi {
namespace {

/// Sends short data that are not contiguous. False if that would have to wait.
[[gnu::noinline]] bool try_send_short(payload const& data, communicator& c, int dest, int tag)
{
    return data.packed_briefly([&](void const* row) {
        return the_matcher().try_send(c.peer(dest), envelope_of(c, tag), row, static_cast<std::uint64_t>(data.bytes()));
    });
}

/// The slow path: waits, or packs. It takes the arguments of the call, which are in registers.
[[gnu::noinline]] void send_and_wait(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, communicator& c,
                                     matching::send_mode mode, char const* call)
{
    payload const data(buf, count, datatype);
    auto const bytes = static_cast<std::uint64_t>(data.bytes());
    std::optional<matching::status> laid;
    if (!data.in_a_row() && !data.is_short()) {
        auto const shown = data.shown();
        laid = the_matcher().send_laid(c.peer(dest), envelope_of(c, tag), data.source(shown.get()), mode, call);
    }
    std::unique_ptr<std::byte[]> packed;
    if (!laid && !data.in_a_row())
        packed = data.packed();
    matching::status const s =
        laid ? *laid : the_matcher().send(c.peer(dest), envelope_of(c, tag), packed ? packed.get() : data.data(), bytes, mode, call);
    if (s.error != matching::outcome::ok)
        throw_outcome(s, data.bytes(), false, dest, tag);
}

[[gnu::always_inline]] inline void send_blocking(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                                 matching::send_mode mode, char const* call)
{
    communicator& c = get(comm, "comm");
    check_send_tag(tag);
    if (!is_destination(c, dest)) {
        (void)payload::of_nobody(count, datatype);
        return;
    }
    payload const data(buf, count, datatype);
    if (!data.in_a_row() && data.is_short() && mode == matching::send_mode::standard && try_send_short(data, c, dest, tag))
        return;
    if (!data.in_a_row() || mode != matching::send_mode::standard ||
        !the_matcher().try_send(c.peer(dest), envelope_of(c, tag), data.data(), static_cast<std::uint64_t>(data.bytes()))) [[unlikely]]
        send_and_wait(buf, count, datatype, dest, tag, c, mode, call);
}

[[gnu::noinline, gnu::cold]] void receive_from_nobody(MPI_Count count, MPI_Datatype datatype, int tag, MPI_Comm comm, MPI_Status* status)
{
    (void)get(comm, "comm");
    (void)payload::of_nobody(count, datatype);
    check_receive_tag(tag);
    fill_no_process(status);
}

/// MPI_Sendrecv and MPI_Sendrecv_replace. If the send has to wait, the receive is posted before it, so that rings and messages to self make
/// progress. `bytes`: packed data to send; null: sends `out`.
void exchange_blocking(communicator& c, payload const& out, void const* bytes, std::int64_t out_bytes, int dest, int sendtag,
                       payload& in, int source, int recvtag, MPI_Status* status, char const* call)
{
    matching::matcher& m = the_matcher();
    bool const receives = is_source(c, source);
    bool const sends = is_destination(c, dest);
    bool const is_apart = sends && bytes == nullptr && !out.in_a_row() && !out.is_short();
    std::unique_ptr<std::byte[]> packed;
    auto const pack = [&] {
        packed = out.packed();
        bytes = packed.get();
    };
    auto const completes_now = [&] {
        if (is_apart)
            return false;
        if (bytes == nullptr && !out.in_a_row())
            return try_send_short(out, c, dest, sendtag);
        return m.try_send(c.peer(dest), envelope_of(c, sendtag), bytes == nullptr ? out.data() : bytes, static_cast<std::uint64_t>(out_bytes));
    };
    if (receives && sends && completes_now()) {
        matching::status const s = m.receive(pattern_of(c, source, recvtag), source_peer(c, source), in.sink(), call);
        fill(status, s, in.bytes());
        if (s.error != matching::outcome::ok) [[unlikely]]
            throw_outcome(s, in.bytes(), true, source, recvtag);
        return;
    }
    if (sends && bytes == nullptr && !is_apart)
        out.in_a_row() ? void(bytes = out.data()) : pack();
    auto const shown = is_apart ? out.shown() : nullptr;
    matching::request receive, send;
    if (receives)
        m.start_receive(receive, pattern_of(c, source, recvtag), source_peer(c, source), in.sink());
    if (sends) {
        try {
            auto const size = static_cast<std::uint64_t>(out_bytes);
            if (!is_apart || !m.start_send_laid(send, c.peer(dest), envelope_of(c, sendtag), out.source(shown.get()))) {
                if (is_apart)
                    pack();
                m.start_send(send, c.peer(dest), envelope_of(c, sendtag), bytes, size);
            }
        } catch (...) {
            if (receives && !m.cancel(receive))
                m.wait(receive, call);
            throw;
        }
    }
    if (receives) {
        m.wait(receive, call);
        fill(status, receive.result(), in.bytes());
    } else {
        fill_no_process(status);
    }
    if (sends) {
        m.wait(send, call);
        if (send.result().error != matching::outcome::ok) [[unlikely]]
            throw_outcome(send.result(), out_bytes, false, dest, sendtag);
    }
    if (receives && receive.result().error != matching::outcome::ok) [[unlikely]]
        throw_outcome(receive.result(), in.bytes(), true, source, recvtag);
}

} // namespace

namespace calls {

void send(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    send_blocking(buf, count, datatype, dest, tag, comm, matching::send_mode::standard, "MPI_Send");
}

void ssend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    send_blocking(buf, count, datatype, dest, tag, comm, matching::send_mode::synchronous, "MPI_Ssend");
}

void rsend(void const* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    send_blocking(buf, count, datatype, dest, tag, comm, matching::send_mode::ready, "MPI_Rsend");
}

void recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status)
{
    if (source == MPI_PROC_NULL) [[unlikely]]
        return receive_from_nobody(count, datatype, tag, comm, status);
    communicator& c = get(comm, "comm");
    payload data(buf, count, datatype);
    check_receive_tag(tag);
    (void)is_source(c, source);
    matching::status const s = the_matcher().receive(pattern_of(c, source, tag), source_peer(c, source), data.sink(), "MPI_Recv");
    fill(status, s, data.bytes());
    if (s.error != matching::outcome::ok) [[unlikely]]
        throw_outcome(s, data.bytes(), true, source, tag);
}

void sendrecv(void const* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    payload const out = dest == MPI_PROC_NULL ? payload::of_nobody(sendcount, sendtype, send_names)
                                              : payload(sendbuf, sendcount, sendtype, send_names);
    payload in = source == MPI_PROC_NULL ? payload::of_nobody(recvcount, recvtype, receive_names)
                                         : payload(recvbuf, recvcount, recvtype, receive_names);
    check_send_tag(sendtag, "sendtag");
    check_receive_tag(recvtag, "recvtag");
    exchange_blocking(c, out, nullptr, out.bytes(), dest, sendtag, in, source, recvtag, status, "MPI_Sendrecv");
}

void sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                      MPI_Status* status)
{
    communicator& c = get(comm, "comm");
    payload data = dest == MPI_PROC_NULL && source == MPI_PROC_NULL ? payload::of_nobody(count, datatype) : payload(buf, count, datatype);
    check_send_tag(sendtag, "sendtag");
    check_receive_tag(recvtag, "recvtag");
    std::array<std::byte, 1024> small;
    std::unique_ptr<std::byte[]> large;
    if (data.bytes() > static_cast<std::int64_t>(small.size()))
        large = data.packed();
    else
        data.pack(small.data());
    exchange_blocking(c, data, large ? large.get() : small.data(), data.bytes(), dest, sendtag, data, source, recvtag, status,
                      "MPI_Sendrecv_replace");
}

} // namespace calls
} // namespace towline::mpi
