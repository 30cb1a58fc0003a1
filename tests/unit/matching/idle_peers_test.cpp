// What a process pays for ranks that it never speaks with: a world of a million, by engine, matcher and the datagram transport's table.

#include "engine/engine.hpp"
#include "matching/matcher.hpp"
#include "towline/error.hpp"
#include "transport/datagram/peer_table.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace {

using namespace towline;
using transport::peer;

/// Reaches everybody, and takes all messages.
class nowhere final : public transport::component {
public:
    explicit nowhere(std::uint64_t& taken) : taken_(taken) {}
    std::string_view name() const noexcept override { return "nowhere"; }
    transport::capabilities const& caps() const noexcept override { return caps_; }
    std::string why_not(peer) const override { return {}; }
    void set_handler(transport::handler_id, transport::handler, void*) override {}
    transport::send_status try_send(peer, transport::handler_id, std::span<std::byte const>, std::span<std::byte const>) override
    {
        ++taken_;
        return transport::send_status::sent;
    }
    int poll(int) override { return 0; }
    bool pending() const noexcept override { return false; }
    void peer_died(peer) override {}

private:
    std::uint64_t& taken_;
    transport::capabilities caps_{.max_inline = 64, .max_eager = 4096, .can_get = false, .can_map = false, .reliable = true,
                                  .ordered = true, .latency_ns = 1, .bandwidth = 1};
};

[[maybe_unused]] std::size_t resident_bytes()
{
    std::ifstream f("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    f >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(idle_peers, cost_at_most_64_bytes)
{
    constexpr peer size = 1'000'000;
    [[maybe_unused]] std::size_t const before = resident_bytes();
    std::uint64_t taken = 0;
    engine::setup s;
    s.size = size;
    s.transports.push_back(std::make_unique<nowhere>(taken));
    s.background = false;
    engine::engine e(std::move(s));
    matching::matcher m(e);
    [[maybe_unused]] std::size_t const unknown = resident_bytes();
    transport::datagram::peer_table table(size);  // as the transport has it once it knows all addresses
    for (peer p = 0; p < size; ++p)
        table[p].at = transport::datagram::known_peer::stage::met;
    [[maybe_unused]] std::size_t const known = resident_bytes();

    // Some become active; the end must not touch the others either.
    std::byte const word[8]{};
    for (peer p = 1; p < size; p += 10'000)
        e.send_small(p, 5, word);
    EXPECT_EQ(taken, 100u);
    e.close();
    EXPECT_THROW(e.send_small(1, 5, word), usage_error);
    EXPECT_THROW(e.send_small(2, 5, word), usage_error) << "a peer that was never active";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow counts, too
    std::size_t const closed = resident_bytes();
    std::printf("bytes a peer: %.2f by engine and matcher, %.2f with the datagram table; %zu KiB for 100 active ones\n",
                static_cast<double>(unknown - before) / size, static_cast<double>(known - before) / size, (closed - known) >> 10);
    EXPECT_LE(unknown - before, std::size_t{size});
    EXPECT_LE(known - before, std::size_t{size} * 64 + (std::size_t{2} << 20));
    EXPECT_LE(closed - known, std::size_t{4} << 20);
#endif
}

} // namespace
