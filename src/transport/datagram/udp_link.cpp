#include "transport/datagram/udp_link.hpp"

#include "base/unique_fd.hpp"
#include "towline/error.hpp"
#include "transport/datagram/udp_address.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/ioctl.h>

namespace towline::transport::datagram {

namespace {

constexpr std::size_t most_in_train = 64;
constexpr std::size_t most_bytes_in_train = 65000;  // below 65535 with the headers of both families
constexpr std::size_t buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t batch = 8;
/// Refused sends in a row, each told of an earlier datagram, before one is taken for lost.
constexpr int most_tries = 3;

int integer_option(int fd, int level, int name, int otherwise) noexcept
{
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : otherwise;
}

bool set(int fd, int level, int name, int value) noexcept
{
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

std::size_t headers_of(int family) noexcept
{
    return (family == AF_INET6 ? 40 : 20) + 8;
}

/// MTU of the interface that has this address; 1500 where none is found.
int interface_mtu(int fd, udp_address const& own) noexcept
{
    ifaddrs* all = nullptr;
    int mtu = 1500;
    if (::getifaddrs(&all) != 0)
        return mtu;
    for (ifaddrs const* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != own.family())
            continue;
        bool const same = own.family() == AF_INET6
                              ? std::memcmp(&reinterpret_cast<sockaddr_in6 const*>(i->ifa_addr)->sin6_addr, &own.v6.sin6_addr, 16) == 0
                              : reinterpret_cast<sockaddr_in const*>(i->ifa_addr)->sin_addr.s_addr == own.v4.sin_addr.s_addr;
        ifreq request{};
        std::strncpy(request.ifr_name, i->ifa_name, sizeof request.ifr_name - 1);
        if (same && ::ioctl(fd, SIOCGIFMTU, &request) == 0) {
            mtu = request.ifr_mtu;
            break;
        }
    }
    ::freeifaddrs(all);
    return mtu;
}

class udp_link final : public link {
public:
    explicit udp_link(udp_options const& o)
        : own_(parse_address(o.address)), fd_(::socket(own_.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        auto const fail = [&](char const* what) { throw system_error(fmt::format("{} a UDP socket at {}", what, o.address), errno); };
        if (!fd_)
            fail("cannot open");
        if (::bind(fd_.get(), &own_.any, own_.size()) != 0)
            fail("cannot bind");
        socklen_t size = own_.size();
        if (::getsockname(fd_.get(), &own_.any, &size) != 0)
            fail("cannot name");
        make_buffers(o.receive_buffer);
        set_discovery(true);
        cap_ = o.max_datagram;
        max_datagram_ = datagram_of(interface_mtu(fd_.get(), own_));
        int one = integer_option(fd_.get(), SOL_UDP, UDP_SEGMENT, -1);
        segments_ = o.offload && one >= 0;
        set(fd_.get(), own_.family() == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP, own_.family() == AF_INET6 ? IPV6_RECVERR : IP_RECVERR, 1);
        joins_ = o.offload && set(fd_.get(), SOL_UDP, UDP_GRO, 1);
    }

    std::string_view name() const noexcept override { return "udp"; }
    std::vector<std::byte> own_address() const override { return to_blob(own_); }
    std::size_t max_datagram() const noexcept override { return max_datagram_; }
    train_limits trains() const noexcept override { return {most_in_train, most_bytes_in_train}; }
    int wait_descriptor() const noexcept override { return fd_.get(); }

    std::optional<link_address> resolve(std::span<std::byte const> blob, unsigned path) const override
    {
        auto const a = from_blob(blob, own_);
        return a && path == 0 ? std::optional(pack(*a)) : std::nullopt;
    }

    /// A connected socket knows the MTU of its path.
    std::size_t max_datagram(link_address const& to) override
    {
        udp_address const a = unpack(to);
        base::unique_fd const probe(::socket(a.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        bool const six = a.family() == AF_INET6;
        if (!probe || ::connect(probe.get(), &a.any, a.size()) != 0)
            return max_datagram_;
        int const mtu = six ? integer_option(probe.get(), IPPROTO_IPV6, IPV6_MTU, 0) : integer_option(probe.get(), IPPROTO_IP, IP_MTU, 0);
        return mtu <= 0 ? max_datagram_ : std::min(datagram_of(mtu), max_datagram_);
    }

    /// The kernel charges the buffers behind datagrams, not their bytes: about twice as much.
    std::size_t receive_room() const noexcept override { return std::max<std::size_t>(4, receive_buffer_ / (2 * max_datagram_ + 512)); }

    std::size_t send(link_address const& to, std::span<iovec const> pieces, std::size_t each, std::size_t count) noexcept override
    {
        udp_address a = unpack(to);
        if (count > 1 && segments_) {
            for (int tries = 0; tries < most_tries; ++tries) {  // a refusal is of an earlier datagram
                if (send_train(a, pieces, each))
                    return count;
                note_error(-1);
                if (errno != ECONNREFUSED)
                    break;
            }
            switch (errno) {
            case EAGAIN:
            case ENOBUFS:
            case EINTR:
                return 0;
            case EIO:
            case EINVAL:
                segments_ = false;  // this kernel, or this device, cannot
                break;
            default:
                break;
            }
        }
        return send_each(a, pieces, each, count);
    }

    std::span<received> receive() noexcept override
    {
        // One datagram, or train, is the usual catch. The system call for several finds its end by a vain look, so it is for floods.
        unsigned const wanted = streak_ >= 2 ? batch : 1;
        for (unsigned i = 0; i < wanted; ++i) {
            msghdr& m = heads_[i].msg_hdr;
            m.msg_namelen = sizeof(sockaddr_in6);
            m.msg_controllen = sizeof controls_[i].bytes;
        }
        int n = 0;
        if (wanted == 1) {
            ssize_t const got = ::recvmsg(fd_.get(), &heads_[0].msg_hdr, MSG_DONTWAIT);
            n = got < 0 ? 0 : 1;
            note_error(got);
            heads_[0].msg_len = got < 0 ? 0 : static_cast<unsigned>(got);
        } else {
            int const got = ::recvmmsg(fd_.get(), heads_.data(), wanted, MSG_DONTWAIT, nullptr);
            note_error(got);
            n = std::max(0, got);
        }
        streak_ = n == 0 ? 0 : streak_ + 1;
        std::size_t good = 0;
        for (int i = 0; i < n; ++i) {
            msghdr const& m = heads_[static_cast<std::size_t>(i)].msg_hdr;
            unsigned const size = heads_[static_cast<std::size_t>(i)].msg_len;
            if ((m.msg_flags & MSG_TRUNC) != 0 || size == 0)
                continue;
            caught_[good++] = {static_cast<std::byte*>(m.msg_iov->iov_base), size, segment_of(m, size),
                               pack(sources_[static_cast<std::size_t>(i)])};
        }
        return std::span(caught_).first(good);
    }

    std::optional<link_address> take_refusal() noexcept override
    {
        while (told_error_.load(std::memory_order_relaxed)) {
            udp_address to;
            std::array<std::byte, 64> begin;  // of the datagram, which is of no use
            iovec piece{begin.data(), begin.size()};
            alignas(cmsghdr) char room[512];
            msghdr m{};
            m.msg_name = &to;
            m.msg_namelen = sizeof to.v6;
            m.msg_iov = &piece;
            m.msg_iovlen = 1;
            m.msg_control = room;
            m.msg_controllen = sizeof room;
            if (::recvmsg(fd_.get(), &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
                told_error_.store(false, std::memory_order_relaxed);
                break;
            }
            if (is_refusal(m))
                return pack(to);
        }
        return std::nullopt;
    }

    bool readable() const noexcept override
    {
        pollfd p{fd_.get(), POLLIN, 0};
        return ::poll(&p, 1, 0) > 0;
    }

private:
    /// What the network says of a datagram of ours is told by the next call on the socket, whatever that wants, and lies in its queue of
    /// errors until it is taken.
    void note_error(ssize_t result) noexcept
    {
        if (result < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
            told_error_.store(true, std::memory_order_relaxed);
    }

    /// An error in that queue: a host has said that nobody receives at the port.
    static bool is_refusal(msghdr& m) noexcept
    {
        for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
            if (!((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                  (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)))
                continue;
            sock_extended_err e;
            std::memcpy(&e, CMSG_DATA(c), sizeof e);
            return e.ee_errno == ECONNREFUSED && (e.ee_origin == SO_EE_ORIGIN_ICMP || e.ee_origin == SO_EE_ORIGIN_ICMP6);
        }
        return false;
    }

    void make_buffers(std::size_t wanted)
    {
        int const bytes = static_cast<int>(std::min<std::size_t>(wanted, std::size_t{1} << 30));
        for (auto const& [plain, forced] : {std::pair{SO_RCVBUF, SO_RCVBUFFORCE}, {SO_SNDBUF, SO_SNDBUFFORCE}}) {
            if (!set(fd_.get(), SOL_SOCKET, forced, bytes))
                set(fd_.get(), SOL_SOCKET, plain, bytes);
        }
        receive_buffer_ = static_cast<std::size_t>(integer_option(fd_.get(), SOL_SOCKET, SO_RCVBUF, 212992));
        for (std::size_t i = 0; i < batch; ++i) {
            spans_[i] = {storage_.get() + i * buffer_bytes, buffer_bytes};
            msghdr& m = heads_[i].msg_hdr;
            m.msg_name = &sources_[i];
            m.msg_iov = &spans_[i];
            m.msg_iovlen = 1;
            m.msg_control = &controls_[i];
        }
    }

    /// Whether too large datagrams are refused (and the path's MTU found), or cut by the kernel.
    void set_discovery(bool on) noexcept
    {
        if (own_.family() == AF_INET6)
            set(fd_.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, on ? IPV6_PMTUDISC_DO : IPV6_PMTUDISC_DONT);
        else
            set(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, on ? IP_PMTUDISC_DO : IP_PMTUDISC_DONT);
    }

    std::size_t datagram_of(int mtu) const noexcept
    {
        // A multiple of 8, so that the datagrams of a train lie aligned where they arrive.
        std::size_t const headers = headers_of(own_.family());
        return std::min<std::size_t>({static_cast<std::size_t>(std::max(mtu, 576)) - headers, cap_, most_bytes_in_train}) & ~std::size_t{7};
    }

    bool send_train(udp_address& a, std::span<iovec const> pieces, std::size_t each) noexcept
    {
        alignas(cmsghdr) char room[CMSG_SPACE(sizeof(std::uint16_t))]{};
        msghdr m{};
        m.msg_name = &a;
        m.msg_namelen = a.size();
        m.msg_iov = const_cast<iovec*>(pieces.data());
        m.msg_iovlen = pieces.size();
        m.msg_control = room;
        m.msg_controllen = sizeof room;
        cmsghdr* const c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        auto const segment = static_cast<std::uint16_t>(each);
        std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
        return ::sendmsg(fd_.get(), &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    }

    std::size_t send_each(udp_address& a, std::span<iovec const> pieces, std::size_t each, std::size_t count) noexcept
    {
        std::array<mmsghdr, most_in_train> out{};
        std::size_t at = 0;
        for (std::size_t i = 0; i < count; ++i) {
            msghdr& m = out[i].msg_hdr;
            m.msg_name = &a;
            m.msg_namelen = a.size();
            m.msg_iov = const_cast<iovec*>(pieces.data() + at);
            for (std::size_t bytes = 0; bytes < each && at < pieces.size(); ++at, ++m.msg_iovlen)
                bytes += pieces[at].iov_len;
        }
        std::size_t sent = 0;
        int tries = 0;
        while (sent < count) {
            int const n = count - sent == 1 ? (::sendmsg(fd_.get(), &out[sent].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 1)
                                            : ::sendmmsg(fd_.get(), &out[sent], static_cast<unsigned>(count - sent),
                                                         MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n > 0) {
                sent += static_cast<std::size_t>(n);
            } else if (errno == EAGAIN || errno == ENOBUFS) {
                break;
            } else if (errno == ECONNREFUSED && tries++ < most_tries) {
                note_error(n);  // of an earlier datagram
            } else if (errno == EMSGSIZE && !fragments_) {
                fragments_ = true;  // the path has become narrower than it was: what is on its way keeps its size
                set_discovery(false);
            } else if (errno != EINTR) {
                ++sent;  // lost
            }
        }
        return sent;
    }

    static std::uint32_t segment_of(msghdr const& m, std::uint32_t size) noexcept
    {
        for (cmsghdr const* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&m), const_cast<cmsghdr*>(c))) {
            int segment = 0;
            if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
                std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
                return segment > 0 ? static_cast<std::uint32_t>(segment) : size;
            }
        }
        return size;
    }

    struct control_room {
        alignas(cmsghdr) char bytes[64];
    };
    struct free_aligned {
        void operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{64}); }
    };

    udp_address own_;
    base::unique_fd fd_;
    std::size_t cap_ = 0;
    std::size_t max_datagram_ = 0;
    std::size_t receive_buffer_ = 0;
    bool segments_ = false;
    bool joins_ = false;
    bool fragments_ = false;
    std::atomic<bool> told_error_{false};  ///< the queue of errors may hold something
    unsigned streak_ = 0;  ///< catches since the last vain look
    std::unique_ptr<std::byte[], free_aligned> storage_{
        static_cast<std::byte*>(::operator new[](batch * buffer_bytes, std::align_val_t{64}))};
    std::array<iovec, batch> spans_{};
    std::array<udp_address, batch> sources_{};
    std::array<control_room, batch> controls_{};
    std::array<mmsghdr, batch> heads_{};
    std::array<received, batch> caught_{};
};

} // namespace

std::unique_ptr<link> open_udp_link(udp_options const& o)
{
    return std::make_unique<udp_link>(o);
}

} // namespace towline::transport::datagram
