// A rank forks: the child must see what its parent had at that moment, and nothing that it does may reach the parent or a peer.

#include "heap/core.hpp"
#include "heap/heap.hpp"
#include "ranks.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>

namespace heap = towline::heap;
using namespace ranks;

extern char** environ;

namespace {
constexpr std::size_t mib = std::size_t{1} << 20;

bool all(unsigned char const* bytes, std::size_t size, unsigned char value)
{
    return std::all_of(bytes, bytes + size, [=](unsigned char c) { return c == value; });
}

/// Runs `child` in a fork of this rank; it must exit with 0.
void in_fork(std::function<void()> const& child)
{
    CHECK_THAT(status_of(spawn(child)) == 0);
}
} // namespace

TEST(heap_fork, a_child_writes_into_its_own_copy)
{
    run_one([] {
        struct piece {
            unsigned char* at;
            std::size_t size;
        };
        std::vector<piece> pieces;
        for (std::size_t size : {100ul, 5000ul, 40'000ul, mib, 9 * mib}) {
            pieces.push_back({static_cast<unsigned char*>(heap::allocate(size)), size});
            std::memset(pieces.back().at, static_cast<int>(pieces.size()), size);
        }
        auto* const sparse = static_cast<unsigned char*>(heap::allocate(64 * mib));
        sparse[32 * mib] = 42;
        auto const holds = [&] {
            for (std::size_t i = 0; i < pieces.size(); ++i)
                if (!all(pieces[i].at, pieces[i].size, static_cast<unsigned char>(i + 1)))
                    return false;
            return sparse[32 * mib] == 42 && sparse[0] == 0;
        };
        in_fork([&] {
            CHECK_THAT(holds());
            for (auto const& p : pieces)
                std::memset(p.at, 0xee, p.size);
            std::memset(sparse, 0xee, 64 * mib);
            for (auto const& p : pieces) {
                CHECK_THAT(heap::usable_size(p.at) >= p.size);
                heap::deallocate(p.at);
            }
            heap::deallocate(sparse);
        });
        CHECK_THAT(holds());
        auto const before = heap::stats().in_use;
        for (auto const& p : pieces)
            heap::deallocate(p.at);
        CHECK_THAT(heap::stats().in_use < before);
    });
}

TEST(heap_fork, a_child_does_not_see_later_writes)
{
    run_one([] {
        constexpr std::size_t size = 16 * mib;
        auto* const block = static_cast<unsigned char*>(heap::allocate(size));
        auto* const hole = static_cast<unsigned char*>(heap::allocate(4 * mib));
        std::memset(block, 1, size);
        board words;
        pid_t const child = spawn([&] {
            words.wait(0);
            CHECK_THAT(all(block, size, 1));
            CHECK_THAT(all(hole, 4 * mib, 0));
        });
        std::memset(block, 2, size);
        std::memset(hole, 2, 4 * mib);
        words[0].store(1);
        CHECK_THAT(status_of(child) == 0);
    });
}

TEST(heap_fork, a_child_goes_on_with_private_memory)
{
    run_one([] {
        heap::deallocate(heap::allocate(100));
        in_fork([] {
            std::vector<void*> blocks;
            for (int i = 0; i < 200; ++i) {
                std::size_t const size = i % 2 == 0 ? 100 : 200'000;
                blocks.push_back(heap::allocate(size, i % 3 == 0 ? 4096 : 64));
                CHECK_THAT(!heap::contains(blocks.back()));
                std::memset(blocks.back(), 7, size);
            }
            blocks.push_back(heap::try_allocate(1000));
            CHECK_THAT(blocks.back() != nullptr);
            bool clean = false;
            CHECK_THAT(heap::allocate_if_launched(1 << 20, 64, clean) == nullptr);
            for (void* const block : blocks)
                heap::deallocate(block);
            in_fork([] { heap::deallocate(heap::allocate(mib)); });
        });
        CHECK_THAT(heap::contains(heap::allocate(100)));
    });
}

TEST(heap_fork, a_child_that_never_had_a_heap_does_not_open_its_parents)
{
    run_one([] {
        (void)towline::job::membership::instance();
        in_fork([] {
            void* const block = heap::allocate(mib);
            CHECK_THAT(!heap::contains(block));
            heap::deallocate(block);
        });
        CHECK_THAT(heap::contains(heap::allocate(mib)));
    });
}

TEST(heap_fork, peers_are_out_of_a_childs_reach)
{
    board words;
    run(2, 64 * mib, [&](int rank) {
        if (rank == 0) {
            auto* const block = static_cast<unsigned char*>(heap::allocate(mib));
            std::memset(block, 5, mib);
            words[1].store(heap::find(block, mib)->offset);
            words[0].store(1);
            words.wait(2);
            CHECK_THAT(all(block, mib, 5));
            (void)heap::allocate(64);
            CHECK_THAT(heap::stats().returned_by_peers == 0);
        } else {
            (void)heap::allocate(64);
            words.wait(0);
            heap::address const where{0, 0, words[1].load()};
            in_fork([&] {  // attached by the child only
                auto* const block = static_cast<unsigned char*>(heap::attach(where, mib));
                CHECK_THAT(all(block, mib, 5));
                std::memset(block, 9, mib);
                heap::deallocate(block);
            });
            auto* const block = static_cast<unsigned char*>(heap::attach(where, mib));
            in_fork([&] {
                CHECK_THAT(all(block, mib, 5));
                std::memset(block, 9, mib);
                heap::deallocate(block);
            });
            CHECK_THAT(all(block, mib, 5));
            words[2].store(1);
        }
    });
}

TEST(heap_fork, with_exec_is_as_always)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(mib));
        std::memset(block, 3, mib);
        char const* const arguments[] = {"/bin/true", nullptr};
        pid_t child = fork();
        if (child == 0) {
            execv(arguments[0], const_cast<char**>(arguments));
            _exit(1);
        }
        CHECK_THAT(status_of(child) == 0);
        CHECK_THAT(posix_spawn(&child, arguments[0], nullptr, nullptr, const_cast<char**>(arguments), environ) == 0);
        CHECK_THAT(status_of(child) == 0);
        CHECK_THAT(all(block, mib, 3));
    });
}

