// Packs and unpacks rows with gaps.

#include "remote/team_views.hpp"

#include "heap/heap.hpp"

#include <algorithm>
#include <new>

namespace towline::remoting {
namespace {

using op = detail::team_operation;

/// True if this rank's row is sent.
[[nodiscard]] bool brings(detail::team_call const& c, int rank) noexcept
{
    return c.what != op::scatter || rank == c.root;
}

/// True if this rank's row is written; `also_read`: its old content is needed, too.
[[nodiscard]] bool gets(detail::team_call const& c, int rank, bool& also_read) noexcept
{
    switch (c.what) {
    case op::broadcast: also_read = rank == c.root; return true;
    case op::gather:
    case op::reduce: return rank == c.root;
    case op::exchange: also_read = true; return true;  // blocks without a partner keep their content
    case op::exclusive_scan: return rank != 0;
    default: also_read = c.in_place; return true;
    }
}

} // namespace

void staged_rows::give_back::operator()(std::byte* block) const noexcept
{
    if (shared)
        heap::deallocate(block);
    else
        ::operator delete(block, std::align_val_t{64});
}

staged_rows::block staged_rows::make(std::size_t bytes)
{
    bytes = std::max<std::size_t>(bytes, 1);
    if (void* const shared = heap::try_allocate(bytes))
        return {static_cast<std::byte*>(shared), {true}};
    return {static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64})), {false}};
}

staged_rows::staged_rows(detail::team_call const& c, int rank) : call_(c), send_(nullptr, {false}), receive_(nullptr, {false})
{
    if (c.send_shape.rank != 0 && brings(c, rank)) {
        send_ = make(c.send_size * c.element);
        detail::copy_strided(send_.get(), nullptr, c.send, c.send_shape, c.element);
        call_.send = send_.get();
    }
    bool also_read = false;
    if (c.receive_shape.rank != 0 && gets(c, rank, also_read)) {
        receive_ = make(c.receive_size * c.element);
        if (also_read)
            detail::copy_strided(receive_.get(), nullptr, c.receive, c.receive_shape, c.element);
        call_.receive = receive_.get();
        if (c.what != op::broadcast || rank != c.root) {
            target_ = c.receive;
            extents_.assign(c.receive_shape.extents, c.receive_shape.extents + c.receive_shape.rank);
            strides_.assign(c.receive_shape.strides, c.receive_shape.strides + c.receive_shape.rank);
            try {
                detail::check_writable(c.receive_shape);
            } catch (usage_error const& why) {
                unfit_ = why;
            }
        }
    }
    call_.send_shape = call_.receive_shape = {};
}

void staged_rows::unpack() const noexcept
{
    if (target_ != nullptr)
        detail::copy_strided(target_, strides_.data(), receive_.get(), {extents_.size(), extents_.data(), nullptr}, call_.element);
}

} // namespace towline::remoting
