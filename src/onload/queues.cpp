// Claims and completes chunks of tasks.

#include "onload/queues.hpp"

#include <algorithm>
#include <cerrno>

namespace towline::onload {
namespace {

constexpr std::uint64_t low = 0xffffffff;
constexpr std::uint64_t most_chunks = std::uint64_t{1} << 30;

} // namespace

ticket queues::push(task const& t) noexcept
{
    std::uint64_t const position = tail_.load(std::memory_order_relaxed);
    task_slot& s = slot(position);
    if (s.taken.load(std::memory_order_acquire))
        return 0;
    if (t.ranges.size() == 1) {
        s.one = t.ranges.front();
        s.ranges = {&s.one, 1};
    } else {
        s.ranges = t.ranges;
    }
    s.where = t.where;
    s.pid = t.pid;
    s.context = t.context;
    s.total = 0;
    for (range const& r : t.ranges)
        s.total += r.bytes;
    s.chunk = std::max(chunk_, s.total / most_chunks + 1);
    s.chunks = static_cast<std::uint32_t>(std::max<std::uint64_t>((s.total + s.chunk - 1) / s.chunk, 1));
    s.ended.store(0, std::memory_order_relaxed);
    s.error.store(0, std::memory_order_relaxed);
    s.bytes.store(0, std::memory_order_relaxed);
    s.onloaded.store(0, std::memory_order_relaxed);
    s.taken.store(true, std::memory_order_relaxed);
    s.claim.store((position & low) << 32 | s.chunks, std::memory_order_release);
    tail_.store(position + 1, std::memory_order_release);
    return position + 1;
}

std::uint32_t queues::claim(task_slot& s, std::uint64_t position, std::uint32_t most, std::uint32_t& first) noexcept
{
    std::uint64_t now = s.claim.load(std::memory_order_acquire);
    std::uint32_t count = 0;
    do {
        if (now >> 32 != (position & low) || (now & low) == 0)
            return 0;
        count = static_cast<std::uint32_t>(std::min<std::uint64_t>(now & low, most));
    } while (!s.claim.compare_exchange_weak(now, now - count, std::memory_order_acq_rel, std::memory_order_acquire));
    // From here on the slot is this task's until the chunks are ended.
    first = s.chunks - static_cast<std::uint32_t>(now & low);
    return count;
}

bool queues::end_chunks(task_slot& s, std::uint32_t count) noexcept
{
    std::uint32_t const all = s.chunks;
    return s.ended.fetch_add(count, std::memory_order_acq_rel) + count == all;
}

bool queues::copy(task_slot& s, std::uint64_t position, std::uint32_t chunk, list_place& place, bool helper) noexcept
{
    if (s.error.load(std::memory_order_relaxed) == 0) {
        std::uint64_t const begin = chunk * s.chunk;
        if (place.position != position)
            place = {position, 0, 0};
        while (place.index < s.ranges.size() && begin - place.before >= s.ranges[place.index].bytes) {
            place.before += s.ranges[place.index].bytes;
            ++place.index;
        }
        moved const m = move_part(s.ranges.subspan(place.index), begin - place.before, std::min(s.chunk, s.total - begin), s.where, s.pid);
        s.bytes.fetch_add(m.bytes, std::memory_order_relaxed);
        if (helper)
            s.onloaded.fetch_add(m.bytes, std::memory_order_relaxed);
        int none = 0;
        if (m.error != 0)
            (void)s.error.compare_exchange_strong(none, m.error, std::memory_order_relaxed);
    }
    return end_chunks(s, 1);
}

bool queues::work(bool& signalled) noexcept
{
    for (;;) {
        std::uint64_t const position = head_.load(std::memory_order_relaxed);
        if (position == tail_.load(std::memory_order_acquire))
            return false;
        task_slot& s = slot(position);
        std::uint32_t chunk = 0;
        if (claim(s, position, 1, chunk) == 0) {
            head_.store(position + 1, std::memory_order_relaxed);
            continue;
        }
        if (copy(s, position, chunk, helper_place_, true)) {
            std::uint64_t const at = signal_tail_.load(std::memory_order_relaxed);
            signals_[at & mask_] = position;
            signal_tail_.store(at + 1, std::memory_order_release);
            signalled = true;
        }
        return true;
    }
}

void queues::note_own_end(std::uint64_t position) noexcept
{
    std::uint32_t const n = own_ends_.load(std::memory_order_relaxed);
    ends_[n] = position;
    own_ends_.store(n + 1, std::memory_order_relaxed);
}

bool queues::help() noexcept
{
    for (; first_ != tail_.load(std::memory_order_acquire); ++first_) {
        task_slot& s = slot(first_);
        std::uint32_t chunk = 0;
        if (claim(s, first_, 1, chunk) == 0)
            continue;
        if (copy(s, first_, chunk, poller_place_, false))
            note_own_end(first_);
        return true;
    }
    return false;
}

std::size_t queues::poll(std::span<completion> ends) noexcept
{
    std::size_t n = 0;
    auto const tell = [&](std::uint64_t position) {
        task_slot& s = slot(position);
        ends[n++] = {position + 1, s.context, s.error.load(std::memory_order_relaxed), s.bytes.load(std::memory_order_relaxed),
                     s.onloaded.load(std::memory_order_relaxed)};
        s.taken.store(false, std::memory_order_release);
    };
    std::uint32_t own = own_ends_.load(std::memory_order_relaxed);
    while (own != 0 && n < ends.size())
        tell(ends_[--own]);
    own_ends_.store(own, std::memory_order_relaxed);
    std::uint64_t at = signal_head_.load(std::memory_order_relaxed);
    std::uint64_t const tail = signal_tail_.load(std::memory_order_acquire);
    for (; at != tail && n < ends.size(); ++at)
        tell(signals_[at & mask_]);
    signal_head_.store(at, std::memory_order_relaxed);
    polled_.store(polled_.load(std::memory_order_relaxed) + n, std::memory_order_release);
    return n;
}

void queues::cancel() noexcept
{
    for (; first_ != tail_.load(std::memory_order_acquire); ++first_) {
        task_slot& s = slot(first_);
        std::uint32_t chunk = 0;
        std::uint32_t const left = claim(s, first_, ~std::uint32_t{0}, chunk);
        if (left == 0)
            continue;
        int none = 0;
        (void)s.error.compare_exchange_strong(none, ECANCELED, std::memory_order_relaxed);
        if (end_chunks(s, left))
            note_own_end(first_);
    }
}

} // namespace towline::onload
