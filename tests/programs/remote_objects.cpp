// Remote objects: counting of handles across ranks, types, what ended objects say.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <atomic>
#include <vector>

namespace tl = towline;

static std::atomic<int> living{0};
static int count_living() { return living.load(); }

struct base {
    long n = 1;
    long get() const { return n; }
};
class thing : public base {
public:
    thing() { ++living; }
    explicit thing(std::string const& text, int add) : text_(text)
    {
        n += add;
        ++living;
    }
    thing(thing const&) = delete;
    ~thing() { --living; }
    long add(long d) { return n += d; }
    std::string text() const noexcept { return text_; }
    void fail() { throw std::logic_error("no"); }

private:
    std::string text_;
};

static std::vector<tl::remote<thing>> kept;
static void keep(tl::remote<thing> t) { kept.push_back(std::move(t)); }
static tl::remote<thing> give_back()
{
    auto t = kept.back();
    kept.pop_back();
    return t;
}
static void drop() { kept.clear(); }
// Passed on until it came round n times: weights split and join.
static long pass(tl::remote<thing> const& t, int n)
{
    int const next = (tl::detail::current_rank() + 1) % tl::detail::current_size();
    return n == 0 ? tl::async<&thing::add>(t, 1).get() : tl::async<&pass>(tl::locality(next), t, n - 1).get();
}

static void wait_for_living(tl::locality at, int n)
{
    for (int i = 0; i < 10'000; ++i)
        if (tl::async<&count_living>(at).get() == n)
            return;
    CHECK(false && "objects ended");
}

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    if (w.rank() != 0)
        return 0;
    tl::locality const peer = w.next(), third = w.at(2 % w.size());
    {
        auto t = tl::create<thing>(peer, "text", 4).get();
        CHECK(t && t.where() == peer && tl::async<&count_living>(peer).get() == 1);
        CHECK(tl::async<&thing::add>(t, 5).get() == 10);
        CHECK(tl::async<&thing::text>(t).get() == "text");
        CHECK(tl::async<&base::get>(t).get() == 10);
        THROWS(tl::remote_error, "no", tl::async<&thing::fail>(t).get());
        tl::post<&thing::add>(t, 1);
        CHECK(tl::async<&thing::add>(t, 0).get() >= 10);
        auto copy = t;
        tl::async<&keep>(third, t).get();
        t = {};
        copy = {};
        CHECK(tl::async<&count_living>(peer).get() == 1);
        t = tl::async<&give_back>(third).get();
        CHECK(tl::async<&thing::text>(t).get() == "text");
        for (int i = 0; i < 300; ++i)
            tl::async<&keep>(third, t).get();
        CHECK(tl::async<&count_living>(peer).get() == 1);
        tl::async<&drop>(third).get();
        long const before = tl::async<&thing::add>(t, 0).get();
        CHECK(tl::async<&pass>(peer, t, 60).get() == before + 1);
        CHECK(tl::async<&count_living>(peer).get() == 1);
    }
    wait_for_living(peer, 0);
    {
        auto mine = tl::create<thing>(w.here()).get();
        CHECK(mine.local() && mine.local()->get() == 1);
        auto theirs = tl::create<thing>(peer).get();
        CHECK(w.size() == 1 || !theirs.local());
        CHECK(mine == mine && !(mine == theirs));
        THROWS(tl::usage_error, "empty", static_cast<void>(tl::async<&thing::get>(tl::remote<thing>())));
        tl::async<&keep>(peer, std::move(mine)).get();
    }
    tl::async<&drop>(peer).get();
    wait_for_living(w.here(), 0);
    std::vector<tl::future<tl::remote<thing>>> many;
    for (int i = 0; i < 500; ++i)
        many.push_back(tl::create<thing>(peer));
    auto all = tl::when_all(std::move(many)).get();
    CHECK(tl::async<&count_living>(peer).get() == 500);
    all.clear();
    wait_for_living(peer, 0);
    kept.clear();
}
