// The preload allocator: this program runs itself again with libtowline-malloc.so in front of malloc, as a rank and as nobody.

#include "heap/heap.hpp"
#include "heap/releases.hpp"
#include "ranks.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fcntl.h>
#include <malloc.h>
#include <random>
#include <thread>

namespace heap = towline::heap;
using namespace ranks;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::string library()
{
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib/libtowline-malloc.so";
}

/// The same by a name that LD_PRELOAD does not cut at blanks and colons, for as long as this process lives.
std::string library_for_preload()
{
    auto const path = library();
    static int const folder = open(path.substr(0, path.rfind('/')).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return path.find_first_of(" :") == path.npos
               ? path : "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(folder) + path.substr(path.rfind('/'));
}

bool malloc_is_ours()
{
    Dl_info about{};
    return dladdr(reinterpret_cast<void*>(&malloc), &about) != 0 && std::strstr(about.dli_fname, "libtowline-malloc") != nullptr;
}

/// The exit status of a command that the preload allocator serves, as rank 0 of a job of one if `job` is given.
int run_preloaded(std::vector<std::string> const& command, int job = -1, char const* setting = nullptr, char const* value = nullptr)
{
    std::string const preload = library_for_preload();
    pid_t const child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", preload.c_str(), 1);
        unsetenv("TOWLINE_JOB");
        if (job >= 0) {
            setenv("TOWLINE_JOB", (std::to_string(job) + ":0").c_str(), 1);
            fcntl(job, F_SETFD, 0);
        }
        if (setting != nullptr)
            setenv(setting, value, 1);
        std::vector<char*> arguments;
        for (auto const& a : command)
            arguments.push_back(const_cast<char*>(a.c_str()));
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        _exit(126);
    }
    return status_of(child);
}

int run_self(char const* test, int job, char const* setting = nullptr, char const* value = nullptr)
{
    return run_preloaded({"/proc/self/exe", std::string("--gtest_filter=preloaded.") + test, "--gtest_brief=1"}, job, setting, value);
}

/// heap::contains; its argument is never looked into, which compilers cannot know.
bool in_arena(void* block)
{
    void* volatile pointer = block;
    return heap::contains(pointer);
}

bool all(unsigned char const* bytes, std::size_t size, unsigned char value)
{
    return std::all_of(bytes, bytes + size, [=](unsigned char c) { return c == value; });
}

unsigned char* filled(void* block, std::size_t size, int value)
{
    std::memset(block, value, size);
    return static_cast<unsigned char*>(block);
}

class preload : public testing::Test {
protected:
    void SetUp() override
    {
        if (!std::filesystem::exists(library()))
            GTEST_SKIP() << "this build has no preload allocator";
        unsetenv("TOWLINE_HEAP_THRESHOLD");
    }
    towline::base::unique_fd file = towline::job::create_job_file(1, {.segment_bytes = std::uint64_t{1} << 30});
};

/// Bodies that run in the second life of this program.
class preloaded : public testing::Test {
protected:
    void SetUp() override
    {
        if (!malloc_is_ours())
            GTEST_SKIP() << "runs under the preload tests only";
        // malloc leaves the rank to a program that has the library
        std::string const path = std::filesystem::path(library()).parent_path() / "libtowline.so";
        ASSERT_NE(dlopen(path.c_str(), RTLD_NOW), nullptr) << dlerror();
    }
};

} // namespace

TEST_F(preload, serves_big_blocks_from_the_arena)
{
    EXPECT_EQ(run_self("family", file.get()), 0);
}

TEST_F(preload, keeps_its_hands_off_where_it_must)
{
    EXPECT_EQ(run_self("off", -1), 0);
    EXPECT_EQ(run_self("off", file.get(), "TOWLINE_HEAP", "off"), 0);
}

TEST_F(preload, takes_a_threshold)
{
    EXPECT_EQ(run_self("threshold_of_a_megabyte", file.get(), "TOWLINE_HEAP_THRESHOLD", "1M"), 0);
}

TEST_F(preload, serves_threads)
{
    EXPECT_EQ(run_self("threads", file.get()), 0);
}

TEST_F(preload, falls_back_when_the_arena_is_full)
{
    file = towline::job::create_job_file(1, {.segment_bytes = 16 * mib});
    EXPECT_EQ(run_self("full", file.get()), 0);
}

TEST_F(preload, tells_of_releases)
{
    EXPECT_EQ(run_self("releases", file.get(), "TOWLINE_HEAP_THRESHOLD", "64K"), 0);
    EXPECT_EQ(run_self("releases", -1), 0);
}

TEST_F(preload, survives_fork)
{
    EXPECT_EQ(run_self("fork", file.get()), 0);
}

TEST_F(preload, survives_what_is_no_job)
{
    int const other = open("/dev/null", O_RDONLY);
    EXPECT_EQ(run_self("off", other), 0);
    close(other);
    EXPECT_EQ(run_self("off", 987), 0);
    EXPECT_EQ(run_self("off", 1), 0);
}

