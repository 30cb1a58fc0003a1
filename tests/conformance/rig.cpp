#include "conformance/rig.hpp"

#include "conformance/plain_memory.hpp"
#include "job/file.hpp"
#include "job/job.hpp"
#include "transport/datagram/bundle.hpp"
#include "transport/datagram/component.hpp"
#include "transport/datagram/faulty_link.hpp"
#include "transport/datagram/sim/memory_environment.hpp"
#include "transport/datagram/sim/network.hpp"
#include "transport/datagram/udp_link.hpp"
#include "transport/self/self.hpp"
#include "transport/sim/network.hpp"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace conformance {

namespace job = towline::job;
namespace dg = transport::datagram;

// ---- a rank's place

void place::give_way(std::chrono::steady_clock::time_point end, char const* what)
{
    if (board_.failed.load() != 0)
        throw leave{};
    if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "rank " << rank_ << " waited a minute for " << what;
        board_.failed.store(1);
        throw leave{};
    }
    ::sched_yield();
}

void place::barrier(bool polling)
{
    board_.arrived.at(rank_).store(++barriers_);
    auto const all_here = [&] {
        for (peer p = 0; p < size_; ++p) {
            if (board_.arrived[p].load() < barriers_ && board_.dead[p].load() == 0)
                return false;
        }
        return true;
    };
    wait(all_here, "a barrier", polling);
}

void place::send(peer to, transport::handler_id id, std::span<std::byte const> head, std::span<std::byte const> tail)
{
    // What may go the short way does so every other time: both keep their order.
    std::size_t const bytes = head.size() + tail.size();
    if (bytes <= std::min<std::size_t>(it.caps().max_inline, 255) && ++short_ones_ % 2 == 0 &&
        it.try_send_inline(to, {id, static_cast<std::uint8_t>(head.size()), static_cast<std::uint8_t>(tail.size())}, head.data(),
                           tail.data()))
        return;
    send_status status = send_status::busy;
    auto const taken = [&] { return (status = it.try_send(to, id, head, tail)) != send_status::busy; };
    until(taken, "room to send");
    if (status != send_status::sent) {
        ADD_FAILURE() << "rank " << to << " is unreachable for rank " << rank_;
        board_.failed.store(1);
        throw leave{};
    }
}

bool place::sleep(std::chrono::nanoseconds at_most)
{
    if (int const fd = it.wait_descriptor(); fd >= 0) {
        if (!it.arm())
            return true;
        std::int64_t const limit = it.sleep_limit_ns();
        std::int64_t const ns = limit < 0 ? at_most.count() : std::min<std::int64_t>(at_most.count(), limit);
        timespec const time{ns / 1'000'000'000, ns % 1'000'000'000};
        pollfd p{fd, POLLIN, 0};
        return ::ppoll(&p, 1, &time, nullptr) != 0 || limit >= 0;
    }
    auto& event = link_.event();
    std::uint32_t const key = event.prepare_wait(link_.fences());
    if (it.pending()) {
        event.cancel_wait();
        return true;
    }
    std::int64_t const limit = it.sleep_limit_ns();
    bool const woken = event.wait(key, limit < 0 ? at_most : std::min(at_most, std::chrono::nanoseconds(limit)));
    return woken || limit >= 0;
}

void place::die()
{
    board_.dead.at(rank_).store(1);
    link_.die();
    throw leave{};
}

