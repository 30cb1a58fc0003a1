// Reads what ranks report, and finds ranks that wait for each other.

#include "job/waits.hpp"

#include "base/printable.hpp"
#include "job/control.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace towline::job {

static_assert(std::is_trivially_copyable_v<wait_report>);

std::string_view text_of(std::span<char const> text) noexcept
{
    return {text.data(), static_cast<std::size_t>(std::find(text.begin(), text.end(), '\0') - text.begin())};
}

void set_text(std::span<char> to, std::string_view text) noexcept
{
    std::size_t const n = std::min(text.size(), to.size() - 1);
    std::memcpy(to.data(), text.data(), n);
    std::memset(to.data() + n, 0, to.size() - n);
    if (n < text.size() && n > 3)
        std::memcpy(to.data() + n - 3, "...", 3);
}

void wait_report::add(waited_operation const& operation) noexcept
{
    if (operations < most)
        list[operations++] = operation;
    else
        ++more;
}

namespace {

bool is_of_a_call(waited_operation const& o) noexcept
{
    return o.what == waited_operation::kind::runs || o.what == waited_operation::kind::held;
}

} // namespace

std::span<waited_operation const> wait_report::waited() const noexcept
{
    auto const all = std::span(list).first(operations);
    return all.first(static_cast<std::size_t>(std::find_if(all.begin(), all.end(), is_of_a_call) - all.begin()));
}

std::span<waited_operation const> wait_report::calls() const noexcept
{
    return std::span(list).first(operations).subspan(waited().size());
}

void wait_board::publish(wait_report const& told) noexcept
{
    std::array<std::uint64_t, words> image{};
    std::memcpy(image.data(), &told, sizeof told);
    std::uint32_t const before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words; ++i)
        report[i].store(image[i], std::memory_order_relaxed);
    filled.store(1, std::memory_order_relaxed);
    sequence.store(before + 2, std::memory_order_release);
}

void wait_board::clear() noexcept
{
    std::uint32_t const before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    filled.store(0, std::memory_order_relaxed);
    sequence.store(before + 2, std::memory_order_release);
}

std::optional<wait_report> wait_board::read() const noexcept
{
    // A writer that was killed half-way leaves an odd number for ever.
    for (int attempt = 0; attempt < 100; ++attempt) {
        std::uint32_t const before = sequence.load(std::memory_order_acquire);
        if ((before & 1) != 0)
            continue;
        bool const is_filled = filled.load(std::memory_order_relaxed) == 1;
        std::array<std::uint64_t, words> image;
        for (std::size_t i = 0; i < words; ++i)
            image[i] = report[i].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (sequence.load(std::memory_order_relaxed) != before)
            continue;
        if (!is_filled)
            return std::nullopt;
        wait_report told;
        std::memcpy(static_cast<void*>(&told), image.data(), sizeof told);
        // Another process wrote it: it may be anything.
        told.operations = std::min<std::uint32_t>(told.operations, wait_report::most);
        told.since_ns = std::max<std::int64_t>(told.since_ns, 0);
        told.quiet_ns = std::max<std::int64_t>(told.quiet_ns, 0);
        auto const tidy = [](std::span<char> text) {
            text.back() = '\0';
            base::make_printable(text.first(std::strlen(text.data())));
        };
        tidy(told.call);
        tidy(told.communicator);
        for (auto& o : told.list)
            tidy(o.communicator);
        return told;
    }
    return std::nullopt;
}

rank_view view_of(rank_slot const& slot)
{
    rank_view v;
    switch (static_cast<rank_state>(slot.state.load(std::memory_order_acquire))) {
    case rank_state::empty: return v;
    case rank_state::left: v.is = rank_view::state::left; return v;
    case rank_state::dead: v.is = rank_view::state::dead; return v;
    default: v.is = rank_view::state::running;
    }
    v.unfinished = (slot.marks.load(std::memory_order_relaxed) & mark_unfinished) != 0;
    v.active_ns = std::max<std::int64_t>(slot.waits.active_ns.load(std::memory_order_relaxed), 0);
    v.wait = slot.waits.read();
    for (char const& place : slot.waiting_for) {
        char const c = __atomic_load_n(&place, __ATOMIC_RELAXED);
        if (c == '\0')
            break;
        v.note += c;
    }
    base::make_printable(v.note);
    return v;
}

bool all_are_stuck(std::span<rank_view const> ranks, std::int64_t now_ns, std::int64_t quiet_ns) noexcept
{
    bool any = false;  // waits for something
    for (auto const& r : ranks) {
        if (r.is == rank_view::state::absent)
            return false;  // it is still to come
        if (r.is != rank_view::state::running)
            continue;
        any = any || !r.wait || r.wait->idle == 0;
        bool const is_halted = r.process.is == process_state::kind::stopped || r.process.is == process_state::kind::traced;
        if (!r.wait || is_halted || r.wait->computing != 0 || now_ns - r.wait->quiet_ns < quiet_ns)
            return false;
    }
    return any;
}

} // namespace towline::job
