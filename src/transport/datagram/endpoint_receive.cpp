// From the link to messages.

#include "transport/datagram/endpoint.hpp"

#include <fmt/format.h>
#include <utility>

namespace towline::transport::datagram {

namespace {

/// Catches of one poll that brings no message.
constexpr int most_catches = 8;

} // namespace

int endpoint::poll(int budget, receiver& to, std::int64_t now)
{
    if (budget <= 0)
        return 0;
    {
        auto const lock = guard();
        run_timers(now);
        if (work_.load(std::memory_order_relaxed))
            serve_waiting(now);
    }
    int run = tell(to);
    for (int catches = 0; run < budget;) {
        if (loans_ended_)
            run += tell(to);  // first: a message in the same packet may say that its sender's data was used
        if (current_.any) {
            bool stuck = false;
            run += deliver(budget - run, to, stuck);
            if (stuck)
                break;
            continue;
        }
        if (catch_at_ == catch_.size()) {
            if (catches != 0)
                serve_touched(now);
            if (run != 0 || catches++ == most_catches)
                break;
            catch_ = link_.receive();
            catch_at_ = 0;
            packet_at_ = 0;
            if (catch_.empty()) {
                auto const lock = guard();
                level_.note_empty();
                look_for_refusals(now);
                break;
            }
            {
                auto const lock = guard();
                level_.tick(now);
            }
            tell_counts(now);
        }
        while (!current_.any && next_packet(now, to)) {
        }
    }
    serve_touched(now);
    return run;
}

bool endpoint::pending() const noexcept
{
    return current_.any || catch_at_ != catch_.size() || work_.load(std::memory_order_acquire) || link_.readable();
}

/// Takes the next packet of the catch. False: that was the last one.
bool endpoint::next_packet(std::int64_t now, receiver& to)
{
    if (catch_at_ == catch_.size())
        return false;
    received const& r = catch_[catch_at_];
    std::uint32_t const size = std::min(r.each, r.size - packet_at_);
    std::span const packet(r.data + packet_at_, size);
    {
        auto const lock = guard();
        accept(packet, r.from, now);
    }
    if (auto const& p = early_.what; p.what == joiner::step::found::part) {
        to.part(early_.who, p.id, p.beginning, p.at, p.bytes);
        early_ = {};
    }
    packet_at_ += size;
    if (packet_at_ >= r.size || size == 0) {
        ++catch_at_;
        packet_at_ = 0;
    }
    return true;
}

void endpoint::accept(std::span<std::byte> packet, link_address const& from, std::int64_t now)
{
    ++counts_.packets_received;
    if (wire::is_greeting(packet))
        return on_greeting(packet, from, now);
    auto const h = wire::read_header(packet);
    std::uint32_t const who = h ? h->index - index_base_ : size_;
    if (who >= size_ || reinterpret_cast<std::uintptr_t>(packet.data()) % 8 != 0) {
        ++counts_.strangers;
        return;
    }
    if (peers_[who].at != stage::met || !comes_from(who, from)) {
        ++counts_.strangers;
        return;
    }
    activity& a = activate(who, now);
    std::size_t begin = sizeof(wire::header);
    if (!open_packet(a, *h, packet, begin)) {
        ++counts_.strangers;
        return arm(a, now);
    }
    a.heard = now;
    a.heard_on = from.path;
    if (h->form == wire::form_of(wire::kind::ack))
        accept_ack(a, *h, packet.subspan(begin), now);
    else
        accept_data(a, *h, packet.subspan(begin), now);
    touch(a);
}

/// Checks, and takes away, what seals the packet or sums it up.
bool endpoint::open_packet(activity& a, wire::header const& h, std::span<std::byte>& packet, std::size_t& begin) const noexcept
{
    if (((h.flags & wire::sealed) != 0) != config_.sealed || ((h.flags & wire::summed) != 0) != config_.summed)
        return false;
    if (config_.sealed) {
        if (packet.size() < overhead_)
            return false;
        std::uint64_t counter = 0;
        std::memcpy(&counter, packet.data() + begin, sizeof counter);
        begin += sizeof counter;
        if (!unseal(a.keys.receiving, counter, packet, begin))
            return false;
        packet = packet.first(packet.size() - wire::tag_bytes);
    } else if (config_.summed) {
        if (packet.size() < overhead_)
            return false;
        std::size_t const size = packet.size() - wire::sum_bytes;
        std::uint32_t sum = 0;
        std::memcpy(&sum, packet.data() + packet.size() - sizeof sum, sizeof sum);
        if (crc32c(packet.first(size)) != sum)
            return false;
        packet = packet.first(size);
    }
    return true;
}

void endpoint::accept_ack(activity& a, wire::header const& h, std::span<std::byte const> bytes, std::int64_t now)
{
    known_peer& p = peers_[a.who];
    std::array<std::uint64_t, wire::most_ack_words> words;
    std::size_t const used = std::min(bytes.size() / sizeof(std::uint64_t), words.size());
    if (used != 0)
        std::memcpy(words.data(), bytes.data(), used * sizeof(std::uint64_t));
    auto const news = a.out.note_ack(h.acknowledged, std::span(words).first(used), (h.flags & wire::partial) == 0, now);
    if (!news.sane)
        return;
    std::uint32_t const limit = h.acknowledged + h.level;
    if (wire::distance(a.limit, limit) > 0)
        a.limit = limit;
    // While probes are out acknowledgements have been lost: then only an answer says how long a round trip takes.
    path_state* const answered = asked_for(a, h);
    if (answered != nullptr)
        p.times.sample(now - answered->probed);
    else if (news.round_trip >= 0 && a.probes == 0)
        p.times.sample(news.round_trip);
    if (news.acked != 0) {
        a.sent = now;
        a.window = std::min(a.window + news.acked, config_.most_in_flight);
    }
    if (a.out.has_ended()) {
        loans_ended_ = true;
        a.out.take_ended(ended_);
        work_.store(true, std::memory_order_release);
    }
    for (unsigned path = 0; path < paths_; ++path) {
        if ((news.paths >> path & 1) != 0)
            a.paths[path].unanswered = 0;
    }
    if (answered != nullptr)
        note_answered(a, *answered, now);
    if (answered != nullptr || news.acked != 0)
        a.probes = 0;
    if ((h.flags & wire::asks) != 0) {
        path_state& by = a.paths[a.heard_on];
        by.answering = a.ack_now = true;
        by.answer_to = h.number;
    }
}

void endpoint::accept_data(activity& a, wire::header const& h, std::span<std::byte const> payload, std::int64_t now)
{
    wire::header told = h;
    told.flags &= wire::partial;
    accept_ack(a, told, {}, now);
    if (!config_.reliable && h.number != a.in.expected())
        return give_up(a.who, fmt::format("the {} link has lost or reordered packets of rank {}, and the protocol is off", link_.name(),
                                          a.who),
                       false);
    switch (a.in.arrive(h.number)) {
    case receive_window::verdict::next:
        current_ = {.any = true, .who = a.who, .payload = payload};
        level_.note_packet(peers_[a.who].seen);
        break;
    case receive_window::verdict::early:
        // No packet is in hand: the message that has begun lies before `expected`.
        early_ = {a.who, a.join.read_early(static_cast<std::uint32_t>(wire::distance(a.in.expected(), h.number)), payload)};
        if (early_.what.what == joiner::step::found::part)
            a.in.note_early(h.number, early_.what.bytes.size());
        else if (!a.in.hold(h.number, payload))
            return;
        level_.note_packet(peers_[a.who].seen);
        a.ack_now = true;
        break;
    case receive_window::verdict::duplicate:
        ++counts_.duplicates;
        a.ack_now = true;
        break;
    case receive_window::verdict::refused:
        return;
    }
    if (a.in.has_gap())
        a.ack_now = true;
    // A full packet is likely one of many: fewer of them need an acknowledgement soon.
    std::uint32_t const many = std::clamp<std::uint32_t>(level_.level() / 8, 2, 64);
    bool const is_full = payload.size() * 4 >= payload_room(peers_[a.who]) * 3;
    if (a.unacked++ == 0)
        a.ack_due = now + config_.ack_delay;
    if (a.unacked >= (is_full ? many : std::min(many, config_.small_acked_together)))
        a.ack_now = true;
}

// ---- what follows from packets

void endpoint::touch(activity& a)
{
    if (!std::exchange(a.touched, true))
        touched_.push_back(a.who);
}

void endpoint::serve_touched(std::int64_t now)
{
    if (touched_.empty() && to_ack_.empty())
        return;
    auto const lock = guard();
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        if (activity* const a = peers_[touched_[i]].active; a != nullptr && std::exchange(a->touched, false))
            serve(*a, now);
    }
    touched_.clear();
    for (std::size_t i = 0; i < to_ack_.size();) {
        activity* const a = peers_[to_ack_[i]].active;
        if (a != nullptr && a->unacked != 0 && a->ack_due > now) {
            ++i;
            continue;
        }
        if (a != nullptr) {
            a->waits_to_ack = false;
            if (a->unacked != 0 && config_.reliable)
                acknowledge(*a, now);
        }
        to_ack_[i] = to_ack_.back();
        to_ack_.pop_back();
    }
}

