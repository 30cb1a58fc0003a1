// Sizes, modes, order, wildcards, truncation, memory of early messages: over every fabric.

#include "conformance/matching_worlds.hpp"

#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

using namespace matching_worlds;

namespace {

class matching_messages : public every_matching {};
EVERY_FABRIC(matching_messages);

std::vector<std::size_t> interesting_sizes()
{
    std::vector<std::size_t> sizes{0, 1, 7, 8, 12, 28, 29, 44, 45, 63, 64, 65, 100, 228, 244, 245, 256, 500, 1000};
    for (std::size_t around : {2048, 4096, 8192, 16384, 65536, 300000}) {
        for (std::size_t d : {64, 12, 8, 1, 0})
            sizes.push_back(around - d);
        sizes.push_back(around + 1);
    }
    return sizes;
}

TEST_P(matching_messages, every_size_and_mode_early_and_late)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        auto const sizes = interesting_sizes();
        for (send_mode const mode : {send_mode::standard, send_mode::synchronous, send_mode::ready}) {
            for (bool const early : {false, true}) {
                if (early && mode == send_mode::ready)
                    continue;
                std::deque<match::request> sends;
                std::deque<match::request> receives;
                std::vector<std::vector<std::byte>> out;
                std::vector<std::vector<std::byte>> in;
                auto const post = [&] {
                    for (std::size_t const n : sizes)
                        p.m.start_receive(receives.emplace_back(), player::from(static_cast<std::int32_t>(other), 3), other,
                                          {in.emplace_back(n + 1).data(), n + 1});
                };
                if (!early)
                    post();
                p.world.barrier();
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                    out.push_back(bytes(sizes[i], i + p.world.rank));
                    p.m.start_send(sends.emplace_back(), other, p.letter(3), out.back().data(), sizes[i], mode);
                }
                if (early) {
                    p.world.until([&] { return p.m.numbers().unexpected == sizes.size(); }, "all to come");
                    p.world.barrier();
                    if (mode == send_mode::synchronous) {
                        for (auto const& r : sends)
                            require(!r.done(), "a synchronous send ends when it is matched");
                    }
                    p.world.barrier();
                    post();
                }
                for (auto& r : receives)
                    p.m.wait(r);
                for (auto& r : sends) {
                    p.m.wait(r);
                    require(r.result().error == outcome::ok, "sent");
                }
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                    player::check(receives[i].result(), sizes[i]);
                    require(receives[i].result().source == static_cast<std::int32_t>(other) && receives[i].result().tag == 3, "envelope");
                    require(filled(in[i].data(), sizes[i], i + other), "content of " + std::to_string(sizes[i]));
                    require(in[i][sizes[i]] == std::byte{0}, "nothing behind it is written");
                }
                p.world.barrier();
            }
        }
        require(p.m.numbers().ready_errors == 0, "every ready send found its receive");
    });
}

TEST_P(matching_messages, blocking_both_ways)
{
    run_matching(2, [](player& p) {
        for (std::size_t const n : interesting_sizes()) {
            for (send_mode const mode : {send_mode::standard, send_mode::synchronous}) {
                if (p.world.rank == 0) {
                    p.send(1, 5, bytes(n, n), mode);
                    p.receive(1, 6, n, n + 1);
                } else {
                    p.receive(0, 5, n, n);
                    p.send(0, 6, bytes(n, n + 1), mode);
                }
            }
        }
    });
}

TEST_P(matching_messages, lent_heap_blocks)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        for (std::size_t const n : {5000, 8193, 20000, 200000}) {
            auto* const out = static_cast<std::byte*>(towline::heap::allocate(n));
            fill(out, n, n + p.world.rank);
            match::request s;
            p.m.start_send(s, other, p.letter(0), out, n);
            p.receive(static_cast<std::int32_t>(other), 0, n, n + other);
            p.m.wait(s);
            std::memset(out, 0, n);
            towline::heap::deallocate(out);
        }
    });
}

