#pragma once
// In a job of several nodes the slots of ranks elsewhere do not tell what these wait for. Whoever wants to know asks this node's keeper, by
// a number in the header; the keeper asks the others, and writes their answers into those slots.

#include "job/process_state.hpp"

#include <chrono>
#include <cstdint>

namespace towline::job {

struct control_header;
struct rank_slot;
struct rank_view;
struct wait_report;

/// Asks; the number of the question, never 0. Any process that may write the header, any thread.
[[nodiscard]] std::uint32_t ask_other_nodes(control_header&) noexcept;
/// Whether all nodes that live have answered this question, or a later one.
[[nodiscard]] bool is_answered(control_header const&, std::uint32_t question) noexcept;
/// Blocks until they have; false: not within that time.
[[nodiscard]] bool wait_for_answers(control_header const&, std::uint32_t question, std::chrono::nanoseconds at_most) noexcept;

/// What another node tells of one of its ranks; times are CLOCK_MONOTONIC of this machine.
struct distant_view {
    wait_report const* wait = nullptr;  ///< null: none
    std::int64_t active_ns = 0;
    process_state process{};
};
/// Writes it into the rank's slot, as the answer to that question. The keeper only.
void note_answer(rank_slot&, std::uint32_t question, distant_view const&) noexcept;
/// The process as the last answer has it; ::silent where that was to another question.
[[nodiscard]] process_state answered_process(rank_slot const&, std::uint32_t question);
/// Completes the view of a rank elsewhere, which view_of made: what it does is unknown unless this question was answered.
void complete(rank_view&, rank_slot const&, std::uint32_t question);

} // namespace towline::job
