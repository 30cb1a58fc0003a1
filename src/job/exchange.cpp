// What ranks do through the control block: cards, fences, leaving.

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/log.hpp"
#include "base/note.hpp"
#include "job/job.hpp"
#include "job/launch/foreign_job.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <span>
#include <unistd.h>
#include <vector>

namespace towline::job {

namespace {

std::mutex card_mutex;

rank_state state_of(rank_slot const& slot) noexcept
{
    return static_cast<rank_state>(slot.state.load(std::memory_order_seq_cst));
}

} // namespace

void membership::put(std::string_view key, std::string_view value)
{
    if (forked())
        throw usage_error("put: a process forked by a rank is not part of the job");
    if (key.empty() || key.find_first_of("=\n") != key.npos || value.find('\n') != value.npos)
        throw usage_error(fmt::format("put: the key '{}' or its value is empty or holds '=' or a line end", key));
    std::lock_guard const lock(card_mutex);
    auto& slot = self();
    std::size_t const used = slot.card_bytes.load(std::memory_order_relaxed);
    std::size_t const wanted = key.size() + value.size() + 2;
    if (wanted > slot.card.size() - used)
        throw limit_error(fmt::format("put: the card of rank {} is full: {} of {} bytes used, '{}' needs {}", rank_, used, slot.card.size(),
                                      key, wanted));
    char* to = slot.card.data() + used;
    std::memcpy(to, key.data(), key.size());
    to[key.size()] = '=';
    std::memcpy(to + key.size() + 1, value.data(), value.size());
    to[wanted - 1] = '\n';
    slot.card_bytes.store(static_cast<std::uint32_t>(used + wanted), std::memory_order_release);
}

std::optional<std::string> membership::get(int rank, std::string_view key) const
{
    if (rank < 0 || rank >= size())
        throw usage_error(fmt::format("get: the job has ranks 0 to {}, not {}", size() - 1, rank));
    auto const& slot = slots_[rank];
    std::size_t const used = std::min<std::size_t>(slot.card_bytes.load(std::memory_order_acquire), slot.card.size());
    std::string_view rest(slot.card.data(), used);
    std::optional<std::string> found;
    while (!rest.empty()) {  // the last one with this key counts
        auto const end = std::min(rest.find('\n'), rest.size());
        auto const line = rest.substr(0, end);
        if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=')
            found = line.substr(key.size() + 1);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return found;
}

/// Other nodes learn from the keeper what happened to this rank.
void membership::tell_keeper() noexcept
{
    if (header_->nodes < 2)
        return;
    header_->news.fetch_add(1, std::memory_order_seq_cst);
    base::futex_wake_all(header_->news);
}

void membership::fence(std::chrono::milliseconds timeout, char const* call)
{
    if (forked())
        throw usage_error("fence: a process forked by a rank is not part of the job");
    static std::atomic<std::uint32_t> deaths_told{0};
    auto& generation = header_->fence_generation;
    std::uint32_t const number = self().fences.fetch_add(1, std::memory_order_seq_cst) + 1;
    tell_keeper();
    base::deadline const end(timeout);
    if (foreign_ != nullptr)
        foreign_->fence(*this, number, timeout);

    // Missing ranks are alive and have not arrived here. (Arrivals wrap around after 2^32 fences.)
    auto arrived = [number](rank_slot const& slot) {
        return static_cast<std::int32_t>(slot.fences.load(std::memory_order_seq_cst) - number) >= 0;
    };
    auto first_missing = [&]() -> int {
        for (int r = 0; r < size(); ++r)
            if (!arrived(slots_[r]) && state_of(slots_[r]) != rank_state::dead)
                return r;
        return -1;
    };
    auto tell_deaths = [&] {
        std::uint32_t const deaths = header_->deaths.load(std::memory_order_seq_cst);
        if (deaths_told.exchange(deaths) == deaths)
            return;
        for (int r = 0; r < size(); ++r)
            if (state_of(slots_[r]) == rank_state::dead)
                throw peer_error(fmt::format("fence: rank {} has {}", r, slots_[r].status.load() == 0 ? "ended" : "died"), r);
    };

    if (first_missing() < 0) {
        generation.fetch_add(1, std::memory_order_seq_cst);
        base::futex_wake_all(generation);
    }
    auto& note = self().waiting_for;
    struct clear {
        rank_slot& slot;
        bool told = false;
        ~clear()
        {
            base::write_note(slot.waiting_for, "");
            slot.waits.active_ns.store(base::monotonic_ns(), std::memory_order_relaxed);
            if (told)
                slot.waits.clear();
        }
    } told{self()};
    std::int64_t const begin = base::monotonic_ns();
    auto tell = [&] {
        wait_report report;
        report.since_ns = report.quiet_ns = begin;
        set_text(report.call, call);
        for (int r = 0; r < size(); ++r)
            if (!arrived(slots_[r]) && state_of(slots_[r]) != rank_state::dead)
                report.add({waited_operation::kind::part, r, waited_operation::any, static_cast<std::uint32_t>(r), 0, {}});
        self().waits.publish(report);
        told.told = true;
    };
    for (;;) {
        std::uint32_t const key = generation.load(std::memory_order_seq_cst);
        if (std::all_of(slots_, slots_ + size(), arrived))
            return;  // a rank that died since then died after this fence
        tell_deaths();
        int const missing = first_missing();
        if (missing < 0)
            return;
        if (state_of(slots_[missing]) == rank_state::left && !arrived(slots_[missing]))
            throw peer_error(fmt::format("fence: rank {} has left the job without coming to this fence", missing), missing);
        base::write_note(note, fmt::format("fence {}: rank {} is not there yet", number, missing));
        if (end.passed()) {
            std::vector<int> absent;
            for (int r = missing; r < size(); ++r)
                if (!arrived(slots_[r]))
                    absent.push_back(r);
            throw error(fmt::format("fence: gave up after {} ms; not there yet: rank {}", timeout.count(), fmt::join(absent, ", ")));
        }
        constexpr std::chrono::nanoseconds moment = std::chrono::milliseconds(200);
        if (!base::futex_wait(generation, key, call != nullptr ? std::min(moment, end.left()) : end.left()) && call != nullptr)
            tell();
    }
}

void membership::leave() noexcept
{
    if (forked())
        return;
    auto expected = static_cast<std::uint32_t>(rank_state::joined);
    if (!self().state.compare_exchange_strong(expected, static_cast<std::uint32_t>(rank_state::left)))
        return;
    header_->fence_generation.fetch_add(1, std::memory_order_seq_cst);
    base::futex_wake_all(header_->fence_generation);
    tell_keeper();
    if (foreign_ != nullptr)
        foreign_->finalize();
}

void membership::tell_launcher_of_abort(int code, std::string_view why) noexcept
{
    if (foreign_ != nullptr && !forked())
        foreign_->abort(code, why);
}

void abort_process(membership* of, int code, std::string_view explanation) noexcept
{
    base::log_line(explanation);
    if (of != nullptr)
        of->self().marks.fetch_or(mark_explained);
    // Skip a stream whose lock another thread holds, perhaps for ever.
    if (ftrylockfile(stdout) == 0) {
        (void)fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    int const status = (code & 0xff) == 0 && code != 0 ? 1 : code & 0xff;
    if (of != nullptr)
        of->tell_launcher_of_abort(status, explanation);
    _exit(status);
}

} // namespace towline::job