namespace {

/// Runs a rank's part of a test; what it throws is a failure of the test.
void perform(place& p, blackboard& board, part const& f)
{
    try {
        f(p);
    } catch (leave const&) {
        return;
    } catch (std::exception const& e) {
        ADD_FAILURE() << "rank " << p.rank() << ": " << e.what();
    }
    if (testing::Test::HasFailure())
        board.failed.store(1);
}

// ---- ranks as threads

class self_world {
public:
    explicit self_world(peer) {}
    std::unique_ptr<component> make(peer rank) { return transport::self::make(rank, &event_); }
    towline::base::event_count& event(peer) { return event_; }
    bool gone(peer) const { return false; }
    void kill(peer) {}

private:
    towline::base::event_count event_;
};

template <bool Doorbells> class shm_world {
public:
    explicit shm_world(peer size) : memory_(size, Doorbells) {}
    std::unique_ptr<component> make(peer rank) { return shm::make(memory_.of(rank)); }
    towline::base::event_count& event(peer p) { return memory_.event(p); }
    bool gone(peer p) { return memory_.of(p)->gone(p); }
    void kill(peer p) { memory_.set_gone(p); }

private:
    plain_memory memory_;
};

template <bool CanGet> class sim_world {
public:
    explicit sim_world(peer size) : net_(4711, size, {.can_get = CanGet, .max_delay = 30}) {}
    std::unique_ptr<component> make(peer rank) { return net_.make(rank); }
    towline::base::event_count& event(peer p) { return net_.event(p); }
    bool gone(peer p) const { return net_.is_dead(p); }
    void kill(peer p) { net_.kill(p); }

private:
    transport::sim::network net_;
};

/// Ranks that have only datagrams between them.
enum class datagrams {
    simulated,         ///< lost, doubled, reordered, damaged
    udp,
    udp_plain,         ///< without offload
    udp_faulty,
    udp_sealed,
    udp_two_paths,     ///< of which one is faulty
};
template <datagrams Kind> class datagram_world {
public:
    explicit datagram_world(peer size) : directory_(size), events_(size), net_(options(), dg::monotonic_time())
    {
        net_.set_arrival(
            [](void* w, std::uint32_t to) {
                auto& self = *static_cast<datagram_world*>(w);
                self.events_[to].notify(towline::base::fence_side::notifier_fences);
            },
            this);
        for (peer p = 0; p < size; ++p)
            environments_.push_back(std::make_unique<dg::sim::memory_environment>(directory_, p));
    }
    std::unique_ptr<component> make(peer rank)
    {
        dg::config c;
        c.sealed = Kind == datagrams::udp_sealed;
        c.summed = Kind == datagrams::simulated || Kind == datagrams::udp_faulty || Kind == datagrams::udp_two_paths;
        c.least_timeout = 500'000;  // a test has no time to wait, and a probe too many does no harm
        return dg::make(make_link(rank), *environments_[rank], c);
    }
    towline::base::event_count& event(peer p) { return events_[p]; }
    bool gone(peer p) const { return directory_.is_dead(p); }
    void kill(peer p) { directory_.kill(p); }

private:
    static constexpr dg::faults bad{.loss = 0.01, .duplicate = 0.01, .reorder = 0.02, .corrupt = 0.005, .burst = 0.0002, .burst_length = 44,
                                    .seed = 4711};
    static dg::sim::network_options options() { return {.bad = bad, .receive_room = 2000}; }

    std::unique_ptr<dg::link> make_link(peer rank)
    {
        if constexpr (Kind == datagrams::simulated)
            return net_.make();
        auto udp = dg::open_udp_link({.offload = Kind != datagrams::udp_plain});
        if constexpr (Kind == datagrams::udp_faulty || Kind == datagrams::udp_two_paths) {
            dg::faults mine = bad, theirs{.loss = 0.005};
            mine.seed = theirs.seed = rank + 1;
            mine.burst_length = 6;  // of datagrams of this rank alone: probes among them wait ever longer
            udp = dg::make_faulty(std::move(udp), mine, theirs);
        }
        if constexpr (Kind == datagrams::udp_two_paths) {
            std::vector<std::unique_ptr<dg::link>> both;
            both.push_back(std::move(udp));
            both.push_back(dg::open_udp_link({.address = "127.0.0.2"}));
            return dg::bundle(std::move(both));
        }
        return udp;
    }

    dg::sim::directory directory_;
    std::vector<towline::base::event_count> events_;
    std::vector<std::unique_ptr<dg::sim::memory_environment>> environments_;
    dg::sim::network net_;
};

template <class World> class thread_link final : public link {
public:
    thread_link(World& w, peer rank) : world_(w), rank_(rank) {}
    towline::base::event_count& event() override { return world_.event(rank_); }
    towline::base::fence_side fences() const override { return towline::base::fence_side::notifier_fences; }
    bool gone(peer p) const override { return world_.gone(p); }
    void die() override { world_.kill(rank_); }

private:
    World& world_;
    peer rank_;
};

template <class World> void threads(peer ranks, part const& f)
{
    auto const board = std::make_unique<blackboard>();
    World world(ranks);
    std::vector<std::unique_ptr<component>> components;
    for (peer r = 0; r < ranks; ++r)
        components.push_back(world.make(r));
    std::vector<std::jthread> all;
    for (peer r = 0; r < ranks; ++r) {
        all.emplace_back([&, r] {
            thread_link<World> l(world, r);
            place p(*components[r], l, *board, r, ranks);
            perform(p, *board, f);
        });
    }
}

// ---- ranks as processes

class job_link final : public link {
public:
    towline::base::event_count& event() override { return job_.self().event; }
    towline::base::fence_side fences() const override { return job_.header().fences; }
    bool gone(peer p) const override
    {
        return job_.slot(static_cast<int>(p)).state.load() == static_cast<std::uint32_t>(job::rank_state::dead);
    }
    void die() override { ::kill(::getpid(), SIGKILL); }

private:
    job::membership& job_ = job::membership::instance();
};

using opener = std::unique_ptr<component> (*)();

[[noreturn]] void be_rank(int fd, peer rank, peer ranks, opener open, blackboard& board, part const& f)
{
    ::setenv("TOWLINE_JOB", fmt::format("{}:{}", fd, rank).c_str(), 1);
    try {
        job_link l;
        auto const c = open();
        place p(*c, l, board, rank, ranks);
        perform(p, board, f);
    } catch (std::exception const& e) {
        ADD_FAILURE() << "rank " << rank << " cannot begin: " << e.what();
        board.failed.store(1);
    }
    job::membership::instance().leave();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

/// Waits for the ranks as the launcher does, and marks the dead. Who was killed must have wanted it.
void reap(std::vector<pid_t> pids, job::control_view& control, blackboard const& board)
{
    auto const ended = [&](std::size_t rank, int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        control.mark_dead(static_cast<int>(rank), status);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && board.dead[rank].load() != 0)
            << "rank " << rank << " failed (wait status " << status << "); it said why above";
    };
    for (std::size_t left = pids.size(); left != 0;) {
        for (std::size_t r = 0; r < pids.size(); ++r) {
            int status = 0;
            if (pids[r] > 0 && ::waitpid(pids[r], &status, WNOHANG) == pids[r]) {
                pids[r] = 0;
                --left;
                ended(r, status);
            }
        }
        ::usleep(300);
    }
}

template <opener Open> void processes(peer ranks, part const& f)
{
    void* const shared = ::mmap(nullptr, sizeof(blackboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto& board = *new (shared) blackboard{};
    {
        auto const fd = job::create_job_file(ranks);
        job::control_view control(fd.get());
        std::fflush(nullptr);
        std::vector<pid_t> pids;
        for (peer r = 0; r < ranks; ++r) {
            pid_t const pid = ::fork();
            if (pid == 0)
                be_rank(fd.get(), r, ranks, Open, board, f);
            pids.push_back(pid);
        }
        reap(pids, control, board);
    }
    ::munmap(shared, sizeof(blackboard));
}

std::unique_ptr<component> open_shm()
{
    return shm::make(shm::job_environment());
}

} // namespace

std::vector<subject> const& subjects()
{
    static std::vector<subject> const all{
        {"self", 1, threads<self_world>},
        {"shm_threads", 64, threads<shm_world<false>>},
        {"shm_doorbells", 64, threads<shm_world<true>>},
        {"shm_processes", 16, processes<open_shm>},
        {"sim", 64, threads<sim_world<false>>},
        {"sim_get", 64, threads<sim_world<true>>},
        {"datagram_simulated", 64, threads<datagram_world<datagrams::simulated>>, false},
        {"datagram_udp", 64, threads<datagram_world<datagrams::udp>>, false},
        {"datagram_udp_plain", 64, threads<datagram_world<datagrams::udp_plain>>, false},
        {"datagram_udp_faulty", 64, threads<datagram_world<datagrams::udp_faulty>>, false},
        {"datagram_udp_sealed", 64, threads<datagram_world<datagrams::udp_sealed>>, false},
        {"datagram_udp_two_paths", 64, threads<datagram_world<datagrams::udp_two_paths>>, false},
    };
    return all;
}

void over_every_transport::run(peer ranks, part const& f, peer least)
{
    if (GetParam().most_ranks < least)
        GTEST_SKIP() << GetParam().name << " connects fewer than " << least << " ranks";
    GetParam().run(std::min(ranks, GetParam().most_ranks), f);
}

} // namespace conformance
