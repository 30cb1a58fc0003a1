// Several networks between two processes: by which of them packets go, and which carry nothing.

#include "transport/datagram/endpoint.hpp"

#include <algorithm>

namespace towline::transport::datagram {

/// The peer's addresses, as far as it has published them.
void endpoint::learn_paths(activity& a)
{
    auto const blob = env_.address_of(a.who);
    if (!blob)
        return;
    auto const all = addresses_in(*blob);
    for (unsigned path = 0; path < paths_; ++path) {
        if (all[path]) {
            a.paths[path].to = *all[path];
            a.paths[path].known = true;
        }
    }
}

/// Whether a packet that came from there may be of this peer.
bool endpoint::comes_from(peer who, link_address const& from)
{
    known_peer const& p = peers_[who];
    if (p.at == stage::unknown)
        return false;
    if (p.address == from)
        return true;
    if (paths_ == 1)
        return false;
    if (p.active != nullptr && p.active->paths[from.path].known)
        return p.active->paths[from.path].to == from;
    auto const blob = env_.address_of(who);
    if (!blob || addresses_in(*blob)[from.path] != from)
        return false;
    if (p.active != nullptr)
        learn_paths(*p.active);  // it had not published them when that began
    return true;
}

void endpoint::move_home(activity& a, unsigned path) noexcept
{
    a.home = path;
    a.paths[path].usable = true;
    peers_[a.who].address = a.paths[path].to;
}

/// The path of the next train: home while that has less than a train on its way. Else the one with the fewest of those that are usable and
/// are not `full` (bits), of so many of them as the peer takes trains; one that is full only where all are.
unsigned endpoint::choose_path(activity& a, unsigned full) const noexcept
{
    std::uint32_t const train = packets_in_train(peers_[a.who]);
    std::uint32_t const credit = a.limit - a.out.oldest();
    unsigned wanted = std::clamp<std::uint32_t>(credit / train, 1, paths_);
    unsigned found = a.home;
    std::uint32_t least = ~0U;
    for (unsigned i = 0; i < paths_ && wanted != 0; ++i) {
        unsigned const path = (a.home + i) % paths_;
        if (!a.paths[path].usable || (full >> path & 1) != 0)
            continue;
        --wanted;
        std::uint32_t const trains = a.out.in_flight(path) / train;
        if (trains < least) {
            least = trains;
            found = path;
        }
    }
    return found;
}

/// Asks by paths that are not usable, where one more would be used.
void endpoint::widen(activity& a, std::int64_t now)
{
    std::uint32_t const train = packets_in_train(peers_[a.who]);
    if (now < a.try_paths || a.out.in_flight() < train || (a.limit - a.out.oldest()) / train < 2)
        return;
    a.try_paths = now + config_.path_again;
    for (unsigned path = 0; path < paths_; ++path) {
        if (a.paths[path].known && !a.paths[path].usable)
            probe(a, path, now);
    }
}

/// Where to ask after silence: first the path of what is missing, then the others in turn.
unsigned endpoint::path_to_ask(activity& a) const noexcept
{
    if (paths_ == 1)
        return a.home;
    unsigned path = a.out.in_flight() != 0 ? a.out.path_of_oldest() : a.home;
    for (std::uint32_t skip = a.probes; skip != 0 || !a.paths[path].known;) {
        path = (path + 1) % paths_;
        if (a.paths[path].known && skip != 0)
            --skip;
    }
    return path;
}

void endpoint::probe(activity& a, unsigned path, std::int64_t now)
{
    path_state& by = a.paths[path];
    by.probe_number = ++probe_numbers_;
    by.probe_order = a.out.orders(path);
    by.probed = now;
    if (by.unanswered++ == 0)
        by.silent_from = now;
    send_ack(a, path, wire::asks, by.probe_number, now);
    if (by.usable && !is_answering(a)) {  // it told what has arrived; an answer will, too
        a.unacked = 0;
        a.ack_now = false;
    }
}

bool endpoint::is_answering(activity const& a) noexcept
{
    return std::ranges::any_of(a.paths, &path_state::answering);
}

/// The path whose last probe this packet answers; null: none.
path_state* endpoint::asked_for(activity& a, wire::header const& h) noexcept
{
    if ((h.flags & wire::answers) == 0)
        return nullptr;
    auto const found = std::ranges::find_if(a.paths, [&](path_state const& by) { return by.unanswered != 0 && by.probe_number == h.number; });
    return found == a.paths.end() ? nullptr : &*found;
}

void endpoint::note_answered(activity& a, path_state& by, std::int64_t now) noexcept
{
    static_cast<void>(a.out.note_lost(static_cast<unsigned>(&by - a.paths.data()), by.probe_order));
    by.unanswered = 0;
    by.answered = now;
    by.usable = true;
}

/// After another time-out of silence: a path carries nothing where several probes have no answer, but one that was sent later by another
/// path has. What is on its way there is lost. False: there is none.
bool endpoint::drop_silent_paths(activity& a) noexcept
{
    constexpr std::uint32_t several = 2;
    auto const& last = *std::ranges::max_element(a.paths, {}, &path_state::answered);
    bool found = false;
    for (unsigned path = 0; path < paths_; ++path) {
        path_state& by = a.paths[path];
        if (!by.usable || by.unanswered < several || by.silent_from >= last.answered)
            continue;
        by.usable = false;
        static_cast<void>(a.out.note_lost(path, a.out.orders(path)));
        found = true;
    }
    if (!a.paths[a.home].usable)
        move_home(a, static_cast<unsigned>(&last - a.paths.data()));
    return found;
}

} // namespace towline::transport::datagram
