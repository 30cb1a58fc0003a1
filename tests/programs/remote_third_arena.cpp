// Blocks that were handed over lie in their first owner's arena. Their new owner sends them on, by messages and by hand-over, while that
// first owner lives, and after it has died ("dies", with --keep-going).
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <csignal>
#include <string_view>
#include <thread>

namespace tl = towline;

static tl::rma_vector<double> kept;

static void keep(tl::rma_vector<double> v) { kept = std::move(v); }
static double last_of(tl::rma_vector<double> v) { return v.back(); }
static void die() { std::raise(SIGKILL); }

static void hand_to_rank_1(std::size_t n)
{
    tl::rma_vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<double>(i) + 0.5;
    tl::async<&keep>(tl::locality(1), std::move(v)).get();
}

static bool as_made(tl::rma_vector<double> const& v, std::size_t n)
{
    bool ok = v.size() == n;
    for (std::size_t i = 0; ok && i < n; ++i)
        ok = v[i] == static_cast<double>(i) + 0.5;
    return ok;
}

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(w.size() >= 3);
    bool const dies = argc > 1 && std::string_view(argv[1]) == "dies";
    tl::team all(w);
    // Those that go on without rank 0.
    tl::team rest = all.split(w.rank() == 0 ? 0 : 1);

    // From 512 bytes to 512 KiB: inside a message, told of in one, lent.
    for (std::size_t const n : {64, 300, 512, 1024, 2000, 4096, 10000, 65536}) {
        if (w.rank() == 0)
            hand_to_rank_1(n);
        all.barrier();
        if (w.rank() != 1)
            kept = tl::rma_vector<double>(n);
        all.broadcast(kept, 1);
        CHECK(as_made(kept, n));
        // And on, to rank 2, whose it is then: in the arena of rank 0 still.
        if (w.rank() == 1)
            tl::async<&keep>(tl::locality(2), std::move(kept)).get();
        all.barrier();
        if (w.rank() != 2)
            kept = tl::rma_vector<double>(n);
        all.broadcast(kept, 2);
        CHECK(as_made(kept, n));
        all.barrier();
    }

    if (dies) {
        std::size_t const n = 1024;
        if (w.rank() == 0)
            hand_to_rank_1(n);
        all.barrier();
        if (w.rank() != 1)
            kept = tl::rma_vector<double>(n);
        all.barrier();
        if (w.rank() == 0)
            die();
        while (w.alive(tl::locality(0)))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int i = 0; i < 20; ++i) {
            rest.broadcast(kept, 0);  // rank 1's
            CHECK(as_made(kept, n));
        }
        if (w.rank() == 1)
            CHECK(tl::async<&last_of>(tl::locality(2), std::move(kept)).get() == static_cast<double>(n - 1) + 0.5);
        rest.barrier();
    }
}
