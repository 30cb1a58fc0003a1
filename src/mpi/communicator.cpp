// Begin and end of a communicator, and its description in error texts.

#include "mpi/communicator.hpp"

#include "mpi/process.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

bool is_member(void* members, matching::peer who)
{
    return std::ranges::find(static_cast<group const*>(members)->members(), static_cast<process_id>(who)) !=
           static_cast<group const*>(members)->members().end();
}

} // namespace

void communicator::enter(std::uint32_t number)
{
    number_ = number;
    team_.set_context(context(plane::collective));
    house_team_.set_context(context(plane::internal));
    // Only receives of the program use MPI_ANY_SOURCE.
    process::instance().matcher().set_members(context(plane::point_to_point), &is_member, &others());
    entered_ = true;
}

std::string communicator::described() const
{
    if (std::string n = name(); !n.empty())
        return n;
    return remote_ ? fmt::format("an intercommunicator of {} and {} ranks", size(), remote_->size())
                   : fmt::format("a communicator of {} {}", size(), size() == 1 ? "rank" : "ranks");
}

communicator::~communicator()
{
    process* const p = process::instance_or_null();
    if (!entered_ || p == nullptr)
        return;
    for (plane const use : {plane::point_to_point, plane::collective, plane::internal, plane::tagged})
        p->matcher().forget(context(use));
    p->numbers().give_back(number_);
}

} // namespace towline::mpi
