#pragma once
// How the blocks of one message travel, and who owns what until they are on their way.

#include "engine/attachments.hpp"
#include "engine/outbox.hpp"

#include <boost/container/small_vector.hpp>

namespace towline::engine {

class message_plan {
public:
    struct planned {
        wire::descriptor wire;
        void const* inside;        ///< what stands in the message for this block
        std::size_t inside_size;
        void* owned;               ///< a heap block that the plan owns until the message is taken
        bool leaves;               ///< `owned` belongs to the receiver once the message is taken; otherwise it is given back then
        bool kept;                 ///< must stay until the receiver is done
        bool exposed;
        transport::region region;  ///< exposed: what `inside` points to
    };

    message_plan(common&, attachments&, peer to, std::span<block const> given);
    ~message_plan();
    message_plan(message_plan const&) = delete;
    message_plan& operator=(message_plan const&) = delete;

    void choose(peer_state&, std::size_t head);
    /// What the outbox keeps until the receiver is done; the plan owns it no longer.
    [[nodiscard]] std::vector<kept_block> keep();
    enum class outcome { sent, failed };
    /// The message left, or not: frees what the plan still owns, and forgets what left.
    void taken(outcome);

    boost::container::small_vector<planned, 4> blocks;
    std::uint64_t inside = 0;  ///< bytes of blocks that travel in the message
    bool released = false;     ///< the receiver must say when it is done

private:
    bool inside_the_message(block const&, peer_state const&, std::uint64_t size_so_far) const;
    void put_inside(planned&, block const&);
    /// Describes a block of the heap by its address. False: it has none, or none that fits a word.
    bool tell_where(planned&, wire::how how, void const* data, std::size_t size);
    bool hand_over(planned&, void* data, std::size_t size, wire::how how);
    bool stage(planned&, block const&);
    bool map(planned&, block const&);
    bool attach(planned&, block const&);
    void capture(planned&, block const&);
    void from_afar(planned&, block const&, peer_state&);

    common& common_;
    attachments& attachments_;
    std::span<block const> given_;
    peer to_;
    bool chosen_ = false;
};

} // namespace towline::engine
