// Heads and tails: where the bytes stand, and lengths at every edge of the ways in which they are copied.

#include "unit/archive/round_trip.hpp"

#include <towline/archive_all.hpp>
#include <towline/rma_vector.hpp>
#include <towline/serialize_buffer.hpp>

#include <gtest/gtest.h>

using namespace towline;
using towline::test::packed;

namespace {

using bytes = std::vector<std::byte>;

template <class T> bytes index_of(T const& value, std::size_t threshold = default_chunk_threshold)
{
    packed const a(value, threshold);
    return {a.index().begin(), a.index().end()}; // in memory of its own size: the sanitizer sees its end
}

struct entry {
    std::string text;
    std::int16_t number = 0;
    std::vector<std::string> more;
    bool operator==(entry const&) const = default;
};
struct entry_view {
    std::string_view text;
    std::int16_t number;
    std::vector<std::string_view> more;
};
/// A range behind a serializer that forgets a half of its promise.
struct lazy {
    bool saves = true;
};

} // namespace

template <> struct towline::serializer<lazy> {
    static constexpr bool is_range = true;
    static void save(archive_writer& w, lazy const& v)
    {
        if (v.saves) {
            w.write(std::string_view("abc"));
        }
    }
    static lazy load(archive_reader&) { return {}; }
};

namespace {

TEST(archive_layout, heads_then_tails)
{
    auto const list = [](std::initializer_list<int> values) {
        bytes b;
        for (int v : values) {
            b.push_back(static_cast<std::byte>(v));
        }
        return b;
    };
    entry const one{"ab", 5, {"x", "yz"}};
    EXPECT_EQ(index_of(one), list({1, 2, 5, 0, 2, 'a', 'b', 1, 2, 'x', 'y', 'z'}));
    EXPECT_EQ(index_of(std::vector<entry>{one, {"c", -1, {}}}),
              list({1, 2, 2, 5, 0, 2, 1, 0xFF, 0xFF, 0, 'a', 'b', 1, 2, 'x', 'y', 'z', 'c'}));
    EXPECT_EQ(index_of(std::pair(std::optional<char>('o'), std::array<std::string, 2>{"p", "q"})), list({1, 1, 1, 1, 'o', 'p', 'q'}));
    EXPECT_EQ(index_of(std::tuple(std::vector<std::int32_t>{7}, 'c')), list({1, 1, 'c', 0, 7, 0, 0, 0}));
}

TEST(archive_layout, lengths_at_every_edge)
{
    for (unsigned const n : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 15U, 16U, 17U, 31U, 32U, 33U, 63U, 64U, 65U, 95U, 96U, 97U, 127U, 128U, 129U,
                             251U, 252U, 253U, 8191U, 65535U, 65536U}) {
        std::string text(n, ' ');
        for (std::size_t i = 0; i < n; ++i) {
            text[i] = static_cast<char>('!' + i % 90);
        }
        for (std::string const& last : {std::string(), text}) { // the short ones also where the archive ends
            std::vector<entry> const values{{text, 1, {text, "", text}}, {"", 2, {}}, {text, 3, {last}}};
            bytes const index = index_of(values, std::size_t{1} << 20);
            archive_reader fresh(index);
            EXPECT_EQ(fresh.read<std::vector<entry>>(), values) << n;
            for (auto used : {std::vector<entry>(), values, {{std::string(300, 'u'), 0, {"u", text + "u"}}, {}, {}, {}}}) {
                archive_reader r(index);
                r.read_into(used);
                r.finish();
                EXPECT_EQ(used, values) << n;
                EXPECT_EQ(std::char_traits<char>::length(used[0].text.c_str()), n); // the zero at the end is there
            }
            archive_reader looking(index);
            auto const views = looking.read<std::vector<entry_view>>();
            looking.finish();
            EXPECT_EQ(views[0].more[2], text);
            EXPECT_EQ(views[2].more[0], last);
        }
    }
}

TEST(archive_layout, a_prefix_is_refused_wherever_it_ends)
{
    bytes const whole = index_of(std::vector<entry>(3, {std::string(40, 't'), 1, {"a", std::string(300, 'b')}}));
    for (std::size_t n = 0; n < whole.size(); ++n) {
        bytes const prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
        EXPECT_THROW(
            {
                archive_reader r(prefix);
                static_cast<void>(r.read<std::vector<entry>>());
            },
            archive_error);
        EXPECT_THROW(
            {
                archive_reader r(prefix);
                static_cast<void>(r.read<std::vector<entry_view>>());
            },
            archive_error);
    }
}

template <class Range> struct holder {
    char before;
    Range range;
    std::int32_t after;
};

TEST(archive_layout, every_range_is_read_as_every_other_inside_a_structure_too)
{
    auto const all = [](auto const& from, std::vector<double> const& values, std::size_t threshold) {
        std::vector<std::byte> room;
        archive_writer w(room, threshold);
        holder<std::remove_cvref_t<decltype(from)>> const written{'b', from, 7}; // its blocks become chunks: it stays
        w.write(written);
        memory_chunks source(w.chunks());
        auto const as = [&]<class To>(std::type_identity<To>) {
            archive_reader r(w.index(), &source);
            auto const h = r.template read<holder<To>>();
            r.finish();
            EXPECT_EQ(h.before, 'b');
            EXPECT_EQ(h.after, 7);
            EXPECT_TRUE(std::equal(h.range.begin(), h.range.end(), values.begin(), values.end())) << threshold;
        };
        as(std::type_identity<std::vector<double>>());
        as(std::type_identity<std::span<double const>>());
        as(std::type_identity<serialize_buffer<double>>());
        as(std::type_identity<rma_vector<double>>());
    };
    for (std::size_t n : {0U, 3U, 300U}) {
        std::vector<double> const values(n, 1.5);
        for (std::size_t threshold : {std::size_t{64}, std::size_t{1} << 20}) {
            all(values, values, threshold);
            all(std::span<double const>(values), values, threshold);
            all(borrow(values), values, threshold);
            all(serialize_buffer<double>(values.data(), n), values, threshold);
            all(rma_vector<double>(values.begin(), values.end()), values, threshold);
        }
    }
}

TEST(archive_layout, a_range_serializer_must_keep_its_promise)
{
    std::vector<std::byte> room;
    archive_writer w(room);
    EXPECT_THROW(w.write(lazy{false}), usage_error);
    bytes const index = index_of(lazy{});
    archive_reader r(index);
    EXPECT_THROW(static_cast<void>(r.read<lazy>()), usage_error);
}

} // namespace