// What lies in the heap and is not large is copied by its receiver, out of the sender's memory: posted, early, truncated, unpacked, taken
// out, asked back, and dropped.
TEST_P(matching_messages, heap_blocks_stay_until_they_are_received)
{
    auto const all_ways = [](player& p) {
        enum class way { plain, truncated, unpacked, taken_out, asked_back, dropped };
        struct collected {
            std::vector<std::byte> all;
            static bool unpack(void* c, std::span<std::byte const> b)
            {
                static_cast<collected*>(c)->all.assign(b.begin(), b.end());
                return true;
            }
        };
        for (std::size_t const n : {4096, 5000, 20000, 32767}) {
            auto* const out = static_cast<std::byte*>(towline::heap::allocate(n));
            fill(out, n, n);
            for (send_mode const mode : {send_mode::standard, send_mode::synchronous}) {
                for (way const w : {way::plain, way::truncated, way::unpacked, way::taken_out, way::asked_back, way::dropped}) {
                    for (bool const early : {false, true}) {
                        if ((!early && w >= way::taken_out) || (w == way::asked_back && !maps(p.world.kind)))
                            continue;
                        SCOPED_TRACE("size " + std::to_string(n) + ", way " + std::to_string(static_cast<int>(w)));
                        if (p.world.rank == 0) {
                            match::request s;
                            p.world.barrier();
                            p.m.start_send(s, 1, p.letter(4), out, n, mode);
                            p.world.barrier();  // it is there
                            require(!early || !s.done() || (mode == send_mode::standard && !maps(p.world.kind)), "it waits");
                            p.world.barrier();
                            if (w == way::asked_back)
                                require(!p.m.cancel(s), "its receiver says");
                            p.m.wait(s);
                            require(s.result().error == outcome::ok, "it ended well");
                            require(s.result().cancelled == (w == way::asked_back), "cancelled where it was");
                        } else {
                            std::vector<std::byte> in(n);
                            collected c;
                            match::sink const to = w == way::truncated  ? match::sink{in.data(), n - 1000}
                                                   : w == way::unpacked ? match::sink{&c, n, &collected::unpack}
                                                                        : match::sink{in.data(), n};
                            match::request r;
                            if (!early)
                                p.m.start_receive(r, player::from(0, 4), 0, to);
                            p.world.barrier();
                            if (early)
                                p.world.until([&] { return p.m.numbers().unexpected == 1; }, "the early message");
                            p.world.barrier();
                            p.world.barrier();
                            if (w == way::asked_back) {
                                p.world.until([&] { return p.m.numbers().unexpected == 0; }, "it to be taken back");
                            } else if (w == way::dropped) {
                                p.m.forget(1);
                            } else {
                                if (w == way::taken_out) {
                                    auto m = p.m.mprobe(player::from(0, 4), 0);
                                    p.m.start_receive(r, m, to);
                                } else if (early) {
                                    p.m.start_receive(r, player::from(0, 4), 0, to);
                                }
                                p.m.wait(r);
                                require(r.result().bytes == n && r.result().source == 0 && r.result().tag == 4, "about it");
                                require(r.result().error == (w == way::truncated ? outcome::truncated : outcome::ok), "how it ended");
                                require(w == way::unpacked ? filled(c.all.data(), n, n) && c.all.size() == n
                                                           : filled(in.data(), w == way::truncated && maps(p.world.kind) ? n - 1000 : 0, n),
                                        "content");
                                require(w == way::unpacked || w == way::truncated || filled(in.data(), n, n), "all of it");
                            }
                        }
                        p.world.barrier();
                    }
                }
            }
            towline::heap::deallocate(out);
        }
    };
    match::options mo;
    mo.way = match::send_way::direct;  // what is relayed does not stay
    run_matching(2, all_ways, mo);
}

