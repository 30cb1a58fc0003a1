// Where the ranks of a communicator share memory, its operations go over lanes (collective/lanes.hpp). They show each other theirs once.

#include "base/settings.hpp"
#include "collective/operations.hpp"
#include "job/job.hpp"
#include "mpi/collective_calls.hpp"
#include "mpi/process.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace towline::mpi {
namespace {

constexpr unsigned first = 1;
constexpr unsigned usual = 3;  ///< many programs make a communicator for one barrier

/// Where every rank has a core, both wait for each other sooner than one copies more than this. Where cores are shared, a wait is a change
/// of ranks, and whoever offers copies runs ahead, the further the better; else few payloads that stay in the nearest caches are.
[[nodiscard]] collective::lanes::limits limits_here()
{
    auto const& job = job::membership::instance();
    if (static_cast<std::uint32_t>(job.size()) > job.header().cores)
        return {.slots = 256, .payloads = 64};
    return {.posted = 1024, .shown = 8192, .payloads = 8};
}

} // namespace

unsigned operations_before_lanes()
{
    static unsigned const n = std::array{0u, usual, first}[base::setting_choice("TOWLINE_LANES", {"off", "on", "first"}, 1)];
    return n;
}

void introduce(communicator& c, char const* call)
{
    collective::team& t = c.team();
    collective::node_memory& memory = process::instance().node_memory();
    std::vector<matching::peer> peers;
    for (int r = 0; r < t.size(); ++r)
        peers.push_back(t.peer_of(collective::side::local, r));
    // What only this rank finds keeps the others from it, too: a word of 0.
    std::unique_ptr<collective::lanes> lanes;
    if (std::ranges::all_of(peers, [&](matching::peer p) { return memory.is_shared_with(p); }))
        lanes = std::make_unique<collective::lanes>(memory, t.rank(), peers, limits_here());
    std::vector<std::uint64_t> words(peers.size());
    words[static_cast<std::size_t>(t.rank())] = lanes == nullptr ? 0 : lanes->own_word();
    pooled_operation const o;
    collective::allgather(o->schedule(), t, collective::in_place, sizeof words[0], words.data(), sizeof words[0]);
    o->start(c, t.next_sequence());
    o->wait(c, call);
    if (int const code = o->finish(); code != MPI_SUCCESS)
        throw_ending(code);
    if (lanes != nullptr && lanes->open(words))
        t.set_lanes(std::move(lanes));
}

} // namespace towline::mpi
