#pragma once
// The blocks of ranks, or of neighbours, in the buffers of one call: checks them and computes where their bytes are.

#include "mpi/collective_operation.hpp"
#include "mpi/wide_array.hpp"

#include <cstdint>
#include <span>

namespace towline::mpi {

/// Whether a block is sent, received or both: decides when it is packed or unpacked if it is not contiguous.
enum class use : std::uint8_t { sent, received, both };

/// The partners of an exchange: all ranks of a group, or neighbours, of which negative ones stand for none.
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

/// The names of the parameters, for error texts.
struct block_names {
    payload_names each;  ///< its `count` names the array of counts
    char const* displs;
};
inline constexpr block_names sent_blocks{{"sendbuf", "sendcounts", "sendtype"}, "sdispls"};
inline constexpr block_names received_blocks{{"recvbuf", "recvcounts", "recvtype"}, "rdispls"};

/// This rank's own block stays in place: neither packed nor unpacked.
struct own_block {
    int rank = -1;
    payload data;
};

/// Contiguous blocks of one size.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, MPI_Count count, MPI_Datatype, use,
                payload_names const&);
/// Blocks at displacements in elements.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, wide_array counts, wide_array displs,
                MPI_Datatype, use, block_names const&, own_block* = nullptr);
/// Blocks with a datatype each, at displacements in bytes.
void add_blocks(collective_operation&, collective_operation::blocks& to, partners, void const* buffer, wide_array counts, wide_array displs,
                MPI_Datatype const* types, use, block_names const&, own_block* = nullptr);

} // namespace towline::mpi
