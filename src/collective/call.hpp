#pragma once
// A call describes one collective operation of one rank. A face checks the program's arguments and hands a call down; all ranks of the team
// make matching calls. build (operations.hpp) turns a call into steps, run_now (lanes/run_now.hpp) executes it in the calling thread.
//
// Buffers hold contiguous packed bytes, or the elements of a reduction; sizes are in bytes unless noted. Lists are read while the operation
// is built or run, and not kept; buffers must stay valid until the operation has ended. `send` may be `in_place` (as MPI_IN_PLACE: the
// contribution is where the result will be) as MPI allows it; for run_now, to the same effect, the address of that place.
//
// In an intercommunicator each group's result comes from the other group. The root passes `root_is_here`, the other ranks of its group
// `root_is_beside`, the other group the root's rank. Scans and neighbourhoods have no such form.

#include "collective/choice.hpp"
#include "collective/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::collective {

inline constexpr int root_is_here = -3;
inline constexpr int root_is_beside = -2;

/// Stands for `send`; of scatter at the root, with const_cast, for `receive`.
extern void const* const in_place;

using sizes = std::span<std::uint64_t const>;

/// Where the blocks of ranks lie in a buffer: equal ones at equal distances, or as lists say.
class layout_of_blocks {
public:
    using list = std::span<std::uint64_t const>;

    layout_of_blocks() = default;
    /// Next to each other.
    explicit layout_of_blocks(std::uint64_t each) noexcept : each_(each), step_(each) {}
    /// `step` bytes from one to the next; 0: the same block for all.
    layout_of_blocks(std::uint64_t each, std::uint64_t step) noexcept : each_(each), step_(step) {}
    layout_of_blocks(list sizes, list offsets) noexcept : sizes_(sizes), offsets_(offsets) {}
    // Always inlined: where a call is known to have equal blocks, nothing is left of the lists, nor of this object.
    [[nodiscard, gnu::always_inline]] std::uint64_t size(int rank) const noexcept
    {
        return sizes_.empty() ? each_ : sizes_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard, gnu::always_inline]] std::uint64_t offset(int rank) const noexcept
    {
        return sizes_.empty() ? step_ * static_cast<std::uint64_t>(rank) : offsets_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] bool is_listed() const noexcept { return !sizes_.empty(); }
    [[nodiscard]] list sizes() const noexcept { return sizes_; }
    [[nodiscard]] list offsets() const noexcept { return offsets_; }
    /// The buffer may be null where the block is empty, and where offsets are addresses.
    [[nodiscard, gnu::always_inline]] std::byte* at(void* buffer, int rank) const noexcept
    {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) + (size(rank) == 0 ? 0 : offset(rank)));
    }
    [[nodiscard, gnu::always_inline]] std::byte const* at(void const* buffer, int rank) const noexcept
    {
        return at(const_cast<void*>(buffer), rank);
    }
    /// Of the first `n`: the largest, and all together.
    [[nodiscard, gnu::always_inline]] std::uint64_t largest(int n) const noexcept
    {
        return !sizes_.empty() ? largest_of(sizes_) : n > 0 ? each_ : 0;
    }
    [[nodiscard, gnu::always_inline]] std::uint64_t total(int n) const noexcept
    {
        return sizes_.empty() ? each_ * static_cast<std::uint64_t>(n) : sum_of(sizes_.first(static_cast<std::size_t>(n)));
    }

private:
    [[nodiscard]] static std::uint64_t largest_of(list all) noexcept
    {
        std::uint64_t most = 0;
        for (std::uint64_t const s : all)
            most = s > most ? s : most;
        return most;
    }
    [[nodiscard]] static std::uint64_t sum_of(list all) noexcept
    {
        std::uint64_t sum = 0;
        for (std::uint64_t const s : all)
            sum += s;
        return sum;
    }
    std::uint64_t each_ = 0;
    std::uint64_t step_ = 0;
    list sizes_;
    list offsets_;
};

/// Neighbours: ranks from which this one receives, and to which it sends; negative ones are nobody, their blocks stay as they are. Where
/// the same two ranks are neighbours more than once, the n-th message meets the n-th receive. `receive_order` (empty: as listed) says in
/// which order of the sources' indexes they are posted: in a Cartesian topology, what goes out in a negative direction is received from the
/// positive one, so that the order within each dimension is turned around: 1, 0, 3, 2, ...
struct neighbourhood {
    std::span<int const> sources;
    std::span<int const> destinations;
    std::span<int const> receive_order{};
};

/// Made by the functions below; a routine reads only the fields that they set.
struct call {
    routine what = routine::nothing;
    int root = -1;
    void const* send = nullptr;
    void* receive = nullptr;
    std::uint64_t bytes = 0;     ///< this rank's own block, or all there is; of a reduction: elements
    layout_of_blocks sending{};    ///< blocks in `send`
    layout_of_blocks receiving{};  ///< blocks in `receive`; of reduce_scatter: of the result, in elements, next to each other
    combination how{};
    neighbourhood with{};
};

