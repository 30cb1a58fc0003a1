// Questions to other nodes, and their answers, in the control block.

#include "job/questions.hpp"

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/printable.hpp"
#include "job/control.hpp"
#include "job/waits.hpp"

#include <algorithm>
#include <cstring>

namespace towline::job {

namespace {

// Words of wait_board::answer: the question's number, the kind of process_state, and a text of 16 bytes.
constexpr std::size_t text_bytes = 16;

} // namespace

std::uint32_t ask_other_nodes(control_header& header) noexcept
{
    std::uint32_t number = 0;
    while (number == 0)
        number = header.asked.fetch_add(1, std::memory_order_seq_cst) + 1;
    header.news.fetch_add(1, std::memory_order_seq_cst);
    base::futex_wake_all(header.news);
    return number;
}

bool is_answered(control_header const& header, std::uint32_t question) noexcept
{
    return static_cast<std::int32_t>(header.answered.load(std::memory_order_acquire) - question) >= 0;
}

bool wait_for_answers(control_header const& header, std::uint32_t question, std::chrono::nanoseconds at_most) noexcept
{
    base::deadline const end(at_most);
    while (!is_answered(header, question)) {
        if (end.passed())
            return false;
        std::uint32_t const now = header.answered.load(std::memory_order_acquire);
        if (static_cast<std::int32_t>(now - question) < 0)
            base::futex_wait(header.answered, now, end.left());
    }
    return true;
}

void note_answer(rank_slot& slot, std::uint32_t question, distant_view const& told) noexcept
{
    slot.waits.active_ns.store(told.active_ns, std::memory_order_relaxed);
    if (told.wait != nullptr)
        slot.waits.publish(*told.wait);
    else
        slot.waits.clear();
    std::array<char, text_bytes> text{};
    set_text(text, std::string_view(told.process.call).substr(0, told.process.call.find(':')));
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), text.data(), sizeof words);
    auto& answer = slot.waits.answer;
    answer[1].store(static_cast<std::uint64_t>(told.process.is), std::memory_order_relaxed);
    answer[2].store(words[0], std::memory_order_relaxed);
    answer[3].store(words[1], std::memory_order_relaxed);
    answer[0].store(question, std::memory_order_release);
}

process_state answered_process(rank_slot const& slot, std::uint32_t question)
{
    auto const& answer = slot.waits.answer;
    std::uint64_t const kind = answer[1].load(std::memory_order_relaxed);
    if (answer[0].load(std::memory_order_acquire) != question || kind >= static_cast<std::uint64_t>(process_state::kind::silent))
        return {process_state::kind::silent};
    std::array<char, text_bytes> text{};
    std::array<std::uint64_t, 2> const words{answer[2].load(std::memory_order_relaxed), answer[3].load(std::memory_order_relaxed)};
    std::memcpy(text.data(), words.data(), sizeof words);
    return {static_cast<process_state::kind>(kind), base::printable(text_of(text))};
}

void complete(rank_view& view, rank_slot const& slot, std::uint32_t question)
{
    if (view.is != rank_view::state::running)
        return;
    view.process = answered_process(slot, question);
    if (view.process.is == process_state::kind::silent) {  // what stands there is old
        view.wait.reset();
        view.active_ns = 0;
        view.note.clear();
    }
}

} // namespace towline::job
