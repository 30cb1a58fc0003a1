// Operations between the two groups of an intercommunicator.

#include "collective/operations.hpp"

#include "collective/messages/algorithms.hpp"

namespace towline::collective::between {
namespace {

/// The first ranks exchange what their groups have reduced. What came from the other group, on rank 0.
std::byte* exchange_reduced(schedule& s, team const& t, void const* send, std::uint64_t count, combination const& r)
{
    std::uint64_t const bytes = count * r.element;
    bool const first = t.rank() == 0;
    std::byte* const own = first ? s.scratch(bytes) : nullptr;
    std::byte* const other = first ? s.scratch(bytes) : nullptr;
    algorithms::reduce_binomial(s, t.here(), send, own, count, r, 0);
    if (first) {
        s.receive_any(0, other, bytes, side::remote);
        s.send_any(0, own, bytes, side::remote);
        s.wait();
    }
    return other;
}

void barrier(schedule& s, team const& t)
{
    algorithms::arrive(s, t.here());
    if (t.rank() == 0) {
        s.receive(0, nullptr, 0, side::remote);
        s.send(0, nullptr, 0, side::remote);
        s.wait();
    }
    algorithms::leave(s, t.here());
}

void bcast(schedule& s, team const& t, void* data, std::uint64_t bytes, int root)
{
    if (root == root_is_beside)
        return;
    if (root == root_is_here) {
        s.send_any(0, data, bytes, side::remote);
        return s.wait();
    }
    if (t.rank() == 0) {
        s.receive_any(root, data, bytes, side::remote);
        s.wait();
    }
    algorithms::bcast_binomial(s, t.here(), data, bytes, 0);
}

/// `bytes` are this rank's, `blocks` the root's.
void gather(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks, int root)
{
    if (root == root_is_beside)
        return;
    if (root == root_is_here) {
        for (int i = 0; i < t.remote_size(); ++i)
            s.receive_any(i, blocks.at(receive, i), blocks.size(i), side::remote);
    } else {
        s.send_any(root, send, bytes, side::remote);
    }
    s.wait();
}

void scatter(schedule& s, team const& t, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes, int root)
{
    if (root == root_is_beside)
        return;
    if (root == root_is_here) {
        for (int i = 0; i < t.remote_size(); ++i)
            s.send_any(i, blocks.at(send, i), blocks.size(i), side::remote);
    } else {
        s.receive_any(root, receive, bytes, side::remote);
    }
    s.wait();
}

void allgather(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks)
{
    for (int i = 0; i < t.remote_size(); ++i) {
        s.receive_any(i, blocks.at(receive, i), blocks.size(i), side::remote);
        s.send_any(i, send, bytes, side::remote);
    }
    s.wait();
}

void alltoall(schedule& s, team const& t, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving)
{
    for (int i = 0; i < t.remote_size(); ++i) {
        s.receive_any(i, receiving.at(receive, i), receiving.size(i), side::remote);
        s.send_any(i, sending.at(send, i), sending.size(i), side::remote);
    }
    s.wait();
}

void reduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r, int root)
{
    if (root == root_is_beside)
        return;
    std::uint64_t const bytes = count * r.element;
    if (root == root_is_here) {
        s.receive_any(0, receive, bytes, side::remote);
        return s.wait();
    }
    std::byte* const sum = t.rank() == 0 ? s.scratch(bytes) : nullptr;
    algorithms::reduce_binomial(s, t.here(), send, sum, count, r, 0);
    if (t.rank() == 0)
        s.send_any(root, sum, bytes, side::remote);
    s.wait();
}

void allreduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r)
{
    std::byte* const other = exchange_reduced(s, t, send, count, r);
    if (t.rank() == 0)
        s.copy(receive, other, count * r.element);
    algorithms::bcast_binomial(s, t.here(), receive, count * r.element, 0);
}

/// Blocks in elements, next to each other.
void reduce_scatter(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks, combination const& r)
{
    std::byte* const other = exchange_reduced(s, t, send, blocks.total(t.size()), r);
    std::uint64_t const mine = blocks.size(t.rank()) * r.element;
    if (t.rank() != 0) {
        s.receive_any(0, receive, mine);
        return s.wait();
    }
    for (int i = 1; i < t.size(); ++i)
        s.send_any(i, other + blocks.total(i) * r.element, blocks.size(i) * r.element);
    s.copy(receive, other, mine);
    s.wait();
}

} // namespace

void build(schedule& s, team const& t, call const& c)
{
    switch (c.what) {
    case routine::barrier: return barrier(s, t);
    case routine::bcast: return bcast(s, t, c.receive, c.bytes, c.root);
    case routine::gather:
    case routine::gatherv: return gather(s, t, c.send, c.bytes, c.receive, c.receiving, c.root);
    case routine::scatter:
    case routine::scatterv: return scatter(s, t, c.send, c.sending, c.receive, c.bytes, c.root);
    case routine::allgather:
    case routine::allgatherv: return allgather(s, t, c.send, c.bytes, c.receive, c.receiving);
    case routine::alltoall:
    case routine::alltoallv: return alltoall(s, t, c.send, c.sending, c.receive, c.receiving);
    case routine::reduce: return reduce(s, t, c.send, c.receive, c.bytes, c.how, c.root);
    case routine::allreduce: return allreduce(s, t, c.send, c.receive, c.bytes, c.how);
    case routine::reduce_scatter: return reduce_scatter(s, t, c.send, c.receive, c.receiving, c.how);
    default: return;  // there is no such form
    }
}

} // namespace towline::collective::between
