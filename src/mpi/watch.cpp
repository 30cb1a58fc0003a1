#include "mpi/watch.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "mpi/communicator.hpp"
#include "mpi/errhandler.hpp"
#include "mpi/handles.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <sys/resource.h>
#include <time.h>

namespace towline::mpi {
namespace {

using job::waited_operation;

std::chrono::nanoseconds patience_from_settings()
{
    constexpr char const* name = "TOWLINE_WATCHDOG";
    auto const text = base::setting(name);
    if (!text)
        return std::chrono::seconds(60);
    if (*text == "off" || *text == "no" || *text == "false" || *text == "0")
        return std::chrono::nanoseconds::max();
    auto const time = base::parse_time(*text);
    if (!time || *time < std::chrono::milliseconds(500))
        throw usage_error(fmt::format("{}={}: seconds are expected, from 0.5 on, or a number with ms, s, m or h behind it, or off", name, *text));
    return *time;
}

/// Does something with the communicator that has the context, if one has.
template <class Function>
void with_communicator(matching::context_id context, Function&& function)
{
    std::uint32_t const number = context >> 2;
    for (auto const& place : predefined_of<MPI_Comm>)
        if (communicator* const c = place.load(std::memory_order_acquire); c != nullptr && c->number() == number)
            return function(*c);
    table_of<MPI_Comm>.for_each([&](communicator& c) {
        if (c.number() == number)
            function(c);
    });
}

[[nodiscard]] bool is_point_to_point(matching::context_id context) noexcept
{
    return (context & 3) == static_cast<std::uint32_t>(plane::point_to_point);
}

waited_operation operation_of(matching::pending_operation const& o)
{
    waited_operation w;
    w.what = !is_point_to_point(o.about.context)                ? waited_operation::kind::part
             : o.what == matching::operation::send ? waited_operation::kind::send
                                                   : waited_operation::kind::receive;
    w.tag = o.about.tag == matching::any_tag ? waited_operation::any : o.about.tag;
    w.process = o.with == matching::no_peer ? waited_operation::nobody : o.with;
    w.rank = o.what == matching::operation::send || o.about.source == matching::any_source ? waited_operation::any : o.about.source;
    w.bytes = o.bytes;
    with_communicator(o.about.context, [&](communicator& c) {
        if (w.process == waited_operation::nobody && w.rank != waited_operation::any && c.has_peer(w.rank))
            w.process = c.peer(w.rank);
        for (int r = 0; w.rank == waited_operation::any && w.process != waited_operation::nobody && r < c.peers(); ++r)
            if (c.peer(r) == w.process)
                w.rank = r;
        std::string const name = c.name();
        job::set_text(w.communicator, name.empty() ? fmt::format("a communicator of {}", c.size()) : name);
    });
    return w;
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

job::wait_report report_of(char const* call, matching::waited const* detail, std::vector<matching::pending_operation> const& pending)
{
    std::string_view const name(call);
    job::wait_report report;
    job::set_text(report.call, name);
    if (detail != nullptr && name != "MPI_Waitall") {
        report.add(operation_of(detail->what));
    } else {
        bool const many = name.starts_with("MPI_Wait") || name.starts_with("MPI_Finalize");
        bool const parts = !many && std::any_of(pending.begin(), pending.end(), [](auto const& o) { return !is_point_to_point(o.about.context); });
        for (auto const& o : pending)
            if (!parts || !is_point_to_point(o.about.context))
                report.add(operation_of(o));
    }
    auto const same = [&](waited_operation const& o) { return o.communicator == report.list[0].communicator; };
    if (report.operations != 0 && std::all_of(report.list.begin(), report.list.begin() + report.operations, same))
        report.communicator = report.list[0].communicator;
    return report;
}

watchdog::watchdog(job::membership& job, matching::matcher& m, int thread_level)
    : job_(job), matcher_(m), patience_(patience_from_settings()), aborts_(base::setting_switch("TOWLINE_WATCHDOG_ABORT", false)),
      many_threads_(thread_level == MPI_THREAD_MULTIPLE)
{
    m.transport().on_long_wait([](void* self, engine::long_wait const& about) { static_cast<watchdog*>(self)->look(about); }, this);
}

watchdog::~watchdog()
{
    matcher_.transport().on_long_wait(nullptr, nullptr);
}

void watchdog::look(engine::long_wait const& about) noexcept
{
    static thread_local char const here = 0;
    std::scoped_lock const lock(mutex_);
    auto const place = std::find_if(waiting_.begin(), waiting_.end(), [](waiting const& w) { return w.thread == &here; });
    try {
        if (about.ended) {
            if (place != waiting_.end())
                waiting_.erase(place);
            told_ = false;
        } else if (place == waiting_.end()) {
            waiting_.push_back({&here, about});
        } else {
            place->about = about;
        }
        if (waiting_.empty())
            return job_.self().waits.clear();
        tell();
        if (!about.ended && patience_ != std::chrono::nanoseconds::max())
            search();
    } catch (std::exception const& e) {
        base::log(base::log_level::warning, "the watchdog could not look at what this rank waits for: {}", e.what());
        patience_ = std::chrono::nanoseconds::max();
    }
}

/// Other threads of the process are busy: what they do may be what everybody waits for.
bool watchdog::computes()
{
    constexpr std::int64_t step = 1'000'000'000;
    std::int64_t const now = base::monotonic_ns();
    if (now - measured_ns_ >= step) {
        auto const [ns, interruptions] = use_of_processors_now();
        // Where the processors are crowded a thread gets next to nothing of them, and is interrupted all the time. At first nobody knows.
        computes_ = measured_ns_ == 0 || (ns - processor_ns_) * 20 > now - measured_ns_ || interruptions - interruptions_ > 1;
        measured_ns_ = now;
        processor_ns_ = ns;
        interruptions_ = interruptions;
    }
    return computes_;
}

void watchdog::tell()
{
    waiting const& first = waiting_.front();
    auto const pending = matcher_.pending(200);
    auto const of = [&](waiting const& w) { return report_of(w.about.what, static_cast<matching::waited const*>(w.about.detail), pending); };
    job::wait_report report = of(first);
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
        job::wait_report const other = of(waiting_[i]);
        for (std::size_t k = 0; k < other.operations; ++k)
            report.add(other.list[k]);
        report.more += other.more;
        if (other.communicator != report.communicator)
            report.communicator = {};
    }
    report.since_ns = first.about.since_ns;
    report.quiet_ns = first.about.quiet_ns;
    for (auto const& w : waiting_)
        report.quiet_ns = std::max(report.quiet_ns, w.about.quiet_ns);
    report.unexpected = matcher_.numbers().unexpected;
    report.threads = static_cast<std::uint32_t>(waiting_.size());
    report.computing = many_threads_ && computes() ? 1 : 0;
    job_.self().waits.publish(report);
    if (base::monotonic_ns() - report.quiet_ns < patience_.count())
        told_ = false;
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
    std::vector<job::rank_view> ranks;
    for (int r = 0; r < job_.size(); ++r)
        ranks.push_back(job::view_of(job_.slot(r)));
    if (!job::all_are_stuck(ranks, now, patience_.count()))
        return;
    told_ = true;
    auto const situation = job::explain(ranks, now);
    base::log_line(fmt::format("watchdog: nothing has moved for {:.6g} s, and every rank that runs waits in a call:",
                               std::chrono::duration<double>(patience_).count()));
    for (auto const& line : situation.ranks)
        base::log_line("  " + line);
    for (auto const& cycle : situation.cycles)
        base::log_line("they wait for each other: " + cycle);
    if (aborts_)
        abort_job(124, "The job ends here, because TOWLINE_WATCHDOG_ABORT is on.");
}

} // namespace towline::mpi
