// Values that travel without an archive, and blocks that change owner inside them. Ranks other than 0 answer.
#include "remote_check.hpp"

#include <towline/rma_object.hpp>
#include <towline/towline.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace tl = towline;

namespace {

using field = tl::rma_vector<double>;

struct padded {
    char letter;
    double number;
    bool yes;
    friend bool operator==(padded const&, padded const&) = default;
};
static_assert(tl::detail::always_packable<padded>());
struct nested {
    padded inner;
    std::pair<std::int32_t, char> both;
    friend bool operator==(nested const&, nested const&) = default;
};
static_assert(tl::detail::always_packable<nested>());
struct labelled {
    int label;
    std::pair<field, bool> data;
    friend bool operator==(labelled const&, labelled const&) = default;
};
static_assert(tl::detail::packable_if_handed<labelled>());
struct many {
    field a, b, c, d, e, f, g;
};
static_assert(!tl::detail::packable<many>(), "more than the limit: an archive");
static_assert(!tl::detail::packable<std::string>() && !tl::detail::packable<std::pair<int, std::string>>());
static_assert(!tl::detail::packable<std::array<double, 4>>() && tl::detail::packable<std::array<double, 3>>());
struct holds_array {
    double x[2];
    bool yes;
};
static_assert(!tl::detail::packable<holds_array>());
struct matrix {
    double cells[5'000];
};

padded turn(padded p) { return {static_cast<char>(p.letter + 1), -p.number, !p.yes}; }
nested turn_nested(nested n) { return {turn(n.inner), {n.both.first + 1, 'z'}}; }
std::tuple<int, bool> both_ways(std::tuple<int, bool> t, std::pair<char, short> p) { return {std::get<0>(t) + p.second, p.first == 'y'}; }

field add_one(field f)
{
    for (double& x : f)
        x += 1;
    return f;
}
labelled relabel(labelled l)
{
    l.label *= 2;
    l.data.second = !l.data.second;
    l.data.first = add_one(std::move(l.data.first));
    return l;
}
std::pair<field, field> exchange(field a, field b, int) { return {std::move(b), std::move(a)}; }
tl::rma_object<matrix> fill(tl::rma_object<matrix> m, double x)
{
    m->cells[4'999] = x;
    return m;
}
double last_of(field const& f) { return f.empty() ? -1 : f.back(); }
std::size_t count_many(many m) { return m.a.size() + m.g.size(); }
std::atomic<int> kept_size{0};
void keep(field f) { kept_size += static_cast<int>(f.size()); }
int kept() { return kept_size; }
field refuse(field)
{
    throw std::runtime_error("not mine");
}
tl::statistics theirs() { return tl::stats(); }

std::uint64_t handed_over(tl::locality peer)
{
    auto const there = tl::async<&theirs>(peer).get();
    return tl::stats().bytes_handed_over + (peer.rank() == tl::detail::current_rank() ? 0 : there.bytes_handed_over);
}

void values(tl::locality peer)
{
    CHECK(tl::async<&turn>(peer, padded{'a', 2.5, false}).get() == padded{'b', -2.5, true});
    CHECK(tl::async<&turn_nested>(peer, nested{{'k', 1, true}, {6, 'q'}}).get() == nested{{'l', -1, false}, {7, 'z'}});
    CHECK(tl::async<&both_ways>(peer, std::tuple(5, false), std::pair('y', short{-2})).get() == std::tuple(3, true));
}

void blocks(tl::locality peer)
{
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
        field f(n, 1.0);
        void const* const place = f.data();
        auto const before = handed_over(peer);
        f = tl::async<&add_one>(peer, std::move(f)).get();
        CHECK(f == field(n, 2.0) && f.data() == place);
        labelled l = tl::async<&relabel>(peer, labelled{21, {std::move(f), false}}).get();
        CHECK(l == labelled{42, {field(n, 3.0), true}} && l.data.first.data() == place);
        CHECK(handed_over(peer) - before == 4 * n * sizeof(double));
        CHECK(f.empty());
    }
    field a(100, 1.0), b(200, 2.0);
    void const* const of_a = a.data();
    auto const [x, y] = tl::async<&exchange>(peer, std::move(a), std::move(b), 0).get();
    CHECK(x == field(200, 2.0) && y == field(100, 1.0) && y.data() == of_a);
    CHECK(tl::async<&fill>(peer, tl::rma_object<matrix>(), 3.5).get()->cells[4'999] == 3.5);
    CHECK(tl::async<&count_many>(peer, many{field(3), {}, {}, {}, {}, {}, field(4)}).get() == 7);
}

/// What cannot change owner just now goes as an archive, and arrives all the same.
void shared_ones(tl::locality peer)
{
    field f(5000, 4.0);
    field const other = f;
    CHECK(tl::async<&last_of>(peer, f).get() == 4.0);              // given as it is
    auto call = tl::async<&add_one>(peer, std::move(f));
    CHECK(call.get() == field(5000, 5.0));
    call.sent().get();  // until then the call holds what is lent
    CHECK(other == field(5000, 4.0) && other.use_count() == 1);
    field alone = other.clone();
    CHECK(tl::async<&last_of>(peer, alone).get() == 4.0 && alone.size() == 5000);
    CHECK(tl::async<&last_of>(peer, field()).get() == -1);
    CHECK(tl::async<&last_of>(peer, tl::rma_vector<double>(7, 1.5)).get() == 1.5);
    // Several threads copy one vector.
    field const one(100, 1.0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) {
                field const mine = one;
                CHECK(mine.data() == one.data() && mine.use_count() > 1);
            }
        });
    for (auto& t : threads)
        t.join();
    CHECK(one.use_count() == 1);
}

void ends(tl::world& w, tl::locality peer)
{
    int const before = tl::async<&kept>(peer).get();
    for (int i = 0; i < 500; ++i)
        tl::post<&keep>(peer, field(10, 1.0));
    while (tl::async<&kept>(peer).get() != before + 5000)
        std::this_thread::yield();
    for (int i = 0; i < 100; ++i)
        THROWS(tl::remote_error, "not mine", static_cast<void>(tl::async<&refuse>(peer, field(1000, 1.0)).get()));
    field wrong(10);
    THROWS(tl::usage_error, "no rank 99", static_cast<void>(tl::async<&add_one>(tl::locality(99), std::move(wrong))));
    for (auto const& each : tl::async<&add_one>(w.all(), field(3000, 1.0)).get())
        CHECK(each == field(3000, 2.0));
}

} // namespace

template <>
inline constexpr bool tl::small<&exchange> = true;

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    if (w.rank() != 0)
        return 0;
    for (tl::locality const peer : {w.here(), w.next()}) {
        values(peer);
        blocks(peer);
        shared_ones(peer);
        ends(w, peer);
    }
    return 0;
}
