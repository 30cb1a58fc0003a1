#pragma once
// Lent plain memory of peers that this process reads itself: mapped by XPMEM, or by process_vm_readv; or pushed, where its sender keeps
// rewriting it.
//
// Owns what is known of the peers' processes (peer_state::process) and of the blocks that they lend again and again. Any thread, no lock.

#include "engine/lent_habit.hpp"
#include "engine/pushing.hpp"

#include <sys/types.h>

namespace towline::engine {

class attachments {
public:
    attachments(common& c, pushing& windows) : common_(c), windows_(windows) {}

    /// The sender: plain memory may be lent to that peer.
    [[nodiscard]] bool may_attach(peer to);
    /// The receiver: copies the block, whichever way; false: it cannot be read, and its sender has to be asked for the bytes.
    [[nodiscard]] bool read(message_state&, block_state&, void* destination);
    /// The process of a peer that lives, to be read by process_vm_readv; 0: it cannot be.
    [[nodiscard]] pid_t readable_process(peer);
    /// A read failed: notes what will not go away, and logs it.
    void cannot_read(message_state const&, block_state const&, std::uint64_t left, int why);
    void forget(peer);

private:
    /// Looks for the peer's process: its pid, proven; peer_state::no_process; or ::unasked while the peer has not told.
    std::int32_t find_process(peer);
    /// It will not be read any more; logged once.
    void refuse_process(peer, int why);
    [[nodiscard]] bool look_attached(message_state const&, block_state&, void* destination);
    [[nodiscard]] bool read_by_kernel(message_state const&, block_state const&, pid_t, std::uint64_t done, std::byte* destination);

    common& common_;
    pushing& windows_;
    lent_habit habit_;
};

} // namespace towline::engine
