// First contact: hello and welcome prove the job's key and exchange what packets need.

#include "transport/datagram/endpoint.hpp"

#include <fmt/format.h>

namespace towline::transport::datagram {

namespace {

/// Begins what a rank publishes; the address of its link follows.
struct published {
    std::uint8_t version = wire::version;
    std::uint8_t options = 0;
    std::uint16_t max_datagram = 0;
    std::uint32_t epoch = 0;
};
static_assert(sizeof(published) == 8);

constexpr std::uint16_t least_datagram = 256;

std::uint8_t options_of(config const& c) noexcept
{
    return static_cast<std::uint8_t>((c.sealed ? wire::option_sealed : 0) | (c.summed ? wire::option_summed : 0) |
                                     (c.reliable ? 0 : wire::option_bare));
}

std::string describe(std::uint8_t options)
{
    return fmt::format("{}, {}, {}", (options & wire::option_sealed) != 0 ? "encrypted" : "not encrypted",
                       (options & wire::option_summed) != 0 ? "with checksums" : "without checksums",
                       (options & wire::option_bare) != 0 ? "not made reliable" : "made reliable");
}

} // namespace

address_blob endpoint::own_address() const
{
    auto const address = link_.own_address();
    published const head{.options = options_of(config_), .max_datagram = static_cast<std::uint16_t>(link_.max_datagram()), .epoch = epoch_};
    address_blob blob(sizeof head + address.size());
    std::memcpy(blob.data(), &head, sizeof head);
    std::memcpy(blob.data() + sizeof head, address.data(), address.size());
    return blob;
}

/// The addresses in what a peer has published, by path.
endpoint::addresses endpoint::addresses_in(address_blob const& blob) const
{
    addresses all;
    for (unsigned path = 0; path < paths_ && blob.size() >= sizeof(published); ++path)
        all[path] = link_.resolve(std::span(blob).subspan(sizeof(published)), path);
    return all;
}

/// Learns where the peer is. False: it has not said so yet, or there is no way (then it is given up).
bool endpoint::find_address(peer who, std::int64_t now)
{
    auto const blob = env_.address_of(who);
    if (!blob)
        return false;
    published head;
    if (blob->size() < sizeof head) {
        give_up(who, fmt::format("rank {} has published an address of {} bytes", who, blob->size()), false);
        return false;
    }
    std::memcpy(&head, blob->data(), sizeof head);
    std::optional<link_address> address;
    std::size_t datagram = head.max_datagram;
    for (auto const& to : addresses_in(*blob)) {
        if (to)
            datagram = std::min(datagram, link_.max_datagram(*to));
        if (!address)
            address = to;
    }
    if (!address || head.version != wire::version || head.max_datagram < least_datagram) {
        give_up(who, fmt::format("rank {} has published an address that the {} link cannot read", who, link_.name()), false);
        return false;
    }
    if (head.options != options_of(config_)) {
        give_up(who, fmt::format("packets of rank {} are {}; those of rank {} are {}", who, describe(head.options), rank_,
                                 describe(options_of(config_))), false);
        return false;
    }
    known_peer& p = peers_[who];
    p.address = *address;
    p.epoch = head.epoch;
    p.datagram = static_cast<std::uint16_t>(datagram);
    p.next_number = config_.first_number ? *config_.first_number : random_number();
    p.at = stage::greeting;
    activity& a = activate(who, now);
    a.hello_due = now;
    return true;
}

/// By all paths in turn: the first one may carry nothing.
void endpoint::say_hello(activity& a)
{
    unsigned path = (a.home + a.hellos) % paths_;
    while (!a.paths[path].known)
        path = (path + 1) % paths_;
    send_greeting(a, wire::kind::hello, a.paths[path].to);
}

void endpoint::send_greeting(activity& a, wire::kind kind, link_address const& to)
{
    known_peer const& p = peers_[a.who];
    wire::greeting const g{.form = wire::form_of(kind), .options = options_of(config_),
                           .max_datagram = static_cast<std::uint16_t>(link_.max_datagram()), .rank = rank_, .epoch = epoch_,
                           .to_rank = a.who, .to_epoch = p.epoch, .index = index_base_ + a.who, .number = a.out.oldest(),
                           .level = std::min<std::uint32_t>(level_.level(), config_.first_level)};
    std::array<std::byte, wire::greeting_bytes> packet;
    std::memcpy(packet.data(), &g, sizeof g);
    sign(key_, packet.data(), sizeof g);
    iovec const piece{packet.data(), packet.size()};
    static_cast<void>(link_.send(to, {&piece, 1}, packet.size(), 1));
    ++counts_.hellos_sent;
    ++a.hellos;
}

void endpoint::on_greeting(std::span<std::byte const> packet, link_address const& from, std::int64_t now)
{
    if (!is_signed(key_, packet)) {
        ++counts_.strangers;
        return;
    }
    wire::greeting g;
    std::memcpy(&g, packet.data(), sizeof g);
    bool const wants_answer = g.form == wire::form_of(wire::kind::hello);
    if (g.to_rank != rank_ || g.to_epoch != epoch_ || g.rank >= size_ || g.rank == rank_ || g.max_datagram < least_datagram ||
        g.level == 0) {
        ++counts_.strangers;  // it was for another process, or for what was here before
        return;
    }
    known_peer& p = peers_[g.rank];
    if (p.gone)
        return;
    if (p.at == stage::met) {
        if (p.epoch != g.epoch) {
            ++counts_.strangers;
            auto const blob = env_.address_of(g.rank);
            published head;
            if (blob && blob->size() >= sizeof head && (std::memcpy(&head, blob->data(), sizeof head), head.epoch == g.epoch))
                give_up(g.rank, fmt::format("rank {} is another process than before", g.rank), false);
            return;
        }
        if (wants_answer) {  // the welcome was lost, or both said hello
            activity& a = activate(g.rank, now);
            send_greeting(a, wire::kind::welcome, a.paths[comes_from(g.rank, from) ? from.path : a.home].to);
            arm(a, now);
        }
        return;
    }
    // What the rank has published counts; where that is not known yet, the key that it has proved, and where it came from.
    if (p.at == stage::unknown && !find_address(g.rank, now)) {
        if (p.gone || g.options != options_of(config_))
            return;
        p.address = from;
        p.epoch = g.epoch;
        p.datagram = static_cast<std::uint16_t>(std::min<std::size_t>(link_.max_datagram(from), g.max_datagram));
        p.next_number = config_.first_number ? *config_.first_number : random_number();
    }
    if (p.epoch != g.epoch || g.options != options_of(config_)) {
        ++counts_.strangers;
        return;
    }
    activity& a = activate(g.rank, now);
    if (comes_from(g.rank, from))
        move_home(a, from.path);  // it carries packets
    meet(a, g);
    if (wants_answer)
        send_greeting(a, wire::kind::welcome, a.paths[a.home].to);
    touch(a);
}

void endpoint::meet(activity& a, wire::greeting const& g)
{
    known_peer& p = peers_[a.who];
    p.at = stage::met;
    p.index = g.index;
    a.in.begin(g.number);
    p.expected = g.number;
    a.limit = a.out.oldest() + g.level;
    if (config_.sealed)
        a.keys = make_keys(key_, {rank_, epoch_}, {a.who, p.epoch});
}

} // namespace towline::transport::datagram
