// Vectors that own a block of a peer's arena are vectors like all others: they grow, shrink, move, end on other threads, are the same in a
// forked child, and outlive the peer that made the block. Of two ranks, 1 sends to 0. remote_adopts yes|no [dies]: whether vectors are to be
// adopted here; `dies`: rank 1 kills itself when it has sent (run with --keep-going).
#include "remote_check.hpp"

#include "heap/heap.hpp"

#include <towline/archive_all.hpp>
#include <towline/towline.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <malloc.h>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tl = towline;
namespace heap = towline::heap;
using numbers = std::vector<std::uint64_t>;

struct alignas(256) wide {
    std::array<std::uint64_t, 32> words;
};
struct record {
    int number = 0;
    numbers first;
    std::map<std::string, std::vector<float>> more;
    std::vector<numbers> nested;
    friend bool operator==(record const&, record const&) = default;
};

static bool adopting = false;
static numbers kept;
static std::mutex kept_mutex;  // for the thread sanitizer: what orders the calls goes through the other process, which it does not see

static numbers some(std::size_t n, std::uint64_t from = 0)
{
    numbers v(n);
    std::iota(v.begin(), v.end(), from);
    return v;
}
static bool is_some(numbers const& v, std::size_t n, std::uint64_t from = 0)
{
    for (std::size_t i = 0; i < v.size(); ++i)
        if (v[i] != from + i)
            return false;
    return v.size() == n;
}
/// It lies in the arena of rank 1. Always true where vectors are not adopted.
template <class T>
static bool foreign(std::vector<T> const& v)
{
    auto const where = heap::find(v.data(), v.size() * sizeof(T));
    return !adopting || (where && where->arena == 1);
}

// Run at rank 0:
static bool look(numbers const& v, std::size_t n)
{
    return foreign(v) && v.capacity() == v.size() && is_some(v, n);
}
static void keep(numbers v)
{
    std::lock_guard const guard(kept_mutex);
    kept = std::move(v);
}
static bool look_wide(std::vector<wide> const& v, std::uint64_t n)
{
    return foreign(v) && reinterpret_cast<std::uintptr_t>(v.data()) % alignof(wide) == 0 && v.back().words[31] == n;
}
static bool look_record(record const& r, int n)
{
    return foreign(r.first) && foreign(r.more.at("many")) && foreign(r.nested[1]) && r.first == some(9'000, 1) && r.number == n &&
           r.more.at("many").size() == 20'000 && r.nested == std::vector<numbers>{some(3), some(40'000, 7)};
}
static numbers back(numbers v)
{
    return v;
}

