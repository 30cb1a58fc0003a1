#include "fuzz/packets.hpp"

#include "transport/datagram/component.hpp"
#include "transport/datagram/sim/memory_environment.hpp"
#include "transport/datagram/sim/network.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace towline::test {

namespace {

namespace dg = transport::datagram;
using transport::peer;

constexpr peer victim = 0, bad = 1, good = 2, ranks = 3;
constexpr std::size_t index_at = 12;  // in a header

void require(bool condition, char const* what)
{
    if (!condition) {
        std::fprintf(stderr, "packets: %s\n", what);
        std::abort();
    }
}

struct world {
    dg::sim::manual_clock clock;
    dg::sim::directory directory{ranks};
    dg::sim::network net{{}, clock.source()};
    std::vector<std::unique_ptr<dg::sim::memory_environment>> environments;
    std::vector<std::unique_ptr<transport::component>> all;
    std::uint64_t heard_of_good = 0;
    unsigned read_of_parts = 0;
    std::uint32_t index = 0;  ///< of the bad one at the victim

    world()
    {
        net.set_tap(
            [](void* p, std::uint32_t from, std::uint32_t to, std::span<std::byte const> bytes) {
                if (from == bad && to == victim && dg::wire::read_header(bytes))
                    std::memcpy(&static_cast<world*>(p)->index, bytes.data() + index_at, sizeof(std::uint32_t));
                return false;
            },
            this);
        dg::config c;
        c.first_number = 100;
        for (peer r = 0; r < ranks; ++r) {
            environments.push_back(std::make_unique<dg::sim::memory_environment>(directory, r));
            all.push_back(dg::make(net.make(), *environments[r], c, clock.source()));
        }
        all[victim]->set_handler(
            1, [](void* p, peer source, std::span<std::byte const>) { static_cast<world*>(p)->heard_of_good += source == good; }, this);
        // Handler 2 takes parts, and reads all of them; where it may put them is its own affair.
        all[victim]->set_part_handler(
            2, 8,
            [](void* p, peer, std::span<std::byte const> head, std::size_t, std::span<std::byte const> bytes) {
                for (std::byte const b : head)
                    static_cast<world*>(p)->read_of_parts ^= static_cast<unsigned>(b);
                for (std::byte const b : bytes)
                    static_cast<world*>(p)->read_of_parts ^= static_cast<unsigned>(b);
            },
            this);
        for (peer const r : {bad, good}) {
            static_cast<void>(all[r]->try_send(victim, 1, {}, {}));
            for (int i = 0; i < 4; ++i)
                step();
        }
        require(index != 0 && heard_of_good == 1, "the ranks did not meet");
    }
    void step()
    {
        for (auto const& c : all)
            c->poll(1000);
        clock.pass(10'000);
    }
};

} // namespace

void feed_packets(std::span<std::uint8_t const> input)
{
    world w;
    while (input.size() >= 2) {
        std::size_t const given = input[0] | static_cast<std::size_t>(input[1]) << 8;
        std::size_t const size = std::min(given & 0x7fff, input.size() - 2);
        auto const bytes = std::as_bytes(input.subspan(2, size));
        std::vector<std::byte> packet(bytes.begin(), bytes.end());
        input = input.subspan(2 + size);
        if ((given & 0x8000) == 0 && size >= index_at + sizeof w.index)
            std::memcpy(packet.data() + index_at, &w.index, sizeof w.index);
        w.net.inject(bad, victim, packet);
        w.all[victim]->poll(1000);
        w.clock.pass(10'000);
    }
    for (int i = 0; i < 3; ++i)
        w.step();
    std::uint64_t const before = w.heard_of_good;
    require(w.all[good]->try_send(victim, 1, {}, {}) == transport::send_status::sent, "the good peer was given up");
    for (int i = 0; i < 8; ++i)
        w.step();
    require(w.heard_of_good == before + 1, "the good peer is not heard any more");
}

} // namespace towline::test
