// Threads that the system refuses: an error that says what to do, and nothing left of the attempt. remote_threads none|some
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <string>
#include <sys/resource.h>

namespace {

std::ptrdiff_t threads()
{
    using it = std::filesystem::directory_iterator;
    return std::distance(it("/proc/self/task"), it());
}

/// Address space for so many more bytes, and stacks of which a few fit into it: what a system does that is out of threads.
void allow(std::uint64_t bytes, std::uint64_t stack)
{
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit l{};
    CHECK(getrlimit(RLIMIT_AS, &l) == 0);
    l.rlim_cur = bytes == 0 ? l.rlim_max : pages * 4096 + bytes;
    CHECK(setrlimit(RLIMIT_AS, &l) == 0);
    pthread_attr_t about;
    CHECK(pthread_attr_init(&about) == 0 && pthread_attr_setstacksize(&about, stack) == 0 && pthread_setattr_default_np(&about) == 0);
}

int twice(int x) { return 2 * x; }

} // namespace

int main(int, char** argv)
{
    constexpr std::uint64_t giga = std::uint64_t{1} << 30;
    bool const some = std::string_view(argv[1]) == "some";
    setenv("TOWLINE_WORKERS", "1", 1);
    std::ptrdiff_t before = threads();
    if (some) {
        // The process's engine stays from the first world on.
        towline::world w;
        before = threads() - 1;
    }
    if (some)
        setenv("TOWLINE_WORKERS", "64", 1);
    for (int round = 0; round < 3; ++round) {
        allow(4 * giga, some ? giga / 2 : 64 * giga);
        try {
            towline::world w;
            check(false, "a world that cannot have its threads is refused", __FILE__, __LINE__);
        } catch (towline::system_error const& e) {
            std::string const text = e.what();
            char const* const which = some ? "of 64 (TOWLINE_WORKERS)" : "cannot start";
            for (char const* words : {which, "no more threads", "`ulimit -u`", "pids.max", "cgroup"})
                if (text.find(words) == text.npos) {
                    std::fprintf(stderr, "the error does not say \"%s\": %s\n", words, e.what());
                    return 1;
                }
            std::printf("%s\n", e.what());
        }
        allow(0, 8 << 20);
        CHECK(threads() == before);
        THROWS(towline::usage_error, "towline::world", static_cast<void>(towline::here()));
    }
    setenv("TOWLINE_WORKERS", "2", 1);
    towline::world w;
    CHECK(towline::async<&twice>(w.next(), 21).get() == 42);
}
