// Limits of small messages by hand: two pinned processes, one memfd.
//
//   raw   a request line and a reply line, each with its payload beside the flag; nothing else: no ring, no header, no dispatch
//   ring  64-byte cells with a sequence number in the payload's line, one producer and one consumer, 64 or 1024 cells
//
//   message        one way: half of a round trip
//   null_call      round trip of 8 bytes
//   outstanding64  per call, 64 begun before the first answer is awaited
//   rate           per message of a one-way stream

#include "harness.hpp"
#include "harness/pair.hpp"

#include <array>
#include <new>

namespace {

using bench::relax;

struct alignas(64) cell {
    std::atomic<std::uint64_t> sequence{0};
    std::array<std::uint64_t, 4> payload{};
};

/// One direction. The consumer tells how far it is every quarter of the ring.
template <std::size_t Cells>
struct ring {
    std::array<cell, Cells> cells;
    alignas(64) std::atomic<std::uint64_t> consumed{0};
};

template <std::size_t Cells>
class producer {
public:
    explicit producer(ring<Cells>& r) : ring_(r) {}
    void put(std::uint64_t value)
    {
        while (next_ - consumed_ >= Cells) {
            consumed_ = ring_.consumed.load(std::memory_order_acquire);
            if (next_ - consumed_ >= Cells)
                relax();
        }
        auto& c = ring_.cells[next_ % Cells];
        c.payload[0] = value;
        c.sequence.store(++next_, std::memory_order_release);
    }

private:
    ring<Cells>& ring_;
    std::uint64_t next_ = 0, consumed_ = 0;
};

template <std::size_t Cells>
class consumer {
public:
    explicit consumer(ring<Cells>& r) : ring_(r) {}
    /// The next value, or false if there is none yet.
    bool get(std::uint64_t& value)
    {
        auto& c = ring_.cells[next_ % Cells];
        if (c.sequence.load(std::memory_order_acquire) != next_ + 1)
            return false;
        value = c.payload[0];
        if (++next_ % (Cells / 4) == 0)
            ring_.consumed.store(next_, std::memory_order_release);
        return true;
    }

private:
    ring<Cells>& ring_;
    std::uint64_t next_ = 0;
};

enum class role : int { rest, echo_lines, echo_ring, sink };

struct shared {
    alignas(64) std::atomic<role> now{role::rest};
    alignas(64) bench::doorbell bell;
    cell request, reply;
    ring<64> calls, answers;
    ring<1024> stream;
    alignas(64) std::atomic<std::uint64_t> received{0}, total{0};
};

void partner_loop(shared& s)
{
    consumer calls(s.calls);
    producer answers(s.answers);
    consumer stream(s.stream);
    std::uint64_t seen = 0, received = 0, total = 0, value = 0;
    for (;;) {
        s.bell.wait();
        for (role now; (now = s.now.load(std::memory_order_relaxed)) != role::rest;) {
            if (now == role::echo_lines) {
                if (s.request.sequence.load(std::memory_order_acquire) == seen) {
                    relax();
                    continue;
                }
                s.reply.payload = s.request.payload;
                s.reply.sequence.store(++seen, std::memory_order_release);
            } else if (now == role::echo_ring) {
                if (calls.get(value))
                    answers.put(value);
                else
                    relax();
            } else {
                while (stream.get(value)) {
                    total += value;
                    ++received;
                }
                s.total.store(total, std::memory_order_relaxed);
                s.received.store(received, std::memory_order_release);
                relax();
            }
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "limits-small", "Small messages by hand between two pinned processes: what the machine can do.");
    auto& s = *new (bench::shared_memory(sizeof(shared))) shared;
    bench::partner partner([&s] { partner_loop(s); });
    bench::pin(0);

    auto during = [&s](role r, auto&& work) {
        s.now = r;
        s.bell.ring();
        work();
        s.now = role::rest;
    };

    std::uint64_t count = 0;
    auto exchange = [&s, &count](std::size_t words) {
        ++count;
        for (std::size_t i = 0; i < words; ++i)
            s.request.payload[i] = count + i;
        s.request.sequence.store(count, std::memory_order_release);
        while (s.reply.sequence.load(std::memory_order_acquire) != count)
            relax();
    };
    auto lines = [&](bench::sampler& b, std::size_t words, double per_round_trip) {
        during(role::echo_lines, [&] {
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < 200; ++i)
                    exchange(words);
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 200 * per_round_trip;
            });
        });
        for (std::size_t i = 0; i < words; ++i)
            b.check(s.reply.payload[i] == count + i, "the echo is not what was sent");
    };
    program.add({.name = "message", .size = 8, .subject = "raw"}, [&](bench::sampler& b) { lines(b, 1, 0.5); });
    program.add({.name = "message", .size = 32, .subject = "raw"}, [&](bench::sampler& b) { lines(b, 4, 0.5); });
    program.add({.name = "null_call", .size = 8, .subject = "raw"}, [&](bench::sampler& b) { lines(b, 1, 1); });

    producer calls(s.calls);
    consumer answers(s.answers);
    std::uint64_t asked = 0, answered = 0;
    auto window = [&](int outstanding) {
        for (int i = 0; i < outstanding; ++i)
            calls.put(++asked);
        for (std::uint64_t value = 0; answered != asked;)
            if (answers.get(value))
                ++answered;
            else
                relax();
    };
    program.add({.name = "message", .size = 8, .subject = "ring"}, [&](bench::sampler& b) {
        during(role::echo_ring, [&] {
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < 200; ++i)
                    window(1);
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 400;
            });
        });
    });
    program.add({.name = "outstanding64", .size = 8, .subject = "ring"}, [&](bench::sampler& b) {
        during(role::echo_ring, [&] {
            b.timed([&] {
                auto const begin = bench::clock::now();
                for (int i = 0; i < 10; ++i)
                    window(64);
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 640;
            });
        });
    });

    producer stream(s.stream);
    std::uint64_t sent = 0;
    program.add({.name = "rate", .size = 8, .subject = "ring"}, [&](bench::sampler& b) {
        during(role::sink, [&] {
            b.timed([&] {
                constexpr int burst = 10000;
                auto const begin = bench::clock::now();
                for (int i = 0; i < burst; ++i)
                    stream.put(++sent);
                while (s.received.load(std::memory_order_acquire) != sent)
                    relax();
                return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / burst;
            });
        });
        b.check(s.total.load() == sent * (sent + 1) / 2, "messages were lost or changed");
    });
    return program.run();
}
