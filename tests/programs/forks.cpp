// Ranks fork children, with and without exec, while calls go on; the children write over everything that they can reach.
// What the parents hold stays as it was. forks ROUNDS

#include <towline/async.hpp>
#include <towline/rma_vector.hpp>
#include <towline/world.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

bool in_child = false;

towline::rma_vector<int> back(towline::rma_vector<int> numbers)
{
    return numbers;
}

/// In a child without exec: everything is written, freed and allocated anew, and the runtime's exit handlers run.
[[noreturn]] void scribble(towline::rma_vector<int>& lent, std::vector<int>& heap, int how)
{
    std::fill(lent.begin(), lent.end(), -1);
    std::fill(heap.begin(), heap.end(), -1);
    std::vector<std::vector<int>> more;
    for (int i = 0; i < 20; ++i)
        more.emplace_back(static_cast<std::size_t>(i) * 9000, -1);  // some beyond the threshold of the shared heap
    if (how == 0) {
        lent = {};
        heap = {};
    }
    more.clear();
    if (how == 1)
        _exit(0);
    std::exit(0);
}

} // namespace

/// Asked by LeakSanitizer when a process exits. What the parent's other threads held at the fork has no owner in a child, where they do
/// not exist; that is no leak of the parent.
extern "C" int __lsan_is_turned_off()
{
    return in_child ? 1 : 0;
}

int main(int argc, char** argv)
try {
    int const rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    towline::world w(argc, argv);
    w.barrier();
    for (int round = 0; round < rounds; ++round) {
        towline::rma_vector<int> mine(200'000, round);
        std::vector<int> heap(100'000, round);
        mine = towline::async<&back>(w.next(), std::move(mine)).get();  // whose arena it lies in does not matter
        std::vector<pid_t> children;
        for (int how = 0; how < 5; ++how) {
            pid_t const child = fork();
            if (child < 0)
                throw std::runtime_error("fork");
            if (child == 0) {
                in_child = true;
                if (how == 3) {
                    execlp("sh", "sh", "-c", "exit 0", nullptr);
                    _exit(9);
                }
                if (how == 4)
                    return 0;  // through the end of the world, which is not the child's
                scribble(mine, heap, how);
            }
            children.push_back(child);
            // The calls go on meanwhile, through memory that the child has as well.
            towline::rma_vector<int> other(50'000, how);
            other = towline::async<&back>(w.next(), std::move(other)).get();
            if (!std::all_of(other.begin(), other.end(), [&](int n) { return n == how; }))
                throw std::runtime_error("a transfer was changed by a child");
        }
        for (pid_t const child : children) {
            int status = 0;
            if (waitpid(child, &status, 0) != child || status != 0)
                throw std::runtime_error("a child ended with " + std::to_string(status));
        }
        auto same = [&](int n) { return n == round; };
        if (!std::all_of(mine.begin(), mine.end(), same) || !std::all_of(heap.begin(), heap.end(), same))
            throw std::runtime_error("a child changed its parent's memory");
    }
    w.barrier();
    std::puts("unchanged");
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "forks: %s\n", e.what());
    return 3;
}
