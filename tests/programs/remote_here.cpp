// here(), size() and this_world(): where functions run that others call. Ends with 0 if all was right.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <thread>
#include <vector>

using namespace std;
using namespace towline;  // with std::size beside it

namespace callee {

// Called at once, while some ranks may still be inside of world's constructor.
int follow(int hops)
{
    CHECK(here() == this_world().here() && towline::size() == this_world().size());
    return hops == 0 ? here().rank() : async<&follow>(this_world().next(), hops - 1).get();
}

class place {
public:
    place() : made_(here()) {}
    ~place() { CHECK(here() == made_ && this_world().rank() == made_.rank()); }  // also at the end of the world
    int rank() const { return here().rank() - made_.rank(); }

private:
    locality made_;
};

map<string, deque<int>> same(map<string, deque<int>> const& m) { return m; }
int whole() { return towline::size(); }
future<int> later(int add) { co_return co_await async<&whole>(this_world().next()) + add; }

} // namespace callee

int main(int argc, char** argv)
{
    THROWS(usage_error, "towline::world", static_cast<void>(here()));
    THROWS(usage_error, "towline::world", static_cast<void>(towline::size()));
    THROWS(usage_error, "towline::world", static_cast<void>(this_world()));
    for (int round = 0; round < 2; ++round) {
        world w(argc, argv);
        CHECK(async<&callee::follow>(w.next(), 11).get() == (w.rank() + 12) % w.size());
        CHECK(&this_world() == &w && here() == w.here() && towline::size() == w.size());
        vector<int> const several(3);
        CHECK(size(several) == 3);

        auto p = create<callee::place>(w.next()).get();
        CHECK(async<&callee::place::rank>(p).get() == 0);
        CHECK(async<&callee::later>(w.next(), 5).get() == w.size() + 5);
        CHECK(async<&callee::whole>(w.next()).then([](int n) { return n + here().rank(); }).get() == w.size() + w.rank());
        map<string, deque<int>> const containers{{"a", {1, 2}}, {"b", {}}};  // by towline.hpp alone, as co_await
        CHECK(async<&callee::same>(w.next(), containers).get() == containers);
        thread([&] { CHECK(here() == w.here()); }).join();
        static remote<callee::place> kept;  // ends with the world
        kept = remote<callee::place>::adopt(make_shared<callee::place>());
        w.barrier();
        kept = {};
    }
    THROWS(usage_error, "towline::world", static_cast<void>(here()));
}
