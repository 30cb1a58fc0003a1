// Barriers, deaths, and the end of a world: no rank leaves before every message is handled and answered.
//
// Termination: an idle rank (no task, no outstanding call) reports how many calls it sent and handled to the coordinator, the lowest living
// rank. When all have reported, the coordinator starts another round, until two consecutive rounds have equal sums and as many calls
// handled as sent. Source: F. Mattern, "Algorithms for distributed termination detection", 1987 (the four-counter method). A death restarts
// the rounds among the living; the sums leave out calls to and from the dead.

#include "remote/runtime.hpp"

#include "base/log.hpp"
#include "remote/team_ground.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace towline::remoting {

using namespace std::chrono_literals;

void runtime::begin(runtime_setup setup)
{
    setup_ = std::move(setup);
    {
        std::scoped_lock lock(ending_mutex_);
        for (std::size_t r = 0; r < reports_.size(); ++r)
            if (reports_[r].round != 0)
                reports_[r] = {};
        judged_round_ = 0;
        own_ = {};
    }
    wanted_round_.store(1);
    ended_.store(false);
    stops_seen_ = stops_.load();
    auto const thread_begins = [](void* self) { adopt_thread(static_cast<runtime*>(self)); };
    pool_.store(nullptr);
    {
        std::scoped_lock const lock(owned_pool_mutex_);
        owned_pool_ = std::make_unique<workers>(&engine_, setup_.threads, setup_.oversubscribed, thread_begins, this);
    }
    pool_.store(owned_pool_.get());
}

void runtime::meet(std::span<std::uint64_t const> digests, std::span<std::uint32_t const> versions)
{
    std::vector<int> strangers;
    for (int r = 0; r < size(); ++r) {
        peer_info& p = peers_[static_cast<std::size_t>(r)];
        if (std::uint32_t const version = versions[static_cast<std::size_t>(r)]; version != wire::format_version) {
            p.is_foreign = true;
            p.version = version;
        }
        if (r != rank() && !p.is_foreign && digests[static_cast<std::size_t>(r)] != actions_.digest())
            strangers.push_back(r);
    }
    if (strangers.empty())
        return;
    wire::control_message m{};
    m.kind = wire::control_kind::table;
    std::vector<std::byte> head(sizeof m + actions_.size() * sizeof(std::uint64_t));
    std::memcpy(head.data(), &m, sizeof m);
    std::memcpy(head.data() + sizeof m, actions_.ids().data(), head.size() - sizeof m);
    for (int const r : strangers)
        if (alive(r))
            send_bytes(r, wire::control, head);
    wait_until([&] {
        return std::all_of(strangers.begin(), strangers.end(), [&](int r) {
            return peers_[static_cast<std::size_t>(r)].table_known.load(std::memory_order_acquire) || !alive(r);
        });
    }, "the function tables of other programs in this job");
}

