#pragma once
// Sends that had not ended when they began: each has a slot, whose number (the token) travels with the message and comes back when the
// message is matched. And which peers asked this process to hold back.
//
// common::lock guards the slots. The flags by peer are atomic, and written by handlers; the number of slots in use is read without the
// lock.

#include "base/slot_table.hpp"
#include "base/sparse_array.hpp"
#include "layout/datatype.hpp"
#include "matching/requests.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace towline::matching {

class sends;

/// What the sender of a laid message copies, if its receiver asks for help.
struct laid_data {
    layout::datatype type;
    std::int64_t count = 0;
    void const* buffer = nullptr;
};

struct sending_slot {
    sends* owner = nullptr;
    request* target = nullptr;  ///< null: nobody is told
    peer to = 0;
    std::uint8_t ends = 0;      ///< what is still to come of *sent*, *matched* and *withdrawn*
    bool wants_match = false;
    bool wants_back = false;    ///< was cancelled, and the receiver has not answered
    bool withdrawn = false;
    bool failed = false;
    bool helped = false;        ///< the receiver has asked for help
    std::uint64_t bytes = 0;
    std::optional<laid_data> laid{};
};

class sends {
public:
    sends(common&, requests&);

    /// The peer asked this process to hold back: a send to it ends when it is matched.
    [[nodiscard]] bool holds_back(peer p) const noexcept { return held_back_[p].load(std::memory_order_relaxed) != 0; }
    /// Whether there are any slots in use, as far as this thread knows.
    [[nodiscard]] bool any() const noexcept { return in_use_.load(std::memory_order_relaxed) != 0; }

    struct opened {
        sending_slot& slot;  ///< of another send, perhaps, once the message may have been matched, or the peer's death handled
        std::uint64_t token;
    };
    /// A slot of a send that ends after `what` ends, one of which is the match if it is wanted. No lock held.
    [[nodiscard]] opened open(request&, peer to, std::uint64_t bytes, std::uint8_t ends, bool wants_match);
    /// The message could not be sent. False: nothing is under way; true: the send has ended, or ends here, because its peer died. No lock
    /// held.
    [[nodiscard]] bool end_unsent(opened const&, std::uint8_t ends) noexcept;
    /// The send of this token to this peer is one of a laid message, and does not end before `let_go` now. Once; nothing: it is none, or
    /// was held before. No lock held.
    struct held {
        laid_data data;
        std::uint64_t bytes = 0;
    };
    [[nodiscard]] std::optional<held> hold(std::uint64_t token, peer to);
    void let_go(std::uint64_t token) noexcept;
    /// The engine's completion *sent* of a message with a slot.
    static void on_sent(void* slot, bool ok);
    /// A send that is asked back from its receiver (cancel.cpp).
    struct withdrawal {
        std::uint64_t token;
        peer to;
    };
    /// Nothing: it has ended, or was asked back before. No lock held.
    [[nodiscard]] std::optional<withdrawal> begin_withdrawal(request&);
    /// The receiver's answer. False: nobody asked that one.
    bool end_withdrawal(std::uint64_t token, peer from, bool dropped) noexcept;
    void end_withdrawal_of_dead(std::uint64_t token) noexcept;

    /// Lock held. Ends what waits for an answer of a dead peer; adds the requests that are to be finished.
    void bury(peer, std::vector<request*>& ended);
    template <class F>
    void for_each(F&& function)
    {
        slots_.for_each(function);
    }

    // Handlers.

    void on_matched(engine::incoming&);
    void on_throttle(engine::incoming&);
    void on_withdrawn(engine::incoming&);

private:
    /// Lock held. One of the slot's ends has come. The request to finish, or null.
    [[nodiscard]] request* end_one(sending_slot&, bool ok) noexcept;

    common& common_;
    requests& requests_;
    base::slot_table<sending_slot> slots_;
    std::atomic<std::size_t> in_use_{0};
    base::sparse_array<std::atomic<std::uint8_t>> held_back_;  ///< by peer
    base::sparse_array<std::uint32_t> throttle_seen_;          ///< by peer; touched by handlers only
};

} // namespace towline::matching
