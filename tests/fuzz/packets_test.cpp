// The corpus of packets, and seeded mutations of it: whatever one peer sends, the process lives and hears the others.
// TOWLINE_FUZZ_SEED=n repeats a run.

#include "fuzz/packets.hpp"

#include "transport/datagram/wire.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <vector>

namespace {

namespace wire = towline::transport::datagram::wire;
using file = std::vector<std::uint8_t>;

void add(file& f, void const* p, std::size_t n)
{
    auto const* const bytes = static_cast<std::uint8_t const*>(p);
    f.insert(f.end(), bytes, bytes + n);
}

struct piece {
    wire::record_part part;
    std::uint16_t bytes;
    std::uint32_t place;
    towline::transport::handler_id handler = 1;
};

/// A data packet, or an ack with `words` of bitmap.
void add_packet(file& f, wire::kind kind, std::uint32_t number, std::uint32_t acknowledged, std::vector<piece> const& pieces,
                std::vector<std::uint64_t> const& words = {}, std::uint8_t flags = 0)
{
    file packet;
    wire::header const h{
        .form = wire::form_of(kind), .flags = flags, .level = 100, .number = number, .acknowledged = acknowledged, .index = 0};
    add(packet, &h, sizeof h);
    for (piece const& p : pieces) {
        wire::record_head const r{.bytes = p.bytes, .handler = p.handler, .part = p.part, .place = p.place};
        add(packet, &r, sizeof r);
        packet.resize(packet.size() + wire::padded(p.bytes));
    }
    for (std::uint64_t const w : words)
        add(packet, &w, sizeof w);
    auto const size = static_cast<std::uint16_t>(packet.size());
    add(f, &size, sizeof size);
    f.insert(f.end(), packet.begin(), packet.end());
}

/// What a peer might really send after it was met: its first packet had number 100.
std::vector<file> seeds()
{
    std::vector<file> all(5);
    add_packet(all[0], wire::kind::data, 101, 100, {{wire::whole, 0, 0}, {wire::whole, 5, 0}});
    add_packet(all[0], wire::kind::data, 102, 100, {{wire::first, 8, 24}});
    add_packet(all[0], wire::kind::data, 103, 100, {{wire::more, 8, 8}, {wire::more, 8, 16}});
    add_packet(all[1], wire::kind::data, 103, 100, {{wire::whole, 3, 0}});
    add_packet(all[1], wire::kind::data, 102, 100, {{wire::whole, 3, 0}});
    add_packet(all[1], wire::kind::data, 101, 100, {{wire::whole, 3, 0}});
    add_packet(all[2], wire::kind::ack, 0, 100, {}, {0, 0}, wire::asks);
    add_packet(all[2], wire::kind::ack, 7, 100, {}, {}, wire::answers);
    add_packet(all[3], wire::kind::data, 101, 100, {{wire::first, 40, 60000}}, {}, wire::partial);
    for (std::uint32_t i = 0; i < 3; ++i)
        add_packet(all[3], wire::kind::data, 102 + i, 100, {{wire::more, 40, 40 + 40 * i}});
    // In parts: two come before their turn, one of them twice; one claims a place that is not its own.
    add_packet(all[4], wire::kind::data, 101, 100, {{wire::first, 40, 200, 2}}, {}, wire::partial);
    for (auto const& [number, place] : {std::pair{103U, 80U}, {104U, 120U}, {103U, 80U}, {105U, 80U}, {102U, 40U}})
        add_packet(all[4], wire::kind::data, number, 100, {{wire::more, 40, place, 2}});
    return all;
}

std::vector<file> corpus()
{
    std::vector<file> all = seeds();
    for (auto const& entry : std::filesystem::directory_iterator(TOWLINE_PACKETS)) {
        std::ifstream in(entry.path(), std::ios::binary);
        all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return all;
}

TEST(packets, corpus)
{
    if (std::getenv("TOWLINE_WRITE_GOLDEN") != nullptr) {
        int n = 0;
        for (file const& f : seeds())
            std::ofstream(std::string(TOWLINE_PACKETS) + "/seed" + std::to_string(n++), std::ios::binary)
                .write(reinterpret_cast<char const*>(f.data()), static_cast<std::streamsize>(f.size()));
    }
    ASSERT_GE(corpus().size(), 2 * seeds().size());
    for (file const& f : corpus())
        towline::test::feed_packets(f);
}

TEST(packets, mutations)
{
    char const* const given = std::getenv("TOWLINE_FUZZ_SEED");
    auto const seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
    std::fprintf(stderr, "repeat with TOWLINE_FUZZ_SEED=%u\n", seed);
    std::mt19937 random(seed);
    auto const files = corpus();
    for (int i = 0; i < 3000; ++i) {
        file f = files[random() % files.size()];
        file const& other = files[random() % files.size()];
        if (random() % 4 == 0)
            f.insert(f.end(), other.begin(), other.end());
        for (auto k = random() % 5 + 1; k > 0 && !f.empty(); --k) {
            std::size_t const at = random() % f.size();
            switch (random() % 4) {
            case 0: f[at] = static_cast<std::uint8_t>(random()); break;
            case 1: f[at] ^= static_cast<std::uint8_t>(1U << random() % 8); break;
            case 2: f.erase(f.begin() + static_cast<std::ptrdiff_t>(at)); break;
            default: f.insert(f.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random())); break;
            }
        }
        towline::test::feed_packets(f);
    }
}

} // namespace