// Of one sender and context, in order, whatever the sizes and modes and however they are asked for.
TEST_P(matching_messages, messages_do_not_overtake)
{
    std::uint64_t const seed = test_seed();
    SCOPED_TRACE("TOWLINE_TEST_SEED=" + std::to_string(seed));
    auto const all_in_order = [seed](player& p) {
        constexpr int messages = 400;
        peer const me = p.world.rank;
        // Everybody knows what everybody sends: number, size, tag and mode come from the sender's seed.
        struct plan {
            std::size_t size;
            std::int32_t tag;
            send_mode mode;
        };
        auto const plan_of = [seed](peer from, peer to) {
            std::mt19937_64 random(seed + from * 10 + to);
            std::vector<plan> all;
            for (int i = 0; i < messages; ++i) {
                std::size_t const big = random() % 10;
                std::size_t const size = 8 + (big == 0 ? random() % 60000 : big < 4 ? random() % 3000 : random() % 50);
                all.push_back({size, static_cast<std::int32_t>(random() % 3), random() % 5 == 0 ? send_mode::synchronous : send_mode::standard});
            }
            return all;
        };
        std::deque<match::request> sends;
        std::deque<std::vector<std::byte>> buffers;
        for (int i = 0; i < messages; ++i) {
            for (peer to = 0; to < p.world.size; ++to) {
                plan const what = plan_of(me, to)[static_cast<std::size_t>(i)];
                auto& b = buffers.emplace_back(bytes(what.size, seed));
                std::uint32_t const number = static_cast<std::uint32_t>(i);
                std::memcpy(b.data(), &number, sizeof number);
                p.m.start_send(sends.emplace_back(), to, p.letter(what.tag), b.data(), b.size(), what.mode);
            }
            if (i % 50 == 0)
                p.world.engine.progress();
        }
        std::mt19937_64 random(seed + 1000 + me);
        std::vector<std::vector<plan>> plans;
        std::vector<std::vector<bool>> got(p.world.size, std::vector<bool>(messages, false));
        for (peer from = 0; from < p.world.size; ++from)
            plans.push_back(plan_of(from, me));
        std::vector<int> left(p.world.size, messages);
        std::vector<std::byte> b(70000);
        for (int i = 0; i < messages * static_cast<int>(p.world.size); ++i) {
            // Ask for something that is still to come.
            match::pattern ask{1, any_source, any_tag};
            peer from = no_peer;
            if (random() % 2 == 0) {
                do
                    from = static_cast<peer>(random() % p.world.size);
                while (left[from] == 0);
                ask.source = static_cast<std::int32_t>(from);
            }
            if (random() % 2 == 0) {
                peer some = from;
                while (some == no_peer || left[some] == 0)
                    some = static_cast<peer>(random() % p.world.size);
                int which = 0;
                do
                    which = static_cast<int>(random() % messages);
                while (got[some][static_cast<std::size_t>(which)]);
                ask.tag = plans[some][static_cast<std::size_t>(which)].tag;
            }
            auto const s = p.m.receive(ask, from, {b.data(), b.size()});
            require(s.error == outcome::ok, "received");
            auto const source = static_cast<peer>(s.source);
            std::uint32_t number = 0;
            std::memcpy(&number, b.data(), sizeof number);
            require(number < messages && !got[source][number], "each once");
            plan const& what = plans[source][number];
            require(what.tag == s.tag && what.size == s.bytes, "what was sent");
            require((ask.source == any_source || ask.source == s.source) && (ask.tag == any_tag || ask.tag == s.tag), "what was asked for");
            for (std::uint32_t earlier = 0; earlier < number; ++earlier)
                require(got[source][earlier] || (ask.tag != any_tag && plans[source][earlier].tag != ask.tag), "not overtaken");
            for (std::size_t at = 8; at < s.bytes; at += 97)
                require(b[at] == pattern(seed, at), "content");
            got[source][number] = true;
            --left[source];
        }
        for (auto& r : sends)
            p.m.wait(r);
    };
    run_matching(3, all_in_order);
    run_matching(3, all_in_order, {.eager = 70000});  // blocking receives take what they can from where it arrived
}

TEST_P(matching_messages, contexts_are_apart)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        for (match::context_id const c : {7u, 0xffffffffu, 0u}) {
            std::uint32_t const v = c;
            p.m.send(other, p.letter(1, c), &v, sizeof v);
        }
        for (match::context_id const c : {0u, 7u, 0xffffffffu}) {
            std::uint32_t v = 1;
            player::check(p.m.receive(player::from(any_source, any_tag, c), no_peer, {&v, sizeof v}), sizeof v);
            require(v == c, "of its own context");
        }
        // What is left of a context that ends is dropped, and who waits for it to be matched is told.
        match::request s;
        std::uint64_t const v = 1;
        p.m.start_send(s, other, p.letter(1, 9), &v, sizeof v, send_mode::synchronous);
        p.m.send(other, p.letter(2, 9), &v, sizeof v);
        p.m.send(other, p.letter(2, 10), &v, sizeof v);
        p.world.until([&] { return p.m.numbers().unexpected == 3; });
        p.m.forget(9);
        require(p.m.numbers().unexpected == 1, "the other context's stays");
        p.m.wait(s);
        std::uint64_t got = 0;
        player::check(p.m.receive(player::from(any_source, 2, 10), no_peer, {&got, sizeof got}), sizeof got);
    });
}

