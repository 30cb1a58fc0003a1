// Hands the job file to the ranks of a node.

#include "job/launch/meeting.hpp"

#include "base/log.hpp"
#include "job/control.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace towline::job::launch {

namespace {

constexpr std::uint64_t magic = 0x316b73616c776f74;  // "towlask1"

/// What a guest says first.
struct request {
    std::uint64_t magic;
    std::uint32_t version;  ///< control_version
    std::uint32_t rank;
    job_key key;
    std::array<std::byte, 1024> cpus;  ///< bit c of byte c / 8: it may run on processor c
};

/// The host's answer, with the descriptor of the job file; the guest's word that it has joined; the host's that all have.
struct word {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t rank;
};

struct address {
    sockaddr_un where{};
    socklen_t bytes;

    explicit address(std::string const& name)
    {
        where.sun_family = AF_UNIX;
        std::size_t const length = std::min(name.size(), sizeof where.sun_path - 1);
        std::memcpy(where.sun_path + 1, name.data(), length);  // behind a NUL: no name of the file system
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    }
    [[nodiscard]] sockaddr const* get() const noexcept { return reinterpret_cast<sockaddr const*>(&where); }
};

bool same_user(int link)
{
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(link, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

/// Takes as long for a wrong key as for the right one.
bool same_key(job_key const& a, job_key const& b) noexcept
{
    std::byte differs{};
    for (std::size_t i = 0; i < a.size(); ++i)
        differs |= a[i] ^ b[i];
    return differs == std::byte{};
}

/// Milliseconds for poll(2), at least 1.
int left_of(base::deadline const& end)
{
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end.left()).count();
    return static_cast<int>(std::clamp<long>(left, 1, 1000));
}

/// One message of exactly this type; false where there is none yet. Throws error where the peer is gone or says something else.
template <class T>
bool take(int link, T& to, std::string const& from)
{
    ssize_t const n = recv(link, &to, sizeof to, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0)
        throw system_error(fmt::format("waiting for {}", from), errno);
    if (n == 0)
        throw error(fmt::format("{} has gone before the job began", from));
    if (n != static_cast<ssize_t>(sizeof to) || to.magic != magic || to.version != control_version)
        throw error(fmt::format("{} is of another version of Towline", from));
    return true;
}

void wait_readable(int link, base::deadline const& end)
{
    pollfd readable{link, POLLIN, 0};
    poll(&readable, 1, left_of(end));
}

void say(int link, int rank)
{
    word const w{magic, control_version, static_cast<std::uint32_t>(rank)};
    if (send(link, &w, sizeof w, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof w))
        throw system_error("meeting the other ranks of this node", errno);
}

/// A word as a message with room for one descriptor.
struct envelope {
    iovec piece;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};

    explicit envelope(word& w) noexcept : piece{&w, sizeof w}
    {
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    envelope(envelope const&) = delete;
    envelope& operator=(envelope const&) = delete;
};

void give(int link, word const& w, int file)
{
    envelope e(const_cast<word&>(w));
    cmsghdr* const header = CMSG_FIRSTHDR(&e.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
    if (sendmsg(link, &e.message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof w))
        throw system_error(fmt::format("handing the job file to rank {}", w.rank), errno);
}

/// The host's answer and the descriptor; an empty one where there is none yet.
base::unique_fd take_file(int link, int rank, std::string const& from)
{
    word w{};
    envelope e(w);
    ssize_t const n = recvmsg(link, &e.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return {};
    base::unique_fd file;
    if (n >= 0)
        for (cmsghdr* h = CMSG_FIRSTHDR(&e.message); h != nullptr; h = CMSG_NXTHDR(&e.message, h))
            if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int))) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(h), sizeof fd);
                file.reset(fd);
            }
    if (n <= 0)
        throw error(fmt::format("{} has gone, or refuses this process", from));
    if (n != static_cast<ssize_t>(sizeof w) || w.magic != magic || w.version != control_version ||
        w.rank != static_cast<std::uint32_t>(rank) || !file)
        throw error(fmt::format("{} answers something else than the job file", from));
    return file;
}

} // namespace

host::host() : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
{
    std::array<unsigned char, 24> random{};
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
        throw system_error("getrandom", errno);
    name_ = fmt::format("towline-{:02x}", fmt::join(random, ""));
    address const at(name_);
    if (!listener_ || bind(listener_.get(), at.get(), at.bytes) != 0 || listen(listener_.get(), SOMAXCONN) != 0)
        throw system_error("listening for the ranks of this node on a Unix socket", errno);
}

