// Splits by shared hardware (7.4.2, MPI_COMM_SPLIT_TYPE).

#include "job/job.hpp"
#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/hardware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::mpi {
namespace {

constexpr char const* type_key = "mpi_hw_resource_type";
constexpr char const* set_key = "mpi_pset_name";

constexpr char const* shared_memory = "mpi_shared_memory";

/// The number of this process's node in the job.
int own_node()
{
    return static_cast<int>(job::membership::instance().header().node);
}

/// The color of the instance of hardware that this process is bound to: nodes number their hardware alike.
int color_of(std::optional<int> instance)
{
    constexpr int most_instances = 1 << 16;
    return instance && *instance < most_instances ? own_node() * most_instances + *instance : MPI_UNDEFINED;
}

/// The color of a process, and the type of hardware that was chosen if the program named none.
struct wish {
    int color = MPI_UNDEFINED;
    std::string found{};
};

bool same_word(std::string_view a, std::string_view b) noexcept
{
    auto const lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return std::ranges::equal(a, b, {}, lower, lower);
}

/// Splits by a type of hardware named as in MPI_Get_hw_resource_info, with or without "hwloc://".
wish by_type(std::string_view type)
{
    if (same_word(type, shared_memory))
        return {own_node()};
    constexpr std::string_view scheme = "hwloc://";
    if (same_word(type.substr(0, scheme.size()), scheme))
        type.remove_prefix(scheme.size());
    for (auto const& [name, instance] : hardware_instances())
        if (same_word(name, type))
            return {color_of(instance)};
    return {};
}

wish by_set(communicator const& c, std::string_view name)
{
    if (same_word(name, "mpi://WORLD"))
        return {0};
    if (same_word(name, "mpi://SELF"))
        return {c.rank()};
    return {};
}

/// What all ranks exchange first. Ranks that want no communicator take part, whatever the others split by.
struct position {
    int split_type = MPI_UNDEFINED;
    int node = 0;
    std::array<int, 14> held_to{};  ///< first processor of the resource, by type (same order on all ranks of a machine); -1: none
};

/// Splits by the largest type of hardware that does not contain all of them.
wish by_difference(std::vector<std::pair<std::string, std::optional<int>>> const& mine, std::vector<position> const& all)
{
    if (std::ranges::any_of(all, [](position const& p) { return p.split_type != MPI_UNDEFINED && p.node != own_node(); }))
        return {own_node(), shared_memory};
    for (std::size_t t = 0; t < mine.size(); ++t) {
        std::optional<int> first;
        bool together = true;
        for (position const& p : all) {
            if (p.split_type == MPI_UNDEFINED)
                continue;
            together = together && (!first || *first == p.held_to[t]);
            first = p.held_to[t];
        }
        if (!together)
            return {color_of(mine[t].second), "hwloc://" + mine[t].first};
    }
    return {};
}

wish wish_of(communicator& c, int split_type, info const* hints)
{
    auto const hint = [&](char const* key) { return hints != nullptr ? hints->get(key) : std::nullopt; };
    position mine{split_type, own_node(), {}};
    mine.held_to.fill(-1);
    std::vector<std::pair<std::string, std::optional<int>>> hardware;
    if (split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
        hardware = hardware_instances();
        hardware.resize(std::min(hardware.size(), mine.held_to.size()));
        std::ranges::transform(hardware, mine.held_to.begin(), [](auto const& h) { return h.second.value_or(-1); });
    }
    party const everybody(c);
    std::vector<position> all(static_cast<std::size_t>(everybody.size()));
    all[static_cast<std::size_t>(everybody.here())] = mine;
    agree_on_table(c, everybody, all.data(), sizeof mine, "MPI_Comm_split_type");
    for (position const& p : all)
        if (p.split_type != split_type && p.split_type != MPI_UNDEFINED && split_type != MPI_UNDEFINED)
            throw failure(MPI_ERR_ARG, fmt::format("split_type is {}, and {} on another rank", split_type, p.split_type));

    switch (split_type) {
    case MPI_COMM_TYPE_SHARED: return {own_node()};
    case MPI_COMM_TYPE_HW_UNGUIDED: return by_difference(hardware, all);
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        if (auto const type = hint(type_key))
            return by_type(*type);
        if (auto const name = hint(set_key); name && split_type == MPI_COMM_TYPE_RESOURCE_GUIDED)
            return by_set(c, *name);
        return {};
    default: return {};
    }
}

void check_type(int split_type)
{
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_HW_UNGUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
    case MPI_UNDEFINED: return;
    default:
        throw failure(MPI_ERR_ARG, fmt::format("split_type is {}, which is none of MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED and "
                                               "_RESOURCE_GUIDED, and not MPI_UNDEFINED",
                                               split_type));
    }
}

} // namespace

namespace calls {

void comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm)
{
    communicator& c = get(comm, "comm");
    mpi::info* const hints = info == MPI_INFO_NULL ? nullptr : &get(info, "info");
    check_type(split_type);
    wish const w = wish_of(c, split_type, hints);
    *newcomm = split(c, w.color, key, "MPI_Comm_split_type");
    // If the program named no type, its info gets the type that was chosen.
    if (*newcomm != MPI_COMM_NULL && hints != nullptr && !w.found.empty())
        hints->set(type_key, w.found);
}

} // namespace calls
} // namespace towline::mpi