TEST_P(matching_messages, too_long_ones_are_told_with_their_size)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        for (bool const early : {true, false}) {
            for (std::size_t const n : {9, 100, 5000, 9000, 40000, 200000}) {
                for (std::size_t const room : {std::size_t{0}, std::size_t{8}, n - 1}) {
                    match::request s;
                    match::request after;
                    match::request r;
                    std::uint64_t const last = n;
                    auto const out = bytes(n, n);
                    std::vector<std::byte> in(n, std::byte{0x5a});
                    if (!early) {
                        p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), 1), other, {in.data(), room});
                        p.world.barrier();
                    }
                    p.m.start_send(s, other, p.letter(1), out.data(), n);
                    p.m.start_send(after, other, p.letter(1), &last, sizeof last);
                    if (early) {
                        p.world.until([&] { return p.m.numbers().unexpected == 2; });
                        p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), 1), other, {in.data(), room});
                    }
                    p.m.wait(r);
                    require(r.result().error == outcome::truncated && r.result().bytes == n, "truncated, with the true size");
                    for (std::size_t i = room; i < n; ++i)
                        require(in[i] == std::byte{0x5a}, "nothing behind the buffer is written");
                    std::uint64_t got = 0;
                    player::check(p.m.receive(player::from(any_source, any_tag), no_peer, {&got, sizeof got}), sizeof got);
                    require(got == last, "the next one is whole");
                    p.m.wait(s);
                    require(s.result().error == outcome::ok, "the sender does not care");
                    p.m.wait(after);
                    p.world.barrier();
                }
            }
        }
    });
}

TEST_P(matching_messages, a_rank_talks_to_itself)
{
    run_matching(1, [](player& p) {
        for (std::size_t const n : interesting_sizes()) {
            for (bool const early : {true, false}) {
                match::request s;
                match::request r;
                auto const out = bytes(n, n);
                std::vector<std::byte> in(n);
                auto const post = [&] { p.m.start_receive(r, player::from(0, 4), 0, {in.data(), n}); };
                if (!early)
                    post();
                p.m.start_send(s, 0, p.letter(4), out.data(), n, n % 2 == 0 ? send_mode::synchronous : send_mode::standard);
                if (early)
                    post();
                p.m.wait(r);
                p.m.wait(s);
                require(in == out, "content");
            }
        }
    });
}

TEST_P(matching_messages, thousands_come_early)
{
    run_matching(2, [](player& p) {
        constexpr std::int32_t many = 5000;
        peer const other = 1 - p.world.rank;
        for (std::int32_t i = 0; i < many; ++i) {
            auto const b = bytes(static_cast<std::size_t>(i % 100), static_cast<std::uint64_t>(i));
            p.m.send(other, p.letter(i), b.data(), b.size());
        }
        p.world.until([&] { return p.m.numbers().unexpected == many; });
        // Backwards by tag, then the rest in order of arrival.
        for (std::int32_t i = many - 1; i >= many / 2; --i)
            p.receive(i % 2 == 0 ? any_source : static_cast<std::int32_t>(other), i, static_cast<std::size_t>(i % 100), static_cast<std::uint64_t>(i));
        for (std::int32_t i = 0; i < many / 2; ++i)
            require(p.receive(any_source, any_tag, static_cast<std::size_t>(i % 100), static_cast<std::uint64_t>(i)).tag == i, "in order");
    });
}

TEST_P(matching_messages, thousands_are_posted_ahead)
{
    run_matching(2, [](player& p) {
        constexpr std::int32_t many = 3000;
        peer const other = 1 - p.world.rank;
        std::deque<match::request> receives;
        std::vector<std::uint64_t> in(many);
        for (std::int32_t i = 0; i < many; ++i)
            p.m.start_receive(receives.emplace_back(), player::from(i % 3 == 0 ? any_source : static_cast<std::int32_t>(other), i), other,
                              {&in[static_cast<std::size_t>(i)], 8});
        p.world.barrier();
        for (std::int32_t i = many - 1; i >= 0; --i) {
            std::uint64_t const v = static_cast<std::uint64_t>(i) * 3;
            p.m.send(other, p.letter(i), &v, sizeof v);
        }
        std::size_t next = 0;
        require(p.m.wait_until(
                    [&] {
                        while (next < receives.size() && receives[next].done())
                            ++next;
                        return next == receives.size();
                    },
                    "all", 60s),
                "all arrive");
        for (std::size_t i = 0; i < many; ++i)
            require(in[i] == i * 3, "each its own");
    });
}

TEST_P(matching_messages, everybody_sends_to_one)
{
    run_matching(4, [](player& p) {
        constexpr int each = 500;
        if (p.world.rank != 0) {
            for (int i = 0; i < each; ++i)
                p.send(0, i % 5, bytes(i % 40 == 0 ? 10000 : 16, static_cast<std::uint64_t>(i) * 4 + p.world.rank),
                       i % 7 == 0 ? send_mode::synchronous : send_mode::standard);
            return;
        }
        std::vector<int> next(p.world.size, 0);
        std::vector<std::byte> b(10000);
        for (int i = 0; i < each * static_cast<int>(p.world.size - 1); ++i) {
            auto const s = p.m.receive(player::from(any_source, any_tag), no_peer, {b.data(), b.size()});
            require(s.error == outcome::ok, "received");
            auto& n = next[static_cast<std::size_t>(s.source)];
            require(s.tag == n % 5 && s.bytes == (n % 40 == 0 ? 10000u : 16u), "in order");
            require(filled(b.data(), s.bytes, static_cast<std::uint64_t>(n) * 4 + static_cast<std::uint64_t>(s.source)), "content");
            ++n;
        }
    });
}

