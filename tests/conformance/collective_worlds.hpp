#pragma once
// Collective operations over real matchers.

#include "collective/operations.hpp"
#include "collective/request.hpp"
#include "conformance/matching_worlds.hpp"

#include <numeric>

namespace collective_worlds {

using namespace matching_worlds;
namespace col = towline::collective;

inline peer same_number(void const*, int rank)
{
    return static_cast<peer>(rank);
}

/// All ranks of the world, in a context.
inline col::team world_team(player const& p, match::context_id context)
{
    return {context, static_cast<int>(p.world.rank), {static_cast<int>(p.world.size), &same_number, nullptr}};
}

/// Builds, starts and waits.
template <class Build>
col::ending perform(player& p, col::team& t, Build&& build)
{
    col::collective_request r;
    build(r.schedule());
    r.start(p.m, t, t.next_sequence());
    require(p.m.wait_until([&] { return r.done(); }, "a collective operation", 60s), "a collective operation hangs");
    return r.result();
}

inline void well(col::ending e)
{
    require(e == col::ending::ok, "an operation ends well: " + std::to_string(static_cast<int>(e)));
}

inline void add_longs(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<std::uint64_t*>(inout)[i] += static_cast<std::uint64_t const*>(in)[i];
}
inline constexpr col::combination sum{&add_longs, nullptr, 8, true};

/// x -> a x + b, one after another.
struct affine {
    std::uint64_t a;
    std::uint64_t b;
    friend bool operator==(affine const&, affine const&) = default;
};
inline affine after(affine const& first, affine const& second)
{
    return {first.a * second.a, first.b * second.a + second.b};
}
inline void chain(void const* in, void* inout, std::uint64_t count, void*)
{
    for (std::uint64_t i = 0; i < count; ++i) {
        auto& right = static_cast<affine*>(inout)[i];
        right = after(static_cast<affine const*>(in)[i], right);
    }
}
inline constexpr col::combination in_order{&chain, nullptr, sizeof(affine), false};

} // namespace collective_worlds