// Run at rank 1: sends what it says, as it is, so that it is copied before async returns.
static void send(std::size_t n)
{
    numbers v = some(n);
    auto sent = tl::async<&keep>(tl::locality(0), v);
    std::fill(v.begin(), v.end(), 99);  // the caller's again
    sent.get();
}
static void send_many(int times, std::size_t n)
{
    numbers const v = some(n);
    for (int i = 0; i < times; ++i)
        CHECK(tl::async<&look>(tl::locality(0), v, n).get());
}
static void send_kinds()
{
    std::vector<wide> w(200);
    w.back().words[31] = 5;
    CHECK(tl::async<&look_wide>(tl::locality(0), w, 5).get());
    record const r{3, some(9'000, 1), {{"few", {1, 2}}, {"many", std::vector<float>(20'000, 1)}}, {some(3), some(40'000, 7)}};
    CHECK(tl::async<&look_record>(tl::locality(0), r, 3).get());
    numbers const v = some(100'000);
    CHECK(tl::async<&back>(tl::locality(0), v).get() == v);
}
static void send_and_die(std::size_t n)
{
    numbers const v = some(n);
    tl::async<&keep>(tl::locality(0), v).get();
    std::raise(SIGKILL);
}

// At rank 0 again: asks for a vector, which is in `kept` then.
static void receive(tl::locality peer, std::size_t n)
{
    std::unique_lock guard(kept_mutex);
    guard.unlock();
    tl::async<&send>(peer, n).get();
    guard.lock();
}

static void as_others_are(tl::locality peer)
{
    for (std::size_t const n : {std::size_t{2'000}, std::size_t{8'000}, std::size_t{300'000}}) {
        bool const adopted = adopting && n * 8 > 16'384;  // less travels in the message
        auto const another = [&] {
            receive(peer, n);
            CHECK(is_some(kept, n) && kept.capacity() == n && (!adopted || foreign(kept)));
            return std::move(kept);
        };
        numbers v = another();
        if (adopted)
            CHECK(malloc_usable_size(v.data()) >= n * 8);
        v.push_back(n);
        CHECK(is_some(v, n + 1));
        numbers w = another();
        v.swap(w);
        CHECK(is_some(v, n) && is_some(w, n + 1));
        v.insert(v.begin(), 7);
        v.erase(v.begin());
        CHECK(is_some(v, n));
        w = another();
        w.resize(n / 2);
        w.shrink_to_fit();
        CHECK(is_some(w, n / 2));
        w = another();
        v = w;
        w = {};
        CHECK(is_some(v, n));
        v = another();  // over one that has room
        v.clear();
        v.resize(n, 3);
        v.assign(2 * n, 1);
        w = another();
        std::sort(w.begin(), w.end(), std::greater<>());
        CHECK(w.front() == n - 1);
        std::vector<numbers> many;
        for (int i = 0; i < 8; ++i)
            many.push_back(another());
        std::vector<std::thread> threads;
        for (numbers& one : many)
            threads.emplace_back([&one, n] { CHECK(is_some(numbers(std::move(one)), n)); });
        for (auto& t : threads)
            t.join();
    }
    CHECK(kept.empty());
}

/// A child has a copy of what it inherited; what it does to it, and what the parent does, is not seen by the other.
static void in_children(tl::locality peer)
{
    constexpr std::size_t n = 200'000;
    receive(peer, n);
    int go[2];
    CHECK(pipe(go) == 0);
    pid_t const writes = fork();
    if (writes == 0) {
        std::fill(kept.begin(), kept.end(), 1);
        kept.push_back(2);
        kept = {};
        _exit(0);
    }
    pid_t const reads = fork();
    if (reads == 0) {
        char word = 0;
        close(go[1]);
        (void)!read(go[0], &word, 1);  // until the parent has changed it, and given the block away
        _exit(is_some(kept, n) ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(writes, &status, 0) == writes && status == 0);
    CHECK(is_some(kept, n));
    std::fill(kept.begin(), kept.end(), 5);
    kept = {};
    for (int i = 0; i < 5; ++i) {
        receive(peer, n);  // perhaps in the same block
        std::fill(kept.begin(), kept.end(), 6);
    }
    close(go[0]);
    close(go[1]);
    CHECK(waitpid(reads, &status, 0) == reads && status == 0);
}

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(w.size() == 2 && argc > 1);
    adopting = std::string_view(argv[1]) == "yes";
    bool const dies = argc > 2;
    w.barrier();
    if (w.rank() == 0) {
        tl::locality const peer = w.next();
        CHECK(heap::delete_releases() == adopting);
        if (dies) {
            THROWS(tl::peer_error, "rank 1", tl::async<&send_and_die>(peer, 500'000).get());
            std::lock_guard const guard(kept_mutex);
            CHECK(is_some(kept, 500'000) && foreign(kept));
            kept.push_back(500'000);
            CHECK(is_some(kept, 500'001));
            return 0;
        }
        as_others_are(peer);
        in_children(peer);
        tl::async<&send_kinds>(peer).get();
        tl::async<&send_many>(peer, 300, std::size_t{1} << 18).get();  // 600 MB in all: blocks come back
        receive(peer, 100'000);                                        // and one ends after the world
    } else if (dies) {
        THROWS(tl::error, "", while (true) w.barrier());
        return 0;
    }
    w.barrier();
}