std::vector<host::guest> host::receive(std::vector<int> const& ranks, job_key const& key, base::deadline const& end)
{
    std::vector<guest> guests;
    std::vector<base::unique_fd> strangers;  // have not said yet who they are
    auto const missing = [&] {
        std::vector<int> all;
        for (int const r : ranks)
            if (std::ranges::none_of(guests, [r](guest const& g) { return g.rank == r; }))
                all.push_back(r);
        return all;
    };
    while (guests.size() < ranks.size()) {
        std::vector<pollfd> wait{{listener_.get(), POLLIN, 0}};
        for (auto const& s : strangers)
            wait.push_back({s.get(), POLLIN, 0});
        poll(wait.data(), wait.size(), left_of(end));
        if (end.passed())
            throw error(fmt::format("of the ranks of this node these have not come to take the job file: {} (TOWLINE_LAUNCHER_TIMEOUT)",
                                    fmt::join(missing(), ", ")));
        for (std::size_t i = strangers.size(); i-- > 0;) {
            try {
                request r{};
                if (!take(strangers[i].get(), r, "a process that asks for the job file"))
                    continue;
                auto const all = missing();
                if (!same_key(r.key, key) || std::ranges::find(all, static_cast<int>(r.rank)) == all.end())
                    throw error("a process asks for the job file that is no rank of this node");
                guest g{static_cast<int>(r.rank), {}, std::move(strangers[i])};
                for (std::size_t c = 0; c < r.cpus.size() * 8; ++c)
                    if ((r.cpus[c / 8] >> (c % 8) & std::byte{1}) != std::byte{})
                        g.cpus.push_back(static_cast<int>(c));
                guests.push_back(std::move(g));
            } catch (error const& e) {
                base::log(base::log_level::info, "refused: {}", e.what());
            }
            strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i));
        }
        base::unique_fd link(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (link && same_user(link.get()))
            strangers.push_back(std::move(link));
    }
    listener_.reset();
    return guests;
}

void host::hand_out(std::vector<guest>& guests, int job_file, base::deadline const& end)
{
    for (auto const& g : guests)
        give(g.link.get(), {magic, control_version, static_cast<std::uint32_t>(g.rank)}, job_file);
    for (auto const& g : guests) {
        word w{};
        while (!take(g.link.get(), w, fmt::format("rank {}", g.rank))) {
            if (end.passed())
                throw error(fmt::format("rank {} has got the job file, and does not join the job (TOWLINE_LAUNCHER_TIMEOUT)", g.rank));
            wait_readable(g.link.get(), end);
        }
    }
    for (auto const& g : guests)
        say(g.link.get(), g.rank);
}

void visit(std::string const& name, int rank, job_key const& key, std::vector<int> const& cpus, base::deadline const& end,
           std::function<void(base::unique_fd)> const& join)
{
    std::string const first = "the first rank of this node";
    base::unique_fd const link(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    address const at(name);
    if (!link || connect(link.get(), at.get(), at.bytes) != 0)
        throw system_error("reaching the first rank of this node by a Unix socket (do the ranks of the node run in one network namespace?)",
                           errno);
    if (!same_user(link.get()))
        throw error(fmt::format("{} is of another user", first));
    request r{magic, control_version, static_cast<std::uint32_t>(rank), key, {}};
    for (int const c : cpus)
        if (c >= 0 && static_cast<std::size_t>(c) < r.cpus.size() * 8)
            r.cpus[static_cast<std::size_t>(c) / 8] |= std::byte{1} << (c % 8);
    if (send(link.get(), &r, sizeof r, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof r))
        throw system_error("asking the first rank of this node for the job file", errno);
    for (;;) {
        if (auto file = take_file(link.get(), rank, first)) {
            join(std::move(file));
            break;
        }
        if (end.passed())
            throw error(fmt::format("{} does not hand out the job file: another rank of the node is missing (TOWLINE_LAUNCHER_TIMEOUT)",
                                    first));
        wait_readable(link.get(), end);
    }
    say(link.get(), rank);
    for (word w{}; !take(link.get(), w, first); wait_readable(link.get(), end))
        if (end.passed())
            throw error("another rank of this node has got the job file, and does not join the job (TOWLINE_LAUNCHER_TIMEOUT)");
}

} // namespace towline::job::launch
