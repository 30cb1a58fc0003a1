// Calls on distributed graphs (8.5.4, 8.5.5).

#include "collective/operations.hpp"
#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace towline::mpi {
namespace {

distributed_graph& graph_of(communicator& c)
{
    topology* const t = c.topology();
    if (t == nullptr || t->what() != topology::kind::distributed_graph)
        throw failure(MPI_ERR_TOPOLOGY,
                      fmt::format("comm has no distributed graph topology ({})", t == nullptr ? "none at all" : "but another"));
    return static_cast<distributed_graph&>(*t);
}

void check_length(int n, void const* array, char const* length, char const* name)
{
    if (n < 0)
        throw failure(MPI_ERR_ARG, fmt::format("{} is {}, and cannot be negative", length, n));
    if (n > 0 && array == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer, and {} is {}", name, length, n));
}

void check_ranks(communicator const& c, int n, int const ranks[], char const* length, char const* name)
{
    check_length(n, ranks, length, name);
    for (int i = 0; i < n; ++i)
        if (ranks[i] < 0 || ranks[i] >= c.size())
            throw failure(MPI_ERR_RANK, fmt::format("{}[{}] is {}, and the communicator has {} ranks", name, i, ranks[i], c.size()));
}

/// The weights, one for each edge; none if the graph is not weighted.
std::vector<int> checked_weights(int n, int const weights[], char const* length, char const* name)
{
    if (weights == MPI_UNWEIGHTED || n == 0)
        return {};
    if (weights == MPI_WEIGHTS_EMPTY)
        throw failure(MPI_ERR_ARG, fmt::format("{} is MPI_WEIGHTS_EMPTY, and {} is {}", name, length, n));
    check_length(n, weights, length, name);
    for (int i = 0; i < n; ++i)
        if (weights[i] < 0)
            throw failure(MPI_ERR_ARG, fmt::format("{}[{}] is {}, and a weight cannot be negative", name, i, weights[i]));
    return {weights, weights + n};
}

void check_info(MPI_Info info)
{
    if (info != MPI_INFO_NULL)
        (void)get(info, "info");
}

MPI_Comm make_of_all(communicator& c, ref<topology> t, char const* call)
{
    std::uint32_t const number = agree_on_number(c, party(c), call);
    return publish(make_communicator(c, ref<group>(c.local()), {}, number, std::move(t)));
}

/// An edge that one rank reports to a rank at its end.
struct half_edge {
    int other;
    int weight;
};

/// How many edges one rank has for another.
struct half_edges {
    std::uint64_t out = 0;  ///< edges that begin at the other rank
    std::uint64_t in = 0;   ///< edges that end at the other rank
};

/// Each rank sends the edges that it knows to the ranks at their ends.
class exchange {
public:
    exchange(communicator& c, std::vector<std::vector<half_edge>> const& out, std::vector<std::vector<half_edge>> const& in)
    {
        auto const ranks = static_cast<std::size_t>(c.size());
        std::vector<half_edges> sizes(ranks), coming(ranks);
        std::vector<half_edge> mine;
        std::vector<std::uint64_t> counts(ranks), offsets(ranks), coming_counts(ranks), coming_offsets(ranks);
        for (std::size_t r = 0; r < ranks; ++r) {
            sizes[r] = {out[r].size(), in[r].size()};
            offsets[r] = mine.size() * sizeof(half_edge);
            counts[r] = (out[r].size() + in[r].size()) * sizeof(half_edge);
            mine.insert(mine.end(), out[r].begin(), out[r].end());
            mine.insert(mine.end(), in[r].begin(), in[r].end());
        }
        agree(c, "MPI_Dist_graph_create", [&](collective::schedule& s) {
            collective::build(s, c.house_team(), collective::alltoall(sizes.data(), sizeof(half_edges), coming.data(), sizeof(half_edges)));
        });
        std::uint64_t total = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            coming_offsets[r] = total * sizeof(half_edge);
            coming_counts[r] = (coming[r].out + coming[r].in) * sizeof(half_edge);
            total += coming[r].out + coming[r].in;
        }
        std::vector<half_edge> all(total);
        agree(c, "MPI_Dist_graph_create", [&](collective::schedule& s) {
            collective::build(s, c.house_team(),
                              collective::alltoallv(mine.data(), counts, offsets, all.data(), coming_counts, coming_offsets));
        });
        auto next = all.begin();
        for (std::size_t r = 0; r < ranks; ++r) {
            for (std::uint64_t i = 0; i < coming[r].out; ++i, ++next)
                add(*next, destinations, destination_weights);
            for (std::uint64_t i = 0; i < coming[r].in; ++i, ++next)
                add(*next, sources, source_weights);
        }
    }

    std::vector<int> sources, source_weights, destinations, destination_weights;

private:
    static void add(half_edge const& e, std::vector<int>& others, std::vector<int>& weights)
    {
        others.push_back(e.other);
        weights.push_back(e.weight);
    }
};

/// Copies the front of a list, as far as there is room.
void copy_first(std::vector<int> const& from, int most, int* to)
{
    std::copy_n(from.begin(), std::min(from.size(), static_cast<std::size_t>(most)), to);
}

} // namespace