#if !defined(__SANITIZE_ADDRESS__)  // which needs descriptors itself
TEST(heap_fork, works_without_a_free_descriptor)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(mib));
        std::memset(block, 3, mib);
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        int const next = open("/dev/null", O_RDONLY);
        limit.rlim_cur = static_cast<rlim_t>(next + 1);
        CHECK_THAT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        in_fork([&] {
            CHECK_THAT(all(block, mib, 3));
            std::memset(block, 4, mib);
        });
        CHECK_THAT(all(block, mib, 3));
    });
}

#endif

// The thread sanitizer does not support threads in children of a program with threads.
#if !defined(__SANITIZE_THREAD__)
TEST(heap_fork, while_other_threads_allocate)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(mib));
        std::memset(block, 3, mib);
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&, t] {
                std::vector<void*> blocks;
                for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {
                    blocks.push_back(heap::allocate(i % 8 == 0 ? 50'000 : 500 + 16 * (i % 64)));
                    std::memset(blocks.back(), t, 64);
                    if (blocks.size() == 200) {
                        for (void* const b : blocks)
                            heap::deallocate(b);
                        blocks.clear();
                    }
                }
            });
        for (int i = 0; i < 40; ++i)
            in_fork([&] {
                CHECK_THAT(all(block, mib, 3));
                std::memset(block, 4, mib);
                void* const fresh = heap::allocate(100'000);
                heap::deallocate(fresh);
#if defined(__SANITIZE_ADDRESS__)
                _exit(0);  // what the other threads hold would be called a leak
#endif
            });
        stop.store(true);
        for (auto& thread : threads)
            thread.join();
        CHECK_THAT(all(block, mib, 3));
    });
}
#endif

// A child waits with its copy, in case it executes a program. Tests choose how long: for good, or not at all.
namespace {

constexpr long for_good = 3'600'000'000'000;

/// Bytes that a child, which is gone, had in memory at most.
std::size_t most_memory_of(pid_t child)
{
    rusage about{};
    int status = -1;
    while (wait4(child, &status, 0, &about) < 0 && errno == EINTR) {}
    check(status == 0, "the child ends well");
    return static_cast<std::size_t>(about.ru_maxrss) << 10;
}

} // namespace

