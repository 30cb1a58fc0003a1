#pragma once
// Who am I, who are the others. A process joins its job once, lazily; without a launcher it is a world of one.
// Knows nothing of messages. Thread-safe unless said.

#include "job/control.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace towline::job {

namespace launch {
class foreign_job;
}

class membership {
public:
    /// The process's membership. The first call joins: it adopts the job file named by TOWLINE_JOB ("fd:rank"), marks the
    /// descriptor close-on-exec, maps the control block and claims its slot. Without TOWLINE_JOB it looks for another launcher (job/launch/),
    /// and then waits for the other ranks, within bounds; without one it creates a job of one.
    /// Throws usage_error / system_error / version_error with what was wrong (rank taken by a live process, not a job file, ...), error
    /// where a launcher, or a rank, does not answer.
    static membership& instance();
    /// From now on this process joins no job but that of TOWLINE_JOB, whoever started it: for tools.
    static void stay_alone() noexcept;
    /// The same, but only if a launcher started this process, and without throwing (the preload allocator calls it inside malloc:
    /// it must not call malloc). Null where there is no job or it cannot be joined.
    static membership* instance_if_launched() noexcept;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(header_->size); }
    /// Ranks that share this node's cores: its own, and those of other nodes that have the same ones. At least 1.
    [[nodiscard]] std::uint32_t ranks_on_cores() const noexcept { return std::max(1u, header_->here + header_->beside); }
    /// More ranks than cores: a rank that spins may keep from running the one that it waits for. The same for all ranks of the node. What
    /// decides whether to spin asks this, or setup::oversubscribed of the engine, which follows from it.
    [[nodiscard]] bool is_oversubscribed() const noexcept { return ranks_on_cores() > header_->cores; }
    /// Whether the rank runs on this node: only then its slot is its own, and its memory can be mapped.
    [[nodiscard]] bool is_here(int rank) const noexcept { return slots_[rank].node == header_->node; }
    /// A launcher that is not ours started the job: no keeper tells of deaths on other nodes.
    [[nodiscard]] bool is_foreign() const noexcept { return foreign_ != nullptr; }
    [[nodiscard]] std::string_view id() const noexcept { return header_->job_id.data(); }
    /// Descriptor of the job file; owned by the membership.
    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] control_header& header() const noexcept { return *header_; }
    [[nodiscard]] rank_slot& slot(int rank) const noexcept { return slots_[rank]; }
    [[nodiscard]] rank_slot& self() const noexcept { return slots_[rank_]; }
    /// Where this rank tells of the ways of its messages.
    [[nodiscard]] way_board& ways() const noexcept { return boards_behind(slots_, header_->size)[rank_]; }
    /// Offset of a rank's segment in the job file.
    [[nodiscard]] std::uint64_t segment(int rank) const noexcept
    {
        return header_->segments_begin + static_cast<std::uint64_t>(rank) * header_->segment_bytes;
    }
    /// True in a child forked (without exec) by a member: it may compute, but it is not part of the job.
    [[nodiscard]] bool forked() const noexcept;

    /// Adds to one of this rank's counters; lossless from any thread (one uncontended locked add, about 5 ns).
    /// Hot paths add up locally and count once per batch.
    void count(counter c, std::uint64_t amount = 1) noexcept
    {
        self().counters[static_cast<std::size_t>(c)].fetch_add(amount, std::memory_order_relaxed);
    }

    /// Key-value exchange before and between fences. `put` throws limit_error when the card is full (2 KiB a rank).
    void put(std::string_view key, std::string_view value);
    [[nodiscard]] std::optional<std::string> get(int rank, std::string_view key) const;
    /// Blocks until every rank that is not dead called it as often. Throws peer_error if a rank died, error on timeout.
    /// `call` (text that stays): what the program called, for whoever asks what this rank waits for.
    void fence(std::chrono::milliseconds timeout = std::chrono::minutes(5), char const* call = nullptr);
    /// Marks this rank as gone in good order; called once by the runtime at its end and by an exit handler otherwise.
    void leave() noexcept;
    /// Asks a launcher that is not ours to end the job with this code; see abort_process.
    void tell_launcher_of_abort(int code, std::string_view why) noexcept;

private:
    void tell_keeper() noexcept;
    membership() = default;
    int rank_ = 0;
    int fd_ = -1;
    control_header* header_ = nullptr;
    rank_slot* slots_ = nullptr;
    launch::foreign_job* foreign_ = nullptr;  ///< null: the launcher is ours, or there is none
    friend struct joiner;
};

/// Ends this process with the code, after what it explains on standard error; our launcher says no more of it, another one is told. What the program has
/// printed is flushed. `of`: the membership, if it is a member.
[[noreturn]] void abort_process(membership* of, int code, std::string_view explanation) noexcept;

} // namespace towline::job
