// Limits of big data by hand: two pinned processes, one memfd. Round trips: the sender begins, the receiver answers with one line.
//
//   memcpy    a local copy; no second process
//   vm_readv  the receiver copies out of the sender's private memory with process_vm_readv into warm memory of its own
//   push      the sender copies its private memory into shared memory
//   pull      the sender's data are in shared memory; the receiver copies them into warm memory of its own
//   in_place  the sender's data are in shared memory and stay there: a descriptor goes over, no copy
//
// Copies are libc's memcpy. Whether memory is private or shared makes no difference to them (4 KiB pages both); how source and destination lie
// to each other does, above 4 MiB: these vectors begin 16 bytes behind a page, the better case (256 MiB: 18 ms; both at a page: 24).
//
// untouched: the sender does not write its data between turns, the receiver does not read them.
// rewritten: the sender writes every word before each turn (not timed), the receiver reads every word (timed) and answers with their sum.

#include "harness.hpp"
#include "harness/data.hpp"
#include "harness/pair.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

namespace {

using bench::relax;
using bench::word;

enum class way : std::uint32_t { rest, memcpy, vm_readv, push, pull, in_place };

struct shared {
    // A request is one line, and so is its answer.
    alignas(64) std::atomic<std::uint64_t> request{0};
    way how{};
    bool read = false;
    std::size_t count = 0;       // words
    std::uint64_t address = 0;   // of the sender's private memory
    alignas(64) std::atomic<std::uint64_t> reply{0};
    word sum = 0;
    bool ok = true;
    alignas(64) bench::doorbell bell;
};

constexpr std::size_t largest = bench::words(bench::handover_sizes[std::size(bench::handover_sizes) - 1]);

bool read_from(pid_t pid, std::uint64_t address, word* destination, std::size_t count)
{
    iovec local{destination, count * sizeof(word)};
    iovec remote{reinterpret_cast<void*>(address), count * sizeof(word)};
    while (local.iov_len > 0) {
        auto const n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (n <= 0)
            return false;
        local.iov_base = static_cast<std::byte*>(local.iov_base) + n;
        remote.iov_base = static_cast<std::byte*>(remote.iov_base) + n;
        local.iov_len -= static_cast<std::size_t>(n);
        remote.iov_len -= static_cast<std::size_t>(n);
    }
    return true;
}

void partner_loop(shared& s, word const* data)
{
    std::vector<word> own;
    std::uint64_t seen = 0;
    for (;;) {
        s.bell.wait();
        for (;;) {
            if (s.request.load(std::memory_order_acquire) == seen) {
                relax();
                continue;
            }
            ++seen;
            if (s.how == way::rest)
                break;
            if (own.size() < s.count)
                own.resize(s.count);
            word const* where = own.data();
            s.ok = true;
            if (s.how == way::vm_readv)
                s.ok = read_from(getppid(), s.address, own.data(), s.count);
            else if (s.how == way::pull)
                std::memcpy(own.data(), data, s.count * sizeof(word));
            else
                where = data;
            s.sum = s.read ? bench::sum({where, s.count}) : 0;
            s.reply.store(seen, std::memory_order_release);
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "limits-bulk", "Big data by hand between two pinned processes: what the machine can do.");
    auto& s = *new (bench::shared_memory(sizeof(shared))) shared;
    auto* const data = reinterpret_cast<word*>(bench::shared_memory(largest * sizeof(word)));
    bench::partner partner([&s, data] { partner_loop(s, data); });
    bench::pin(0);

    std::vector<word> own, copy;
    std::uint64_t count = 0;
    auto ask = [&](way how, std::size_t n, bool read) {
        s.how = how;
        s.count = n;
        s.read = read;
        s.address = reinterpret_cast<std::uint64_t>(own.data());
        s.request.store(++count, std::memory_order_release);
        if (how == way::rest)
            return;
        while (s.reply.load(std::memory_order_acquire) != count)
            relax();
    };
    word seed = 0;
    auto transfer = [&](bench::sampler& b, way how, std::uint64_t size, bool rewritten) {
        auto const n = bench::words(size);
        bool const in_shared = how == way::pull || how == way::in_place;
        if (!in_shared && own.size() < n)
            own.resize(n);
        if (how == way::memcpy && copy.size() < n)
            copy.resize(n);
        word* const source = in_shared ? data : own.data();
        bool good = true;
        auto once = [&](bool read) {
            if (how == way::memcpy) {
                std::memcpy(copy.data(), source, n * sizeof(word));
                asm volatile("" : : "r"(copy.data()) : "memory");
                s.sum = read ? bench::sum({copy.data(), n}) : 0;
                return;
            }
            if (how == way::push)
                std::memcpy(data, source, n * sizeof(word));
            ask(how, n, read);
            good = good && s.ok;
        };
        if (how != way::memcpy)
            s.bell.ring();
        bench::rewrite({source, n}, ++seed);
        if (!rewritten && how == way::in_place)
            b.batch(100, [&] { once(false); });
        else if (!rewritten)
            b.batch(bench::repeats(size), [&] { once(false); });
        else
            b.each(bench::repeats(size), [&] {
                good = good && (b.samples().empty() || s.sum == bench::expected(n, seed));
                bench::rewrite({source, n}, ++seed);
            }, [&] { once(true); });
        once(true);
        if (how != way::memcpy)
            ask(way::rest, 0, false);
        b.check(good && s.sum == bench::expected(n, seed), "the data did not arrive as they were sent");
    };

    // A sandbox may refuse cross-memory attach: then this limit does not exist there.
    s.bell.ring();
    own.resize(1);
    ask(way::vm_readv, 1, false);
    bool const attach = s.ok;
    ask(way::rest, 0, false);
    if (!attach)
        std::fprintf(stderr, "limits-bulk: process_vm_readv is refused here\n");

    for (auto const size : bench::argument_sizes)
        for (std::string const mode : bench::modes)
            for (auto const& [how, subject] : {std::pair{way::memcpy, "memcpy"}, std::pair{way::vm_readv, "vm_readv"}, std::pair{way::push, "push"},
                                               std::pair{way::pull, "pull"}})
                if (how != way::vm_readv || attach)
                    program.add({.name = "argument", .size = size, .mode = mode, .subject = subject},
                                [&, how = how, size, mode](bench::sampler& b) { transfer(b, how, size, mode == "rewritten"); });
    for (auto const size : bench::handover_sizes)
        for (std::string const mode : bench::modes)
            program.add({.name = "handover", .size = size, .mode = mode, .subject = "in_place"},
                        [&, size, mode](bench::sampler& b) { transfer(b, way::in_place, size, mode == "rewritten"); });
    return program.run();
}
