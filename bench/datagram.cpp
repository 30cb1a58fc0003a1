// The datagram transport against sockets by hand, two pinned processes over loopback, or in the two network namespaces that
// TOWLINE_BENCH_HOSTS names (NAME,ADDRESS,NAME,ADDRESS).
//
//   raw/plain, raw/offload   sendto and recvfrom; with segmentation and receive offload. The stream has a window of 2 MiB, as little as
//                            keeps the receive buffer from overrunning, and nothing else
//   tcp                      a connection without delay
//   link                     datagram::link over UDP alone: no numbers, nothing is sent again
//   towline                  the component: /lent sends from where the bytes lie, /copied from a copy; /encrypted; /bare is the component
//                            with the protocol off; /loss0 to /loss20: a link that loses so many percent of the datagrams of both sides
//
//   message   one way: half of a round trip
//   stream    per message of a one-way stream of 16 MiB, until the receiver has said that it has all of them
//   rate      per message of a one-way stream of 32 B

#include "harness.hpp"
#include "harness/pair.hpp"

#include "base/clock.hpp"
#include "transport/datagram/component.hpp"
#include "transport/datagram/faulty_link.hpp"
#include "transport/datagram/udp_link.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace {

namespace transport = towline::transport;
namespace dg = transport::datagram;
using transport::send_status;

constexpr std::size_t stream_bytes = std::size_t{16} << 20;
constexpr std::size_t train = 44 * 1472;       // what one sending takes: many datagrams by offload, or one where the interface takes that
constexpr std::size_t window = std::size_t{2} << 20;

enum class role : int { rest, raw_echo, raw_sink, tcp_echo, tcp_sink, link_echo, link_sink, component };
struct variant {
    char const* name;
    dg::config config;
    double loss;
    bool faulty;
};
variant const variants[] = {
    {"", {}, 0, false}, {"encrypted", {.sealed = true}, 0, false}, {"bare", {.reliable = false}, 0, false},
    {"loss0", {}, 0, true}, {"loss1", {}, 0.01, true}, {"loss5", {}, 0.05, true}, {"loss20", {}, 0.2, true},
};
constexpr std::size_t variant_count = std::size(variants);
constexpr std::size_t of_link = variant_count, of_udp = variant_count + 1, of_tcp = variant_count + 2;  // places of addresses

struct address {
    std::atomic<std::uint32_t> size{0};
    std::array<std::byte, 256> bytes{};
};
struct shared {
    alignas(64) std::atomic<role> now{role::rest};
    std::atomic<bool> offload{false};
    std::atomic<std::size_t> which{0};
    std::atomic<std::uint64_t> bad{0};          ///< messages that were not what was sent
    std::atomic<std::uint32_t> resting{1};
    alignas(64) bench::doorbell bell;
    std::array<std::array<address, 2>, variant_count + 3> addresses;
};

/// Numbers at both ends of a message, and its sum, tell whether it is the right one.
void stamp(std::vector<std::byte>& m, std::uint64_t number)
{
    std::memcpy(m.data(), &number, sizeof number);
    if (m.size() >= 16)
        std::memcpy(m.data() + m.size() - sizeof number, &number, sizeof number);
}
bool is_stamped(std::span<std::byte const> m, std::uint64_t number)
{
    std::uint64_t a = 0, b = number;
    std::memcpy(&a, m.data(), sizeof a);
    if (m.size() >= 16)
        std::memcpy(&b, m.data() + m.size() - sizeof b, sizeof b);
    return a == number && b == number;
}

class environment final : public dg::environment {
public:
    environment(shared& s, std::size_t which, transport::peer rank) : shared_(s), which_(which), rank_(rank) {}
    transport::peer rank() const noexcept override { return rank_; }
    transport::peer size() const noexcept override { return 2; }
    dg::job_key const& key() const noexcept override { return key_; }
    void publish_address(std::span<std::byte const> a) override
    {
        address& to = shared_.addresses[which_][rank_];
        std::memcpy(to.bytes.data(), a.data(), a.size());
        to.size.store(static_cast<std::uint32_t>(a.size()), std::memory_order_release);
    }
    std::optional<dg::address_blob> address_of(transport::peer p) override
    {
        address const& from = shared_.addresses[which_][p];
        std::uint32_t const n = from.size.load(std::memory_order_acquire);
        return n == 0 ? std::nullopt : std::optional(dg::address_blob(from.bytes.begin(), from.bytes.begin() + n));
    }
    bool is_dead(transport::peer) const noexcept override { return false; }

private:
    shared& shared_;
    std::size_t which_;
    transport::peer rank_;
    dg::job_key key_{};
};