void runtime::on_table(int source, std::span<std::byte const> bytes)
{
    peer_info& p = peers_[static_cast<std::size_t>(source)];
    if (bytes.size() % sizeof(std::uint64_t) != 0 || p.table_known.load(std::memory_order_relaxed)) {
        ++hostile_;
        return;
    }
    std::vector<std::uint64_t> theirs(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    auto translation = std::make_unique<std::vector<std::uint32_t>>(actions_.size(), action_entry::none);
    for (std::uint32_t i = 0; i < actions_.size(); ++i) {
        auto const at = std::lower_bound(theirs.begin(), theirs.end(), actions_[i].id);
        if (at != theirs.end() && *at == actions_[i].id)
            (*translation)[i] = static_cast<std::uint32_t>(at - theirs.begin());
    }
    p.translation = std::move(translation);
    p.table_known.store(true, std::memory_order_release);
}

void runtime::send_control(int rank, wire::control_message const& m)
{
    try {
        send_bytes(rank, wire::control, wire::bytes_of(m));
    } catch (peer_error const&) {
        // The rank died: every rank learns of that without this message.
    }
}

void runtime::on_control(engine::incoming& in)
{
    int const source = static_cast<int>(in.source());
    std::span<std::byte const> const head = in.head();
    wire::control_message m{};
    if (head.size() < sizeof m) {
        ++hostile_;
        return;
    }
    std::memcpy(&m, head.data(), sizeof m);
    switch (m.kind) {
    case wire::control_kind::barrier:
        if (m.a < barrier_seen_.size())
            barrier_seen_[m.a].fetch_add(1, std::memory_order_release);
        return;
    case wire::control_kind::end_report: return take_report(source, {m.a, m.b, m.c, m.d});
    case wire::control_kind::end_verdict:
        if (source == coordinator() || m.c == 1)
            take_verdict(m.a, m.b, m.c == 1);
        return;
    case wire::control_kind::goodbye:
        peers_[static_cast<std::size_t>(source)].barriers.store(m.a, std::memory_order_relaxed);
        return on_death(source, true);
    case wire::control_kind::stop: stops_.fetch_add(1, std::memory_order_release); return;
    case wire::control_kind::table: return on_table(source, head.subspan(sizeof m));
    case wire::control_kind::cancel: return on_cancel(source, {m.a, static_cast<std::uint32_t>(m.b)});
    default: ++hostile_; return;
    }
}

void runtime::on_death(int rank, bool goodbye)
{
    peer_info& p = peers_[static_cast<std::size_t>(rank)];
    if (p.gone.load(std::memory_order_relaxed))
        return;
    p.left.store(goodbye, std::memory_order_release);
    p.gone.store(true, std::memory_order_release);
    last_dead_.store(rank, std::memory_order_relaxed);
    wanted_round_.store(1, std::memory_order_relaxed);
    deaths_.fetch_add(1, std::memory_order_release);
    fail_calls_to(rank);
    teams_->peer_left(rank);
}

void runtime::fail_calls_to(int rank)
{
    calls_.take_all(static_cast<std::uint32_t>(rank), [&](pending_call const& call) {
        call.state->set_error(death(rank, call.action != nullptr ? call.action->name : nullptr));
        call.state->release();
    });
}

void runtime::fail_all_calls()
{
    calls_.take_all(call_table::any_peer, [](pending_call const& call) {
        call.state->set_error(std::make_exception_ptr(
            usage_error(fmt::format("the world ended before {} was answered", call.action != nullptr ? call.action->name : "a call"))));
        call.state->release();
    });
}

void runtime::barrier()
{
    check_rank(rank());
    std::uint32_t const number = ++barriers_;
    // A rank that cannot reach this barrier any more. A rank that passed it before it left is not missing.
    auto const missing = [&] {
        if (deaths_.load(std::memory_order_acquire) != 0)
            for (int r = 0; r < size(); ++r)
                if (!alive(r) &&
                    static_cast<std::int32_t>(peers_[static_cast<std::size_t>(r)].barriers.load(std::memory_order_relaxed) - number) < 0)
                    return r;
        return -1;
    };
    unsigned round = 0;
    for (unsigned distance = 1; distance < static_cast<unsigned>(size()); distance *= 2, ++round) {
        wire::control_message m{};
        m.kind = wire::control_kind::barrier;
        m.a = round;
        send_control(static_cast<int>((static_cast<unsigned>(rank()) + distance) % static_cast<unsigned>(size())), m);
        auto const arrived = [&] {
            return static_cast<std::int32_t>(barrier_seen_[round].load(std::memory_order_acquire) - number) >= 0;
        };
        waiting about;
        auto const n = static_cast<unsigned>(size());
        about.rank = static_cast<int>((static_cast<unsigned>(rank()) + n - distance) % n);
        wait_until([&] { return arrived() || missing() >= 0; }, "world::barrier", &about);
        if (!arrived())
            std::rethrow_exception(death(missing(), "the barrier"));
    }
    barriers_passed_ = number;
}

int runtime::coordinator() const noexcept
{
    for (int r = 0; r < size(); ++r)
        if (alive(r))
            return r;
    return rank();
}

bool runtime::report_due() const noexcept
{
    // The rarest condition comes first: this runs after every poll.
    return (own_.round != wanted_round_.load(std::memory_order_acquire) || own_.deaths != deaths_.load(std::memory_order_acquire)) &&
           pool_.load()->unfinished() == 0 && calls_.outstanding() == 0;
}

void runtime::send_report()
{
    report r{deaths_.load(std::memory_order_acquire), wanted_round_.load(std::memory_order_acquire), 0, 0};
    // Handled before sent: so the sums include the calls that a handled call sent.
    for (int p = 0; p < size(); ++p)
        if (alive(p))
            r.handled += peers_[static_cast<std::size_t>(p)].handled.load(std::memory_order_acquire);
    if (!report_due())
        return;
    for (int p = 0; p < size(); ++p)
        if (alive(p))
            r.sent += sent_to(p);
    own_ = r;
    int const to = coordinator();
    if (to == rank())
        return take_report(to, r);
    wire::control_message m{};
    m.kind = wire::control_kind::end_report;
    m.a = r.deaths;
    m.b = r.round;
    m.c = r.sent;
    m.d = r.handled;
    send_control(to, m);
}

void runtime::take_report(int rank, report const& r)
{
    wire::control_message verdict{};
    verdict.kind = wire::control_kind::end_verdict;
    {
        std::scoped_lock lock(ending_mutex_);
        reports_[static_cast<std::size_t>(rank)] = r;
        std::uint32_t const deaths = deaths_.load(std::memory_order_acquire);
        std::uint64_t sent = 0, handled = 0;
        for (int p = 0; p < size(); ++p) {
            report const& other = reports_[static_cast<std::size_t>(p)];
            if (!alive(p))
                continue;
            if (other.round != r.round || other.deaths != deaths)
                return;
            sent += other.sent;
            handled += other.handled;
        }
        bool const done = sent == handled && judged_round_ + 1 == r.round && judged_sent_ == sent && judged_handled_ == handled;
        judged_round_ = r.round;
        judged_sent_ = sent;
        judged_handled_ = handled;
        verdict.a = deaths;
        verdict.b = r.round;
        verdict.c = done ? 1 : 0;
    }
    for (int p = 0; p < size(); ++p)
        if (p != this->rank() && alive(p))
            send_control(p, verdict);
    take_verdict(verdict.a, verdict.b, verdict.c == 1);
}

void runtime::take_verdict(std::uint32_t deaths, std::uint64_t round, bool done)
{
    if (done)
        ended_.store(true, std::memory_order_release);
    else if (deaths == deaths_.load(std::memory_order_acquire)) {
        std::uint64_t expected = round;
        wanted_round_.compare_exchange_strong(expected, round + 1, std::memory_order_acq_rel);
    }
}

bool runtime::run_until_ended(bool may_stop)
{
    workers& p = pool();
    workers::serving const mine(p);
    auto const stop_asked = [&] { return may_stop && stops_.load(std::memory_order_acquire) != stops_seen_; };
    while (true) {
        while (p.run_one())
            ;
        if (ended())
            return true;
        if (stop_asked()) {
            ++stops_seen_;
            return false;
        }
        if (report_due())
            send_report();
        // After a death, a coordinator may leave while its verdicts are in flight: this rank stops waiting for them.
        bool const mourning = deaths_.load(std::memory_order_acquire) != 0;
        bool const moved = engine_.wait([&] { return p.has_work() || ended() || stop_asked() || report_due(); },
                                        may_stop ? "world::serve" : "the end of the world",
                                        mourning ? std::chrono::nanoseconds(10s) : std::chrono::nanoseconds::max());
        if (!moved) {
            base::log(base::log_level::warning, "the world ends without word from all living ranks (rank {} died before)",
                      last_dead_.load());
            return true;
        }
    }
}

bool runtime::serve()
{
    check_rank(rank());
    check_may_wait("world::serve");
    if (!run_until_ended(true))
        return false;
    stop_workers();
    return true;
}

void runtime::stop_all()
{
    wire::control_message m{};
    m.kind = wire::control_kind::stop;
    for (int r = 0; r < size(); ++r)
        if (r != rank() && alive(r))
            send_control(r, m);
    stops_.fetch_add(1, std::memory_order_release);
    engine_.notify();
}

bool runtime::end()
{
    if (active()) {
        run_until_ended(false);
        stop_workers();
    }
    engine_.drain(deaths_.load() == 0 ? std::chrono::nanoseconds(30s) : std::chrono::nanoseconds(1s));
    fail_all_calls();
    flush_counters();
    return deaths_.load(std::memory_order_acquire) == 0;
}

void runtime::abandon() noexcept
{
    if (!active())
        return;
    try {
        fail_all_calls();  // first: a peer that has heard the goodbye may still answer, which comes too late
        wire::control_message m{};
        m.kind = wire::control_kind::goodbye;
        m.a = barriers_passed_;
        for (int r = 0; r < size(); ++r)
            if (r != rank() && alive(r))
                send_control(r, m);
        stop_workers();
        fail_all_calls();  // those that workers made meanwhile
        engine_.drain(1s);
        flush_counters();
    } catch (std::exception const& e) {
        base::log(base::log_level::error, "while leaving the world: {}", e.what());
    }
}

void runtime::stop_workers() noexcept
{
    if (workers* const p = pool_.exchange(nullptr, std::memory_order_acq_rel))
        p->stop();
}

} // namespace towline::remoting