void endpoint::serve(activity& a, std::int64_t now)
{
    if (peers_[a.who].gone)
        return arm(a, now);
    static_cast<void>(a.out.find_lost(now, peers_[a.who].times));
    if (a.out.has_lost() || a.out.unsent() != 0)
        transmit(a, now, true);
    if (!config_.reliable)
        return arm(a, now);
    if (a.ack_now) {
        acknowledge(a, now);
    } else if (a.unacked != 0 && !std::exchange(a.waits_to_ack, true)) {
        to_ack_.push_back(a.who);
    }
    arm(a, now);
}

/// Packets that waited for this poll, or for room in the link.
void endpoint::serve_waiting(std::int64_t now)
{
    work_.store(false, std::memory_order_relaxed);
    std::size_t const n = to_send_.size();
    for (std::size_t i = 0; i < n; ++i) {
        activity* const a = peers_[to_send_[i]].active;
        if (a == nullptr)
            continue;
        a->waits_to_send = false;
        if (!peers_[a->who].gone) {
            transmit(*a, now, true);
            arm(*a, now);
        }
    }
    to_send_.erase(to_send_.begin(), to_send_.begin() + static_cast<std::ptrdiff_t>(n));
    if (!to_send_.empty() || !reports_.empty() || !ended_.empty())
        work_.store(true, std::memory_order_release);
}