#if !defined(TOWLINE_SANITIZED)  // there every child copies at once

TEST(heap_fork, a_child_that_executes_a_program_copies_nothing)
{
    run_one([] {
        constexpr std::size_t size = 256 * mib;
        auto* const block = static_cast<unsigned char*>(heap::allocate(size));
        std::memset(block, 1, size);
        heap::fork_patience_ns = for_good;
        pid_t const child = fork();  // would not return
        if (child == 0) {
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        CHECK_THAT(most_memory_of(child) < size / 2);
        pid_t const other = fork();
        if (other == 0)
            _exit(0);
        CHECK_THAT(most_memory_of(other) < size / 2);
    });
}

TEST(heap_fork, a_child_that_closes_all_descriptors_still_gets_its_copy)
{
    run_one([] {
        constexpr std::size_t size = 16 * mib;
        auto* const block = static_cast<unsigned char*>(heap::allocate(size));
        std::memset(block, 1, size);
        board words;
        heap::fork_patience_ns = 50'000'000;
        pid_t const child = spawn([&] {
            for (int fd = 3; fd < 1000; ++fd)
                close(fd);
            words.wait(0);
            CHECK_THAT(all(block, size, 1));
        });
        std::memset(block, 2, size);
        words[0].store(1);
        CHECK_THAT(status_of(child) == 0);
    });
}

TEST(heap_fork, a_child_that_forks_at_once_hands_its_memory_on)
{
    run_one([] {
        constexpr std::size_t size = 16 * mib;
        auto* const block = static_cast<unsigned char*>(heap::allocate(size));
        std::memset(block, 1, size);
        board words;
        heap::fork_patience_ns = for_good;
        pid_t const child = spawn([&] {
            pid_t const grandchild = spawn([&] {
                words.wait(0);
                words[1].store(all(block, size, 1) ? 1 : 2);
            });
            CHECK_THAT(grandchild > 0);
            _exit(0);
        });
        std::memset(block, 2, size);
        words[0].store(1);
        CHECK_THAT(status_of(child) == 0);
        CHECK_THAT(words.wait(1) == 1);
    });
}

TEST(heap_fork, a_child_uses_its_memory_while_it_is_copied)
{
    run_one([] {
        constexpr std::size_t size = 64 * mib;
        auto* const block = static_cast<unsigned char*>(heap::allocate(size));
        for (long const patience : {0L, 1'000'000L, 20'000'000L}) {
            std::memset(block, 1, size);
            heap::fork_patience_ns = patience;
            board words;
            pid_t const child = spawn([&] {
                for (std::size_t i = 0; i < size; i += 4096)
                    block[i] = static_cast<unsigned char>(block[i] + 1);
                words.wait(0);
                for (std::size_t i = 0; i < size; i += 4096)
                    CHECK_THAT(block[i] == 2 && block[i + 1] == 1);
                int ends[2];
                CHECK_THAT(pipe(ends) == 0 && write(ends[1], block + size - 4096, 4096) == 4096);
            });
            std::memset(block, 3, size);
            words[0].store(1);
            CHECK_THAT(status_of(child) == 0);
            CHECK_THAT(all(block, size, 3));
        }
    });
}

// Whoever waits for a word of its parent before it goes on gets it: the parent does not wait for the child's end.
TEST(heap_fork, a_child_may_wait_for_its_parent_before_it_executes)
{
    run_one([] {
        auto* const block = static_cast<unsigned char*>(heap::allocate(32 * mib));
        std::memset(block, 1, 32 * mib);
        int ends[2];
        CHECK_THAT(pipe(ends) == 0);
        pid_t const child = fork();
        if (child == 0) {
            char go = 0;
            if (read(ends[0], &go, 1) != 1 || go != 'g')
                _exit(1);
            execl("/bin/true", "true", nullptr);
            _exit(2);
        }
        CHECK_THAT(write(ends[1], "g", 1) == 1);
        CHECK_THAT(status_of(child) == 0);
    });
}

#endif
