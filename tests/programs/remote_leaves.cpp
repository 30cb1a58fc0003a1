// Rank 1's main ends with an exception: the others' calls and barriers end with peer_error instead of hanging. Argument "serve": posts and
// stop. Argument "late": rank 0 hears of a barrier and of the goodbye after it at once.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace tl = towline;

static int echo(int x) { return x; }
static int served = 0;
static void count() { ++served; }

// On the polling thread: whatever comes meanwhile is found at once afterwards.
static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }
template <>
inline constexpr bool tl::small<&nap> = true;

static int late(tl::world& w)
{
    w.barrier();
    if (w.rank() == 2)
        tl::post<&nap>(w.at(0));
    w.barrier();  // everybody comes here, so it ends well, although rank 1 leaves while rank 0 is in it
    if (w.rank() == 1)
        throw std::runtime_error("enough");
    THROWS(tl::peer_error, "rank 1 left", w.barrier());
    return 0;
}

static int serving(tl::world& w)
{
    if (w.rank() == 0) {
        for (tl::locality const l : w.others())
            for (int i = 0; i < 100; ++i)
                tl::async<&count>(l).get();
        w.stop();
    }
    CHECK(!w.serve());  // stopped: the world goes on
    w.barrier();
    CHECK(tl::async<&echo>(w.next(), 3).get() == 3);
    w.barrier();
    CHECK(w.rank() == 0 || served == 100);
    CHECK(w.serve());  // everybody serves or ends
    THROWS(tl::usage_error, "ended", static_cast<void>(tl::async<&echo>(w.next(), 1)));
    return 0;
}

int main(int argc, char** argv)
{
    if (argc > 1 && std::string(argv[1]) == "serve") {
        tl::world w(argc, argv);
        return serving(w);
    }
    try {
        tl::world w(argc, argv);
        if (argc > 1 && std::string(argv[1]) == "late")
            return late(w);
        CHECK(tl::async<&echo>(w.next(), 3).get() == 3);
        w.barrier();
        if (w.rank() == 1)
            throw std::runtime_error("enough");
        THROWS(tl::peer_error, "rank 1 left", w.barrier(); w.barrier());
        THROWS(tl::peer_error, "rank 1 left", while (true) static_cast<void>(tl::async<&echo>(w.at(1), 3).get()));
    } catch (std::runtime_error const& e) {
        CHECK(std::string(e.what()) == "enough");
    }
}
