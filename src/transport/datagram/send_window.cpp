#include "transport/datagram/send_window.hpp"

#include <algorithm>
#include <bit>

namespace towline::transport::datagram {

using wire::distance;

namespace {

constexpr std::size_t first_ring = 64;

} // namespace

send_window::send_window(config const& c, block_pool& pool, std::uint32_t first)
    : config_(c), pool_(pool), ring_(first_ring), mask_(first_ring - 1)
{
    begin(first);
}

send_window::~send_window()
{
    for (outgoing& p : ring_) {
        if (p.block != nullptr)
            pool_.give(p.block);
    }
}

void send_window::begin(std::uint32_t first) noexcept
{
    base_ = first_unsent_ = next_ = lost_from_ = first;
    paths_ = 1;
    for (sendings& s : sent_)
        s.shortest = -1;
}

std::uint32_t send_window::room() const noexcept
{
    std::uint32_t const used = next_ - base_;
    std::uint32_t const most = config_.most_in_flight + config_.most_waiting;
    return used >= most || unsent() >= config_.most_waiting ? 0 : most - used;
}

void send_window::reserve(std::uint32_t n)
{
    while (next_ - base_ + n > ring_.size())
        grow();
    pool_.reserve(n);
}

void send_window::grow()
{
    std::vector<outgoing> bigger(ring_.size() * 2);
    auto const mask = static_cast<std::uint32_t>(bigger.size() - 1);
    for (std::uint32_t n = base_; n != next_; ++n)
        bigger[n & mask] = ring_[n & mask_];
    ring_.swap(bigger);
    mask_ = mask;
}

outgoing& send_window::add()
{
    outgoing& p = at(next_);
    p = {};
    p.block = pool_.take();
    ++next_;
    return p;
}

std::uint32_t send_window::lend(std::uint32_t packets, void (*done)(void*, bool), void* context)
{
    if (free_loans_.empty()) {
        loans_.push_back({});
        ended_.reserve(loans_.size());
        free_loans_.reserve(loans_.size());
        free_loans_.push_back(static_cast<std::uint32_t>(loans_.size()));
    }
    std::uint32_t const number = free_loans_.back();
    free_loans_.pop_back();
    loans_[number - 1] = {done, context, packets};
    return number;
}

void send_window::take_ended(std::vector<ended_loan>& to)
{
    to.insert(to.end(), ended_.begin(), ended_.end());
    ended_.clear();
}

// ---- the list in the order of sending

void send_window::link(std::uint32_t number) noexcept
{
    outgoing& p = at(number);
    sendings& s = sent_[p.path];
    p.earlier = s.tail;
    if (s.any)
        at(s.tail).later = number;
    else
        s.head = number;
    s.tail = number;
    s.any = true;
    ++s.in_flight;
    ++in_flight_;
}

void send_window::unlink(outgoing const& p, std::uint32_t number) noexcept
{
    sendings& s = sent_[p.path];
    bool const first = s.head == number;
    bool const last = s.tail == number;
    if (!first)
        at(p.earlier).later = p.later;
    if (!last)
        at(p.later).earlier = p.earlier;
    if (first && last)
        s.any = false;
    else if (first)
        s.head = p.later;
    else if (last)
        s.tail = p.earlier;
    --s.in_flight;
    --in_flight_;
}

// ---- sending

void send_window::choose(std::vector<std::uint32_t>& numbers, std::size_t datagrams, std::size_t bytes, std::size_t overhead,
                         std::uint32_t limit, bool all)
{
    numbers.clear();
    std::size_t sum = 0;
    std::uint32_t first_bytes = 0;
    // False: the train ends before this packet, or with it.
    auto const fits = [&](outgoing const& p) {
        if (numbers.empty())
            first_bytes = p.bytes();
        std::size_t const more = p.bytes() + overhead;
        if (numbers.size() == datagrams || p.bytes() > first_bytes || (sum + more > bytes && !numbers.empty()))
            return false;
        sum += more;
        return true;
    };
    std::uint32_t found = 0;
    for (std::uint32_t n = lost_from_; found < lost_count_ && distance(n, next_) > 0; ++n) {
        outgoing const& p = at(n);
        if (p.block == nullptr || p.at != outgoing::stage::lost)
            continue;
        if (found++ == 0)
            lost_from_ = n;
        if (!fits(p))
            return;
        numbers.push_back(n);
        if (p.bytes() < first_bytes)
            return;
    }
    if (!numbers.empty())
        return;
    for (std::uint32_t n = first_unsent_; distance(n, next_) > 0 && distance(n, limit) > 0; ++n) {
        outgoing const& p = at(n);
        if ((!all && n + 1 == next_) || !fits(p))
            return;
        numbers.push_back(n);
        if (p.bytes() < first_bytes)
            return;
    }
}

void send_window::note_sent(std::uint32_t number, unsigned path, std::int64_t now) noexcept
{
    outgoing& p = at(number);
    if (p.at == outgoing::stage::lost) {
        --lost_count_;
        p.again = true;
    } else {
        first_unsent_ = number + 1;
    }
    p.at = outgoing::stage::in_flight;
    p.sent = now;
    p.path = static_cast<std::uint8_t>(path);
    p.order = sent_[path].orders++;
    paths_ = std::max(paths_, path + 1);
    link(number);
}

unsigned send_window::path_of_oldest() const noexcept
{
    unsigned found = 0;
    std::int64_t since = -1;
    for (unsigned path = 0; path < paths_; ++path) {
        sendings const& s = sent_[path];
        if (s.any && (since < 0 || ring_[s.head & mask_].sent < since)) {
            since = ring_[s.head & mask_].sent;
            found = path;
        }
    }
    return found;
}

// ---- what the peer says

void send_window::let_go(outgoing& p, bool ok) noexcept
{
    pool_.give(p.block);
    p.block = nullptr;
    if (p.loan == 0)
        return;
    loan& l = loans_[p.loan - 1];
    if (--l.left != 0)
        return;
    ended_.push_back({l.done, l.context, ok});
    free_loans_.push_back(p.loan);
}

void send_window::arrived(std::uint32_t number, std::int64_t now, news& heard) noexcept
{
    outgoing& p = at(number);
    if (p.block == nullptr)
        return;
    if (p.at == outgoing::stage::in_flight) {
        unlink(p, number);
        sendings& s = sent_[p.path];
        // One that was sent again may have arrived the first time: it says nothing of round trips. What was sent before it is judged by it
        // if this cannot have come sooner.
        std::int64_t const taken = now - p.sent;
        if (!p.again) {
            heard.round_trip = taken;
            heard.paths |= static_cast<std::uint8_t>(1U << p.path);
            s.shortest = s.shortest < 0 ? taken : std::min(s.shortest, taken);
        }
        if (!p.again || (s.shortest >= 0 && taken >= s.shortest))
            s.told = std::max(s.told, p.order + 1);
    } else {
        --lost_count_;
    }
    ++heard.acked;
    let_go(p, true);
}

send_window::news send_window::note_ack(std::uint32_t acknowledged, std::span<std::uint64_t const> bitmap, bool complete,
                                        std::int64_t now) noexcept
{
    news heard;
    if (distance(acknowledged, first_unsent_) < 0) {
        heard.sane = false;
        return heard;
    }
    while (distance(base_, acknowledged) > 0)
        arrived(base_++, now, heard);
    for (std::size_t w = 0; w < bitmap.size(); ++w) {
        for (std::uint64_t bits = bitmap[w]; bits != 0; bits &= bits - 1) {
            std::uint32_t const n =
                acknowledged + 1 + static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(bits));
            if (distance(n, first_unsent_) <= 0) {
                heard.sane = false;
                return heard;
            }
            if (distance(base_, n) >= 0)
                arrived(n, now, heard);
        }
    }
    while (base_ != first_unsent_ && at(base_).block == nullptr)
        ++base_;
    if (distance(lost_from_, base_) > 0)
        lost_from_ = base_;
    if (complete) {
        for (unsigned path = 0; path < paths_; ++path)
            sent_[path].newest = sent_[path].told;
    }
    return heard;
}