/// Puts this process into its host, if there are any; the address there.
std::string settle(transport::peer rank)
{
    char const* const told = std::getenv("TOWLINE_BENCH_HOSTS");
    if (told == nullptr)
        return "127.0.0.1";
    std::array<std::string, 4> words;
    std::istringstream text(told);
    for (std::string& w : words)
        if (!std::getline(text, w, ',') || w.empty())
            throw std::runtime_error("TOWLINE_BENCH_HOSTS is not NAME,ADDRESS,NAME,ADDRESS");
    int const fd = ::open(("/run/netns/" + words[2 * rank]).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter the network namespace " + words[2 * rank]);
    ::close(fd);
    return words[2 * rank + 1];
}

/// One process's end of everything that is measured.
struct side {
    side(shared& s, transport::peer rank) : all(s), me(rank)
    {
        std::string const here = settle(rank);
        for (std::size_t v = 0; v < variant_count; ++v) {
            environments.push_back(std::make_unique<environment>(s, v, rank));
            auto l = dg::open_udp_link({.address = here});
            if (variants[v].faulty)  // lost where they arrive: trains leave whole
                l = dg::make_faulty(std::move(l), {}, {.loss = variants[v].loss, .seed = rank + 17});
            components.push_back(dg::make(std::move(l), *environments[v], variants[v].config));
            components.back()->one_thread();
            install(*components.back());
        }
        link = dg::open_udp_link({.address = here});
        exchange(of_link, link->own_address());
        fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = ::inet_addr(here.c_str());
        int const room = 8 << 20;
        for (int name : {SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_RCVBUF, SO_SNDBUF})
            static_cast<void>(::setsockopt(fd, SOL_SOCKET, name, &room, sizeof room));
        socklen_t n = sizeof a;
        if (::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &n) != 0)
            throw std::runtime_error("no socket");
        exchange(of_udp, std::as_bytes(std::span(&a, 1)));
        tcp = ::socket(AF_INET, SOCK_STREAM, 0);
        a.sin_port = 0;
        n = sizeof a;
        if (me == 1 && (::bind(tcp, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(tcp, 1) != 0 ||
                        ::getsockname(tcp, reinterpret_cast<sockaddr*>(&a), &n) != 0))
            throw std::runtime_error("no socket that listens");
        exchange(of_tcp, std::as_bytes(std::span(&a, 1)));
    }
    void exchange(std::size_t which, std::span<std::byte const> a)
    {
        environments.push_back(std::make_unique<environment>(all, which, me));
        environments.back()->publish_address(a);
    }
    /// Where the other side's link and socket are; once both have been made.
    void meet()
    {
        auto const of = [&](std::size_t which) {
            for (;;) {
                if (auto a = environments[which]->address_of(1 - me))
                    return *a;
                ::usleep(100);
            }
        };
        link_peer = *link->resolve(of(of_link), 0);
        auto const raw = of(of_udp);
        std::memcpy(&raw_peer, raw.data(), sizeof raw_peer);
        auto const listener = of(of_tcp);
        sockaddr_in to{};
        std::memcpy(&to, listener.data(), sizeof to);
        int const one = 1;
        tcp = me == 1 ? ::accept(tcp, nullptr, nullptr) : ::connect(tcp, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? tcp : -1;
        if (tcp < 0 || ::setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
            throw std::runtime_error("no connection");
    }

    void install(transport::component& c)
    {
        c.set_handler(
            1, [](void* p, transport::peer from, std::span<std::byte const> m) { static_cast<side*>(p)->answer(from, 2, m); }, this);
        c.set_handler(
            2, [](void* p, transport::peer, std::span<std::byte const> m) { std::memcpy(&static_cast<side*>(p)->echoed, m.data(), 8); },
            this);
        c.set_handler(3, [](void* p, transport::peer, std::span<std::byte const> m) {
            auto& s = *static_cast<side*>(p);
            if (!is_stamped(m, s.expected++))
                ++s.all.bad;
        }, this);
        c.set_part_handler(
            3, sizeof(std::uint64_t),
            [](void* p, transport::peer, std::span<std::byte const> head, std::size_t at, std::span<std::byte const> m) {
                static_cast<side*>(p)->take_part(head, at, m);
            },
            this);
        c.set_handler(4, [](void* p, transport::peer from, std::span<std::byte const> m) {
            auto& s = *static_cast<side*>(p);
            s.answer(from, 2, m);
            s.expected = 0;
        }, this);
    }
    /// The parts of a message go where the message is to be, as an engine does it.
    void take_part(std::span<std::byte const> head, std::size_t at, std::span<std::byte const> m)
    {
        std::uint64_t number = 0;
        std::memcpy(&number, head.data(), sizeof number);
        if (at == head.size() && number != expected++)
            ++all.bad;
        std::memcpy(buffer.data() + at, m.data(), m.size());
    }
    void answer(transport::peer to, transport::handler_id id, std::span<std::byte const> m)
    {
        if (components[all.which.load()]->try_send(to, id, m, {}) != send_status::sent)
            ++all.bad;
    }

    shared& all;
    transport::peer me;
    std::vector<std::unique_ptr<environment>> environments;
    std::vector<std::unique_ptr<transport::component>> components;
    std::unique_ptr<dg::link> link;
    dg::link_address link_peer;
    int fd = -1;
    int tcp = -1;
    sockaddr_in raw_peer{};
    std::uint64_t echoed = 0, expected = 0;
    std::vector<std::byte> buffer = std::vector<std::byte>(std::size_t{64} << 10);
};

bool offload(int fd, bool on)
{
    int const value = on ? 1 : 0;
    return ::setsockopt(fd, SOL_UDP, UDP_GRO, &value, sizeof value) == 0;
}

/// The largest datagram, as far as a train fills it.
std::size_t most_of(side const& s)
{
    return std::min(s.link->max_datagram(), train);
}

/// Sends one datagram, or a train of them, by offload, where that is longer than `each`. False: no room.
bool raw_send(side& s, void const* data, std::size_t bytes, std::size_t each = train)
{
    iovec piece{const_cast<void*>(data), bytes};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(std::uint16_t))]{};
    msghdr m{};
    m.msg_name = &s.raw_peer;
    m.msg_namelen = sizeof s.raw_peer;
    m.msg_iov = &piece;
    m.msg_iovlen = 1;
    if (bytes > each) {
        m.msg_control = room;
        m.msg_controllen = sizeof room;
        cmsghdr* const c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        auto const segment = static_cast<std::uint16_t>(each);
        std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    return ::sendmsg(s.fd, &m, MSG_DONTWAIT) > 0;
}

// ---- the partner: serves what the other side asks for

void raw_echo(side& s)
{
    while (s.all.now.load(std::memory_order_relaxed) == role::raw_echo) {
        ssize_t const n = ::recv(s.fd, s.buffer.data(), s.buffer.size(), MSG_DONTWAIT);
        if (n > 0)
            static_cast<void>(raw_send(s, s.buffer.data(), static_cast<std::size_t>(n)));
    }
}

/// Nothing of an earlier turn is left.
void forget(side& s)
{
    while (::recv(s.fd, s.buffer.data(), s.buffer.size(), MSG_DONTWAIT) > 0) {
    }
    while (!s.link->receive().empty()) {
    }
}

void raw_sink(side& s)
{
    offload(s.fd, s.all.offload.load());
    std::uint64_t got = 0, told = 0;
    while (s.all.now.load(std::memory_order_relaxed) == role::raw_sink) {
        ssize_t const n = ::recv(s.fd, s.buffer.data(), s.buffer.size(), MSG_DONTWAIT);
        if (n > 0)
            got += static_cast<std::uint64_t>(n);
        if (got - told >= window / 4 || (n < 0 && got != told)) {
            static_cast<void>(raw_send(s, &got, sizeof got));
            told = got;
        }
    }
    offload(s.fd, false);
}

/// Spins until so many bytes have come; false: the role has ended.
bool tcp_take(side& s, std::byte* to, std::size_t bytes)
{
    for (std::size_t have = 0; have < bytes;) {
        ssize_t const n = ::recv(s.tcp, to + have, bytes - have, MSG_DONTWAIT);
        if (n > 0)
            have += static_cast<std::size_t>(n);
        else if (s.me == 1 && s.all.now.load(std::memory_order_relaxed) == role::rest)
            return false;
    }
    return true;
}

void tcp_echo(side& s)
{
    while (tcp_take(s, s.buffer.data(), 32))
        static_cast<void>(::send(s.tcp, s.buffer.data(), 32, MSG_NOSIGNAL));
}

/// Takes streams, and says so when a whole one is there.
void tcp_sink(side& s)
{
    for (std::size_t got = 0; s.all.now.load(std::memory_order_relaxed) == role::tcp_sink;) {
        ssize_t const n = ::recv(s.tcp, s.buffer.data(), s.buffer.size(), MSG_DONTWAIT);
        got += n > 0 ? static_cast<std::size_t>(n) : 0;
        if (got == stream_bytes) {
            static_cast<void>(::send(s.tcp, &got, sizeof got, MSG_NOSIGNAL));
            got = 0;
        }
    }
}

double tcp_stream(side& s, std::size_t size)
{
    std::vector<std::byte> const bytes(size, std::byte{5});
    auto const begin = bench::clock::now();
    for (std::size_t sent = 0; sent < stream_bytes;) {
        std::size_t const at = sent % size;
        ssize_t const n = ::send(s.tcp, bytes.data() + at, size - at, MSG_NOSIGNAL);
        if (n < 0)
            throw std::runtime_error("the connection is broken");
        sent += static_cast<std::size_t>(n);
    }
    std::array<std::byte, 8> told;
    tcp_take(s, told.data(), told.size());
    return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) * static_cast<double>(size) /
           static_cast<double>(stream_bytes);
}

void link_echo(side& s)
{
    while (s.all.now.load(std::memory_order_relaxed) == role::link_echo) {
        for (auto const& r : s.link->receive()) {
            iovec const piece{r.data, r.size};
            static_cast<void>(s.link->send(s.link_peer, {&piece, 1}, r.size, 1));
        }
    }
}

void link_sink(side& s)
{
    std::uint64_t got = 0, told = 0;
    while (s.all.now.load(std::memory_order_relaxed) == role::link_sink) {
        bool any = false;
        for (auto const& r : s.link->receive()) {
            got += r.size;
            any = true;
        }
        if (got - told >= window / 4 || (!any && got != told)) {
            iovec const piece{&got, sizeof got};
            static_cast<void>(s.link->send(s.link_peer, {&piece, 1}, sizeof got, 1));
            told = got;
        }
    }
}

void serve(shared& all)
{
    side s(all, 1);
    s.meet();
    for (;;) {
        all.bell.wait();
        forget(s);
        all.resting = 0;
        switch (all.now.load()) {
        case role::raw_echo: raw_echo(s); break;
        case role::raw_sink: raw_sink(s); break;
        case role::tcp_echo: tcp_echo(s); break;
        case role::tcp_sink: tcp_sink(s); break;
        case role::link_echo: link_echo(s); break;
        case role::link_sink: link_sink(s); break;
        case role::component:
            s.expected = 0;
            while (all.now.load(std::memory_order_relaxed) == role::component)
                s.components[all.which.load(std::memory_order_relaxed)]->poll(64);
            break;
        case role::rest: break;
        }
        all.resting = 1;
    }
}

// ---- this side

/// The partner plays a role as long as this lives.
class turn {
public:
    turn(shared& s, role r, std::size_t which = 0, bool by_offload = false) : shared_(s)
    {
        s.which = which;
        s.offload = by_offload;
        s.now = r;
        s.bell.ring();
        while (s.resting.load() != 0)
            bench::relax();
        ::usleep(50);
    }
    ~turn()
    {
        shared_.now = role::rest;
        while (shared_.resting.load() == 0)
            bench::relax();
    }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;

private:
    shared& shared_;
};

double since(bench::clock::time_point begin)
{
    return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count());
}