[[nodiscard]] inline call barrier() noexcept
{
    return {.what = routine::barrier};
}
[[nodiscard]] inline call bcast(void* data, std::uint64_t bytes, int root) noexcept
{
    return {.what = routine::bcast, .root = root, .receive = data, .bytes = bytes};
}
/// `bytes` are one rank's, the same on all ranks.
[[nodiscard]] inline call gather(void const* send, void* receive, std::uint64_t bytes, int root) noexcept
{
    return {.what = routine::gather, .root = root, .send = send, .receive = receive, .bytes = bytes, .receiving = layout_of_blocks(bytes)};
}
[[nodiscard]] inline call scatter(void const* send, void* receive, std::uint64_t bytes, int root) noexcept
{
    return {.what = routine::scatter, .root = root, .send = send, .receive = receive, .bytes = bytes, .sending = layout_of_blocks(bytes)};
}
/// `bytes` are this rank's; the lists are looked at by the root only.
[[nodiscard]] inline call gatherv(void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets, int root) noexcept
{
    return {.what = routine::gatherv, .root = root, .send = send, .receive = receive, .bytes = bytes, .receiving = {counts, offsets}};
}
[[nodiscard]] inline call scatterv(void const* send, sizes counts, sizes offsets, void* receive, std::uint64_t bytes, int root) noexcept
{
    return {.what = routine::scatterv, .root = root, .send = send, .receive = receive, .bytes = bytes, .sending = {counts, offsets}};
}
/// `bytes` are one rank's. In an intercommunicator the groups may give different sizes: `receive_bytes` are one remote rank's.
[[nodiscard]] inline call allgather(void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes) noexcept
{
    return {.what = routine::allgather, .send = send, .receive = receive, .bytes = bytes, .receiving = layout_of_blocks(receive_bytes)};
}
/// The lists say how the blocks of all (intercommunicator: remote) ranks lie in `receive`; `bytes` are this rank's.
[[nodiscard]] inline call allgatherv(void const* send, std::uint64_t bytes, void* receive, sizes counts, sizes offsets) noexcept
{
    return {.what = routine::allgatherv, .send = send, .receive = receive, .bytes = bytes, .receiving = {counts, offsets}};
}
[[nodiscard]] inline call alltoall(void const* send, std::uint64_t bytes, void* receive, std::uint64_t receive_bytes) noexcept
{
    return {.what = routine::alltoall, .send = send, .receive = receive, .bytes = bytes, .sending = layout_of_blocks(bytes),
            .receiving = layout_of_blocks(receive_bytes)};
}
/// For alltoallw, too. In place: the first two lists are not looked at.
[[nodiscard]] inline call alltoallv(void const* send, sizes send_counts, sizes send_offsets, void* receive, sizes counts,
                                    sizes offsets) noexcept
{
    return {.what = routine::alltoallv, .send = send, .receive = receive, .sending = {send_counts, send_offsets},
            .receiving = {counts, offsets}};
}
/// `count` in elements.
[[nodiscard]] inline call reduce(void const* send, void* receive, std::uint64_t count, combination const& how, int root) noexcept
{
    return {.what = routine::reduce, .root = root, .send = send, .receive = receive, .bytes = count, .how = how};
}
[[nodiscard]] inline call allreduce(void const* send, void* receive, std::uint64_t count, combination const& how) noexcept
{
    return {.what = routine::allreduce, .send = send, .receive = receive, .bytes = count, .how = how};
}
/// `count` in elements per rank (of the local group).
[[nodiscard]] inline call reduce_scatter_block(void const* send, void* receive, std::uint64_t count, combination const& how) noexcept
{
    return {.what = routine::reduce_scatter, .send = send, .receive = receive, .receiving = layout_of_blocks(count), .how = how};
}
/// `counts` in elements, of the ranks of the local group; `send` has their sum (the same in both groups).
[[nodiscard]] inline call reduce_scatter(void const* send, void* receive, sizes counts, combination const& how) noexcept
{
    return {.what = routine::reduce_scatter, .send = send, .receive = receive, .receiving = {counts, {}}, .how = how};
}
[[nodiscard]] inline call scan(void const* send, void* receive, std::uint64_t count, combination const& how) noexcept
{
    return {.what = routine::scan, .send = send, .receive = receive, .bytes = count, .how = how};
}
/// `receive` of rank 0 stays as it is, and may be null.
[[nodiscard]] inline call exscan(void const* send, void* receive, std::uint64_t count, combination const& how) noexcept
{
    return {.what = routine::exscan, .send = send, .receive = receive, .bytes = count, .how = how};
}
/// Each neighbour has its block, in the order of the lists.
[[nodiscard]] inline call exchange(neighbourhood const& with, void const* send, layout_of_blocks const& sending, void* receive,
                                   layout_of_blocks const& receiving) noexcept
{
    return {.what = routine::exchange, .send = send, .receive = receive, .sending = sending, .receiving = receiving, .with = with};
}

} // namespace towline::collective