void send_window::mark_lost(std::uint32_t number) noexcept
{
    outgoing& p = at(number);
    unlink(p, number);
    p.at = outgoing::stage::lost;
    if (lost_count_++ == 0 || distance(number, lost_from_) > 0)
        lost_from_ = number;
}

std::uint32_t send_window::note_lost(unsigned path, std::uint64_t order) noexcept
{
    sendings const& s = sent_[path];
    std::uint32_t found = 0;
    while (s.any && at(s.head).order < order) {
        mark_lost(s.head);
        ++found;
    }
    return found;
}

std::uint32_t send_window::find_lost(std::int64_t now, round_trip const& times) noexcept
{
    std::int64_t const delay = times.loss_delay(config_);
    std::uint32_t found = 0;
    for (unsigned path = 0; path < paths_; ++path) {
        sendings const& s = sent_[path];
        while (s.any) {
            outgoing const& p = at(s.head);
            if (p.order >= s.newest || (p.order + config_.packet_threshold >= s.newest && now - p.sent < delay))
                break;
            mark_lost(s.head);
            ++found;
        }
    }
    return found;
}

std::int64_t send_window::loss_due(round_trip const& times) const noexcept
{
    std::int64_t first = -1;
    for (unsigned path = 0; path < paths_; ++path) {
        sendings const& s = sent_[path];
        if (!s.any)
            continue;
        outgoing const& p = ring_[s.head & mask_];
        if (p.order < s.newest && (first < 0 || p.sent < first))
            first = p.sent;
    }
    return first < 0 ? -1 : first + times.loss_delay(config_);
}

void send_window::drop() noexcept
{
    for (std::uint32_t n = base_; n != next_; ++n) {
        if (outgoing& p = at(n); p.block != nullptr)
            let_go(p, false);
    }
    base_ = first_unsent_ = lost_from_ = next_;
    in_flight_ = 0;
    lost_count_ = 0;
    for (sendings& s : sent_) {
        s.any = false;
        s.in_flight = 0;
    }
}

} // namespace towline::transport::datagram