/// Calls what waits to be called: completions, and reports of peers that are lost.
int endpoint::tell(receiver& to)
{
    loans_ended_ = false;
    if (!work_.load(std::memory_order_acquire))
        return 0;
    std::vector<send_window::ended_loan> ended;
    std::vector<report> reports;
    {
        auto const lock = guard();
        ended.swap(ended_);
        reports.swap(reports_);
        if (to_send_.empty())
            work_.store(false, std::memory_order_relaxed);
    }
    for (auto const& e : ended)
        e.done(e.context, e.ok);
    for (auto const& r : reports)
        to.lost(r.who, r.why, r.link_only);
    return static_cast<int>(ended.size());
}

/// Runs the handlers of messages in the packet in hand; at its end takes the next one in turn, if that was held. `stuck`: no memory now.
int endpoint::deliver(int budget, receiver& to, bool& stuck)
{
    // The window stays with the peer meanwhile: see on_time.
    activity* const a = peers_[current_.who].active;
    auto const break_off = [&](std::string why) {
        auto const lock = guard();
        give_up(current_.who, fmt::format("rank {} {}", current_.who, why), false);
        peers_[current_.who].at = stage::unknown;  // nothing of it is looked at any more
        current_.at = current_.payload.size();
        a->in.drop();
        a->join.drop();
    };
    int run = 0;
    while (run < budget && current_.at < current_.payload.size()) {
        joiner::step s;
        try {
            s = a->join.read(current_.payload, current_.at, most_message, parts_);
        } catch (std::bad_alloc const&) {
            stuck = true;
            return run;  // memory may come back
        }
        if (s.what == joiner::step::found::broken) {
            break_off("sent a packet that breaks the format");
            break;
        }
        current_.at = s.next;
        if (s.what == joiner::step::found::nothing)
            continue;
        if (s.what == joiner::step::found::part) {
            to.part(current_.who, s.id, s.beginning, s.at, s.bytes);
            continue;
        }
        if (to.message(current_.who, s.id, s.bytes))
            ++run;
        else
            break_off(fmt::format("sent a message for handler {}, which is not installed", s.id));
    }
    if (current_.at < current_.payload.size())
        return run;
    auto const lock = guard();
    if (current_.block != nullptr)
        pool_.give(current_.block);
    peer const who = current_.who;
    current_ = {};
    for (auto held = a->in.take_held(); held.arrived; held = a->in.take_held()) {
        if (held.block != nullptr) {
            current_ = {.any = true, .who = who, .payload = {held.block, held.bytes}, .at = 0, .block = held.block};
            break;
        }
        a->join.pass(held.bytes);
    }
    return run;
}

} // namespace towline::transport::datagram
