// 16 senders and one slow receiver: bench_net_incast NAMESPACE NAMESPACE ADDRESS ADDRESS. The receiver runs in the first network namespace,
// the senders in the other one. It spends a while with each message, which makes it the narrow place; they send all they can, 2 s long.
// Prints "CASE UNIT VALUE":
//
//   incast_drops        datagrams that found no room in the receiver's socket, after the first 10 ms
//   incast_goodput      percent of what the receiver would take, were the next message always there
//   incast_unfairness   percent by which the sender who got most through has more than the mean
#include "base/clock.hpp"
#include "transport/datagram/component.hpp"
#include "transport/datagram/udp_link.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <sched.h>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace transport = towline::transport;
namespace dg = transport::datagram;
using towline::base::monotonic_ns;
using transport::peer;

constexpr peer senders = 16;
constexpr std::size_t message_bytes = 8192;
constexpr std::int64_t work_ns = 100'000;  // of the receiver, for each message
constexpr std::int64_t warm_ns = 10'000'000;
constexpr std::int64_t run_ns = 2'000'000'000;

struct shared {
    struct address {
        std::atomic<std::uint32_t> size{0};
        std::array<std::byte, dg::max_address_bytes> bytes{};
    };
    std::array<address, senders + 1> addresses;
    std::atomic<bool> stop{false};
};

class environment final : public dg::environment {
public:
    environment(shared& s, peer rank) : shared_(s), rank_(rank) {}
    peer rank() const noexcept override { return rank_; }
    peer size() const noexcept override { return senders + 1; }
    dg::job_key const& key() const noexcept override { return key_; }
    void publish_address(std::span<std::byte const> a) override
    {
        auto& to = shared_.addresses[rank_];
        std::ranges::copy(a, to.bytes.begin());
        to.size.store(static_cast<std::uint32_t>(a.size()), std::memory_order_release);
    }
    std::optional<dg::address_blob> address_of(peer p) override
    {
        auto const& from = shared_.addresses[p];
        std::uint32_t const n = from.size.load(std::memory_order_acquire);
        return n == 0 ? std::nullopt : std::optional(dg::address_blob(from.bytes.begin(), from.bytes.begin() + n));
    }
    bool is_dead(peer) const noexcept override { return false; }

private:
    shared& shared_;
    peer rank_;
    dg::job_key key_{};
};

void enter(std::string const& name)
{
    int const fd = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter the network namespace " + name);
    ::close(fd);
}

std::unique_ptr<transport::component> open(dg::environment& env, std::string const& address)
{
    dg::config c;
    c.least_timeout = 4'000'000;  // more processes than cores
    return dg::make(dg::open_udp_link({.address = address}), env, c);
}

/// Datagrams that sockets of this namespace had no room for.
long drops()
{
    std::ifstream file("/proc/self/net/snmp");
    std::string names, values, word;
    while (std::getline(file, names) && !names.starts_with("Udp:")) {
    }
    std::getline(file, values);
    std::istringstream n(names), v(values);
    for (std::string value; n >> word && v >> value;)
        if (word == "RcvbufErrors")
            return std::stol(value);
    throw std::runtime_error("/proc/net/snmp does not tell of datagrams without room");
}

void send_all(shared& s, peer me, std::string const& space, std::string const& address)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    enter(space);
    environment env(s, me);
    auto const c = open(env, address);
    std::vector<std::byte> message(message_bytes);
    for (std::uint64_t number = 0; !s.stop.load(std::memory_order_relaxed);) {
        std::memcpy(message.data(), &number, sizeof number);
        std::memcpy(message.data() + message.size() - sizeof number, &number, sizeof number);
        if (c->try_send(0, 1, {}, message) == transport::send_status::sent)
            ++number;
        else if (c->poll(16) == 0)
            ::usleep(200);  // 16 processes that spin would leave nothing to the receiver
    }
}

struct tally {
    std::array<std::uint64_t, senders + 1> heard{};
    std::uint64_t wrong = 0;
};

void take(void* context, peer from, std::span<std::byte const> m)
{
    auto& t = *static_cast<tally*>(context);
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, m.data(), sizeof a);
    std::memcpy(&b, m.data() + m.size() - sizeof b, sizeof b);
    t.wrong += m.size() != message_bytes || a != b || a != t.heard[from];
    ++t.heard[from];
    for (std::int64_t const end = monotonic_ns() + work_ns; monotonic_ns() < end;) {
    }
}

void measure(shared& s, std::string const& space, std::string const& address)
{
    enter(space);
    environment env(s, 0);
    auto const c = open(env, address);
    tally t;
    c->set_handler(1, take, &t);
    auto const total = [&] { return std::accumulate(t.heard.begin(), t.heard.end(), std::uint64_t{0}); };
    for (std::int64_t const end = monotonic_ns() + 20'000'000'000; std::ranges::count(t.heard, 0U) > 1;) {
        c->poll(16);
        if (monotonic_ns() > end)
            throw std::runtime_error("not every sender came through within 20 s");
    }
    std::int64_t const settled = monotonic_ns() + warm_ns;
    while (monotonic_ns() < settled)
        c->poll(16);
    auto const first = t.heard;
    long const dropped = drops();
    std::uint64_t const before = total();
    std::int64_t const begin = monotonic_ns(), end = begin + run_ns;
    std::int64_t idle = 0;
    while (monotonic_ns() < end) {
        std::int64_t const look = monotonic_ns();
        if (c->poll(16) == 0)
            idle += monotonic_ns() - look;
    }
    // Another process on this core takes time from working and waiting alike: what counts is the share of waiting.
    double const spent = static_cast<double>(monotonic_ns() - begin);
    if (t.wrong != 0)
        throw std::runtime_error("messages came doubled, out of order, or damaged");
    if (total() == before)
        throw std::runtime_error("nothing came");
    double most = 0, sum = 0;
    for (peer p = 1; p <= senders; ++p) {
        auto const n = static_cast<double>(t.heard[p] - first[p]);
        most = std::max(most, n);
        sum += n;
    }
    std::printf("incast_drops datagrams %ld\n", drops() - dropped);
    std::printf("incast_goodput %% %.1f\n", 100 * (1 - static_cast<double>(idle) / spent));
    std::printf("incast_unfairness %% %.1f\n", 100 * (most * senders / sum - 1));
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 5)
        throw std::runtime_error("bench_net_incast NAMESPACE NAMESPACE ADDRESS ADDRESS");
    void* const memory = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no memory");
    auto& s = *new (memory) shared{};
    std::vector<pid_t> children;
    for (peer p = 1; p <= senders; ++p) {
        pid_t const child = ::fork();
        if (child == 0) {
            try {
                send_all(s, p, argv[2], argv[4]);
                ::_exit(0);
            } catch (std::exception const& e) {
                std::fprintf(stderr, "sender %u: %s\n", p, e.what());
                ::_exit(1);
            }
        }
        children.push_back(child);
    }
    std::string failed;
    try {
        measure(s, argv[1], argv[3]);
    } catch (std::exception const& e) {
        failed = e.what();
    }
    s.stop = true;
    for (pid_t const child : children) {
        int status = 0;
        if (::waitpid(child, &status, 0) < 0 || status != 0)
            failed = failed.empty() ? "a sender failed" : failed;
    }
    if (!failed.empty())
        throw std::runtime_error(failed);
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_net_incast: %s\n", e.what());
    return 1;
}
