// Strided views as arguments of remote calls and as rows of the operations of teams: parts of arrays with known elements, compared with
// what a plain loop makes of them, and with where the accounting says that their bytes went.   remote_views [wrong]
#include "remote_check.hpp"

#include "heap/heap.hpp"

#include <towline/serialize_buffer.hpp>
#include <towline/strided_view.hpp>
#include <towline/towline.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace tl = towline;
using std::size_t, std::uint64_t;
template <size_t N>
using view = tl::strided_view<uint64_t, N>;
template <size_t N>
using reader = tl::strided_view<uint64_t const, N>;

namespace {

template <class T, size_t N>
std::vector<uint64_t> elements(tl::strided_view<T, N> v)
{
    std::vector<uint64_t> all;
    std::array<size_t, N> at{};
    while (all.size() < v.size()) {
        all.push_back(v[at]);
        for (size_t i = N; i-- > 0 && ++at[i] == v.extent(i);)
            at[i] = 0;
    }
    return all;
}
uint64_t digest(std::span<uint64_t const> row)
{
    return std::accumulate(row.begin(), row.end(), row.size(), [](uint64_t sum, uint64_t x) { return sum * 31 + x; });
}
template <size_t N>
uint64_t digest(reader<N> v)
{
    auto const all = elements(v);
    uint64_t d = digest(all);
    for (size_t const e : v.extents())
        d = d * 17 + e;
    return d;
}
template <class Array>
Array filled(size_t n, uint64_t seed)
{
    Array a(n);
    for (size_t i = 0; i < n; ++i)
        a[i] = seed * 1'000'003 + i;
    return a;
}

// What is called.
template <size_t N>
uint64_t look(reader<N> v)
{
    return digest(v);
}
template uint64_t look(reader<1>);
template uint64_t look(reader<2>);
template uint64_t look(reader<3>);
uint64_t look_by_reference(reader<2> const& a, int factor, reader<1> b) { return digest(a) * static_cast<uint64_t>(factor) + digest(b); }
uint64_t own(std::vector<uint64_t> v) { return digest(v); }
uint64_t share(tl::serialize_buffer<uint64_t> v) { return digest(v.span()); }
uint64_t take(tl::rma_vector<uint64_t> v) { return digest({v.data(), v.size()}); }
uint64_t see(std::span<uint64_t const> v) { return digest(v); }
bool is_row(reader<2> v) { return v.is_contiguous(); }
std::vector<uint64_t> field;
/// Straight into an array of this rank.
uint64_t land(reader<2> from, size_t rows)
{
    field.assign(rows * 2 * from.extent(1) * 2, 7);
    view<2> const to = view<2>(field.data(), {rows * 2, from.extent(1) * 2}).subview({1, 1}, from.extents());
    tl::copy(to, from);
    return digest(reader<2>(to)) + static_cast<uint64_t>(std::ranges::count(field, 7u));
}
/// A result that the caller puts where it wants it.
std::vector<uint64_t> transposed(reader<2> v)
{
    std::vector<uint64_t> out(v.size());
    tl::copy(view<2>(out.data(), {v.extent(1), v.extent(0)}),
             reader<2>(v.data_handle(), {v.extent(1), v.extent(0)}, {v.stride(1), v.stride(0)}));
    return out;
}

template <size_t N>
void every_form(tl::locality peer, view<N> v)
{
    uint64_t const as_view = digest(reader<N>(v)), as_row = digest(elements(v));
    CHECK(tl::async<&look<N>>(peer, v).get() == as_view);
    CHECK(tl::async<&look<N>>(peer, reader<N>(v)).get() == as_view);
    CHECK(tl::async<&look<N>>(peer, tl::borrow(v)).get() == as_view);
    CHECK(tl::async<&own>(peer, v).get() == as_row);
    CHECK(tl::async<&own>(peer, tl::borrow(v)).get() == as_row);
    CHECK(tl::async<&share>(peer, v).get() == as_row);
    CHECK(tl::async<&take>(peer, v).get() == as_row);
    CHECK(tl::async<&take>(peer, tl::borrow(reader<N>(v))).get() == as_row);
    CHECK(tl::async<&see>(peer, v).get() == as_row);
    CHECK(tl::async<&see>(peer, tl::borrow(v)).get() == as_row);
}

template <class Array>
void parts(tl::locality peer, size_t side)
{
    auto data = filled<Array>(side * side * side, side);
    uint64_t* const p = data.data();
    auto const s = static_cast<std::ptrdiff_t>(side);
    view<3> const all(p, {side, side, side});
    every_form(peer, all);
    for (size_t d = 0; d < 3; ++d) {
        every_form(peer, all.slice(d, 0));
        every_form(peer, all.slice(d, side - 1));
    }
    every_form(peer, all.subview({1, 1, 1}, {side - 2, side - 1, side - 2}));
    every_form(peer, all.subview({0, 0, 0}, {side, 0, 1}));
    every_form(peer, view<3>(p, {side, side, side}, {1, s, s * s}));
    every_form(peer, view<2>(p + side * side - 1, {side, side / 2}, {-s, -2}));
    every_form(peer, view<2>(p + 5, {side, 300}, {0, 1}).subview({0, 0}, {side, side}));
    every_form(peer, view<2>(p, {3, side * 9}, {0, 0}));
    view<2> const face = all.slice(2, 1);
    view<1> const line = face.slice(1, 0);
    CHECK(tl::async<&look_by_reference>(peer, face, 3, line).get() == digest(reader<2>(face)) * 3 + digest(reader<1>(line)));
    CHECK(tl::async<&look<1>>(peer, elements(line)).get() == digest(reader<1>(line)));
    CHECK(tl::async<&land>(peer, tl::borrow(face), side).get() == digest(reader<2>(face)) + 3 * side * side);
    CHECK(tl::async<&land>(peer, face, side).get() == digest(reader<2>(face)) + 3 * side * side);
    std::vector<uint64_t> back = tl::async<&transposed>(peer, face).get();
    std::vector<uint64_t> halo(side * side * 3);
    view<2> const there(halo.data(), {side, side}, {3, 3 * s});
    tl::copy(view<2>(there), std::span<uint64_t const>(back));
    CHECK(elements(view<2>(there.data_handle(), {side, side}, {there.stride(1), there.stride(0)})) == elements(face));
    // As it was when it was called, whatever happens to it after that.
    auto const before = digest(reader<2>(face));
    auto call = tl::async<&look<2>>(peer, face);
    std::ranges::fill(data, uint64_t{1});
    CHECK(call.get() == before);
}

/// At all ranks: encoded once.
void at_many(tl::world& w, size_t side)
{
    auto data = filled<std::vector<uint64_t>>(side * side * side, 3);
    view<2> const face = view<3>(data.data(), {side, side, side}).slice(2, 2);
    for (uint64_t const d : tl::async<&look<2>>(w.all(), face).get())
        CHECK(d == digest(reader<2>(face)));
    for (uint64_t const d : tl::async<&look<2>>(w.all(), tl::borrow(face)).get())
        CHECK(d == digest(reader<2>(face)));
    for (uint64_t const d : tl::async<&own>(w.all(), face).get())
        CHECK(d == digest(elements(face)));
}

/// What is copied: nothing of what was borrowed in shared memory, and of the rest only what packs it.
void accounts(tl::locality peer)
{
    constexpr size_t side = 128;
    tl::rma_vector<uint64_t> data = filled<tl::rma_vector<uint64_t>>(side * side * side, 5);
    view<3> const all(data.data(), {side, side, side});
    view<2> const face = all.slice(1, 2), needles = all.slice(2, 2);
    auto const counted = [&](auto&& call) {
        tl::statistics const here = tl::stats(), there = tl::async<&tl::stats>(peer).get();
        call();
        tl::statistics const a = tl::stats().since(here), b = tl::async<&tl::stats>(peer).get().since(there);
        return std::array{a.bytes_handed_over + b.bytes_handed_over, a.bytes_copied_once + b.bytes_copied_once,
                          a.bytes_copied_twice + b.bytes_copied_twice};
    };
    CHECK(!tl::async<&is_row>(peer, tl::borrow(face)).get() && tl::async<&is_row>(peer, face).get());
    CHECK(tl::async<&is_row>(peer, tl::borrow(needles)).get());  // each would take a cache line along
    auto const borrowed = counted([&] { CHECK(tl::async<&look<2>>(peer, tl::borrow(face)).get() == digest(reader<2>(face))); });
    CHECK(borrowed == std::array<uint64_t, 3>{});
    auto const packed = counted([&] { CHECK(tl::async<&look<2>>(peer, face).get() == digest(reader<2>(face))); });
    CHECK(packed[1] == 0 && packed[2] == 0);
    auto const taken = counted([&] { CHECK(tl::async<&take>(peer, face).get() == digest(elements(face))); });
    CHECK(taken == (std::array<uint64_t, 3>{side * side * 8, 0, 0}));
    if (tl::heap::delete_releases()) {
        auto const owned = counted([&] { CHECK(tl::async<&own>(peer, face).get() == digest(elements(face))); });
        CHECK(owned == (std::array<uint64_t, 3>{side * side * 8, 0, 0}));
    }
}

template <class Call>
void both_ways(tl::team& t, bool started, Call&& call)
{
    if (started)
        call(t.start()).get();
    else
        call(t);
}

/// Element k of what `rank` has for `to`.
uint64_t value(int rank, size_t k, int to = 0)
{
    return static_cast<uint64_t>(rank) * 1'000'000 + k * 10 + static_cast<uint64_t>(to);
}
std::vector<uint64_t> values(int rank, size_t n, int to = 0)
{
    std::vector<uint64_t> all;
    for (size_t k = 0; k < n; ++k)
        all.push_back(value(rank, k, to));
    return all;
}

/// An array of which every third column is the view, and the rest must stay as it is.
class columns {
public:
    columns(size_t rows, size_t n, std::vector<uint64_t> const& content = {})
        : data_(rows * n * 3, 77), view_(data_.data() + 1, {rows, n}, strides(n))
    {
        if (!content.empty())
            tl::copy(view_, content);
    }
    columns(columns const&) = delete;
    columns& operator=(columns const&) = delete;
    [[nodiscard]] view<2> get() const { return view_; }
    [[nodiscard]] bool holds(std::vector<uint64_t> const& content) const
    {
        return elements(view_) == content &&
               std::ranges::count(data_, 77u) - std::ranges::count(content, 77u) == std::ssize(data_) - std::ssize(content);
    }

private:
    static std::array<std::ptrdiff_t, 2> strides(size_t n) { return {static_cast<std::ptrdiff_t>(n * 3), 3}; }
    std::vector<uint64_t> data_;
    view<2> view_;
};

void team_rows(tl::team& t, size_t n, bool started)
{
    int const size = t.size(), rank = t.rank();
    auto const ranks = static_cast<size_t>(size);
    auto const joined = [&](auto&& of) {
        std::vector<uint64_t> all;
        for (int r = 0; r < size; ++r)
            std::ranges::copy(of(r), std::back_inserter(all));
        return all;
    };
    auto const mine = values(rank, 2 * n);
    auto const of_all = joined([&](int r) { return values(r, 2 * n); });
    columns const own_columns(2, n, mine);
    reader<2> const from = own_columns.get();
    std::vector<uint64_t> const nothing(2 * n * ranks, 77);
    for (int root = 0; root < size; ++root) {
        bool const is_root = rank == root;
        columns const all(2, n, is_root ? mine : std::vector<uint64_t>());
        both_ways(t, started, [&](auto&& on) { return on.broadcast(all.get(), root); });
        CHECK(all.holds(values(root, 2 * n)));
        // One rank's row lies in columns, another's does not.
        std::vector<uint64_t> row = is_root ? mine : std::vector<uint64_t>(2 * n);
        columns const mixed(2, n, is_root ? mine : std::vector<uint64_t>());
        both_ways(t, started, [&](auto&& on) { return rank % 2 == 0 ? on.broadcast(row, root) : on.broadcast(mixed.get(), root); });
        CHECK(rank % 2 == 0 ? row == values(root, 2 * n) : mixed.holds(values(root, 2 * n)));
        columns const gathered(2 * ranks, n);
        both_ways(t, started, [&](auto&& on) { return on.gather(from, gathered.get(), root); });
        CHECK(is_root ? gathered.holds(of_all) : gathered.holds(nothing));
        both_ways(t, started, [&](auto&& on) { return on.gather(from, is_root ? gathered.get() : view<2>(), root); });
        columns const parts(2 * ranks, n, joined([&](int r) { return values(root, 2 * n, r); })), part(2, n);
        both_ways(t, started, [&](auto&& on) { return on.scatter(is_root ? parts.get() : view<2>(), part.get(), root); });
        CHECK(part.holds(values(root, 2 * n, rank)));
        columns const sum(2, n);
        both_ways(t, started, [&](auto&& on) { return on.reduce(from, sum.get(), std::plus<>(), root); });
        std::vector<uint64_t> expected(2 * n, 77);
        for (size_t k = 0; is_root && k < 2 * n; ++k) {
            expected[k] = 0;
            for (int r = 0; r < size; ++r)
                expected[k] += value(r, k);
        }
        CHECK(sum.holds(expected));
    }
    columns const everything(2 * ranks, n);
    both_ways(t, started, [&](auto&& on) { return on.all_gather(from, everything.get()); });
    CHECK(everything.holds(of_all));
    std::vector<uint64_t> row(of_all.size());
    both_ways(t, started, [&](auto&& on) { return on.all_gather(from, row); });
    CHECK(row == of_all);
    columns const in_place(2 * ranks, n);
    tl::copy(in_place.get().subview({2 * static_cast<size_t>(rank), 0}, {2, n}), from);
    both_ways(t, started, [&](auto&& on) { return on.all_gather(in_place.get()); });
    CHECK(in_place.holds(of_all));
    // The transpose of a matrix that is spread over the ranks: columns out, rows in.
    columns const out(2 * ranks, n, joined([&](int r) { return values(rank, 2 * n, r); })), in(2 * ranks, n);
    both_ways(t, started, [&](auto&& on) { return on.all_to_all(out.get(), in.get()); });
    CHECK(in.holds(joined([&](int r) { return values(r, 2 * n, rank); })));
    std::vector<size_t> const counts(ranks, 2 * n);
    columns const listed(2 * ranks, n);
    both_ways(t, started, [&](auto&& on) { return on.all_to_all(out.get(), counts, listed.get(), counts); });
    CHECK(listed.holds(joined([&](int r) { return values(r, 2 * n, rank); })));
    columns const summed(2, n, mine);
    both_ways(t, started, [&](auto&& on) { return on.all_reduce(summed.get(), tl::maximum{}); });
    CHECK(summed.holds(values(size - 1, 2 * n)));
    columns const before(2, n);
    both_ways(t, started, [&](auto&& on) { return on.exclusive_scan(from, before.get(), tl::maximum{}); });
    CHECK(before.holds(rank == 0 ? std::vector<uint64_t>(2 * n, 77) : values(rank - 1, 2 * n)));
    // Blocks from nobody stay as they are.
    tl::neighbours const ring{{(rank + size - 1) % size, -1}, {(rank + 1) % size, -1}};
    columns const around(2, n, values(99, 2 * n));
    both_ways(t, started, [&](auto&& on) { return on.exchange(ring, from, around.get()); });
    auto expected = values((rank + size - 1) % size, 2 * n);
    auto const kept = values(99, 2 * n);
    std::copy(kept.begin() + static_cast<std::ptrdiff_t>(n), kept.end(), expected.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK(around.holds(expected));
}

/// Rows that do not fit fail on all ranks that need them.
void wrong(tl::team& t)
{
    std::vector<uint64_t> row(12, 1);
    view<2> const repeated(row.data(), {3, 4}, {0, 1}), three(row.data(), {3, 2}, {4, 2}), two(row.data(), {2, 2}, {6, 2});
    int const last = t.size() - 1;
    if (t.rank() == last) {
        THROWS(tl::usage_error, "it can be read, and not be written to", t.all_reduce(repeated));
        THROWS(tl::usage_error, "as many come out as go in", t.all_reduce(three, two));
        THROWS(tl::usage_error, "it can be read, and not be written to", (void)t.start().all_reduce(repeated));
    } else {
        view<2> const fits(row.data(), {3, 2}, {4, 2});
        std::vector<uint64_t> twelve(12), six(6);
        THROWS(tl::usage_error, "", t.all_reduce(twelve));
        THROWS(tl::usage_error, "", t.all_reduce(fits, six));
        THROWS(tl::usage_error, "", t.start().all_reduce(twelve).get());
    }
    CHECK(t.all_reduce(1) == t.size());
}

} // namespace

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    if (argc > 1 && std::string_view(argv[1]) == "wrong") {
        tl::team t(w);
        wrong(t);
        return 0;
    }
    if (w.rank() == 0) {
        for (size_t const side : {size_t{5}, size_t{33}, size_t{60}}) {
            parts<std::vector<uint64_t>>(w.next(), side);
            parts<tl::rma_vector<uint64_t>>(w.next(), side);
            at_many(w, side);
        }
        if (w.size() > 1)
            accounts(w.next());
    }
    tl::team t(w);
    for (size_t const n : {size_t{1}, size_t{7}, size_t{300}, size_t{20000}})
        for (bool const started : {false, true})
            team_rows(t, n, started);
}
