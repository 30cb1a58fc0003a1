// Remote calls of every kind between the ranks of a job; each rank checks what it gets. Ends with 0 if all was right.
#include "remote_check.hpp"

#include <towline/archive_all.hpp>
#include <towline/coroutine.hpp>
#include <towline/serialize_buffer.hpp>
#include <towline/towline.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
namespace tl = towline;

namespace callee {

int add(int a, int b) { return a + b; }
void nothing() {}
double mixed(char a, bool b, float c, long d) { return a + (b ? 100 : 0) + static_cast<double>(c) + static_cast<double>(d); }
int overloaded(int) { return 1; }
int overloaded(double) { return 2; }
std::string overloaded(std::string const& s) { return s + s; }
template <class T>
T twice(T x)
{
    return x + x;
}
std::vector<std::string> words(std::map<std::string, int> const& m, std::optional<std::string> extra)
{
    std::vector<std::string> out;
    for (auto const& [word, n] : m)
        for (int i = 0; i < n; ++i)
            out.push_back(word);
    if (extra)
        out.push_back(*extra);
    return out;
}
struct point {
    double x, y;
    friend bool operator==(point const&, point const&) = default;
};
struct body {
    point at;
    std::string name;
    std::vector<point> trail;
};
body move(body b, point by)
{
    b.trail.push_back(b.at);
    b.at.x += by.x;
    b.at.y += by.y;
    return b;
}
point swapped(point p) { return {p.y, p.x}; }
std::unique_ptr<int> owned(std::unique_ptr<int> p)
{
    ++*p;
    return p;
}
double sum_view(std::span<double const> v) { return std::accumulate(v.begin(), v.end(), 0.0); }
std::size_t length(std::string_view s, char c) { return static_cast<std::size_t>(std::count(s.begin(), s.end(), c)); }
double sum(std::vector<double> const& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
std::vector<double> iota(std::size_t n)
{
    std::vector<double> v(n);
    std::iota(v.begin(), v.end(), 0.0);
    return v;
}
double sum_buffer(tl::serialize_buffer<double> b)
{
    double s = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
        s += b.data()[i];
    return s;
}
struct strange {
    int x;
};
int fails(std::string const& how)
{
    if (how == "runtime")
        throw std::runtime_error("it went wrong");
    if (how == "int")
        throw 17;
    if (how == "own")
        throw strange{1};
    if (how == "long")
        throw std::runtime_error(std::string(100'000, 'x'));
    return 0;
}
int ask(int rank, int depth)
{
    return depth == 0 ? 0 : 1 + tl::async<&ask>(tl::locality(depth % 2 == 0 ? rank : tl::detail::current_rank()), rank, depth - 1).get();
}
tl::future<int> later(int x) { return tl::async<&add>(tl::locality(0), x, 1); }
struct keeper {
    static int hold(int x) { return x + 40; }
};
int tiny(int x) { return x + 1; }
double tiny_sum(std::vector<double> v) { return sum(v); }
/// Whatever is read before it is in vain.
struct unreadable {};
double sum_in_vain(std::vector<double> v, unreadable) { return sum(v); }
int tiny_waits() { return tl::async<&add>(tl::locality(0), 1, 2).get(); }
std::atomic<long> posted{0};
void tell(long n) { posted += n; }
long told() { return posted.load(); }
enum class colour : unsigned char { red, green };
colour next(colour c) { return c == colour::red ? colour::green : colour::red; }
int slow(int ms)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return ms;
}

} // namespace callee

template <>
struct towline::serializer<callee::unreadable> {
    static void save(archive_writer&, callee::unreadable const&) {}
    static callee::unreadable load(archive_reader&) { throw archive_error("nobody can read this"); }
};
template <>
inline constexpr bool towline::small<&callee::tiny> = true;
template <>
inline constexpr bool towline::small<&callee::tiny_sum> = true;
template <>
inline constexpr bool towline::small<&callee::tiny_waits> = true;

static void kinds(tl::locality peer)
{
    using namespace callee;
    CHECK(tl::async<&add>(peer, 2, 3).get() == 5);
    tl::async<&nothing>(peer).get();
    CHECK(tl::async<&mixed>(peer, 'a', true, 0.5f, 7).get() == 97 + 100 + 0.5 + 7);
    CHECK(tl::async<static_cast<int (*)(int)>(&overloaded)>(peer, 1).get() == 1);
    CHECK(tl::async<static_cast<int (*)(double)>(&overloaded)>(peer, 1).get() == 2);
    CHECK((tl::async<static_cast<std::string (*)(std::string const&)>(&overloaded)>(peer, "ab").get() == "abab"));
    CHECK(tl::async<&twice<int>>(peer, 4).get() == 8);
    CHECK(tl::async<&twice<std::string>>(peer, "x").get() == "xx");
    CHECK(tl::async<&keeper::hold>(peer, 2).get() == 42);
    CHECK(tl::async<[](int a, int b) { return a * b; }>(peer, 6, 7).get() == 42);
    CHECK(tl::async<[](int a, int b) { return a - b; }>(peer, 6, 7).get() == -1);
    CHECK(tl::async<&tiny>(peer, 1).get() == 2);
    CHECK(tl::async<tl::as_small<[](int a) { return a + 10; }>>(peer, 1).get() == 11);
    CHECK(tl::async<&next>(peer, colour::red).get() == colour::green);
    CHECK((tl::async<&swapped>(peer, point{1, 2}).get() == point{2, 1}));
    CHECK((tl::async<&words>(peer, std::map<std::string, int>{{"a", 2}, {"b", 1}}, "c").get() ==
           std::vector<std::string>{"a", "a", "b", "c"}));
    body b = tl::async<&callee::move>(peer, body{{1, 2}, "earth", {}}, point{10, 20}).get();
    CHECK(b.at == (point{11, 22}) && b.name == "earth" && b.trail.size() == 1);
    CHECK(*tl::async<&owned>(peer, std::make_unique<int>(1)).get() == 2);
    CHECK(tl::async<&later>(peer, 4).get() == 5);
    CHECK(tl::async<&ask>(peer, peer.rank(), 40).get() == 40);
}

static void big(tl::locality peer)
{
    using namespace callee;
    for (std::size_t const n : {1u, 1000u, 1024u, 5000u, 300'000u}) {
        std::vector<double> v = iota(n);
        double const total = sum(v);
        CHECK(tl::async<&sum>(peer, v).get() == total);            // an lvalue
        CHECK(tl::async<&sum>(peer, tl::borrow(v)).get() == total);
        CHECK(tl::async<&sum_view>(peer, v).get() == total);
        CHECK(tl::async<&sum_view>(peer, tl::borrow(v)).get() == total);
        CHECK(tl::async<&sum_view>(peer, iota(n)).get() == total); // a temporary that the span looks into
        CHECK(tl::async<&iota>(peer, n).get() == v);
        auto call = tl::async<&sum>(peer, v);
        std::fill(v.begin(), v.end(), -1.0);                        // an lvalue may be changed at once
        CHECK(call.get() == total);
        v = iota(n);
        auto lent = tl::async<&sum>(peer, tl::borrow(v));
        lent.sent().get();
        std::fill(v.begin(), v.end(), -1.0);                        // what was lent may be changed once it was sent
        CHECK(lent.get() == total);
        v = iota(n);
        CHECK(tl::async<&sum>(peer, std::move(v)).get() == total);
        v = iota(n);
        tl::serialize_buffer<double> buffer(v.data(), v.size(), tl::serialize_buffer<double>::reference);
        auto with_buffer = tl::async<&sum_buffer>(peer, buffer);
        with_buffer.sent().get();
        CHECK(with_buffer.get() == total);
        std::string const text(n, 'y');
        CHECK(tl::async<&length>(peer, text, 'y').get() == n);
        CHECK(tl::async<&length>(peer, std::string(n, 'z'), 'z').get() == n);
    }
    CHECK(tl::async<&sum>(peer, std::vector<double>{}).get() == 0);
    // A function that may not wait gets what its caller would help to copy, too.
    std::vector<double> const plain = iota(100'000);
    for (int i = 0; i < 50; ++i) {
        CHECK(tl::async<&tiny_sum>(peer, plain).get() == sum(plain));
        CHECK(tl::async<&tiny_sum>(peer, tl::borrow(plain)).get() == sum(plain));
    }
    // What is on its way when decoding fails arrives nowhere.
    for (int i = 0; i < 20; ++i)
        THROWS(tl::archive_error, "nobody can read", static_cast<void>(tl::async<&sum_in_vain>(peer, tl::borrow(plain), unreadable{}).get()));
    body b{{0, 0}, "long tail", std::vector<point>(20'000, point{1, 1})};
    CHECK(tl::async<&callee::move>(peer, b, point{1, 1}).get().trail.size() == 20'001);
    CHECK(tl::async<&callee::move>(peer, std::move(b), point{1, 1}).get().trail.size() == 20'001);
}

static void errors(tl::locality peer)
{
    using namespace callee;
    try {
        static_cast<void>(tl::async<&fails>(peer, "runtime").get());
        CHECK(false);
    } catch (tl::remote_error const& e) {
        CHECK(e.rank() == peer.rank() && e.type() == "std::runtime_error" && e.text() == "it went wrong");
    }
    THROWS(tl::remote_error, "int", static_cast<void>(tl::async<&fails>(peer, "int").get()));
    THROWS(tl::remote_error, "callee::strange", static_cast<void>(tl::async<&fails>(peer, "own").get()));
    THROWS(tl::remote_error, "xxxx", static_cast<void>(tl::async<&fails>(peer, "long").get()));
    THROWS(tl::remote_error, "towline::small", static_cast<void>(tl::async<&tiny_waits>(peer).get()));
    THROWS(tl::usage_error, "no rank", static_cast<void>(tl::async<&add>(tl::locality(4711), 1, 1).get()));
    THROWS(tl::usage_error, "no rank", tl::post<&nothing>(tl::locality(-1)));
    CHECK(tl::async<&fails>(peer, "not at all").get() == 0);
}

static tl::future<int> chain(tl::locality peer)
{
    int const a = co_await tl::async<&callee::add>(peer, 1, 2);
    int const b = co_await tl::async<&callee::add>(peer, a, 10);
    co_return a + b;
}

static tl::future<int> chain_fails(tl::locality peer)
{
    std::string const how = "runtime";
    co_await tl::async<&callee::fails>(peer, how);
    co_return 1;
}

static void futures(tl::locality peer)
{
    using namespace callee;
    CHECK(chain(peer).get() == 16);
    THROWS(tl::remote_error, "went wrong", static_cast<void>(chain_fails(peer).get()));
    CHECK(tl::async<&add>(peer, 1, 1).then([](int x) { return x * 2; }).get() == 4);
    CHECK(tl::async<&add>(peer, 1, 1).then([&](int x) { return tl::async<&add>(peer, x, 5); }).get() == 7);
    CHECK(tl::async<&add>(peer, 1, 1).then([&](int x) { return tl::async<&add>(peer, x, 6).get(); }).get() == 8);  // may wait
    CHECK(tl::async<&fails>(peer, "runtime").then([](tl::future<int> f) {
        try {
            return f.get();
        } catch (tl::remote_error const&) {
            return -1;
        }
    }).get() == -1);
    std::vector<tl::future<int>> many;
    for (int i = 0; i < 200; ++i)
        many.push_back(tl::async<&add>(peer, i, i));
    std::vector<int> const sums = tl::when_all(std::move(many)).get();
    for (int i = 0; i < 200; ++i)
        CHECK(sums[static_cast<std::size_t>(i)] == 2 * i);
    auto [one, none, text] =
        tl::when_all(tl::async<&add>(peer, 1, 0), tl::async<&nothing>(peer), tl::async<&twice<std::string>>(peer, "q")).get();
    CHECK(one == 1 && text == "qq");
    static_cast<void>(none);
    std::vector<tl::future<int>> race;
    race.push_back(tl::async<&slow>(peer, 300));
    race.push_back(tl::async<&slow>(peer, 300));
    CHECK(tl::when_any(race).get() < 2);
    auto const begin = std::chrono::steady_clock::now();
    auto f = tl::async<&slow>(peer, 200);
    bool const is_ready = f.wait_for(1us) == tl::future_status::ready;
    CHECK(!is_ready || std::chrono::steady_clock::now() - begin >= 200ms);  // a thread without a processor looks late
    CHECK(f.wait_for(1h) == tl::future_status::ready);
    CHECK(f.get() == 200 && !f.valid());
}

static void threads(tl::locality peer)
{
    std::vector<std::thread> all;
    for (int t = 0; t < 8; ++t)
        all.emplace_back([=] {
            for (int i = 0; i < 100; ++i) {
                CHECK(tl::async<&callee::add>(peer, t, i).get() == t + i);
                CHECK(tl::async<&callee::tiny>(peer, i).get() == i + 1);
            }
            std::vector<double> const v = callee::iota(5000);
            for (int i = 0; i < 5; ++i)
                CHECK(tl::async<&callee::sum>(peer, v).get() == callee::sum(v));
        });
    for (std::thread& t : all)
        t.join();
}

static void broadcasts(tl::world& w)
{
    using namespace callee;
    auto const n = static_cast<std::size_t>(w.size());
    auto const ranks = tl::async<[](int plus) { return tl::detail::current_rank() + plus; }>(w.all(), 5).get();
    CHECK(ranks.size() == n);
    for (std::size_t i = 0; i < n; ++i)
        CHECK(ranks[i] == static_cast<int>(i) + 5);
    CHECK(tl::async<&add>(w.others(), 1, 2).get() == std::vector<int>(n - 1, 3));
    tl::async<&nothing>(w.all()).get();
    tl::async<&nothing>(tl::localities{}).get();
    std::vector<double> v = iota(100'000);
    CHECK(tl::async<&sum>(w.all(), v).get() == std::vector<double>(n, sum(v)));
    CHECK(tl::async<&sum_view>(w.all(), tl::borrow(v)).get() == std::vector<double>(n, sum(v)));
    tl::rma_vector<double> shared(v.begin(), v.end());
    auto call = tl::async<[](tl::rma_vector<double> x) { return x[x.size() - 1]; }>(w.all(), shared);
    call.sent().get();
    CHECK(call.get() == std::vector<double>(n, v.back()));
    for (auto const& each : tl::async<&iota>(w.all(), 30'000).get())
        CHECK(each == iota(30'000));
    for (auto const& each : tl::async<[](std::size_t m) { return tl::rma_vector<int>(m, 7); }>(w.all(), 30'000).get())
        CHECK(each.size() == 30'000 && each[29'999] == 7);
    std::vector<int> backwards;
    for (int r = w.size(); r-- > 0;)
        backwards.push_back(r);
    auto const reversed = tl::async<[] { return tl::detail::current_rank(); }>(tl::localities(backwards)).get();
    CHECK(reversed == backwards);
    THROWS(tl::remote_error, ("rank " + std::to_string(w.size() - 1)), static_cast<void>(tl::async<[](int last) {
        if (tl::detail::current_rank() == last)
            throw std::runtime_error("the last one");
        return 0;
    }>(w.all(), w.size() - 1).get()));
    THROWS(tl::usage_error, "twice", static_cast<void>(tl::async<&nothing>(tl::localities(std::vector<int>{0, 0}))));
}

int main(int argc, char** argv)
{
    std::atomic<long>* told = nullptr;
    {
        tl::world w(argc, argv);
        CHECK(w.at(w.rank()) == w.here() && static_cast<int>(w.all().size()) == w.size());
        THROWS(tl::usage_error, "one at a time", tl::world second);
        for (tl::locality const l : w.all()) {
            kinds(l);
            errors(l);
        }
        big(w.next());
        futures(w.next());
        threads(w.next());
        broadcasts(w);
        w.barrier();
        for (int i = 0; i < 1000; ++i)
            tl::post<&callee::tell>(w.next(), 1);
        tl::post<&callee::tell>(w.all(), 1000);
        told = &callee::posted;  // nothing is lost when the world ends right now
    }
    int const ranks = [] {
        tl::world again;  // a second world, after the first
        CHECK(tl::async<&callee::add>(again.next(), 1, 2).get() == 3);
        return again.size();
    }();
    if (told->load() != 1000 + 1000L * ranks) {
        std::fprintf(stderr, "told %ld\n", told->load());
        return 1;
    }
    return 0;
}