TEST_F(preload, lets_other_programs_be)
{
    EXPECT_EQ(run_preloaded({"hostname"}, file.get()) | run_preloaded({"true"}, file.get()), 0);
    EXPECT_EQ(run_preloaded({"bash", "-c", "x=$(seq 100000); for i in 1 2 3; do bash -c 'true' || exit 1; done; test ${#x} -gt 500000"},
                            file.get()),
              0);
    EXPECT_EQ(run_preloaded({"python3", "-c",
                             "import os, subprocess, threading\n"
                             "b = [bytearray(n * 50000) for n in range(1, 60)]\n"
                             "t = [threading.Thread(target=lambda: [bytes(10**6) for _ in range(50)]) for _ in range(4)]\n"
                             "[x.start() for x in t]; [x.join() for x in t]\n"
                             "subprocess.check_call(['true']); p = os.fork()\n"
                             "if p == 0: b[3][7] = 1; os._exit(0)\n"
                             "assert os.waitpid(p, 0)[1] == 0 and b[3][7] == 0"},
                            file.get()),
              0);
    towline::job::control_view const view(file.get());
    EXPECT_EQ(view.slots()[0].pid.load(), 0);  // none of them took the rank
}

TEST_F(preloaded, family)
{
    ASSERT_FALSE(in_arena(malloc(100)));
    auto* a = filled(malloc(200'000), 200'000, 1);
    ASSERT_TRUE(in_arena(a));
    EXPECT_GE(malloc_usable_size(a), 200'000u);
    void* const small = malloc(100);
    EXPECT_GE(malloc_usable_size(small), 100u);
    EXPECT_LT(malloc_usable_size(small), 1000u);

    // realloc: grows in the arena, shrinks out of it, grows into it
    a = static_cast<unsigned char*>(realloc(a, 30 * mib));
    ASSERT_TRUE(in_arena(a) && all(a, 200'000, 1));
    std::memset(a, 2, 30 * mib);
    a = static_cast<unsigned char*>(realloc(a, 5000));
    ASSERT_TRUE(!in_arena(a) && all(a, 5000, 2));
    a = static_cast<unsigned char*>(realloc(a, 300'000));
    ASSERT_TRUE(in_arena(a) && all(a, 5000, 2));
    a = static_cast<unsigned char*>(reallocarray(a, 1000, 400));
    ASSERT_TRUE(in_arena(a) && all(a, 5000, 2));
    std::size_t volatile most = ~std::size_t{0} / 2;
    unsigned char* volatile same = a;
    EXPECT_EQ(reallocarray(a, most, 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(realloc(same, most), nullptr);
    EXPECT_TRUE(all(same, 5000, 2));
    EXPECT_EQ(realloc(same, 0), nullptr);
    a = static_cast<unsigned char*>(realloc(nullptr, 100'000));
    EXPECT_TRUE(in_arena(a));
    free(a);
    EXPECT_EQ(malloc(most), nullptr);
    EXPECT_EQ(calloc(most, 4), nullptr);

    // calloc: clean, and clean again in memory that was used
    for (int i = 0; i < 4; ++i) {
        auto* z = static_cast<unsigned char*>(calloc(1000, 3000));
        ASSERT_TRUE(in_arena(z) && all(z, 3'000'000, 0));
        free(filled(z, 3'000'000, 7));
    }

    for (std::size_t alignment : {16ul, 64ul, 4096ul, 65536ul, 2 * mib}) {
        void* blocks[3] = {memalign(alignment, 100'000), aligned_alloc(alignment, 1 << 20), nullptr};
        ASSERT_EQ(posix_memalign(&blocks[2], alignment, 70'000), 0);
        for (void* const block : blocks) {
            ASSERT_TRUE(in_arena(block));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
            free(block);
        }
    }
    void* none = nullptr;
    EXPECT_EQ(posix_memalign(&none, 24, 100'000), EINVAL);
    EXPECT_EQ(posix_memalign(&none, 4, 100'000), EINVAL);
    for (std::size_t size : {1ul, 5000ul, 100'000ul})
        for (void* const block : {valloc(size), pvalloc(size)}) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u);
            free(block);
        }
    // new, as used by every container
    std::vector<double> v(100'000, 1.0);
    EXPECT_TRUE(in_arena(v.data()));
    errno = 5;
    free(malloc(10 * mib));
    EXPECT_EQ(errno, 5);
    free(nullptr);
}

TEST_F(preloaded, off)
{
    void* const block = malloc(10 * mib);
    EXPECT_FALSE(in_arena(block));
    void* const more = realloc(filled(block, 10 * mib, 4), 20 * mib);
    EXPECT_FALSE(in_arena(more));
    EXPECT_TRUE(all(static_cast<unsigned char*>(more), 10 * mib, 4));
    free(more);
}

TEST_F(preloaded, releases)
{
    static std::atomic<void const*> block{nullptr};
    static std::atomic<int> told{0};
    heap::release_watcher const watcher{[](void*, void const* begin, std::size_t bytes) noexcept {
                                            auto const* const b = static_cast<std::byte const*>(block.load());
                                            if (b >= begin && b < static_cast<std::byte const*>(begin) + bytes)
                                                ++told;
                                        },
                                        nullptr};
    bool const launched = in_arena(malloc(mib));
    std::size_t const bytes = launched ? 60 << 10 : 100 << 10;
    auto const tells = [&](auto&& act) {
        told = 0;
        act();
        return told.load();
    };
    void* b = malloc(bytes);
    ASSERT_FALSE(in_arena(b));
    EXPECT_EQ(tells([&] { block = b; free(b); }), 0);  // nobody wants to know
    ASSERT_TRUE(heap::watch_releases(watcher));
    int const expected = launched ? 0 : 1;  // under the launcher what is that big lies in the arena
    b = malloc(bytes);
    EXPECT_EQ(tells([&] { block = b; free(b); }), expected);
    b = malloc(bytes);
    static void* volatile kept = nullptr;  // free(realloc(b, 100)) is free(b) to a compiler that may move it
    EXPECT_EQ(tells([&] { block = b; kept = realloc(b, 100); }), expected);
    free(kept);
    EXPECT_EQ(tells([&] { block = nullptr; free(malloc(100)); free(nullptr); free(realloc(nullptr, 10)); }), 0);
    if (launched) {
        b = malloc(mib);  // stays in the arena, warm
        ASSERT_TRUE(in_arena(b));
        EXPECT_EQ(tells([&] { block = b; free(b); }), 0);
        b = malloc(heap::least_plain - 1);
        ASSERT_FALSE(in_arena(b));
        EXPECT_GE(malloc_usable_size(b), heap::least_plain);  // rounded up
        EXPECT_EQ(tells([&] { block = b; free(b); }), 1);
    }
    heap::unwatch_releases(watcher);
    b = malloc(bytes);
    EXPECT_EQ(tells([&] { block = b; free(b); }), 0);
    b = malloc(mib);
    EXPECT_EQ(in_arena(b), launched);
    free(b);
}

TEST_F(preloaded, threshold_of_a_megabyte)
{
    EXPECT_FALSE(in_arena(malloc(mib - 1)));
    EXPECT_TRUE(in_arena(malloc(mib)));
}

TEST_F(preloaded, threads)
{
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<std::pair<unsigned char*, std::size_t>> mine;
            for (int i = 0; i < 3000; ++i) {
                std::size_t const size = std::size_t{1} << (random() % 8 + 12);
                mine.emplace_back(filled(malloc(size), 16, static_cast<int>(t)), size);
                mine.back().first[size - 1] = static_cast<unsigned char>(t);
                auto& [at, old] = mine[random() % mine.size()];
                std::size_t const next = std::size_t{1} << (random() % 8 + 12);
                at = static_cast<unsigned char*>(realloc(at, next));
                old = next;
                at[next - 1] = static_cast<unsigned char>(t);
                if (!all(at, 16, static_cast<unsigned char>(t)))
                    ++bad;
                if (mine.size() > 20) {
                    free(mine.front().first);
                    mine.erase(mine.begin());
                }
            }
            for (auto const& [at, size] : mine)
                free(at);
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(bad, 0);
    EXPECT_TRUE(in_arena(malloc(mib)));
}

TEST_F(preloaded, full)
{
    std::vector<unsigned char*> blocks;
    bool inside = false;
    bool outside = false;
    for (int i = 0; i < 40; ++i) {
        blocks.push_back(filled(malloc(mib), mib, i));
        (in_arena(blocks.back()) ? inside : outside) = true;
    }
    EXPECT_TRUE(inside && outside);
    for (int i = 0; i < 40; ++i) {
        EXPECT_TRUE(all(blocks[static_cast<std::size_t>(i)], mib, static_cast<unsigned char>(i)));
        free(blocks[static_cast<std::size_t>(i)]);
    }
}

TEST_F(preloaded, fork)
{
    auto* const block = filled(malloc(mib), mib, 1);
    ASSERT_TRUE(in_arena(block));
    EXPECT_EQ(status_of(spawn([&] {
                  CHECK_THAT(all(block, mib, 1));
                  auto* const grown = static_cast<unsigned char*>(realloc(filled(block, mib, 2), 3 * mib));
                  CHECK_THAT(!in_arena(grown) && all(grown, mib, 2));
                  free(grown);
                  void* const fresh = calloc(mib, 1);
                  CHECK_THAT(!in_arena(fresh));
                  free(fresh);
              })),
              0);
    EXPECT_TRUE(all(block, mib, 1));
    EXPECT_EQ(std::system("exit 0"), 0);
    // a program started by a rank is not the rank
    pid_t const child = ::fork();
    if (child == 0) {
        execl("/proc/self/exe", "again", "--gtest_filter=preloaded.off", "--gtest_brief=1", nullptr);
        _exit(126);
    }
    EXPECT_EQ(status_of(child), 0);
}
