#pragma once
// On-loading: a helper thread, on a core that is spare, copies big blocks and makes progress while the program computes.
//
// Copies: a fetch that may lag is a task of the copy engine. Its end comes by a poll, on whichever thread; a thread that waits helps with
// the copy meanwhile. What the helper itself receives it copies in place, as any other poller.
//
// Progress: while other threads poll, the helper stays out of their way, as the background thread does. When a large transfer has begun
// (`attend`) and no other thread polls, it polls: without a pause on a core of its own; elsewhere it soon sleeps where senders wake it.
//
// Owns the copy engine and its thread. Any thread submits, without a lock; the poller alone hears of the ends.

#include "engine/attachments.hpp"
#include "engine/background.hpp"
#include "engine/cooperation.hpp"
#include "engine/fetching.hpp"

namespace towline::engine {

class onloading {
public:
    onloading(poller& p, background& b, attachments& a, cooperation& c, fetching& f)
        : poller_(p), background_(b), attachments_(a), cooperation_(c), fetching_(f)
    {
    }
    /// Starts the helper if the setup asks for it, and sets common::copier and common::helper.
    void start();
    /// Ends what was submitted; the thread has been retired (background::stop).
    void stop();

    /// Leaves the copy of a block that is in reach, or attached, to the helper; false: copy it here. The state is on the heap then.
    [[nodiscard]] bool submit_copy(message_state*& s, std::size_t block, void* destination);
    /// Ends of copies; token held. How many.
    int end_copies();
    /// engine::attend.
    void attend(engine::transfer) noexcept;

private:
    struct copy_job {
        message_state* state;
        std::size_t block;
        void* destination;
    };
    void copy_ended(onload::completion const&);
    [[nodiscard]] std::chrono::nanoseconds idle();
    [[nodiscard]] std::chrono::nanoseconds poll_attentively(onload::helper_engine&);
    /// The helper has something else to do than to poll.
    [[nodiscard]] bool is_wanted(onload::helper_engine const&) const noexcept;
    void take_over();

    poller& poller_;
    background& background_;
    attachments& attachments_;
    cooperation& cooperation_;
    fetching& fetching_;
    std::unique_ptr<onload::copy_engine> copier_;
    std::atomic<onload::helper_engine*> helper_started_{nullptr};  ///< common::helper, for the helper's own thread
    std::atomic<std::uint64_t> attended_{0};                       ///< large transfers so far
    /// Touched by the helper only.
    struct {
        std::uint64_t attended = 0;
        std::uint64_t polls = 0;
        std::int64_t attentive_until = 0;
        std::int64_t next_look = 0;
        std::chrono::nanoseconds nap = thresholds::watch_first;
    } seen_;
};

} // namespace towline::engine
