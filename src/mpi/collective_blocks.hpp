#pragma once
// The blocks of ranks, or of neighbours, in the buffers of one call: checked, and where their bytes are.

#include "mpi/collective_operation.hpp"
#include "mpi/wide_array.hpp"

#include <cstdint>
#include <span>

namespace towline::mpi {

/// What is done with a block: decides when it is packed or unpacked, where that is needed.
enum class use : std::uint8_t { sent, received, both };

/// With whom blocks are exchanged: all ranks of a group, or neighbours, of which negative ones are nobody.
class partners {
public:
    explicit partners(int ranks) noexcept : size_(ranks) {}
    explicit partners(std::span<int const> neighbours) noexcept : neighbours_(neighbours), size_(static_cast<int>(neighbours.size())) {}
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] bool is_nobody(int i) const noexcept { return !neighbours_.empty() && neighbours_[static_cast<std::size_t>(i)] < 0; }

private:
    std::span<int const> neighbours_;
    int size_;
};

/// What the parameters are called.
struct block_names {
    payload_names each;  ///< the array of counts is its count
    char const* displs;
};
inline constexpr block_names sent_blocks{{"sendbuf", "sendcounts", "sendtype"}, "sdispls"};
inline constexpr block_names received_blocks{{"recvbuf", "recvcounts", "recvtype"}, "rdispls"};

/// The block of this rank, which is left where it lies: neither packed nor unpacked.
struct own_block {
    int rank = -1;
    payload data;
};

/// Blocks next to each other.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, MPI_Count count, MPI_Datatype, use,
                payload_names const&);
/// Blocks at displacements in elements.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, wide_array counts, wide_array displs,
                MPI_Datatype, use, block_names const&, own_block* = nullptr);
/// Blocks of a datatype each, at displacements in bytes.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, wide_array counts, wide_array displs,
                MPI_Datatype const* types, use, block_names const&, own_block* = nullptr);

} // namespace towline::mpi
