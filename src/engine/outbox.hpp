#pragma once
// Messages whose end the sender waits for: their completions, and the blocks that were lent with them. Found again by number, when the
// receiver says *done*, or asks for bytes, help or a push.
//
// Any thread opens, closes and finds; the mutex is held for a few stores. No completion runs while it is held.

#include "engine/common.hpp"

#include "base/slot_table.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace towline::engine {

/// A block that the sender keeps until the receiver is done with it.
struct kept_block {
    void const* data = nullptr;
    std::size_t size = 0;
    bool owned = false;                          ///< a heap block of this engine: freed at the end
    transport::component* exposed_by = nullptr;  ///< conceal `region` at the end
    transport::region region{};
};

/// A message whose end the sender waits for.
struct sending {
    peer to = 0;
    std::uint64_t waiting = 0;  ///< wire::wants_*
    completion sent;
    completion delivered;
    std::vector<kept_block> kept;  ///< indexed by block; empty where nothing needs to be kept
    bool copied_from = false;      ///< the receiver asked for help, a push or bytes: it is in the middle of copying what was lent
    std::uint32_t loans = 0;       ///< see outbox::add_loan
    std::uint64_t late = 0;        ///< wire::wants_*: of `waiting`, what ends with the last loan
    bool late_ok = true;
};

class outbox {
public:
    explicit outbox(common& c) : common_(c) {}
    void install(transport::component&);

    /// The message's number, in 64 - wire::flag_bits bits.
    [[nodiscard]] std::uint64_t open(sending&&);
    /// Ends some of what the message waits for. Returns what ended: completions to call, blocks to give back (`finish`).
    struct ended {
        bool known = false;
        completion sent;
        completion delivered;
        std::vector<kept_block> kept;
    };
    [[nodiscard]] ended close(std::uint64_t id, peer from, std::uint64_t what, bool ok = true);
    /// A kept block, for a receiver that copies it. It stays until the message is closed, which happens under the polling token only.
    [[nodiscard]] std::optional<kept_block> find(std::uint64_t id, peer from, std::uint64_t block);
    /// The transport reads a kept block of the message until `end_loan`: until then the message keeps its blocks, though its receiver, or
    /// its receiver's death, may end it. The poller only.
    void add_loan(std::uint64_t id, peer to);
    void end_loan(std::uint64_t id, peer to);
    /// Messages whose lent blocks are still out.
    [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
    /// A peer that is in the middle of copying a block, as far as it has said.
    [[nodiscard]] std::optional<peer> copier();

    void finish(ended&&, bool ok);
    /// Calls a completion as a handler is called. No lock held.
    void complete(completion const&, bool ok);
    static void give_back(std::vector<kept_block> const&);

    /// Ends all messages to a peer that has died; token held.
    void fail(peer to);
    /// The end of the engine: gives all blocks back and calls nothing.
    void clear();

private:
    void on_done(peer source, std::span<std::byte const> payload);
    [[nodiscard]] sending* locate(std::uint64_t id, peer from) noexcept;

    common& common_;
    part_mutex mutex_{common_};
    base::slot_table<sending, 32 - wire::flag_bits> slots_;
    std::atomic<std::size_t> outstanding_{0};
};

} // namespace towline::engine