namespace calls {

void dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, int const sources[], int const sourceweights[], int outdegree,
                                int const destinations[], int const destweights[], MPI_Info info, int, MPI_Comm* comm_dist_graph)
{
    communicator& c = intra(comm_old, "comm_old");
    check_ranks(c, indegree, sources, "indegree", "sources");
    check_ranks(c, outdegree, destinations, "outdegree", "destinations");
    check_info(info);
    if ((sourceweights == MPI_UNWEIGHTED) != (destweights == MPI_UNWEIGHTED))
        throw failure(MPI_ERR_ARG, "one of sourceweights and destweights is MPI_UNWEIGHTED, and the other is not");
    bool const weighted = sourceweights != MPI_UNWEIGHTED;
    std::vector<int> in_weights = checked_weights(indegree, sourceweights, "indegree", "sourceweights");
    std::vector<int> out_weights = checked_weights(outdegree, destweights, "outdegree", "destweights");
    ref<topology> g = ref<topology>::adopt(new distributed_graph(std::vector<int>(sources, sources + indegree), std::move(in_weights),
                                                                 std::vector<int>(destinations, destinations + outdegree),
                                                                 std::move(out_weights), weighted));
    *comm_dist_graph = make_of_all(c, std::move(g), "MPI_Dist_graph_create_adjacent");
}

void dist_graph_create(MPI_Comm comm_old, int n, int const sources[], int const degrees[], int const destinations[], int const weights[],
                       MPI_Info info, int, MPI_Comm* comm_dist_graph)
{
    communicator& c = intra(comm_old, "comm_old");
    check_ranks(c, n, sources, "n", "sources");
    check_length(n, degrees, "n", "degrees");
    check_info(info);
    std::int64_t edges = 0;
    for (int i = 0; i < n; ++i) {
        if (degrees[i] < 0)
            throw failure(MPI_ERR_ARG, fmt::format("degrees[{}] is {}, and cannot be negative", i, degrees[i]));
        edges += degrees[i];
    }
    if (edges > INT32_MAX)
        throw failure(MPI_ERR_ARG, fmt::format("degrees are {} edges in all, which is more than an int counts", edges));
    check_ranks(c, static_cast<int>(edges), destinations, "the sum of degrees", "destinations");
    bool const weighted = weights != MPI_UNWEIGHTED;
    std::vector<int> const known = checked_weights(static_cast<int>(edges), weights, "the sum of degrees", "weights");

    std::vector<std::vector<half_edge>> out(static_cast<std::size_t>(c.size())), in(static_cast<std::size_t>(c.size()));
    std::size_t edge = 0;
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < degrees[i]; ++k, ++edge) {
            int const weight = known.empty() ? 0 : known[edge];
            out[static_cast<std::size_t>(sources[i])].push_back({destinations[edge], weight});
            in[static_cast<std::size_t>(destinations[edge])].push_back({sources[i], weight});
        }
    exchange found(c, out, in);
    if (!weighted) {
        found.source_weights.clear();
        found.destination_weights.clear();
    }
    ref<topology> g = ref<topology>::adopt(new distributed_graph(std::move(found.sources), std::move(found.source_weights),
                                                                 std::move(found.destinations), std::move(found.destination_weights),
                                                                 weighted));
    *comm_dist_graph = make_of_all(c, std::move(g), "MPI_Dist_graph_create");
}

void dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted)
{
    distributed_graph const& g = graph_of(get(comm, "comm"));
    *indegree = static_cast<int>(g.neighbours().sources.size());
    *outdegree = static_cast<int>(g.neighbours().destinations.size());
    *weighted = g.weighted() ? 1 : 0;
}

/// If there is not enough room, returns the first neighbours (8.5.5).
void dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree, int destinations[],
                          int destweights[])
{
    distributed_graph const& g = graph_of(get(comm, "comm"));
    check_length(maxindegree, sources, "maxindegree", "sources");
    check_length(maxoutdegree, destinations, "maxoutdegree", "destinations");
    bool const wants_in = g.weighted() && sourceweights != MPI_UNWEIGHTED && sourceweights != MPI_WEIGHTS_EMPTY;
    bool const wants_out = g.weighted() && destweights != MPI_UNWEIGHTED && destweights != MPI_WEIGHTS_EMPTY;
    if (wants_in)
        check_length(maxindegree, sourceweights, "maxindegree", "sourceweights");
    if (wants_out)
        check_length(maxoutdegree, destweights, "maxoutdegree", "destweights");
    auto const all = g.neighbours();
    std::copy_n(all.sources.begin(), std::min(all.sources.size(), static_cast<std::size_t>(maxindegree)), sources);
    std::copy_n(all.destinations.begin(), std::min(all.destinations.size(), static_cast<std::size_t>(maxoutdegree)), destinations);
    if (wants_in)
        copy_first(g.source_weights(), maxindegree, sourceweights);
    if (wants_out)
        copy_first(g.destination_weights(), maxoutdegree, destweights);
}

} // namespace calls
} // namespace towline::mpi
