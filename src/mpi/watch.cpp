// Reports the ranks that an MPI call waits for to the watchdog.

#include "mpi/watch.hpp"

#include "mpi/communicator.hpp"
#include "mpi/handles.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace towline::mpi {
namespace {

using job::waited_operation;

/// Calls the function with the communicator that has the context, if there is one.
template <class Function>
void with_communicator(matching::context_id context, Function&& function)
{
    std::uint32_t const number = context >> 2;
    for (auto const& place : predefined_of<MPI_Comm>)
        if (communicator* const c = place.load(std::memory_order_acquire); c != nullptr && c->number() == number)
            return function(*c);
    table_of<MPI_Comm>.for_each([&](communicator& c) {
        if (c.number() == number)
            function(c);
    });
}

[[nodiscard]] bool is_point_to_point(matching::context_id context) noexcept
{
    return (context & 3) == static_cast<std::uint32_t>(plane::point_to_point);
}

waited_operation operation_of(matching::pending_operation const& o)
{
    waited_operation w;
    w.what = !is_point_to_point(o.about.context)                ? waited_operation::kind::part
             : o.what == matching::operation::send ? waited_operation::kind::send
                                                   : waited_operation::kind::receive;
    w.tag = o.about.tag == matching::any_tag ? waited_operation::any : o.about.tag;
    w.process = o.with == matching::no_peer ? waited_operation::nobody : o.with;
    w.rank = o.what == matching::operation::send || o.about.source == matching::any_source ? waited_operation::any : o.about.source;
    w.bytes = o.bytes;
    with_communicator(o.about.context, [&](communicator& c) {
        if (w.process == waited_operation::nobody && w.rank != waited_operation::any && c.has_peer(w.rank))
            w.process = c.peer(w.rank);
        for (int r = 0; w.rank == waited_operation::any && w.process != waited_operation::nobody && r < c.peers(); ++r)
            if (c.peer(r) == w.process)
                w.rank = r;
        std::string const name = c.name();
        job::set_text(w.communicator, name.empty() ? fmt::format("a communicator of {}", c.size()) : name);
    });
    return w;
}

} // namespace

job::wait_report report_of(char const* call, matching::waited const* detail, std::vector<matching::pending_operation> const& pending)
{
    std::string_view const name(call);
    job::wait_report report;
    job::set_text(report.call, name);
    if (detail != nullptr && name != "MPI_Waitall") {
        report.add(operation_of(detail->what));
    } else {
        bool const many = name.starts_with("MPI_Wait") || name.starts_with("MPI_Finalize");
        bool const parts = !many && std::ranges::any_of(pending, [](auto const& o) { return !is_point_to_point(o.about.context); });
        for (auto const& o : pending)
            if (!parts || !is_point_to_point(o.about.context))
                report.add(operation_of(o));
    }
    auto const same = [&](waited_operation const& o) { return o.communicator == report.list[0].communicator; };
    if (report.operations != 0 && std::all_of(report.list.begin(), report.list.begin() + report.operations, same))
        report.communicator = report.list[0].communicator;
    return report;
}

void wait_teller::tell(std::span<engine::long_wait const> waits, job::wait_report& report)
{
    auto const pending = matcher_.pending(200);
    for (engine::long_wait const& w : waits) {
        job::wait_report const one = report_of(w.what, static_cast<matching::waited const*>(w.detail), pending);
        for (std::size_t k = 0; k < one.operations; ++k)
            report.add(one.list[k]);
        report.more += one.more;
        if (&w == &waits.front()) {
            report.call = one.call;
            report.communicator = one.communicator;
        } else if (one.communicator != report.communicator) {
            report.communicator = {};
        }
    }
    report.unexpected = matcher_.unexpected(&is_point_to_point);
}

} // namespace towline::mpi
