#pragma once
// The conformance suite: every test runs over every transport.
//
// A test is one function that every rank runs at once, each with its own `place`. A subject says how ranks come to be: as threads of this
// process, or as processes of a job. A new transport joins by one line in `subjects()` (rig.cpp): a name, the most ranks it makes sense
// for, and `threads<World>` or `processes<open>`. For threads, World makes the component of each rank and is told of deaths (see the
// worlds in rig.cpp); for processes, `open` makes the component of a process that has joined its job.

#include "base/event_count.hpp"
#include "transport/transport.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace conformance {

namespace transport = towline::transport;
using transport::component;
using transport::peer;
using transport::send_status;

#ifdef TOWLINE_SANITIZED
inline constexpr unsigned effort = 1;
#else
inline constexpr unsigned effort = 6;  ///< how often things are tried; sanitizers make each try dear
#endif

/// What the ranks of one run share, wherever they run; zero at first.
struct blackboard {
    std::atomic<std::uint32_t> failed;                  ///< somebody gave up: so does everybody
    std::array<std::atomic<std::uint32_t>, 64> arrived; ///< barriers that each rank came to
    std::array<std::atomic<std::uint32_t>, 64> dead;    ///< who ended by place::die
    std::array<std::atomic<std::uint64_t>, 256> notes;
};

/// Thrown to leave a test: by place::die in the rank that dies, and where another rank has failed.
struct leave {};

/// How a rank is connected to the world beside its component.
class link {
public:
    virtual ~link() = default;
    [[nodiscard]] virtual towline::base::event_count& event() = 0;
    [[nodiscard]] virtual towline::base::fence_side fences() const = 0;
    [[nodiscard]] virtual bool gone(peer) const = 0;
    /// Ends the rank as a kill would. May return where a rank is a thread.
    virtual void die() = 0;
};

/// Where one rank of a test stands.
class place {
public:
    place(component& c, link& l, blackboard& b, peer rank, peer size) : it(c), rank_(rank), size_(size), link_(l), board_(b) {}

    component& it;
    [[nodiscard]] peer rank() const { return rank_; }
    [[nodiscard]] peer size() const { return size_; }
    [[nodiscard]] peer next() const { return (rank_ + 1) % size_; }
    /// A number that all ranks see; zero at first.
    [[nodiscard]] std::atomic<std::uint64_t>& note(std::size_t i) const { return board_.notes.at(i); }

    /// Polls until `ready()`. Fails, and ends the test, when it takes a minute: a hang is an error that names what was waited for.
    template <class Ready> void until(Ready&& ready, char const* what)
    {
        wait(ready, what, true);
    }
    /// The same without polling: this rank is away.
    template <class Ready> void away_until(Ready&& ready, char const* what)
    {
        wait(ready, what, false);
    }
    /// Everybody living came as far, polling; or without.
    void barrier(bool polling = true);
    /// Sends, polling while there is no room. Fails the test if the peer is unreachable.
    void send(peer to, transport::handler_id id, std::span<std::byte const> head, std::span<std::byte const> tail = {});
    /// Sleeps as an engine does: announces it, looks once more, then waits to be woken. False if the time ran out.
    bool sleep(std::chrono::nanoseconds at_most);

    [[nodiscard]] bool gone(peer p) const { return link_.gone(p); }
    [[noreturn]] void die();

private:
    template <class Ready> void wait(Ready& ready, char const* what, bool polling)
    {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!ready()) {
            if (polling && it.poll(16) != 0)
                continue;
            give_way(end, what);
        }
    }
    void give_way(std::chrono::steady_clock::time_point end, char const* what);

    peer rank_;
    peer size_;
    link& link_;
    blackboard& board_;
    std::uint32_t barriers_ = 0;
    std::atomic<std::uint32_t> short_ones_{0};  ///< any thread sends
};

using part = std::function<void(place&)>;

struct subject {
    std::string name;
    peer most_ranks;
    void (*run)(peer ranks, part const&);
    bool last_words = true;  ///< what a rank had taken before its death arrives; not where it waits for acknowledgements in its sender
};

[[nodiscard]] std::vector<subject> const& subjects();

/// Base of the suites.
class over_every_transport : public testing::TestWithParam<subject> {
protected:
    /// Runs the function as that many ranks, or as many as the transport has sense for; skips the test where that is less than `least`.
    void run(peer ranks, part const& f, peer least = 1);
};

/// Names the instances of a suite after their subjects.
struct subject_name {
    std::string operator()(testing::TestParamInfo<subject> const& info) const { return info.param.name; }
};

inline std::span<std::byte const> as_bytes(auto const& value)
{
    return std::as_bytes(std::span(&value, 1));
}

} // namespace conformance
