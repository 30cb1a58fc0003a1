#pragma once
// The operations among the ranks of one group as messages, by the algorithm that the table names (choice.hpp). Conventions as in
// operations.hpp.

#include "collective/algorithms.hpp"
#include "collective/choice.hpp"
#include "collective/team.hpp"

#include <cstdint>

namespace towline::collective {
struct neighbourhood;
}

namespace towline::collective::by_messages {

[[nodiscard]] inline algorithm for_data(routine what, std::uint64_t bytes, team const& t)
{
    return choose({.what = what, .bytes = bytes, .ranks = t.size(), .crowded = t.is_crowded()});
}
/// Messages each way that a windowed exchange has under way.
inline constexpr int window = 16;

void bcast(schedule& s, team const& t, void* data, std::uint64_t bytes, int root);
void gather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root);
void scatter(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes, int root);
void allgather(schedule& s, team const& t, void const* send, void* receive, std::uint64_t bytes);
void allgatherv(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks);
void alltoall(schedule& s, team const& t, void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes);
void alltoallv(schedule& s, team const& t, void const* send, layout_of_blocks const& sending, void* receive,
               layout_of_blocks const& receiving);
/// The lists make sense.
void exchange(schedule& s, neighbourhood const& n, void const* send, layout_of_blocks const& sending, void* receive,
              layout_of_blocks const& receiving);
void reduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r, int root);
void allreduce(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r);
void reduce_scatter(schedule& s, team const& t, void const* send, void* receive, layout_of_blocks const& blocks,
                    std::uint64_t total, combination const& r);
void scan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r);
void exscan(schedule& s, team const& t, void const* send, void* receive, std::uint64_t count, combination const& r);

} // namespace towline::collective::by_messages
