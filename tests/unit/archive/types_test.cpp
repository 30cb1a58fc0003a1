// Every type of the standard library that the archive knows, the hooks, and what travels with whom.

#include "unit/archive/round_trip.hpp"

#include <towline/archive_all.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

using namespace towline;
using towline::test::packed;
using towline::test::round_trip;

namespace {

// Not movable by accident: a key-less class with private state.
class account {
public:
    account() = default;
    account(std::string owner, long cents) : owner_(std::move(owner)), cents_(cents) {}
    auto members() { return std::tie(owner_, cents_); }
    auto members() const { return std::tie(owner_, cents_); }
    bool operator==(account const&) const = default;

private:
    std::string owner_;
    long cents_ = 0;
};

class even { // no default constructor; made from its members
public:
    even(int n, std::string note) : n_(n), note_(std::move(note))
    {
        if (n % 2 != 0) {
            throw archive_error("odd");
        }
    }
    auto members() const { return std::tie(n_, note_); }
    bool operator==(even const&) const = default;

private:
    int n_;
    std::string note_;
};

struct only_ever { // neither default constructor nor hook
    explicit only_ever(int n) : value(n) {}
    int const value;
    bool operator==(only_ever const&) const = default;
};

struct holds_even { // an aggregate that cannot be made empty
    int first;
    even second;
    std::vector<even> more;
    bool operator==(holds_even const&) const = default;
};

struct fixed_members {
    int const a;
    std::string const b;
    bool operator==(fixed_members const&) const = default;
};

} // namespace

template <> struct towline::serializer<only_ever> {
    static void save(archive_writer& w, only_ever const& v) { w.write(v.value); }
    static only_ever load(archive_reader& r) { return only_ever(r.read<int>()); }
};

namespace {

struct node {
    int value = 0;
    std::unique_ptr<node> next;
};

enum class level : std::int8_t { low = -1, mid, high };
enum old_style { first, second };

struct padded {
    char c;
    double d;
    bool operator==(padded const&) const = default;
};
struct opted_in {
    char c;
    double d;
};
struct pointing {
    int* p;
};
struct flagged {
    bool b;
};
union either {
    int i;
    float f;
};
struct holds_union {
    either e;
};
struct tight {
    int a;
    short b[2];
    std::array<char, 4> c;
    bool operator==(tight const&) const = default;
};

} // namespace

template <> struct towline::enum_range<level> {
    static constexpr level min = level::low, max = level::high;
};
template <> inline constexpr bool towline::bitwise<opted_in> = true;

