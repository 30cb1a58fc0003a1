#pragma once
// What TOWLINE_LOG=debug prints of an engine: what it found at its start, how each peer is reached, and each way of moving blocks when it
// is used for the first time with a peer.

#include "engine/wire.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace towline::job {
class membership;
}

namespace towline::engine {

struct setup;

/// Versions, settings, memory, sizes. Says nothing unless the level is debug.
void tell_setup(job::membership const&, setup const&);

/// Ways on which blocks of peers move to their destination here. (How a block leaves is wire::how.)
enum class arrival : std::uint8_t {
    copied,    ///< from the sender's arena, or from a copy there, by this thread
    together,  ///< from arena to arena, by both sides
    attached,  ///< from the sender's address space: process_vm_readv
    pushed,    ///< through lines that both share, by both sides at the same time
    xpmem,     ///< from the sender's address space, which is mapped here
    onloaded,  ///< by the helper thread
    pieces,    ///< in messages
    got,       ///< by the transport
    taken,     ///< not at all: a block that a head told of changed owner
    count_
};

/// Which ways were told, one word a peer. Empty, and so false, where the level is not debug: that is all that the paths of blocks pay.
class told_ways {
public:
    explicit told_ways(std::uint32_t peers);
    explicit operator bool() const noexcept { return words_ != nullptr; }
    void leaves(std::uint32_t to, wire::how, std::uint64_t bytes) const;
    void arrives(std::uint32_t from, arrival, std::uint64_t bytes) const;

private:
    [[nodiscard]] bool is_first(std::uint32_t to, unsigned bit) const noexcept;
    std::unique_ptr<std::atomic<std::uint32_t>[]> words_;
};

} // namespace towline::engine
