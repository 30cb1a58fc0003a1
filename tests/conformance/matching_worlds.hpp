#pragma once
// A matcher on every rank of a world of engines.

#include "conformance/engine_worlds.hpp"
#include "matching/matcher.hpp"

#include <cstring>

namespace matching_worlds {

using namespace engine_worlds;
namespace match = towline::matching;
using match::any_source;
using match::any_tag;
using match::no_peer;
using match::outcome;
using match::send_mode;

/// What one rank of a test sees: ranks within contexts are ranks of the world.
class player {
public:
    rank_context& world;
    match::matcher m;

    explicit player(rank_context& c, match::options const& o = {}) : world(c), m(c.engine, o) { c.barrier(); }
    ~player() = default;

    [[nodiscard]] match::envelope letter(std::int32_t tag, match::context_id context = 1) const
    {
        return {context, static_cast<std::int32_t>(world.rank), tag};
    }
    static match::pattern from(std::int32_t source, std::int32_t tag, match::context_id context = 1) { return {context, source, tag}; }
    [[nodiscard]] static peer peer_of(std::int32_t source) { return source == any_source ? no_peer : static_cast<peer>(source); }

    void send(peer to, std::int32_t tag, std::vector<std::byte> const& b, send_mode mode = send_mode::standard)
    {
        require(m.send(to, letter(tag), b.data(), b.size(), mode).error == outcome::ok, "a send ends well");
    }
    /// Receives what was filled with the seed, and checks all about it.
    match::status receive(std::int32_t source, std::int32_t tag, std::size_t size, std::uint64_t seed)
    {
        std::vector<std::byte> b(size + 8, std::byte{0x5a});
        auto const s = m.receive(from(source, tag), peer_of(source), {b.data(), size});
        check(s, size);
        require(filled(b.data(), size, seed), "content of " + std::to_string(size) + " bytes");
        for (std::size_t i = size; i < b.size(); ++i)
            require(b[i] == std::byte{0x5a}, "nothing behind the buffer is written");
        return s;
    }
    static void check(match::status const& s, std::size_t size)
    {
        require(s.error == outcome::ok && !s.cancelled, "a receive ends well: " + std::to_string(static_cast<int>(s.error)));
        require(s.bytes == size, "size: " + std::to_string(s.bytes) + " for " + std::to_string(size));
    }
    /// Nothing is left on any rank. To be called by all.
    void finish()
    {
        world.barrier();
        require(m.drain(20s), "drained");
        world.barrier();
        auto const n = m.numbers();
        require(n.unexpected == 0 && n.unexpected_bytes == 0, "no message is left");
        require(n.posted == 0 && m.pending().empty(), "no receive is left");
        world.barrier();
    }
};

inline std::vector<std::byte> bytes(std::size_t n, std::uint64_t seed)
{
    std::vector<std::byte> b(n);
    fill(b.data(), n, seed);
    return b;
}

class every_matching : public every_fabric {
protected:
    static void run_matching(peer size, std::function<void(player&)> const& f, match::options mo = {}, options o = {})
    {
        mo.threaded = mo.threaded || o.background || o.onload || onloaded();  // those threads poll
        if (!mo.way)
            mo.way = match::wished_way();
        run(
            size,
            [&](rank_context& c) {
                player p(c, mo);
                f(p);
                p.finish();
            },
            o);
    }
};

} // namespace matching_worlds
