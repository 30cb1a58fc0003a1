#include "transport/datagram/endpoint.hpp"

#include "towline/error.hpp"

#include <fmt/format.h>
#include <limits>
#include <sys/mman.h>

namespace towline::transport::datagram {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
/// What is so late has not been looked at, because this process was stopped: the silence of a peer meanwhile says nothing.
constexpr std::int64_t was_away = 2'000'000'000;

} // namespace

peer_table::peer_table(std::size_t size)
{
    void* const p = ::mmap(nullptr, std::max<std::size_t>(size, 1) * sizeof(known_peer), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        throw std::bad_alloc();
    all_ = static_cast<known_peer*>(p);
    size_ = size;
}

peer_table::~peer_table()
{
    ::munmap(all_, std::max<std::size_t>(size_, 1) * sizeof(known_peer));
}

endpoint::endpoint(config const& c, link& l, environment& env, std::uint32_t epoch)
    : config_(c), link_(l), env_(env), rank_(env.rank()), size_(env.size()), key_(env.key()), epoch_(epoch), index_base_(random_number()),
      overhead_(sizeof(wire::header) + (c.sealed ? wire::counter_bytes + wire::tag_bytes : 0) + (c.summed ? wire::sum_bytes : 0)),
      paths_(l.paths()), pool_(l.max_datagram() + wire::sum_bytes), peers_(size_), level_(config_, l.receive_room())
{
    if (config_.most_in_flight > receive_span || l.max_datagram() < 256)
        throw usage_error(
            fmt::format("the datagram transport cannot work with {} packets of {} bytes", c.most_in_flight, l.max_datagram()));
    train_limits const t = l.trains();
    numbers_.reserve(t.datagrams);
    pieces_.reserve(3 * t.datagrams);
}

endpoint::~endpoint()
{
    env_.tell_counts(counts_);
}

void endpoint::tell_counts(std::int64_t now)
{
    constexpr std::int64_t seldom = 10'000'000;
    if (now < tell_counts_at_)
        return;
    tell_counts_at_ = now + seldom;
    env_.tell_counts(counts());
}

bool endpoint::is_gone(peer p) const
{
    auto const lock = guard();
    return peers_[p].gone;
}

endpoint_counts endpoint::counts() const
{
    auto const lock = guard();
    return counts_;
}

std::size_t endpoint::active() const
{
    auto const lock = guard();
    return activities_.size() - free_.size();
}

// ---- windows

activity& endpoint::activate(peer who, std::int64_t now)
{
    known_peer& p = peers_[who];
    if (p.active != nullptr) {
        p.active->used = now;
        return *p.active;
    }
    if (free_.empty()) {
        free_.reserve(activities_.size() + 1);
        activities_.reserve(activities_.size() + 1);
        activities_.push_back(std::make_unique<activity>(config_, pool_));
        free_.push_back(activities_.back().get());
    }
    activity& a = *free_.back();
    free_.pop_back();
    ++counts_.windows;
    a.who = who;
    a.out.begin(p.next_number);
    a.in.begin(p.expected);
    a.limit = p.next_number + config_.first_level;
    a.window = config_.most_in_flight;
    a.unacked = a.probes = a.hellos = a.refusals = 0;
    a.ack_now = a.touched = a.waits_to_ack = a.waits_to_send = false;
    a.sent = a.heard = a.used = now;
    a.armed = -1;
    a.paths = {};
    a.paths[p.address.path] = {.to = p.address, .known = true, .usable = true};
    a.home = a.heard_on = p.address.path;
    a.try_paths = 0;
    if (config_.sealed && p.at == stage::met)
        a.keys = make_keys(key_, {rank_, epoch_}, {who, p.epoch});
    p.active = &a;
    if (paths_ > 1)
        learn_paths(a);
    return a;
}

void endpoint::retire(activity& a) noexcept
{
    known_peer& p = peers_[a.who];
    p.next_number = a.out.next();
    p.expected = a.in.expected();
    p.active = nullptr;
    a.in.drop();
    a.join.drop();
    free_.push_back(&a);  // there is room for all that were ever made
}

// ---- what is due

std::int64_t endpoint::probe_due(activity const& a) const noexcept
{
    std::int64_t const timeout = peers_[a.who].times.timeout(config_) << std::min(a.probes / 4, 10U);
    return a.sent + std::min(timeout, config_.most_timeout);
}

/// Something of the peer is only here: its window must stay.
bool endpoint::is_used(activity const& a) const noexcept
{
    return a.in.has_gap() || a.join.in_message() || a.unacked != 0 || a.touched || a.waits_to_ack || a.waits_to_send || !a.out.empty() ||
           a.out.has_ended() || (current_.any && current_.who == a.who);
}

std::int64_t endpoint::due(activity const& a) const noexcept
{
    known_peer const& p = peers_[a.who];
    std::int64_t const idle = a.used + config_.idle_timeouts * p.times.timeout(config_);
    if (p.gone)
        return is_used(a) ? never : idle;  // its last words may be waiting in the link
    if (p.at == stage::greeting)
        return a.hello_due;
    if (a.out.empty() || !config_.reliable)
        return idle;
    std::int64_t const loss = a.out.loss_due(p.times);
    return loss < 0 ? probe_due(a) : std::min(loss, probe_due(a));
}

void endpoint::arm(activity& a, std::int64_t now)
{
    std::int64_t const at = std::max(due(a), now);
    if (at == never)
        return;
    if (a.armed >= 0 && a.armed <= at)
        return;  // looks again then
    a.armed = at;
    timers_.push({at, a.who});
}

void endpoint::run_timers(std::int64_t now)
{
    while (!timers_.empty() && timers_.top().at <= now) {
        timer const t = timers_.top();
        timers_.pop();
        activity* const a = peers_[t.who].active;
        if (a == nullptr || a->armed != t.at)
            continue;
        a->armed = -1;
        if (due(*a) <= now)
            on_time(*a, now);
        if (peers_[t.who].active != nullptr)
            arm(*a, now);
    }
}

void endpoint::on_time(activity& a, std::int64_t now)
{
    known_peer& p = peers_[a.who];
    if (!p.gone && p.at == stage::greeting) {
        if (env_.is_dead(a.who))
            return close(a.who);
        if (now - a.hello_due > was_away)
            a.heard = now;
        if (now - a.heard > config_.patience)
            return lose(a.who);
        say_hello(a);
        a.hello_due = now + std::min(config_.hello_again << std::min(a.hellos, 10U), config_.most_timeout);
        return;
    }
    if (p.gone || a.out.empty() || !config_.reliable) {
        // Nothing is on its way to the peer; perhaps something from it.
        if (is_used(a))
            a.used = now;
        else
            retire(a);
        return;
    }
    if (a.out.find_lost(now, p.times) != 0)
        transmit(a, now, true);
    if (a.out.empty() || probe_due(a) > now)
        return;
    if (env_.is_dead(a.who))
        return close(a.who);
    if (paths_ > 1 && drop_silent_paths(a))
        return transmit(a, now, true);
    if (a.probes == 0 || now - probe_due(a) > was_away)
        a.asked_first = now;
    else if (now - std::max(a.asked_first, a.heard) > config_.patience)
        return lose(a.who);
    else  // twice: the way may be overloaded
        a.window = std::max(a.window / 2, std::min(config_.first_level, config_.most_in_flight));
    unsigned const path = path_to_ask(a);
    ++a.probes;
    a.sent = now;
    probe(a, path, now);
}

// ---- ends

void endpoint::give_up(peer who, std::string why, bool link_only)
{
    if (peers_[who].gone)
        return;
    close(who);
    reports_.push_back({who, std::move(why), link_only});
    work_.store(true, std::memory_order_release);
}

void endpoint::lose(peer who)
{
    give_up(who, fmt::format("it has answered no packet for {:g} s: its machine or the network is down, packets are filtered, or it is "
                             "stopped (TOWLINE_LINK_TIMEOUT)", static_cast<double>(config_.patience) / 1e9), true);
}

/// A peer whose host refuses what is sent to it has ended, though nobody else may say so. One refusal says little, as anybody may forge it.
void endpoint::look_for_refusals(std::int64_t now)
{
    constexpr std::uint32_t several = 3;
    while (auto const at = link_.take_refusal()) {
        for (auto const& a : activities_) {
            known_peer const& p = peers_[a->who];
            path_state const& path = a->paths[at->path];
            if (p.active != a.get() || p.gone || p.at == stage::unknown || !path.known || path.to != *at)
                continue;
            if (a->refusals == 0 || a->heard >= a->refused_first) {
                a->refusals = 0;
                a->refused_first = now;
            }
            if (++a->refusals < several || now - a->refused_first < config_.refusal_patience)
                break;
            if (env_.is_dead(a->who))
                close(a->who);
            else
                give_up(a->who, "its process has ended: its machine says that nobody receives packets there any more", true);
            break;
        }
    }
}

/// Nothing is sent to this peer any more; what it has sent may still arrive.
void endpoint::close(peer who) noexcept
{
    known_peer& p = peers_[who];
    p.gone = true;
    if (p.active == nullptr)
        return;
    p.active->out.drop();
    p.active->out.take_ended(ended_);
    if (!ended_.empty())
        work_.store(true, std::memory_order_release);
}

void endpoint::peer_died(peer who)
{
    auto const lock = guard();
    if (who < size_ && who != rank_)
        close(who);
}

// ---- questions

std::int64_t endpoint::sleep_limit(std::int64_t now) const noexcept
{
    auto const lock = guard();
    if (work_.load(std::memory_order_relaxed) || !touched_.empty())
        return 0;
    std::int64_t first = timers_.empty() ? never : timers_.top().at;
    for (peer const who : to_ack_) {
        if (activity const* const a = peers_[who].active; a != nullptr && a->unacked != 0)
            first = std::min(first, a->ack_due);
    }
    std::int64_t const of_link = link_.sleep_limit_ns();
    std::int64_t const own = first == never ? -1 : std::max<std::int64_t>(first - now, 0);
    return own < 0 ? of_link : of_link < 0 ? own : std::min(own, of_link);
}

bool endpoint::drained() const noexcept
{
    auto const lock = guard();
    if (work_.load(std::memory_order_relaxed))
        return false;
    for (auto const& a : activities_) {
        if (!a->out.empty())
            return false;
        // A living peer that has not heard of its last message's arrival would wait for it after this process has ended.
        if (a->unacked != 0 && config_.reliable && !peers_[a->who].gone)
            return false;
    }
    return true;
}

} // namespace towline::transport::datagram