namespace {

static_assert(bitwise<int> && bitwise<double> && bitwise<std::byte> && bitwise<tight> && bitwise<int[3]> && bitwise<std::array<float, 3>>);
static_assert(bitwise<old_style> && bitwise<opted_in> && bitwise<std::complex<float>> && bitwise<std::chrono::nanoseconds>);
static_assert(!bitwise<bool> && !bitwise<padded> && !bitwise<pointing> && !bitwise<flagged> && !bitwise<holds_union> && !bitwise<int*>);
static_assert(!bitwise<level> && !bitwise<std::string_view> && !bitwise<std::span<int const>> && !bitwise<long double>);
static_assert(!bitwise<std::optional<int>> && !bitwise<std::unique_ptr<int>> && !bitwise<std::array<int, 0>>);

TEST(archive_types, associative)
{
    using map = std::map<std::string, std::vector<int>>;
    EXPECT_EQ(round_trip(map{{"a", {1}}, {"b", {}}}), (map{{"a", {1}}, {"b", {}}}));
    EXPECT_EQ(round_trip(std::multimap<int, int>{{1, 2}, {1, 3}}), (std::multimap<int, int>{{1, 2}, {1, 3}}));
    EXPECT_EQ(round_trip(std::set<std::string>{"x", "y"}), (std::set<std::string>{"x", "y"}));
    EXPECT_EQ(round_trip(std::multiset<int>{1, 1, 2}), (std::multiset<int>{1, 1, 2}));
    EXPECT_EQ(round_trip(std::unordered_map<int, std::string>{{1, "a"}, {2, "b"}}),
              (std::unordered_map<int, std::string>{{1, "a"}, {2, "b"}}));
    EXPECT_EQ(round_trip(std::unordered_set<std::string>{"x", "y"}), (std::unordered_set<std::string>{"x", "y"}));
    EXPECT_EQ(round_trip(std::unordered_multiset<int>{1, 1, 2}), (std::unordered_multiset<int>{1, 1, 2}));
    EXPECT_EQ(round_trip(std::unordered_multimap<int, int>{{1, 1}, {1, 2}}).size(), 2U);
    EXPECT_EQ(round_trip(std::map<int, even>{{1, even(2, "n")}}), (std::map<int, even>{{1, even(2, "n")}}));
    // A key is never a chunk, its value may be.
    std::map<std::string, std::string> const long_key{{std::string(20000, 'k'), std::string(20000, 'v')}};
    EXPECT_EQ(packed(long_key).chunks().size(), 1U);
    EXPECT_EQ(round_trip(long_key), long_key);
}

TEST(archive_types, sequences_variants_pointers)
{
    EXPECT_EQ(round_trip(std::deque<int>{1, 2, 3}), (std::deque<int>{1, 2, 3}));
    EXPECT_EQ(round_trip(std::list<std::string>{"a", "b"}), (std::list<std::string>{"a", "b"}));
    EXPECT_EQ(round_trip(std::list<even>{even(2, "x")}), (std::list<even>{even(2, "x")}));
    using variant = std::variant<std::monostate, int, std::string, std::vector<double>>;
    for (variant const& v : {variant(), variant(5), variant("text"), variant(std::vector<double>(3000, 1.0))}) {
        EXPECT_EQ(round_trip(v), v);
    }
    using hard = std::variant<even, only_ever>;
    EXPECT_EQ(round_trip(hard(even(4, "four"))), hard(even(4, "four")));
    EXPECT_EQ(round_trip(hard(only_ever(4))), hard(only_ever(4)));

    node list{1, std::make_unique<node>(node{2, std::make_unique<node>(node{3, nullptr})})};
    packed a(list);
    auto r = a.reader();
    auto const copy = r.read<node>();
    r.finish();
    EXPECT_EQ(copy.next->next->value, 3);
    EXPECT_EQ(copy.next->next->next, nullptr);
}

TEST(archive_types, small_values)
{
    using namespace std::chrono_literals;
    EXPECT_EQ(round_trip(5ms), 5ms);
    auto const now = std::chrono::system_clock::now();
    EXPECT_EQ(round_trip(now), now);
    EXPECT_EQ(round_trip(2026y / 11 / 21), 2026y / 11 / 21);
    EXPECT_EQ(round_trip(std::complex<double>(1, 2)), std::complex<double>(1, 2));
    EXPECT_EQ(round_trip(std::vector<std::complex<float>>(9000, {1, 2})).size(), 9000U);
    EXPECT_EQ(round_trip(std::bitset<19>(0x5A5A5)), std::bitset<19>(0x5A5A5));
    EXPECT_EQ(round_trip(std::bitset<200>().set(199)), std::bitset<200>().set(199));
    EXPECT_EQ(round_trip(std::bitset<0>()), std::bitset<0>());
    EXPECT_EQ(round_trip(std::filesystem::path("/tmp/a b")), std::filesystem::path("/tmp/a b"));
    EXPECT_EQ(round_trip(std::filesystem::path(std::string(9000, 'p'))), std::filesystem::path(std::string(9000, 'p')));
    EXPECT_EQ(round_trip(level::high), level::high);
    EXPECT_EQ(round_trip(std::vector<level>{level::low, level::high}), (std::vector<level>{level::low, level::high}));
    EXPECT_EQ(round_trip(second), second);
    EXPECT_EQ(round_trip(std::vector<padded>{{'a', 1}, {'b', 2}}), (std::vector<padded>{{'a', 1}, {'b', 2}}));
    EXPECT_EQ(round_trip(std::vector<tight>(3000, tight{1, {2, 3}, {'a'}})), std::vector<tight>(3000, tight{1, {2, 3}, {'a'}}));
    EXPECT_EQ(round_trip(std::vector<opted_in>(3000, opted_in{'x', 1.0})).back().d, 1.0);
}

struct runs_of_bytes { // members that could move together, with padding, with others between, and in another order
    std::int8_t a = 0;
    std::int32_t b = 0, c = 0;
    std::int16_t d[3] = {};
    bool e = false;
    std::uint8_t f = 0;
    std::string g;
    double h = 0;
    alignas(32) float i = 0;
    std::array<char, 5> j = {};
    char k = 0;
    bool operator==(runs_of_bytes const&) const = default;
};
class turned_around {
public:
    turned_around() = default;
    turned_around(int a, int b, int c, int d) : a_(a), b_(b), c_(c), d_(d) {}
    auto members() { return std::tie(a_, c_, b_, d_); } // from the first to the last as long as in order
    auto members() const { return std::tie(a_, c_, b_, d_); }
    bool operator==(turned_around const&) const = default;

private:
    int a_ = 0, b_ = 0, c_ = 0, d_ = 0;
};

TEST(archive_types, members_that_are_their_bytes)
{
    runs_of_bytes const all{1, 2, 3, {4, 5, 6}, true, 7, "eight", 9, 10, {'1', '1'}, 12};
    EXPECT_EQ(round_trip(all), all);
    EXPECT_EQ(round_trip(std::vector<runs_of_bytes>{{}, all, {}}), (std::vector<runs_of_bytes>{{}, all, {}}));
    std::pair const turned(turned_around(1, 2, 3, 4), std::string("5"));
    EXPECT_EQ(round_trip(turned), turned);
    using numbers = std::tuple<char, std::string, std::int32_t, std::int16_t, char>;
    EXPECT_EQ(round_trip(numbers('1', "2", 3, 4, '5')), numbers('1', "2", 3, 4, '5'));
}

TEST(archive_types, classes_with_hooks)
{
    EXPECT_EQ(round_trip(account("me", 5)), account("me", 5));
    EXPECT_EQ(round_trip(even(2, "two")), even(2, "two"));
    EXPECT_EQ(round_trip(std::vector<even>{even(2, "two"), even(4, "four")}), (std::vector<even>{even(2, "two"), even(4, "four")}));
    EXPECT_EQ(round_trip(std::optional<even>(even(2, "two"))), even(2, "two"));
    EXPECT_EQ(round_trip(only_ever(7)), only_ever(7));
    holds_even const h{1, even(2, "two"), {even(4, "four")}};
    EXPECT_EQ(round_trip(h), h);
    EXPECT_EQ(round_trip(std::array<even, 2>{even(2, "a"), even(4, "b")}), (std::array<even, 2>{even(2, "a"), even(4, "b")}));
    EXPECT_EQ(round_trip(std::pair(even(2, "a"), 1)), std::pair(even(2, "a"), 1));
    EXPECT_EQ(round_trip(std::tuple(only_ever(2), 1)), std::tuple(only_ever(2), 1));
    EXPECT_EQ(round_trip(fixed_members{1, "b"}), (fixed_members{1, "b"}));
}

struct many { // 64 members, one of them an array
    int a[2];
    char b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7, f0, f1, f2,
        f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7, i0, i1, i2, i3, i4, i5;
    std::string last;
    bool operator==(many const&) const = default;
};

TEST(archive_types, an_aggregate_of_64_members)
{
    static_assert(detail::member_count<many> == 64);
    many m{};
    m.a[1] = 7;
    m.i5 = 'z';
    m.last = "last";
    EXPECT_EQ(round_trip(m), m);
}

TEST(archive_types, contiguous_ranges_read_as_each_other)
{
    for (std::size_t n : {0U, 3U, 4000U}) {
        std::vector<double> values(n);
        std::iota(values.begin(), values.end(), 0.0);
        auto const check = [&](auto&& written) {
            packed a(written);
            auto r1 = a.reader(), r2 = a.reader(), r3 = a.reader();
            EXPECT_EQ(r1.read<std::vector<double>>(), values);
            EXPECT_TRUE(std::ranges::equal(r2.read<std::span<double const>>(), values));
            EXPECT_TRUE(std::ranges::equal(r3.read<serialize_buffer<double>>(), values));
            r1.finish();
            r2.finish();
            r3.finish();
        };
        check(values);
        check(std::span<double const>(values));
        check(std::span<double>(values));
        check(borrow(values));
        check(borrow(std::span(values)));
        check(serialize_buffer<double>(values.data(), n, serialize_buffer<double>::copy));
    }
}

TEST(archive_types, serialize_buffer_owns_as_told)
{
    using buffer = serialize_buffer<int>;
    std::vector<int> source{1, 2, 3};
    buffer const copied(source.data(), 3, buffer::copy);
    buffer const referring(source.data(), 3, buffer::reference);
    int ended = 0;
    {
        buffer const taken(new int[3]{7, 8, 9}, 3, [&](int* p) {
            delete[] p;
            ++ended;
        });
        buffer const shared = taken; // NOLINT: a second owner
        EXPECT_EQ(taken.data(), shared.data());
        EXPECT_EQ(taken.use_count(), 2);
        EXPECT_EQ(ended, 0);
    }
    EXPECT_EQ(ended, 1);
    buffer const plain(new int[2]{1, 2}, 2, buffer::take);
    EXPECT_EQ(plain[1], 2);
    source[0] = 100;
    EXPECT_EQ(copied[0], 1);
    EXPECT_EQ(referring[0], 100);
    EXPECT_EQ(referring.data(), source.data());
    serialize_buffer<std::string> const strings(std::vector<std::string>{"a", "b"}.data(), 2);
    packed a(strings);
    auto r = a.reader();
    auto kept = r.read<serialize_buffer<std::string>>();
    EXPECT_EQ(kept[1], "b");
    auto* const place = kept.data();
    a.reader().read_into(kept);
    EXPECT_EQ(kept.data(), place); // filled again
    auto const sharer = kept;
    a.reader().read_into(kept);
    EXPECT_NE(kept.data(), place); // not under the eyes of a sharer
}

} // namespace
