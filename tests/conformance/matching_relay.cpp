// Relayed messages, whichever way the program would find to be the fastest.
#include "conformance/matching_worlds.hpp"

#include "heap/heap.hpp"
#include "matching/relay.hpp"

namespace {

using namespace matching_worlds;
namespace thresholds = match::thresholds;
using match::send_way;

class matching_relay : public every_matching {};
EVERY_FABRIC(matching_relay);

match::options by(send_way w)
{
    match::options o;
    o.way = w;
    return o;
}

/// How a peer is reached is known since the first message.
void meet(player& p)
{
    if (p.world.rank == 0)
        p.send(1, 99, bytes(8, 1));
    else
        (void)p.receive(0, 99, 8, 1);
}

/// The bytes to send, in the heap or outside.
struct buffer {
    std::vector<std::byte> plain;
    std::byte* data;
    bool in_heap;
    buffer(std::size_t n, bool heap)
        : plain(heap ? 0 : n), data(heap ? static_cast<std::byte*>(towline::heap::allocate(n)) : plain.data()), in_heap(heap)
    {
    }
    buffer(buffer const&) = delete;
    buffer& operator=(buffer const&) = delete;
    ~buffer()
    {
        if (in_heap)
            towline::heap::deallocate(data);
    }
};

constexpr std::size_t sizes[]{thresholds::relay_least - 1, thresholds::relay_least, 4095,  4096,   4097,
                              8192,                   20001,              65536, 262144, thresholds::relay_most - 1,
                              thresholds::relay_most,      thresholds::relay_most + 1};

// Posted before or after, from heap and plain memory, written anew for each message.
TEST_P(matching_relay, messages_of_all_sizes)
{
    for (send_way const way : {send_way::relay, send_way::relay_past}) {
        run_matching(
            2,
            [](player& p) {
                meet(p);
                for (bool const heap : {false, true}) {
                    for (std::size_t const n : sizes) {
                        SCOPED_TRACE("size " + std::to_string(n));
                        buffer const b(n, heap);
                        for (int i = 0; i < 6; ++i) {
                            bool const early = i % 2 == 0;
                            if (p.world.rank == 0) {
                                fill(b.data, n, n + static_cast<std::size_t>(i));
                                match::request s;
                                if (!early)
                                    p.world.barrier();
                                p.m.start_send(s, 1, p.letter(i), b.data, n);
                                if (early && n >= thresholds::relay_least && n <= thresholds::relay_most && maps(p.world.kind) && i == 0)
                                    require(s.done(), "the sender has ended before anybody receives");
                                if (early)
                                    p.world.barrier();
                                p.m.wait(s);
                            } else {
                                std::vector<std::byte> in(n + 8, std::byte{0x5a});
                                match::request r;
                                if (early)
                                    p.world.barrier();
                                p.m.start_receive(r, player::from(0, i), 0, {in.data(), n});
                                if (!early)
                                    p.world.barrier();
                                p.m.wait(r);
                                player::check(r.result(), n);
                                require(filled(in.data(), n, n + static_cast<std::size_t>(i)), "content");
                                require(in[n] == std::byte{0x5a}, "nothing behind it is written");
                            }
                        }
                    }
                }
            },
            by(way));
    }
}

// A buffer may be written again as soon as the send has ended, and more messages come than there are blocks.
TEST_P(matching_relay, buffers_are_free_at_once)
{
    run_matching(
        2,
        [](player& p) {
            constexpr int many = 40;
            constexpr std::size_t n = 30000;
            if (p.world.rank == 0) {
                std::deque<match::request> sends;
                std::deque<std::vector<std::byte>> data;
                for (int i = 0; i < many; ++i) {
                    auto& b = data.emplace_back(bytes(n, static_cast<std::uint64_t>(i)));
                    auto& s = sends.emplace_back();
                    p.m.start_send(s, 1, p.letter(3), b.data(), n);
                    if (s.done())
                        std::fill(b.begin(), b.end(), std::byte{0xee});
                }
                p.world.barrier();
                for (auto& s : sends)
                    p.m.wait(s);
            } else {
                p.world.barrier();
                for (int i = 0; i < many; ++i)
                    (void)p.receive(i % 2 == 0 ? 0 : any_source, 3, n, static_cast<std::uint64_t>(i));
            }
        },
        by(send_way::relay));
}

// Too long for its receive, unpacked, taken out of the queue, dropped: afterwards the sender's blocks are free again.
TEST_P(matching_relay, all_that_can_become_of_one)
{
    run_matching(
        2,
        [](player& p) {
            meet(p);
            enum class fate { truncated, unpacked, taken_out, dropped };
            struct collected {
                std::vector<std::byte> all;
                static bool unpack(void* c, std::span<std::byte const> b)
                {
                    static_cast<collected*>(c)->all.assign(b.begin(), b.end());
                    return true;
                }
            };
            for (std::size_t const n : {std::size_t{5000}, std::size_t{100000}}) {
                auto const out = bytes(n, n);
                for (int round = 0; round < 5; ++round) {
                    for (fate const f : {fate::truncated, fate::unpacked, fate::taken_out, fate::dropped}) {
                        for (bool const early : {true, false}) {
                            if (!early && f >= fate::taken_out)
                                continue;
                            if (p.world.rank == 0) {
                                match::request s;
                                p.world.barrier();
                                p.m.start_send(s, 1, p.letter(4), out.data(), n);
                                require(!maps(p.world.kind) || s.done(), "a block is free");
                                p.world.barrier();
                                p.world.barrier();
                                p.m.wait(s);
                                p.world.barrier();
                                continue;
                            }
                            std::vector<std::byte> in(n, std::byte{0x11});
                            collected c;
                            match::sink const to = f == fate::truncated  ? match::sink{in.data(), n - 1000}
                                                   : f == fate::unpacked ? match::sink{&c, n, &collected::unpack}
                                                                         : match::sink{in.data(), n};
                            match::request r;
                            if (!early)
                                p.m.start_receive(r, player::from(0, 4), 0, to);
                            p.world.barrier();
                            if (early)
                                p.world.until([&] { return p.m.numbers().unexpected == 1; }, "the early message");
                            p.world.barrier();
                            p.world.barrier();
                            if (f == fate::dropped) {
                                p.m.forget(1);
                            } else {
                                if (f == fate::taken_out) {
                                    auto m = p.m.mprobe(player::from(0, 4), 0);
                                    require(m.about().bytes == n, "what a probe says");
                                    p.m.start_receive(r, m, to);
                                } else if (early) {
                                    p.m.start_receive(r, player::from(0, 4), 0, to);
                                }
                                p.m.wait(r);
                                require(r.result().bytes == n && r.result().source == 0 && r.result().tag == 4, "about it");
                                require(r.result().error == (f == fate::truncated ? outcome::truncated : outcome::ok), "how it ended");
                                if (f == fate::unpacked)
                                    require(c.all == bytes(n, n), "unpacked");
                                else if (f == fate::taken_out)
                                    require(filled(in.data(), n, n), "content");
                                else if (maps(p.world.kind))
                                    require(filled(in.data(), n - 1000, n) && in[n - 1] == std::byte{0x11}, "what fits, and no more");
                            }
                            p.world.barrier();
                        }
                    }
                }
            }
        },
        by(send_way::relay));
}

} // namespace
