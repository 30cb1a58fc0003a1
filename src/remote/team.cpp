// The members of towline::team.

#include <towline/team.hpp>

#include "collective/reductions/reduce.hpp"
#include "remote/runtime.hpp"
#include "remote/team_ground.hpp"
#include "remote/team_core.hpp"

#include <towline/error.hpp>
#include <towline/world.hpp>

#include <array>
#include <fmt/format.h>

namespace towline {

team::team(world const&)
{
    auto& everybody = remoting::runtime::current().teams().everybody();
    core_ = everybody.split(0, 0);
}

std::shared_ptr<detail::team_core> const& team::core() const
{
    if (core_ == nullptr)
        throw usage_error("this rank is in no team here: the team was default constructed, moved from, or split off with team::none");
    return core_;
}

int team::rank() const noexcept
{
    return core_ == nullptr ? -1 : core_->rank();
}

int team::size() const noexcept
{
    return core_ == nullptr ? 0 : core_->size();
}

locality team::at(int rank) const
{
    auto const& ranks = core()->ranks();
    if (rank < 0 || rank >= size())
        throw usage_error(fmt::format("there is no rank {} in a team of {}", rank, size()));
    return locality(ranks[static_cast<std::size_t>(rank)]);
}

team team::split(int color, int key)
{
    if (color < none)
        throw usage_error(fmt::format("team::split: the color is {}; it is at least 0, or team::none", color));
    return team(core()->split(color, key));
}

namespace detail {

ready_loop find_ready_loop(ready_operation what, ready_number of) noexcept
{
    using collective::operation;
    using layout::kind;
    // In the order of the enumerations.
    static constexpr std::array operations{operation::min,  operation::max, operation::sum,  operation::prod, operation::land,
                                           operation::band, operation::lor, operation::bor,  operation::bxor};
    static constexpr std::array kinds{kind::int8,    kind::uint8,    kind::int16,         kind::uint16,   kind::int32,
                                      kind::uint32,  kind::int64,    kind::uint64,        kind::float_c,  kind::double_c,
                                      kind::long_double_c, kind::bool_cxx, kind::float_complex_cxx, kind::double_complex_cxx};
    static_assert(operations.size() == static_cast<std::size_t>(ready_operation::bit_xor) + 1);
    static_assert(kinds.size() == static_cast<std::size_t>(ready_number::double_complex) + 1);
    return collective::find_reduction(operations[static_cast<std::size_t>(what)], kinds[static_cast<std::size_t>(of)]);
}

} // namespace detail
} // namespace towline
