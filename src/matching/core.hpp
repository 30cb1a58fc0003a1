#pragma once
// The matcher: its parts, and what takes several of them. Each part's header says what it owns, which thread may touch it, and what
// common::lock guards there.
//
//   common            the engine, the options, the lock, short messages to other matchers   (base of this)
//   requests          their begin, end and pool
//   sends             sends that had not ended when they began; which peers asked this process to hold back
//   contexts          the members of contexts, and which peers are dead
//   unexpected        early messages, and the account of each sender
//   relays            messages that are copied through a block, in and out at the same time
//   laid_cooperation  data with gaps that both sides copy
//   deliveries        how a matched message's bytes reach its receive
//
// The posted receives are here, under the lock: a message is looked for in them and added to the early ones in one step.

#include "heap/heap.hpp"
#include "matching/deliveries.hpp"

namespace towline::matching {

struct core final : common {
    core(engine::engine&, options const&);

    requests ends{*this};
    sends out{*this, ends};
    contexts groups;
    posted_queue<request, posted_access> posted;
    unexpected_messages early{*this};
    relays relaying{*this, out};
    laid_cooperation together{*this, out};
    deliveries in{*this, ends, groups, relaying, early, together};
    std::atomic<std::uint64_t> ready_errors{0};

    // Sending (send.cpp).

    /// Waits for room at the peer.
    void send_eager(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode);
    /// Does not; false: there is none.
    [[nodiscard]] bool try_send_eager(peer to, packed_envelope, void const* data, std::uint64_t bytes, send_mode);
    /// The same of up to thresholds::tiny bytes; false also where anything else is not as it most often is.
    [[nodiscard]] bool try_send_tiny(peer to, packed_envelope const&, void const* data, std::uint64_t bytes, send_mode);
    [[nodiscard]] bool is_eager(void const* data, std::uint64_t bytes) const noexcept
    {
        return bytes <= config.eager || (bytes <= config.eager_outside && !heap::reaches(data));
    }
    /// Mid-size heap data are sent by address, as a *here* message: the packed shared address, or 0 where that is not their way.
    [[nodiscard]] std::uint64_t shown(peer to, void const* data, std::uint64_t bytes) const noexcept
    {
        return bytes >= engine_.sizes().map_lent && bytes < behind_shown() && to != engine_.rank() ? engine_.share(to, data, bytes) : 0;
    }
    /// From this size on both sides copy, or a helper thread does.
    [[nodiscard]] std::uint64_t behind_shown() const noexcept
    {
        return std::min<std::uint64_t>(engine_.sizes().cooperate, engine::thresholds::onload_least);
    }
    /// The send needs no slot: it ends when its bytes have left.
    [[nodiscard]] bool needs_no_slot(peer to, void const* data, std::uint64_t bytes, send_mode mode) const noexcept
    {
        return to < size && is_eager(data, bytes) && mode != send_mode::synchronous && !out.holds_back(to);
    }
    static void check(packed_envelope e, void const* data, std::uint64_t bytes)
    {
        if (static_cast<std::int64_t>(e.context_and_source) < 0 || e.tag < 0 || (data == nullptr && bytes != 0)) [[unlikely]]
            throw_bad_send(e.unpacked(), bytes);
    }
    [[noreturn, gnu::cold]] static void throw_bad_send(envelope const&, std::uint64_t bytes);
    void send_waiting(request&, peer to, envelope const&, void const* data, std::uint64_t bytes, send_mode);
    /// A send with a slot: `post` sends its message, with the slot and the token. Throws what that throws; nothing is under way then.
    template <class Post>
    void start_in_slot(request&, peer to, envelope const&, std::uint64_t bytes, std::uint8_t ends, bool wants_match, Post&& post);
    /// Sends a message of the protocol, now or when there is room.
    void post(peer to, wire::kind, std::span<std::byte const> head, void const* data = nullptr, std::uint64_t bytes = 0);

    /// Asks the receiver to give back the message of a send that has not ended (cancel.cpp).
    void ask_back(request&);
    /// Drops an early message that its sender wants back. False: it has been matched, or is not here.
    bool take_back(peer sender, std::uint64_t token);

    // Arriving (arrive.cpp). Handlers.

    void on_eager(engine::incoming&);
    void on_ready(engine::incoming&);
    void on_synchronous(engine::incoming&);
    void on_lent(engine::incoming&);
    template <wire::kind Kind>
    void on_here(engine::incoming&);
    void on_relayed(engine::incoming&);
    void on_withdraw(engine::incoming&);  // cancel.cpp
    /// A message of which the head tells where its bytes are.
    struct here_message {
        envelope letter;
        std::uint64_t bytes;
        std::uint64_t token;
        here_block at;
    };
    /// Reads the head of such a message; false: it is none.
    [[nodiscard]] bool read_eager(peer from, std::span<std::byte const> head, envelope&) const noexcept;
    template <wire::kind Kind>
    [[nodiscard, gnu::always_inline]] bool read_here(peer from, std::span<std::byte const> head, here_message& m) const noexcept
    {
        std::conditional_t<Kind == wire::here, wire::here_header, wire::laid_header> h;
        if (head.size() != sizeof h || !read_header(head, h, m.letter))
            return false;
        m.bytes = h.bytes;
        m.token = h.token;
        if constexpr (Kind == wire::laid)
            m.at = {h.where, h.span, h.form, h.words, {h.meaning[0], h.meaning[1]}};
        else
            m.at = {h.where, 0, 0, 0, {}};
        return wire::is_possible(h) && is_possible(from, m.letter);
    }
    void arrive(engine::incoming&, std::span<std::byte const> head, envelope const&, std::uint64_t token, bool is_ready);
    /// The posted receive for the message. Null: it came early, and was added; keep(node) notes where its bytes are, under the lock.
    template <class Keep>
    [[nodiscard]] request* match_or_add(peer from, envelope const& e, std::uint64_t bytes, std::uint64_t captured, std::uint64_t token,
                                        Keep&& keep)
    {
        bool tell = false;
        {
            guard const g(*this);
            if (request* const r = posted.match(e)) [[likely]] {
                r->posted_ = false;
                return r;
            }
            keep(early.add(from, e, bytes, captured, token));
            tell = early.is_unbalanced(from);
        }
        if (tell)
            early.regulate(from);
        return nullptr;
    }
    void note_ready_error(peer from, envelope const&);

    // Receiving (receive.cpp, probe.cpp). No lock held.

    /// A blocking receive takes its message from where it arrived, if that comes within a moment and nothing stands before it.
    [[nodiscard]] bool receive_next(pattern const&, peer from, sink const&, status&);
    void wait(request&, char const* call);
    /// The same of a request that lies on the caller's stack.
    void wait_or_abandon(request&, char const* call);
    /// Detaches the request from its operation, which goes on without it. It is idle afterwards.
    void abandon(request&) noexcept;
    [[nodiscard]] std::optional<status> peek(pattern const&) const noexcept;
    /// Takes the message out of the queue, and tells its sender to go on if it held back.
    [[nodiscard]] unexpected_message* take(pattern const&) noexcept;
    /// Blocks until `look()` is true, which is called when a message or a death has come.
    template <class Look>
    void await_arrival(Look&& look, pattern const&, peer from, char const* call);

    void peer_died(peer);
};

} // namespace towline::matching
