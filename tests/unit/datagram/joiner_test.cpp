// Which early packets hold a part of the message that has begun.
#include "transport/datagram/joiner.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace {

using namespace towline::transport::datagram;
using found = joiner::step::found;

std::vector<std::byte> record(wire::record_part part, std::uint16_t bytes, std::uint32_t place, std::size_t more = 0)
{
    wire::record_head const head{.bytes = bytes, .handler = 9, .part = part, .place = place};
    std::vector<std::byte> payload(sizeof head + wire::padded(bytes) + more);
    std::memcpy(payload.data(), &head, sizeof head);
    return payload;
}

TEST(joiner, only_full_packets_are_shown_early)
{
    part_beginnings beginnings{};
    beginnings[9] = 8;
    joiner j;
    auto const first = record(wire::first, 56, 1000);
    auto const begun = j.read(first, 0, 2000, beginnings);
    ASSERT_EQ(begun.what, found::part);
    EXPECT_EQ(begun.at, 8u);
    EXPECT_EQ(begun.bytes.size(), 48u);
    EXPECT_EQ(begun.beginning.size(), 8u);

    auto const middle = record(wire::more, 56, 56 + 2 * 56);
    auto const early = j.read_early(2, middle);
    ASSERT_EQ(early.what, found::part);
    EXPECT_EQ(early.at, 56u + 2 * 56);
    EXPECT_EQ(j.read_early(3, middle).what, found::nothing);  // of another message

    // The last packet of a later message may seem to be in its place, as far as its own length goes.
    EXPECT_EQ(j.read_early(2, record(wire::more, 20, 56 + 2 * 20)).what, found::nothing);
    EXPECT_EQ(j.read_early(2, record(wire::more, 56, 56 + 2 * 56, 8)).what, found::nothing);  // something follows it
    EXPECT_EQ(j.read_early(17, record(wire::more, 56, 56 + 17 * 56)).what, found::nothing);   // behind the message's end
    EXPECT_EQ(j.read_early(2, record(wire::first, 56, 56 + 2 * 56)).what, found::nothing);
}

} // namespace