/// Waits for something, or throws: nothing here may hang.
template <class Ready> void until(Ready&& ready)
{
    auto const begin = bench::clock::now();
    for (std::uint32_t i = 1; !ready(); ++i) {
        if (i % 4096 == 0 && bench::clock::now() - begin > std::chrono::seconds(20))
            throw std::runtime_error("nothing comes back");
    }
}

template <class Send, class Receive> double ping_pong(Send&& send, Receive&& receive)
{
    constexpr int rounds = 200;
    auto const begin = bench::clock::now();
    for (int i = 0; i < rounds; ++i) {
        send();
        until(receive);
    }
    return since(begin) / (2 * rounds);
}

/// A stream over what has no numbers: `send` takes a train, `told` the bytes that have arrived since the stream began. Nanoseconds for a
/// message of `size`; what was lost is not counted.
template <class Send, class Told> double bare_stream(side& s, std::size_t size, Send&& send, Told&& told)
{
    forget(s);
    std::vector<std::byte> const bytes(train, std::byte{5});
    std::uint64_t sent = 0, arrived = 0;
    auto const begin = bench::clock::now();
    auto last = begin;
    while (arrived < stream_bytes) {
        if (sent < stream_bytes && sent - arrived < window) {
            if (send(bytes.data(), bytes.size()))
                sent += bytes.size();
        }
        if (std::uint64_t const n = told(); n != 0) {
            arrived = n;
            last = bench::clock::now();
        } else if (sent >= stream_bytes || sent - arrived >= window) {
            if (bench::clock::now() - last > std::chrono::milliseconds(20))
                break;  // the rest was lost
        }
    }
    double const ns = std::chrono::duration<double, std::nano>(last - begin).count();
    if (arrived < stream_bytes / 2)
        throw std::runtime_error("more than half of the stream was lost");
    return ns * static_cast<double>(size) / static_cast<double>(arrived);
}