// A sender whose messages nobody takes is held back, and goes on when they are taken.
TEST_P(matching_messages, early_messages_take_bounded_memory)
{
    match::options mo;
    mo.unexpected = 100000;
    run_matching(
        2,
        [](player& p) {
            constexpr int many = 3000;
            if (p.world.rank == 0) {
                std::deque<match::request> sends;
                auto const b = bytes(500, 1);
                int begun = 0;
                // A program that waits for its sends does not get far.
                for (; begun < many; ++begun) {
                    auto& r = sends.emplace_back();
                    p.m.start_send(r, 1, p.letter(begun), b.data(), b.size());
                    p.world.until([&] { return r.done() || p.world.board[rank_context::first_word].load() == 1; });
                    if (!r.done() && !p.world.engine.wait([&] { return r.done(); }, "a send", 5ms))
                        break;
                }
                require(begun < many, "held back in time");
                p.world.board[rank_context::first_word + 1].store(1);
                for (auto& r : sends)
                    p.m.wait(r);
                for (++begun; begun < many; ++begun)
                    p.send(1, begun, b);
            } else {
                auto const& words = p.world.board;
                p.world.until([&] { return p.m.numbers().throttled == 1; }, "too much to be there");
                p.world.board[rank_context::first_word].store(1);
                p.world.until([&] { return words[rank_context::first_word + 1].load() == 1; }, "the sender to be held back");
                require(p.m.numbers().throttled == 1, "told once");
                for (int i = 0; i < many; ++i)
                    p.receive(0, i, 500, 1);
            }
        },
        mo);
}

TEST_P(matching_messages, an_early_ready_send_is_noted)
{
    run_matching(2, [](player& p) {
        peer const other = 1 - p.world.rank;
        for (std::size_t const n : {8, 20000}) {
            match::request s;
            auto const b = bytes(n, n);
            p.m.start_send(s, other, p.letter(1), b.data(), n, send_mode::ready);
            p.world.until([&] { return p.m.numbers().unexpected == 1; });
            p.receive(any_source, 1, n, n);
            p.m.wait(s);
            p.world.barrier();
        }
        require(p.m.numbers().ready_errors == 2, "both were noted");
    });
}

/// Two times a gigabyte and more, in memory of a megabyte mapped again and again.
class long_memory {
public:
    explicit long_memory(std::size_t size) : size_(size)
    {
        int const fd = ::memfd_create("long", 0);
        require(fd >= 0 && ::ftruncate(fd, piece) == 0, "memfd");
        auto* const at = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        require(at != MAP_FAILED, "room for addresses");
        data = static_cast<std::byte*>(at);
        for (std::size_t i = 0; i < size; i += piece)
            require(::mmap(data + i, std::min(piece, size - i), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED, "mmap");
        ::close(fd);
    }
    ~long_memory() { ::munmap(data, size_); }
    static constexpr std::size_t piece = std::size_t{1} << 20;
    std::byte* data = nullptr;

private:
    std::size_t size_;
};

TEST_P(matching_messages, more_than_two_gigabytes)
{
    if (!maps(GetParam()))
        GTEST_SKIP() << "piece by piece it takes minutes";
#if defined(TOWLINE_SANITIZED)
    GTEST_SKIP() << "takes minutes with a sanitizer";
#endif
    run_matching(2, [](player& p) {
        constexpr std::uint64_t size = (std::uint64_t{1} << 31) + 12345;
        long_memory const memory(size);
        if (p.world.rank == 0) {
            fill(memory.data, long_memory::piece, 3);
            require(p.m.send(1, p.letter(2), memory.data, size).error == outcome::ok, "sent");
        } else {
            auto const s = p.m.receive(player::from(0, 2), 0, {memory.data, size});
            player::check(s, size);
            std::vector<std::byte> expected(long_memory::piece);
            fill(expected.data(), expected.size(), 3);
            require(std::memcmp(memory.data, expected.data(), expected.size()) == 0, "content");
        }
    });
}

} // namespace
