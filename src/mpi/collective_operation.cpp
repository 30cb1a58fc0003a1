// Starts, waits for and finishes an operation of the program.

#include "mpi/collective_operation.hpp"

#include "mpi/lane_wait.hpp"

#include <towline/error.hpp>

#include <array>
#include <atomic>
#include <new>
#include <optional>

namespace towline::mpi {
namespace {

/// Idle operations, one for each thread that is likely to be inside a collective operation at the same time. Never destroyed, because
/// programs call MPI from destructors.
constinit std::array<std::atomic<collective_operation*>, 4> pool{};

} // namespace

int code_of(collective::ending e) noexcept
{
    switch (e) {
    case collective::ending::ok: return MPI_SUCCESS;
    case collective::ending::mismatch: return MPI_ERR_TRUNCATE;
    case collective::ending::peer_died: return MPI_ERR_PROC_ABORTED;
    case collective::ending::lost: break;
    }
    return MPI_ERR_OTHER;
}

int code_of(collective::different_calls const& d) noexcept
{
    return d.theirs.what() == d.ours.what() ? MPI_ERR_ROOT : MPI_ERR_OTHER;
}

collective::call_card collective_operation::card() const
{
    collective::call_card card;
    card.set_name(about_.name);
    card.root = about_.root;
    if (about_.type != MPI_DATATYPE_NULL && about_.count >= 0) {
        layout::datatype const& type = get(about_.type, "datatype").layout();
        card.bytes = static_cast<std::uint64_t>(type.size()) * static_cast<std::uint64_t>(about_.count);
        // MPI_BYTE matches every type. If there is more than one kind, only the number of bytes is compared.
        if (auto const kind = type.uniform(); kind && card.bytes != 0 && *kind != layout::kind::byte && *kind != layout::kind::packed)
            card.type = static_cast<std::uint64_t>(*kind);
    }
    if (about_.op != MPI_OP_NULL)
        card.operation = is_predefined(about_.op) ? reinterpret_cast<std::uintptr_t>(about_.op) : collective::call_card::any;
    return card;
}

bool collective_operation::move_own(payload const& to, payload const& from)
{
    if ((to.in_a_row() && from.in_a_row()) || to.bytes() != from.bytes())
        return false;
    try {
        moves_.push_back({to, from, to.type(), from.type(), layout::copy_plan(to.tree(), from.tree())});
    } catch (limit_error const&) {
        return false;
    }
    return true;
}

void collective_operation::pack() const
{
    for (stage const& s : stages_)
        if (s.before)
            s.data.pack(s.bytes);
    for (own_move const& m : moves_)
        m.plan.copy(m.to.data(), m.from.data());
}

void collective_operation::unpack() const noexcept
{
    for (stage const& s : stages_)
        if (s.after)
            s.data.unpack({s.bytes, static_cast<std::size_t>(s.data.bytes())});
}

void collective_operation::lay_rows()
{
    collective::laid_rows& rows = schedule().rows();
    rows.clear();
    if (stages_.empty() || schedule().lane_steps().empty())
        return;
    for (stage const& s : stages_)
        if (s.is_result())
            rows.add(
                s.bytes, static_cast<std::uint64_t>(s.data.bytes()),
                [](void const* data, std::uint64_t first, std::uint64_t bytes, void const* from) {
                    static_cast<payload const*>(data)->unpack_part(static_cast<std::int64_t>(first),
                                                                   {static_cast<std::byte const*>(from), bytes});
                },
                &s.data);
    rows.settle(schedule().lane_steps());
}

void collective_operation::unpack_rows()
{
    for (stage const& s : stages_)
        if (s.is_result())
            schedule().rows().finish(s.bytes, schedule().lane_steps());
        else if (s.after)
            s.data.unpack({s.bytes, static_cast<std::size_t>(s.data.bytes())});
}

void collective_operation::start(communicator& c, std::uint32_t sequence)
{
    different_.clear();
    pack();
    lay_rows();
    request_.start(process::instance().matcher(), c.team(), sequence);
}

void collective_operation::wait(communicator& c, char const* call)
{
    if (done()) [[likely]]
        return;
    process& p = process::instance();
    if (!request_.is_over_lanes()) {
        p.matcher().wait_until([this] { return done(); }, call);
        return;
    }
    if (request_.poll_briefly())
        return;
    wait_over_lanes(c, call, [this] { return request_.poll(); }, [this] { return request_.waits_for(); });
}

void collective_operation::leave()
{
    if (request_.is_over_lanes() && !done())
        process::instance().lane_queue().leave(request_);
}

int collective_operation::finish() noexcept
{
    int const code = code_of(request_.result());
    if (code == MPI_SUCCESS) [[likely]] {
        request_.has_used_rows() ? unpack_rows() : unpack();
        return code;
    }
    collective::lanes* const l = schedule().lanes();
    auto const different = l != nullptr ? l->take_difference() : std::nullopt;
    if (!different)
        return code;
    try {
        different_ = text_of(*different);
    } catch (std::bad_alloc const&) {
        return code;
    }
    return code_of(*different);
}

char const* collective_operation::meaning_of(int code) noexcept
{
    switch (code) {
    case MPI_ERR_TRUNCATE:
        return "a message was longer or shorter than its receiver expected: the ranks gave counts or datatypes that do not fit together";
    case MPI_ERR_PROC_ABORTED: return "a rank that takes part ended before the operation did";
    default: return "the bytes of a message could not be brought here";
    }
}

void collective_operation::clear() noexcept
{
    schedule().clear();
    call_.what = collective::routine::nothing;
    stages_.clear();
    moves_.clear();
    sending_.clear();
    receiving_.clear();
    reduction_.clear();
    spoiled_by_.clear();
    different_.clear();
}

collective_operation* pooled_operation::take()
{
    for (auto& place : pool)
        if (place.load(std::memory_order_relaxed) != nullptr)
            if (collective_operation* const o = place.exchange(nullptr, std::memory_order_acquire))
                return o;
    return new collective_operation;
}

void pooled_operation::give_back(collective_operation* o) noexcept
{
    if (!o->done())  // an exception ended the wait: messages still refer to the operation
        return;
    o->clear();
    for (auto& place : pool) {
        collective_operation* none = nullptr;
        if (place.compare_exchange_strong(none, o, std::memory_order_release, std::memory_order_relaxed))
            return;
    }
    delete o;
}

} // namespace towline::mpi
