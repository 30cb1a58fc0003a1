// Publishes what this process waits for, and reports a job in which every rank waits.

#include "engine/watchdog.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "engine/thresholds.hpp"
#include "job/questions.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <utility>

namespace towline::engine {
namespace {

std::chrono::nanoseconds patience_from_settings()
{
    base::check_setting("TOWLINE_WATCHDOG");
    auto const wish = base::setting("TOWLINE_WATCHDOG");
    return (wish ? base::parse_time_or_off(*wish) : std::nullopt).value_or(thresholds::watchdog);
}

/// What the threads of the process have had of the processors.
struct use_of_processors {
    std::int64_t ns;
    std::int64_t interruptions;  ///< a thread's turn was over, and it would have gone on
};

use_of_processors use_of_processors_now() noexcept
{
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    rusage r{};
    getrusage(RUSAGE_SELF, &r);
    return {t.tv_sec * 1'000'000'000 + t.tv_nsec, r.ru_nivcsw};
}

} // namespace

watchdog::watchdog(job::membership& job, engine& e, wait_teller& teller, bool many_threads)
    : job_(job), engine_(e), teller_(teller), patience_(patience_from_settings()),
      aborts_(base::setting_switch("TOWLINE_WATCHDOG_ABORT", false)), many_threads_(many_threads)
{
    e.on_long_wait([](void* self, long_wait const& about) { static_cast<watchdog*>(self)->look(about); },
                   [](void* self, bool in_time) { return static_cast<watchdog*>(self)->look_from_outside(in_time); }, this);
}

watchdog::~watchdog()
{
    engine_.on_long_wait(nullptr, nullptr, nullptr);
}

void watchdog::look(long_wait const& about) noexcept
{
    static thread_local char const here = 0;
    std::scoped_lock const lock(mutex_);
    auto const at = static_cast<std::size_t>(std::find(threads_.begin(), threads_.end(), &here) - threads_.begin());
    try {
        if (about.ended) {
            if (at < threads_.size()) {
                threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(at));
                waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(at));
            }
            told_ = false;
        } else if (at == threads_.size()) {
            threads_.push_back(&here);
            waits_.push_back(about);
        } else {
            waits_[at] = about;
        }
        tell();
        if (!about.ended && patience_ != std::chrono::nanoseconds::max())
            search();
    } catch (std::exception const& e) {
        base::log(base::log_level::warning, "the watchdog could not look at what this rank waits for: {}", e.what());
        patience_ = std::chrono::nanoseconds::max();
    }
}

bool watchdog::look_from_outside(bool in_time) noexcept
{
    bool const calls = teller_.has_calls();
    std::scoped_lock const lock(mutex_);
    try {
        // Most calls end before anybody could ask for them.
        if (waits_.empty() && (in_time || (published_ && !calls)))
            tell();
    } catch (std::exception const& e) {
        base::log(base::log_level::warning, "the watchdog could not look at what this rank runs: {}", e.what());
        return false;
    }
    return calls;
}

/// Other threads of the process are busy: what they do may be what everybody waits for.
bool watchdog::computes()
{
    std::int64_t const now = base::monotonic_ns();
    if (now - measured_ns_ >= thresholds::use_measured.count()) {
        auto const [ns, interruptions] = use_of_processors_now();
        // The first time it is unknown.
        computes_ = measured_ns_ == 0 || (ns - processor_ns_) * thresholds::busy_fraction > now - measured_ns_ ||
                    interruptions - interruptions_ > thresholds::interrupted_seldom;
        measured_ns_ = now;
        processor_ns_ = ns;
        interruptions_ = interruptions;
    }
    return computes_;
}

void watchdog::tell()
{
    if (waits_.empty() && !teller_.has_calls()) {
        if (std::exchange(published_, false))
            job_.self().waits.clear();
        return;
    }
    job::wait_report report;
    report.threads = static_cast<std::uint32_t>(waits_.size());
    std::int64_t const now = base::monotonic_ns();
    if (std::uint64_t const moved = teller_.moved(); moved != moved_ || moved_ns_ == 0) {
        moved_ = moved;
        moved_ns_ = now;
    }
    report.since_ns = waits_.empty() ? now : waits_.front().since_ns;
    report.quiet_ns = waits_.empty() ? now : std::max(report.since_ns, moved_ns_);
    for (auto const& w : waits_)
        report.quiet_ns = std::max(report.quiet_ns, w.quiet_ns);
    report.computing = waits_.empty() || (many_threads_ && computes()) ? 1 : 0;
    teller_.tell(waits_, report);
    job_.self().waits.publish(report);
    published_ = true;
    if (now - report.quiet_ns < patience_.count())
        told_ = false;
}

bool watchdog::know_other_nodes(std::int64_t now)
{
    auto& header = job_.header();
    std::int64_t const age = now - asked_ns_;
    bool const is_answered = question_ != 0 && job::is_answered(header, question_);
    if (is_answered && age < thresholds::answer_holds.count())
        return true;
    if (question_ == 0 || is_answered || age > thresholds::answer_awaited.count()) {
        question_ = job::ask_other_nodes(header);
        asked_ns_ = now;
    }
    return false;
}

void watchdog::search()
{
    // One rank looks at all, and only where it stands still itself.
    for (int r = 0; r < job_.rank(); ++r)
        if (job_.slot(r).state.load() == static_cast<std::uint32_t>(job::rank_state::joined))
            return;
    std::int64_t const now = base::monotonic_ns();
    auto const own = job_.self().waits.read();
    if (told_ || !own || now - own->quiet_ns < patience_.count())
        return;
    if (job_.header().nodes > 1 && !know_other_nodes(now))
        return;
    std::vector<job::rank_view> ranks;
    for (int r = 0; r < job_.size(); ++r) {
        ranks.push_back(job::view_of(job_.slot(r)));
        if (!job_.is_here(r))
            job::complete(ranks.back(), job_.slot(r), question_);
    }
    if (!job::all_are_stuck(ranks, now, patience_.count()))
        return;
    job::look_at_processes({&job_.slot(0), static_cast<std::size_t>(job_.size())}, ranks);
    if (!job::all_are_stuck(ranks, now, patience_.count()))
        return;  // one is stopped, and may go on
    told_ = true;
    auto const situation = job::explain(ranks, now);
    base::log_line(fmt::format("watchdog: nothing has moved for {:.6g} s, and every rank that runs waits in a call:",
                               std::chrono::duration<double>(patience_).count()));
    for (auto const& line : situation.ranks)
        base::log_line("  " + line);
    for (auto const& cycle : situation.cycles)
        base::log_line("they wait for each other: " + cycle);
    if (aborts_)
        job::abort_process(&job_, thresholds::watchdog_status, "The job ends here, because TOWLINE_WATCHDOG_ABORT is on.");
}

} // namespace towline::engine
