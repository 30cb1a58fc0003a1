// Each test runs its ranks as forked children of the test program, which is never a member itself.

#include "job/file.hpp"
#include "job/job.hpp"
#include "towline/error.hpp"

#include <bit>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace base = towline::base;
namespace job = towline::job;
using namespace std::chrono_literals;

namespace {

pid_t spawn(std::function<void()> const& body)
{
    pid_t const child = fork();
    if (child == 0) {
        int code = 0;
        try {
            body();
        } catch (std::exception const& e) {
            std::fprintf(stderr, "child: %s\n", e.what());
            code = 99;
        }
        std::exit(code);
    }
    return child;
}

pid_t spawn_rank(int fd, int rank, std::function<void(job::membership&)> const& body)
{
    return spawn([&] {
        setenv("TOWLINE_JOB", fmt::format("{}:{}", fd, rank).c_str(), 1);
        body(job::membership::instance());
    });
}

int status_of(pid_t child)
{
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

/// Runs `size` ranks to their end; all must exit with 0.
void run(std::uint32_t size, std::function<void(job::membership&)> const& body)
{
    auto const file = job::create_job_file(size);
    std::vector<pid_t> ranks;
    for (std::uint32_t r = 0; r < size; ++r)
        ranks.push_back(spawn_rank(file.get(), static_cast<int>(r), body));
    for (pid_t const rank : ranks)
        EXPECT_EQ(status_of(rank), 0);
    job::control_view const view(file.get());
    for (auto const& slot : view.slots())
        EXPECT_EQ(slot.state.load(), static_cast<std::uint32_t>(job::rank_state::left));
}

void check(bool condition, char const* what)
{
    if (!condition)
        throw std::runtime_error(what);
}

/// What instance() says in a child whose TOWLINE_JOB is `value`.
std::string complaint(std::string const& value)
{
    int pipe_ends[2];
    check(pipe(pipe_ends) == 0, "pipe");
    pid_t const child = spawn([&] {
        setenv("TOWLINE_JOB", value.c_str(), 1);
        std::string text = "joined";
        try {
            job::membership::instance();
        } catch (towline::version_error const& e) {
            text = std::string("version: ") + e.what();
        } catch (towline::usage_error const& e) {
            text = std::string("usage: ") + e.what();
        }
        check(write(pipe_ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
    });
    EXPECT_EQ(status_of(child), 0);
    close(pipe_ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(pipe_ends[0], text.data(), text.size()))));
    close(pipe_ends[0]);
    return text;
}

} // namespace

TEST(job_file, is_sealed_sparse_and_as_described)
{
    auto const file = job::create_job_file(3, {.segment_bytes = std::uint64_t{64} << 20});
    struct stat about {};
    ASSERT_EQ(fstat(file.get(), &about), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(about.st_size), job::control_bytes(3) + 3 * (std::uint64_t{64} << 20));
    EXPECT_LT(about.st_blocks * 512, 64 << 10);
    EXPECT_EQ(about.st_nlink, 0u);
    EXPECT_EQ(ftruncate(file.get(), 4096), -1);
    EXPECT_EQ(ftruncate(file.get(), about.st_size + 4096), -1);
    EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
    EXPECT_NE(fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
    job::control_view const view(file.get());
    EXPECT_EQ(job::check_control(view.header(), static_cast<std::uint64_t>(about.st_size)), nullptr);
    EXPECT_EQ(view.header().size, 3u);
    EXPECT_GE(view.header().cores, 1u);
    EXPECT_EQ(view.slots().size(), 3u);
    EXPECT_EQ(view.header().segments_begin % (2 << 20), 0u);
}

TEST(job_file, ids_and_keys_differ)
{
    auto const a = job::create_job_file(1);
    auto const b = job::create_job_file(1);
    job::control_view const first(a.get());
    job::control_view const second(b.get());
    EXPECT_STRNE(first.header().job_id.data(), second.header().job_id.data());
    EXPECT_NE(first.header().key, second.header().key);
}

TEST(job_file, refuses_what_cannot_be)
{
    EXPECT_THROW((void)job::create_job_file(0), towline::usage_error);
    EXPECT_THROW((void)job::create_job_file(job::max_ranks + 1), towline::usage_error);
    EXPECT_THROW((void)job::create_job_file(1, {.segment_bytes = 3 << 20}), towline::usage_error);
    EXPECT_THROW((void)job::create_job_file(1, {.segment_bytes = 4096}), towline::usage_error);
    EXPECT_THROW((void)job::create_job_file(1024, {.segment_bytes = std::uint64_t{1} << 40}), towline::limit_error);
    setenv("TOWLINE_SEGMENT", "plenty", 1);
    EXPECT_THROW((void)job::create_job_file(1), towline::usage_error);
    setenv("TOWLINE_SEGMENT", "32M", 1);
    job::control_view const view(job::create_job_file(2).get());
    unsetenv("TOWLINE_SEGMENT");
    EXPECT_EQ(view.header().segment_bytes, std::uint64_t{32} << 20);
}

TEST(job_file, default_segments_fit_the_address_space)
{
    for (std::uint32_t size : {1u, 2u, 5u, 32u, 1000u, job::max_ranks}) {
        auto const bytes = job::default_segment_bytes(size);
        EXPECT_TRUE(std::has_single_bit(bytes));
        EXPECT_GE(bytes, job::min_segment_bytes);
        EXPECT_LE(bytes * size, std::uint64_t{1} << 45);
    }
}

TEST(job_file, honours_the_limit_on_file_size)
{
    pid_t const child = spawn([] {
        rlimit const limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
        check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
        check(job::default_segment_bytes(2) == std::uint64_t{256} << 20, "segment of 256 MiB");
        check(static_cast<bool>(job::create_job_file(2)), "created");
        try {
            (void)job::create_job_file(2, {.segment_bytes = std::uint64_t{1} << 30});
            check(false, "refused");
        } catch (towline::limit_error const& e) {
            check(std::string(e.what()).find("ulimit -f") != std::string::npos, e.what());
        }
        try {
            (void)job::create_job_file(100);
            check(false, "refused");
        } catch (towline::limit_error const&) {
        }
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(control, a_damaged_block_is_named)
{
    auto const file = job::create_job_file(2);
    struct stat about {};
    ASSERT_EQ(fstat(file.get(), &about), 0);
    auto const bytes = static_cast<std::uint64_t>(about.st_size);
    job::control_view const view(file.get());
    auto damaged = [&](auto&& change) {
        alignas(4096) std::array<std::byte, sizeof(job::control_header)> copy;
        std::memcpy(copy.data(), &view.header(), copy.size());
        change(*reinterpret_cast<job::control_header*>(copy.data()));
        return job::check_control(*reinterpret_cast<job::control_header*>(copy.data()), bytes) != nullptr;
    };
    EXPECT_FALSE(damaged([](auto&) {}));
    EXPECT_TRUE(damaged([](auto& h) { h.magic ^= 1; }));
    EXPECT_TRUE(damaged([](auto& h) { h.version += 1; }));
    EXPECT_TRUE(damaged([](auto& h) { h.size = 0; }));
    EXPECT_TRUE(damaged([](auto& h) { h.size = 3; }));
    EXPECT_TRUE(damaged([](auto& h) { h.size = ~0u; }));
    EXPECT_TRUE(damaged([](auto& h) { h.segments_begin += 4096; }));
    EXPECT_TRUE(damaged([](auto& h) { h.segment_bytes = 0; }));
    EXPECT_TRUE(damaged([](auto& h) { h.segment_bytes += 1; }));
    EXPECT_TRUE(damaged([](auto& h) { h.segment_bytes = std::uint64_t{1} << 63; }));
    EXPECT_TRUE(damaged([](auto& h) { h.inbox_bytes = 0; }));
    EXPECT_TRUE(damaged([](auto& h) { h.job_id.fill('x'); }));
    EXPECT_TRUE(damaged([](auto& h) { h.fences = static_cast<base::fence_side>(2); }));
    EXPECT_TRUE(damaged([](auto& h) { h.cores = 0; }));
}

TEST(membership, a_world_of_one)
{
    pid_t const child = spawn([] {
        unsetenv("TOWLINE_JOB");
        check(job::membership::instance_if_launched() == nullptr, "nobody launched it");
        auto& m = job::membership::instance();
        check(m.rank() == 0 && m.size() == 1, "rank 0 of 1");
        check(job::membership::instance_if_launched() == &m, "one instance");
        m.put("key", "value");
        m.fence();
        check(m.get(0, "key") == "value", "own card");
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(membership, ranks_find_each_other)
{
    run(4, [](job::membership& m) {
        check(m.size() == 4, "size");
        check((fcntl(m.fd(), F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec");
        check(m.self().pid.load() == getpid(), "pid");
        m.put("number", std::to_string(m.rank() * 11));
        m.fence();
        for (int r = 0; r < m.size(); ++r)
            check(m.get(r, "number") == std::to_string(r * 11), "card");
        check(!m.get(0, "numbe") && !m.get(0, "number2") && !m.get(0, ""), "no such key");
        m.count(job::counter::sleeps, 3);
        m.fence();
    });
}

TEST(membership, a_thousand_fences)
{
    auto const file = job::create_job_file(3);
    auto* shared = static_cast<std::atomic<int>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> ranks;
    for (int r = 0; r < 3; ++r)
        ranks.push_back(spawn_rank(file.get(), r, [&](job::membership& m) {
            for (int i = 0; i < 1000; ++i) {
                shared->fetch_add(1);
                m.fence();
                check(shared->load() >= 3 * (i + 1), "somebody passed a fence too early");
                m.fence();
            }
        }));
    for (pid_t const rank : ranks)
        EXPECT_EQ(status_of(rank), 0);
    EXPECT_EQ(shared->load(), 3000);
    munmap(shared, 4096);
}

TEST(membership, cards_have_rules)
{
    run(1, [](job::membership& m) {
        m.put("a", "1");
        m.put("ab", "2");
        m.put("a", "3=4");
        check(m.get(0, "a") == "3=4", "the last one counts");
        check(m.get(0, "ab") == "2", "no prefix match");
        for (auto [key, value] : {std::pair{"", "x"}, {"a=b", "x"}, {"a\nb", "x"}, {"a", "x\ny"}})
            try {
                m.put(key, value);
                check(false, "bad key taken");
            } catch (towline::usage_error const&) {
            }
        std::string const much(500, 'z');
        int put = 0;
        try {
            for (;; ++put)
                m.put("much", much);
        } catch (towline::limit_error const& e) {
            check(std::string(e.what()).find("full") != std::string::npos, e.what());
        }
        check(put == 4, "four fit");
        check(m.get(0, "a") == "3=4", "still there");
        try {
            (void)m.get(1, "a");
            check(false, "rank out of range");
        } catch (towline::usage_error const&) {
        }
    });
}

TEST(membership, a_fence_that_nobody_else_comes_to)
{
    auto const file = job::create_job_file(3);
    pid_t const waiting = spawn_rank(file.get(), 0, [](job::membership& m) {
        try {
            m.fence(20ms);
            check(false, "passed");
        } catch (towline::error const& e) {
            check(std::string(e.what()).find("not there yet: rank 1, 2") != std::string::npos, e.what());
        }
    });
    EXPECT_EQ(status_of(waiting), 0);
}

TEST(membership, a_death_ends_a_fence_and_the_survivors_may_go_on)
{
    auto const file = job::create_job_file(3);
    job::control_view view(file.get());
    std::vector<pid_t> survivors;
    for (int r : {0, 2})
        survivors.push_back(spawn_rank(file.get(), r, [](job::membership& m) {
            try {
                m.fence();
                check(false, "passed");
            } catch (towline::peer_error const& e) {
                check(e.rank() == 1, e.what());
            }
            m.fence();
        }));
    pid_t const victim = spawn_rank(file.get(), 1, [](job::membership&) { raise(SIGKILL); });
    int const status = status_of(victim);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(view.mark_dead(1, status));
    EXPECT_FALSE(view.mark_dead(1, status));
    EXPECT_EQ(view.header().deaths.load(), 1u);
    EXPECT_EQ(view.slots()[1].status.load(), status);
    for (pid_t const rank : survivors)
        EXPECT_EQ(status_of(rank), 0);
}

TEST(membership, who_leaves_before_a_fence_is_named)
{
    auto const file = job::create_job_file(2);
    pid_t const leaver = spawn_rank(file.get(), 1, [](job::membership&) {});
    pid_t const waiting = spawn_rank(file.get(), 0, [](job::membership& m) {
        try {
            m.fence();
            check(false, "passed");
        } catch (towline::peer_error const& e) {
            check(e.rank() == 1 && std::string(e.what()).find("left") != std::string::npos, e.what());
        }
    });
    EXPECT_EQ(status_of(leaver), 0);
    EXPECT_EQ(status_of(waiting), 0);
}

TEST(membership, a_rank_is_taken_once)
{
    auto const file = job::create_job_file(2);
    auto const place = fmt::format("{}:1", file.get());
    pid_t const first = spawn_rank(file.get(), 1, [](job::membership&) {});
    EXPECT_EQ(status_of(first), 0);
    auto const text = complaint(place);
    EXPECT_NE(text.find(fmt::format("taken by process {}, which has ended", first)), text.npos) << text;
}

TEST(membership, bad_places_are_named)
{
    auto const file = job::create_job_file(2);
    base::unique_fd const other(::open("/dev/null", O_RDWR | O_CLOEXEC));
    base::unique_fd const unsealed(memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    base::unique_fd const empty(memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(empty.get(), 1 << 20), 0);
    ASSERT_EQ(fcntl(empty.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    auto says = [](std::string const& place, char const* what) {
        auto const text = complaint(place);
        EXPECT_NE(text.find(what), text.npos) << place << " gave: " << text;
    };
    for (auto place : {"x", "3", ":", "3:", ":1", "3:x", "3:1x", "-1:0", "3:-1", "99999999999:0"})
        says(place, "DESCRIPTOR:RANK");
    says("987:0", "closed descriptor");
    says(fmt::format("{}:0", other.get()), "not a job file");
    says(fmt::format("{}:0", unsealed.get()), "not a job file");
    says(fmt::format("{}:0", empty.get()), "not a job file");
    says(fmt::format("{}:2", file.get()), "does not have");
    {
        job::control_view const view(file.get());
        view.header().version = job::control_version + 1;
        says(fmt::format("{}:0", file.get()), "version: ");
        view.header().version = job::control_version;
        view.header().size = 7;
        says(fmt::format("{}:0", file.get()), "usage: ");
        view.header().size = 2;
    }
    EXPECT_EQ(complaint(fmt::format("{}:0", file.get())), "joined");
}

TEST(membership, a_failed_join_can_be_tried_again)
{
    auto const file = job::create_job_file(1);
    pid_t const child = spawn([&] {
        setenv("TOWLINE_JOB", "nonsense", 1);
        try {
            job::membership::instance();
            check(false, "joined");
        } catch (towline::usage_error const&) {
        }
        setenv("TOWLINE_JOB", fmt::format("{}:0", file.get()).c_str(), 1);
        check(job::membership::instance().size() == 1, "joined");
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(membership, many_threads_join_at_once)
{
    auto const file = job::create_job_file(2);
    pid_t const child = spawn([&] {
        setenv("TOWLINE_JOB", fmt::format("{}:1", file.get()).c_str(), 1);
        std::vector<std::thread> threads;
        std::atomic<int> right{0};
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                auto* early = job::membership::instance_if_launched();
                auto& m = job::membership::instance();
                right += m.rank() == 1 && (early == nullptr || early == &m);
            });
        for (auto& thread : threads)
            thread.join();
        check(right == 4, "all the same");
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(membership, a_forked_child_changes_nothing)
{
    run(2, [](job::membership& m) {
        check(!m.forked(), "not forked");
        m.put("before", "1");
        pid_t const child = fork();
        if (child == 0) {
            bool good = m.forked() && job::membership::instance().rank() == m.rank();
            m.count(job::counter::sleeps, 1000);
            m.leave();
            try {
                m.put("child", "1");
                good = false;
            } catch (towline::usage_error const&) {
            }
            try {
                m.fence();
                good = false;
            } catch (towline::usage_error const&) {
            }
            m.self().waiting_for[0] = 'x';
            std::exit(good ? 0 : 1);  // with exit handlers
        }
        check(status_of(child) == 0, "child");
        check(m.self().counters[static_cast<std::size_t>(job::counter::sleeps)].load() == 0, "counters");
        check(m.self().waiting_for[0] == '\0', "note");
        check(m.self().state.load() == static_cast<std::uint32_t>(job::rank_state::joined), "still a member");
        m.fence();
    });
}

TEST(membership, a_child_forked_before_joining_may_join)
{
    auto const file = job::create_job_file(1);
    pid_t const outer = spawn([&] {
        pid_t const inner = spawn_rank(file.get(), 0, [](job::membership& m) { check(!m.forked(), "a member"); });
        check(status_of(inner) == 0, "inner");
    });
    EXPECT_EQ(status_of(outer), 0);
}

// docs/wire.md, "The job file"
static_assert(offsetof(job::control_header, job_id) == 40 && offsetof(job::control_header, fences) == 104 &&
              offsetof(job::control_header, deaths) == 128 && offsetof(job::control_header, fence_generation) == 192 &&
              offsetof(job::control_header, tuned) == 256 && offsetof(job::control_header, tuning) == 264 &&
              offsetof(job::control_header, news) == 196 && offsetof(job::control_header, node) == 512 &&
              offsetof(job::control_header, nodes) == 516 && offsetof(job::control_header, here) == 520 &&
              offsetof(job::control_header, addresses) == 524);
static_assert(offsetof(job::way_board, blocks) == 6048 && offsetof(job::way_board, reserved) == 6944 &&
              job::mapped_bytes(3) == 4096 + 3 * (4096 + 8192));
static_assert(offsetof(job::rank_slot, fences) == 16 && offsetof(job::rank_slot, program) == 20 &&
              offsetof(job::rank_slot, marks) == 32 && offsetof(job::rank_slot, node) == 36 && offsetof(job::rank_slot, xpmem_segment) == 40 && offsetof(job::rank_slot, event) == 64 &&
              offsetof(job::rank_slot, waiting_for) == 128 && offsetof(job::rank_slot, counters) == 320 &&
              offsetof(job::rank_slot, card_bytes) == 576 && offsetof(job::rank_slot, card) == 580 &&
              offsetof(job::rank_slot, waits) == 2624);
