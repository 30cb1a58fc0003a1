// From messages to packets, and from packets to the link.

#include "transport/datagram/endpoint.hpp"

#include <utility>

namespace towline::transport::datagram {

namespace {

constexpr std::size_t header_room = sizeof(wire::header);
/// Less room than this in a packet is not worth a piece of a longer message.
constexpr std::size_t least_piece = 128;

} // namespace

/// Head and body of a message, as they are consumed.
struct endpoint::source {
    std::span<std::byte const> head;
    std::span<std::byte const> body;

    [[nodiscard]] std::size_t left() const noexcept { return head.size() + body.size(); }
    void copy(std::byte* to, std::size_t bytes) noexcept
    {
        std::size_t const of_head = std::min(bytes, head.size());
        if (of_head != 0) {
            std::memcpy(to, head.data(), of_head);
            head = head.subspan(of_head);
        }
        if (bytes != of_head) {
            std::memcpy(to + of_head, body.data(), bytes - of_head);
            body = body.subspan(bytes - of_head);
        }
    }
};

std::size_t endpoint::max_eager_to(peer to) const
{
    auto const lock = guard();
    known_peer const& p = peers_[to];
    if (to >= size_ || p.at == stage::unknown || p.datagram == 0)
        return most_message;
    return std::min(most_message, packets_in_train(p) * (payload_room(p) - sizeof(wire::record_head)));
}

std::uint32_t endpoint::packets_in_train(known_peer const& p) const noexcept
{
    train_limits const t = link_.trains();
    return static_cast<std::uint32_t>(
        std::min({t.datagrams, std::max<std::size_t>(t.bytes / p.datagram, 1), std::size_t{config_.most_in_flight}}));
}

/// The peer's window, if messages may go there (once it is met).
activity* endpoint::reach(peer to, send_status& why_not, std::int64_t now)
{
    why_not = send_status::unreachable;
    if (to >= size_ || to == rank_) [[unlikely]]
        return nullptr;
    known_peer& p = peers_[to];
    if (p.gone) [[unlikely]]
        return nullptr;
    if (p.at == stage::unknown) [[unlikely]] {
        if (!find_address(to, now)) {
            if (!p.gone && env_.is_dead(to))
                close(to);
            why_not = p.gone ? send_status::unreachable : send_status::busy;
            return nullptr;
        }
        activity& a = *p.active;
        say_hello(a);
        a.hello_due = now + config_.hello_again;
        arm(a, now);
    }
    return &activate(to, now);
}

send_status endpoint::no_room(activity& a)
{
    if (!env_.is_dead(a.who))
        return send_status::busy;
    close(a.who);
    return send_status::unreachable;
}

send_status endpoint::send(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body, std::int64_t now)
{
    auto const lock = guard();
    send_status why_not{};
    activity* const a = reach(to, why_not, now);
    return a == nullptr ? why_not : send_copy(*a, id, {head, body}, now);
}

/// Bytes that the last packet still takes, with the head of their record.
std::size_t endpoint::room_in_open(activity& a) const noexcept
{
    outgoing const* const last = a.out.open();
    std::size_t const room = payload_room(peers_[a.who]);
    return last == nullptr || last->lent_bytes != 0 ? 0 : room - std::min<std::size_t>(room, last->held_bytes);
}

/// Appends the record of a message's next piece, of which `done` bytes of `total` lie in earlier ones.
void endpoint::add_piece(outgoing& p, handler_id id, source& from, std::size_t bytes, std::size_t done, std::size_t total) noexcept
{
    constexpr std::size_t head_bytes = sizeof(wire::record_head);
    bool const is_whole = bytes == total;
    wire::record_head const record{.bytes = static_cast<std::uint16_t>(bytes), .handler = id,
                                   .part = is_whole ? wire::whole : done == 0 ? wire::first : wire::more,
                                   .place = static_cast<std::uint32_t>(is_whole ? 0 : done == 0 ? total : done)};
    std::byte* const to = p.block + header_room + p.held_bytes;
    std::memcpy(to, &record, head_bytes);
    from.copy(to + head_bytes, bytes);
    std::memset(to + head_bytes + bytes, 0, wire::padded(bytes) - bytes);
    p.held_bytes += static_cast<std::uint32_t>(head_bytes + wire::padded(bytes));
}

send_status endpoint::send_copy(activity& a, handler_id id, source from, std::int64_t now)
{
    constexpr std::size_t head_bytes = sizeof(wire::record_head);
    std::size_t const room = payload_room(peers_[a.who]);
    std::size_t const total = from.left();
    std::size_t const room_in_last = room_in_open(a);
    bool const is_whole = total + head_bytes <= room;
    // A whole message goes into one packet; another one also into what the last packet has left.
    bool const uses_last = is_whole ? wire::padded(total) + head_bytes <= room_in_last : room_in_last >= least_piece;
    std::size_t const behind = total - (uses_last && !is_whole ? room_in_last - head_bytes : 0);
    std::size_t const packets = is_whole ? (uses_last ? 0 : 1) : (behind + room - head_bytes - 1) / (room - head_bytes);
    if (packets > a.out.room())
        return no_room(a);
    a.out.reserve(static_cast<std::uint32_t>(packets));
    std::size_t done = 0;
    for (outgoing* p = uses_last ? a.out.open() : nullptr; done < total || p != nullptr || total == 0; p = nullptr) {
        if (p == nullptr)
            p = &a.out.add();
        std::size_t const bytes = std::min(total - done, room - p->held_bytes - head_bytes);
        add_piece(*p, id, from, bytes, done, total);
        done += bytes;
        if (done == total)
            break;
    }
    after_adding(a, now);
    return send_status::sent;
}

send_status endpoint::lend(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body, completion done,
                           void* context, std::int64_t now)
{
    constexpr std::size_t head_bytes = sizeof(wire::record_head);
    auto const lock = guard();
    send_status why_not{};
    activity* const a = reach(to, why_not, now);
    if (a == nullptr)
        return why_not;
    std::size_t const room = payload_room(peers_[to]) - head_bytes;
    std::size_t const total = head.size() + body.size();
    // The beginning goes into what the last packet has left, or with the head; the end is copied into a packet that has room for more. So
    // all packets of a stream are full, and leave in long trains. Between them lie full packets of what is lent.
    std::size_t const left = room_in_open(*a);
    std::size_t const before = left >= least_piece && left - head_bytes >= head.size() ? left - head_bytes : 0;
    if (total < before + 3 * room || head.size() >= room || config_.sealed || !config_.reliable)
        return send_copy(*a, id, {head, body}, now);  // copying is as cheap, or is done anyway
    std::size_t const packets = (total - before + room - 1) / room;
    std::size_t const whole = (total - before) / room;
    if (packets > a->out.room())
        return no_room(*a);
    a->out.reserve(static_cast<std::uint32_t>(packets));
    std::uint32_t const loan = a->out.lend(static_cast<std::uint32_t>(whole), done, context);
    ended_.reserve(ended_.size() + 1);
    source from{head, body};
    if (before != 0)
        add_piece(*a->out.open(), id, from, before, 0, total);
    for (std::size_t i = 0, at = before; i < packets; ++i) {
        outgoing& p = a->out.add();
        if (i == whole) {
            add_piece(p, id, from, total - at, at, total);
            break;
        }
        add_piece(p, id, from, 0, at, total);
        wire::record_head record;
        std::memcpy(&record, p.block + header_room, head_bytes);
        record.bytes = static_cast<std::uint16_t>(room);
        std::memcpy(p.block + header_room, &record, head_bytes);
        std::size_t const copied = from.head.size();
        from.copy(p.block + header_room + head_bytes, copied);
        p.held_bytes = static_cast<std::uint32_t>(head_bytes + copied);
        p.lent = from.body.data();
        p.lent_bytes = static_cast<std::uint32_t>(room - copied);
        p.loan = loan;
        from.body = from.body.subspan(room - copied);
        at += room;
    }
    after_adding(*a, now);
    return send_status::lent;
}

/// An empty packet is acknowledged as any other: who does not do so is given up in the end. All peers are asked in turn, each seldom.
void endpoint::ask_around(std::int64_t now)
{
    constexpr peer at_a_time = 8;
    auto const lock = guard();
    for (peer asked = 0; asked < at_a_time; ++to_ask_) {
        if (to_ask_ >= size_) {
            if (now < ask_again_)
                return;
            ask_again_ = now + config_.silence;
            to_ask_ = 0;
        }
        if (to_ask_ == rank_ || !env_.dies_silently(to_ask_))
            continue;
        ++asked;
        bool const was_idle = peers_[to_ask_].active == nullptr;
        send_status why_not{};
        activity* const a = reach(to_ask_, why_not, now);
        if (a == nullptr || !a->out.empty() || (!was_idle && now - a->heard < config_.silence))
            continue;
        a->out.reserve(1);
        (void)a->out.add();
        after_adding(*a, now);
    }
}

void endpoint::after_adding(activity& a, std::int64_t now)
{
    if (peers_[a.who].at != stage::met)
        return;  // all goes when it is
    if (a.out.in_flight() < config_.coalesce_from)
        transmit(a, now, true);
    else
        transmit(a, now, false);
    arm(a, now);
    if (a.out.unsent() != 0 && !a.waits_to_send) {
        a.waits_to_send = true;
        to_send_.push_back(a.who);
        work_.store(true, std::memory_order_release);
    }
}

// ---- to the link

void endpoint::write_header(std::byte* to, activity const& a, wire::kind kind, std::uint8_t flags, std::uint32_t number) const noexcept
{
    wire::header const h{.form = wire::form_of(kind),
                         .flags = static_cast<std::uint8_t>(flags | (kind == wire::kind::data && a.in.has_gap() ? wire::partial : 0) |
                                                    (config_.sealed ? wire::sealed : 0) | (config_.summed ? wire::summed : 0)),
                         .level = level_.level(), .number = number, .acknowledged = a.in.expected(), .index = peers_[a.who].index};
    std::memcpy(to, &h, sizeof h);
}

/// Sends what may be sent now. `all`: also what does not fill a train, and the last packet, though more might fit into it.
void endpoint::transmit(activity& a, std::int64_t now, bool all)
{
    known_peer const& p = peers_[a.who];
    if (p.at != stage::met || p.gone)
        return;
    train_limits const most = link_.trains();
    unsigned full = 0;  // bits: paths that take nothing now
    for (;;) {
        std::uint32_t const own = a.out.oldest() + a.window;
        std::uint32_t const limit = !config_.reliable ? a.out.next() : wire::distance(own, a.limit) > 0 ? own : a.limit;
        bool const again = a.out.has_lost();
        a.out.choose(numbers_, most.datagrams, most.bytes, overhead_, limit, all);
        if (numbers_.empty())
            return;
        if (!all && !again && numbers_.size() < std::min(most.datagrams, most.bytes / p.datagram))
            return;  // a fuller one costs the same
        unsigned const path = paths_ == 1 || !config_.reliable ? a.home : choose_path(a, full);
        std::size_t const taken = send_train(a, a.paths[path].to);
        for (std::size_t i = 0; i < taken; ++i)
            a.out.note_sent(numbers_[i], path, now);
        counts_.packets_sent += taken;
        if (taken != 0) {
            if (again)
                counts_.packets_resent += taken;
            a.sent = a.used = now;
            if (!a.in.has_gap() && !is_answering(a)) {  // its headers have told everything
                a.unacked = 0;
                a.ack_now = false;
            }
        }
        if (!config_.reliable)
            static_cast<void>(a.out.note_ack(a.out.next() - a.out.unsent(), {}, true, now));
        else if (paths_ > 1)
            widen(a, now);
        if (taken < numbers_.size()) {
            full |= 1U << path;
            if (paths_ > 1 && (full >> choose_path(a, full) & 1) == 0)
                continue;
            if (!std::exchange(a.waits_to_send, true))
                to_send_.push_back(a.who);
            work_.store(true, std::memory_order_release);
            return;
        }
    }
}

std::size_t endpoint::send_train(activity& a, link_address const& to)
{
    pieces_.clear();
    std::size_t const each = a.out.at(numbers_[0]).bytes() + overhead_;
    if (config_.sealed) {
        scratch_.resize(std::max(scratch_.size(), each * numbers_.size()));
        std::byte* packet = scratch_.data();
        for (std::uint32_t const n : numbers_) {
            outgoing const& o = a.out.at(n);
            std::uint64_t const counter = ++counter_;
            write_header(packet, a, wire::kind::data, 0, n);
            std::memcpy(packet + header_room, &counter, sizeof counter);
            seal(a.keys.sending, counter, {packet, header_room + sizeof counter}, {o.block + header_room, o.held_bytes},
                 packet + header_room + sizeof counter);
            pieces_.push_back({packet, o.held_bytes + overhead_});
            packet += o.held_bytes + overhead_;
        }
        return link_.send(to, pieces_, each, numbers_.size());
    }
    if (config_.summed)
        scratch_.resize(std::max(scratch_.size(), numbers_.size() * wire::sum_bytes));
    std::byte* sum_at = scratch_.data();
    for (std::uint32_t const n : numbers_) {
        outgoing const& o = a.out.at(n);
        write_header(o.block, a, wire::kind::data, 0, n);
        pieces_.push_back({o.block, header_room + o.held_bytes});
        if (o.lent_bytes != 0)
            pieces_.push_back({const_cast<std::byte*>(o.lent), o.lent_bytes});
        if (config_.summed) {
            std::uint32_t const sum = crc32c({o.lent, o.lent_bytes}, crc32c({o.block, header_room + o.held_bytes}));
            std::memset(sum_at, 0, wire::sum_bytes);
            std::memcpy(sum_at + wire::sum_bytes - sizeof sum, &sum, sizeof sum);
            pieces_.push_back({sum_at, wire::sum_bytes});
            sum_at += wire::sum_bytes;
        }
    }
    return link_.send(to, pieces_, each, numbers_.size());
}

/// Tells what has arrived: in the answer to each probe, by the path by which that came; where there is none, by the path of the last packet.
void endpoint::acknowledge(activity& a, std::int64_t now)
{
    bool told = false;
    for (unsigned path = 0; path < paths_; ++path) {
        path_state& by = a.paths[path];
        if (!std::exchange(by.answering, false))
            continue;
        send_ack(a, path, wire::answers, by.answer_to, now);
        told = true;
    }
    if (!told)
        send_ack(a, a.heard_on, 0, 0, now);
    a.unacked = 0;
    a.ack_now = false;
}

void endpoint::send_ack(activity& a, unsigned path, std::uint8_t flags, std::uint32_t number, std::int64_t now)
{
    known_peer const& p = peers_[a.who];
    if (p.at != stage::met || p.gone)
        return;
    std::array<std::uint64_t, wire::most_ack_words> words;
    std::size_t const used = a.in.write_bitmap(words) * sizeof(std::uint64_t);
    std::array<std::byte, sizeof(wire::header) + sizeof words + wire::counter_bytes + wire::tag_bytes> packet;
    write_header(packet.data(), a, wire::kind::ack, flags, number);
    std::size_t size = header_room + used;
    if (config_.sealed) {
        std::uint64_t const counter = ++counter_;
        std::memcpy(packet.data() + header_room, &counter, sizeof counter);
        seal(a.keys.sending, counter, {packet.data(), header_room + sizeof counter}, std::as_bytes(std::span(words)).first(used),
             packet.data() + header_room + sizeof counter);
        size += wire::counter_bytes + wire::tag_bytes;
    } else {
        std::memcpy(packet.data() + header_room, words.data(), used);
        if (config_.summed) {
            std::uint32_t const sum = crc32c({packet.data(), size});
            std::memset(packet.data() + size, 0, wire::sum_bytes);
            std::memcpy(packet.data() + size + wire::sum_bytes - sizeof sum, &sum, sizeof sum);
            size += wire::sum_bytes;
        }
    }
    iovec const piece{packet.data(), size};
    static_cast<void>(link_.send(a.paths[path].to, {&piece, 1}, size, 1));
    ((flags & wire::asks) != 0 ? counts_.probes_sent : counts_.acks_sent) += 1;
    a.used = now;
}

} // namespace towline::transport::datagram