double component_stream(side& s, std::size_t which, std::size_t size, bool lent)
{
    transport::component& c = *s.components[which];
    std::size_t const piece = std::min(size, c.max_eager_to(1));
    std::size_t const messages = std::max<std::size_t>(stream_bytes / size, 1);
    // Lent pieces stay as they are until they are given back: each has a buffer of its own.
    static std::vector<std::vector<std::byte>> buffers;
    static std::vector<std::uint32_t> free;
    if (lent && (buffers.empty() || buffers[0].size() != piece)) {
        buffers.assign(64, std::vector<std::byte>(piece));
        free.clear();
        for (std::uint32_t i = 0; i < buffers.size(); ++i)
            free.push_back(i);
    }
    static std::vector<std::byte> own;
    own.resize(piece);
    std::uint64_t number = 0;
    auto const begin = bench::clock::now();
    for (std::size_t m = 0; m < messages; ++m) {
        for (std::size_t at = 0; at < size; at += piece) {
            std::size_t const bytes = std::min(piece, size - at);
            until([&] {
                if (!lent || bytes != piece) {
                    own.resize(bytes);
                    stamp(own, number);
                    if (c.try_send(1, 3, {}, own) == send_status::sent)
                        return true;
                    c.poll(16);
                    return false;
                }
                if (free.empty()) {
                    c.poll(16);
                    return false;
                }
                stamp(buffers[free.back()], number);
                send_status const got = c.try_send_lent(
                    1, 3, {}, buffers[free.back()],
                    [](void* p, bool) { free.push_back(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p))); },
                    reinterpret_cast<void*>(static_cast<std::uintptr_t>(free.back())));
                if (got == send_status::lent)
                    free.pop_back();
                if (got == send_status::busy)
                    c.poll(16);
                return got != send_status::busy;
            });
            own.resize(piece);
            ++number;
        }
    }
    s.echoed = 0;
    std::uint64_t const end = ~number;
    until([&] {
        if (c.try_send(1, 4, std::as_bytes(std::span(&end, 1)), {}) == send_status::sent)
            return true;
        c.poll(16);
        return false;
    });
    until([&] { c.poll(16); return s.echoed == end; });
    double const ns = since(begin);
    until([&] { c.poll(16); return c.drained(); });
    return ns / static_cast<double>(messages);
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "datagram", "The datagram transport over loopback against UDP sockets.");
    auto& all = *new (bench::shared_memory(sizeof(shared))) shared{};
    bench::partner const other([&] { serve(all); });
    bench::pin(0);
    side s(all, 0);
    s.meet();

    std::array<std::byte, 32> ping{};
    program.add({.name = "message", .size = 32, .subject = "raw"}, [&](bench::sampler& b) {
        turn const t(all, role::raw_echo);
        b.timed([&] {
            return ping_pong([&] { raw_send(s, ping.data(), ping.size()); },
                             [&] { return ::recv(s.fd, s.buffer.data(), s.buffer.size(), MSG_DONTWAIT) == 32; });
        });
    });
    program.add({.name = "message", .size = 32, .subject = "tcp"}, [&](bench::sampler& b) {
        turn const t(all, role::tcp_echo);
        b.timed([&] {
            return ping_pong([&] { static_cast<void>(::send(s.tcp, ping.data(), ping.size(), MSG_NOSIGNAL)); },
                             [&] { return tcp_take(s, s.buffer.data(), 32); });
        });
    });
    program.add({.name = "message", .size = 32, .subject = "link"}, [&](bench::sampler& b) {
        turn const t(all, role::link_echo);
        b.timed([&] {
            return ping_pong(
                [&] {
                    iovec const piece{ping.data(), ping.size()};
                    static_cast<void>(s.link->send(s.link_peer, {&piece, 1}, ping.size(), 1));
                },
                [&] { return !s.link->receive().empty(); });
        });
    });
    for (std::size_t v : {0UL, 1UL, 2UL}) {
        program.add({.name = "message", .size = 32, .subject = "towline", .variant = variants[v].name}, [&, v](bench::sampler& b) {
            turn const t(all, role::component, v);
            transport::component& c = *s.components[v];
            std::uint64_t number = 0;
            s.echoed = 0;
            b.timed([&] {
                return ping_pong(
                    [&] {
                        std::memcpy(ping.data(), &++number, 8);
                        if (c.try_send(1, 1, ping, {}) != send_status::sent)
                            ++all.bad;
                    },
                    [&] { c.poll(16); return s.echoed == number; });
            });
            b.check(all.bad == 0, "a message came that was not sent");
        });
    }
    for (std::size_t size : {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{16} << 20}) {
        program.add({.name = "stream", .size = size, .subject = "tcp"}, [&, size](bench::sampler& b) {
            turn const t(all, role::tcp_sink);
            b.timed([&] { return tcp_stream(s, size); });
        });
        for (bool by_offload : {false, true}) {
            program.add({.name = "stream", .size = size, .subject = "raw", .variant = by_offload ? "offload" : "plain"},
                        [&, size, by_offload](bench::sampler& b) {
                            b.timed([&] {
                                turn const t(all, role::raw_sink, 0, by_offload);
                                return bare_stream(
                                    s, size,
                                    [&](std::byte const* p, std::size_t n) {
                                        if (by_offload)
                                            return raw_send(s, p, n, most_of(s));
                                        for (std::size_t at = 0; at < n; at += most_of(s)) {
                                            while (!raw_send(s, p + at, most_of(s))) {
                                            }
                                        }
                                        return true;
                                    },
                                    [&] {
                                        std::uint64_t got = 0;
                                        return ::recv(s.fd, &got, sizeof got, MSG_DONTWAIT) == 8 ? got : 0;
                                    });
                            });
                        });
        }
        program.add({.name = "stream", .size = size, .subject = "link"}, [&, size](bench::sampler& b) {
            b.timed([&] {
                turn const t(all, role::link_sink);
                return bare_stream(
                    s, size,
                    [&](std::byte const* p, std::size_t n) {
                        iovec const piece{const_cast<std::byte*>(p), n};
                        return s.link->send(s.link_peer, {&piece, 1}, most_of(s), n / most_of(s)) != 0;
                    },
                    [&] {
                        std::uint64_t got = 0;
                        for (auto const& r : s.link->receive())
                            std::memcpy(&got, r.data, sizeof got);
                        return got;
                    });
            });
        });
        for (bool lent : {false, true}) {
            program.add({.name = "stream", .size = size, .subject = "towline", .variant = lent ? "lent" : "copied"},
                        [&, size, lent](bench::sampler& b) {
                            turn const t(all, role::component, 0);
                            b.timed([&] { return component_stream(s, 0, size, lent); });
                            b.check(all.bad == 0, "a message came that was not sent");
                        });
        }
        for (std::size_t v = 1; v < variant_count; ++v) {
            program.add({.name = "stream", .size = size, .subject = "towline", .variant = variants[v].name},
                        [&, size, v](bench::sampler& b) {
                            turn const t(all, role::component, v);
                            b.timed([&] { return component_stream(s, v, size, false); });
                            b.check(all.bad == 0, "a message came that was not sent");
                        });
        }
    }
    program.add({.name = "rate", .size = 32, .subject = "towline"}, [&](bench::sampler& b) {
        turn const t(all, role::component, 0);
        b.timed([&] { return component_stream(s, 0, 32, false); });
        b.check(all.bad == 0, "a message came that was not sent");
    });
    return program.run();
}
