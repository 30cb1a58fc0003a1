#pragma once
// Laid messages that receiver and sender copy together: both have the copy plan between the two layouts, and take shares of its stream, the
// receiver from the front, the sender from the back (engine/copy_task.hpp). The receiver shows the sender its own layout, as the sender
// showed its (laid.hpp), and asks for help (wire::help). A sender that does not poll copies nothing.
//
// Owns, at the receiver, the tasks; they lie in the arena and are never freed, because a sender may look at one late (mutex, held for a few
// stores). Any thread copies. A sender copies outside of its handlers (engine::defer), and its send does not end meanwhile.

#include "engine/copy_task.hpp"
#include "matching/laid.hpp"
#include "matching/sends.hpp"

#include <mutex>

namespace towline::matching {

class laid_cooperation {
public:
    laid_cooperation(common& c, sends& s) noexcept : common_(c), sends_(s) {}

    /// The receiver: copies a message that was sent with this token, and returns when all of it is there. False: it is too small, or one of
    /// the sides cannot reach the other's memory; nothing was copied. Throws as copy_laid; nothing was copied then.
    [[nodiscard]] bool copy(laid_sink const&, laid_message const&, peer from, std::uint64_t token);
    /// The sender.
    void on_help(engine::incoming&);

private:
    struct task_slot {
        engine::copy_task* task = nullptr;
    };
    struct help_job;

    /// Null where the arena is full.
    [[nodiscard]] task_slot* claim_task();
    void free_task(task_slot&) noexcept;
    static void help(void* job);
    void help(help_job const&) const;

    common& common_;
    sends& sends_;
    std::mutex mutex_;
    base::slot_table<task_slot> tasks_;
};

} // namespace towline::matching
