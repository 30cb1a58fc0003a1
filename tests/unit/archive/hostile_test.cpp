// Archives that nobody wrote: each ends in an error that names what was wrong, and allocates no more than it may.

#include "unit/archive/round_trip.hpp"

#include <towline/archive_all.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace towline;
using towline::test::packed;
using ::testing::HasSubstr;

namespace {

using bytes = std::vector<std::byte>;

bytes of(std::initializer_list<int> list)
{
    bytes b;
    for (int i : list) {
        b.push_back(static_cast<std::byte>(i));
    }
    return b;
}

/// The text of the error that reading a T ends in.
template <class T> std::string error_of(bytes const& index, archive_limits limits = {}, chunk_source* chunks = nullptr)
{
    try {
        archive_reader r(index, chunks, limits);
        static_cast<void>(r.read<T>());
        r.finish();
        return "no error";
    } catch (archive_error const& e) {
        return e.what();
    } catch (version_error const& e) {
        return std::string("version: ") + e.what();
    }
}

enum class level : std::uint8_t { low = 3, high = 5 };
struct nothing {};
struct deep {
    std::vector<deep> in;
};
struct list {
    std::unique_ptr<list> next;
};

} // namespace

template <> struct towline::enum_range<level> {
    static constexpr level min = level::low, max = level::high;
};

namespace {

TEST(archive_hostile, header)
{
    EXPECT_THAT(error_of<int>({}), HasSubstr("empty"));
    EXPECT_THAT(error_of<int>(of({2, 0, 0, 0, 0})), HasSubstr("version: archive: format version 2, this library reads version 1"));
    EXPECT_THAT(error_of<int>(of({0x41, 0, 0, 0, 0})), HasSubstr("unknown flags"));
    EXPECT_THAT(error_of<int>(of({0x11, 0, 0})), HasSubstr("threshold takes 8 bytes, 2 are left"));
    EXPECT_THAT(error_of<int>(of({0x11, 1, 0, 0, 0, 0, 0, 0, 0})), HasSubstr("allowed are 64 and more"));
    EXPECT_THAT(error_of<int>(of({0x21, 0, 0})), HasSubstr("list of chunks takes 12 bytes"));
    EXPECT_THAT(error_of<int>(of({0x21, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})), HasSubstr("lists 1 chunks, but 0 arrived with it"));
}

TEST(archive_hostile, chunk_sums)
{
    std::vector<char> block(100);
    std::vector<chunk> one{{.data = block.data(), .size = 100}};
    memory_chunks source(one);
    EXPECT_THAT(error_of<std::string>(of({1, 0}), {}, &source), HasSubstr("lists 0 chunks, but 1 arrived with it"));
    // One chunk of 100 bytes, a string of 100: right; then the lies.
    auto const archive = [](int count, int sum) {
        return of({0x21, 0xFF, count, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, sum, 0, 0, 0, 0, 0, 0, 0});
    };
    EXPECT_EQ(error_of<std::string>(archive(100, 100), {}, &source), "no error");
    EXPECT_THAT(error_of<std::string>(archive(100, 99), {}, &source),
                HasSubstr("lists 99 bytes in chunks, but chunk 0 of 100 bytes exceeds them"));
    EXPECT_THAT(error_of<std::string>(archive(100, 101), {}, &source), HasSubstr("lists 101 bytes in chunks, but 100 arrived with it"));
    EXPECT_THAT(error_of<std::string>(archive(99, 100), {}, &source), HasSubstr("takes 99 bytes, but chunk 0 has 100"));
    EXPECT_THAT(error_of<std::vector<int>>(archive(100, 100), {}, &source), HasSubstr("takes 400 bytes, but chunk 0 has 100"));
    EXPECT_THAT(error_of<std::tuple<>>(of({0x21, 0, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0}), {}, &source),
                HasSubstr("0 of 1 chunks were used"));
    EXPECT_THAT(error_of<std::string>(of({1, 0xFF, 1, 0, 0, 0, 0, 0, 0, 0})), HasSubstr("in chunk 0, but there are 0 chunks"));
    // A count whose bytes overflow.
    EXPECT_NE(error_of<std::vector<double>>(of({0x21, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0}), {}, &source),
              "no error");
    std::vector<chunk> none{{.data = block.data(), .size = 0}};
    memory_chunks empty(none);
    EXPECT_NE(error_of<std::vector<double>>(of({0x21, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), {}, &empty),
              "no error");
    EXPECT_NE(error_of<std::span<double const>>(of({0x21, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), {}, &empty),
              "no error");
}

TEST(archive_hostile, truncated_and_too_long)
{
    EXPECT_THAT(error_of<int>(of({1, 0, 0})), HasSubstr("truncated in int at offset 1: 4 bytes needed, 2 left"));
    EXPECT_THAT(error_of<std::string>(of({1})), HasSubstr("truncated in std::"));
    EXPECT_THAT(error_of<int>(of({1, 0, 0, 0, 0, 9})), HasSubstr("1 bytes are left at offset 5"));
}

TEST(archive_hostile, lengths)
{
    EXPECT_THAT(error_of<std::string>(of({1, 5, 'a'})),
                HasSubstr("at offset 2 claims 5 elements, but the 1 bytes left can hold no more than 1"));
    EXPECT_THAT(error_of<std::vector<double>>(of({1, 0xFE, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0})),
                HasSubstr("claims 2305843009213693952 elements"));
    EXPECT_THAT(error_of<std::vector<double>>(of({1, 1})), HasSubstr("truncated"));
    EXPECT_THAT(error_of<std::vector<std::string>>(of({1, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0})),
                HasSubstr("claims 4294967295 elements, but the 1 bytes left"));
    EXPECT_THAT(error_of<std::vector<nothing>>(of({1, 0xFE, 0, 0, 0, 0, 0, 1, 0, 0, 0})),
                HasSubstr("claims 1099511627776 elements, but the 1 bytes"));
    EXPECT_THAT((error_of<std::map<int, int>>(of({1, 9, 0}))),
                HasSubstr("claims 9 elements, but the 1 bytes left can hold no more than 0"));
    EXPECT_THAT(error_of<std::vector<bool>>(of({1, 17, 0, 0})), HasSubstr("claims 17 elements"));
    EXPECT_THAT(error_of<std::vector<bool>>(of({1, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0})),
                HasSubstr("claims 9223372036854775807"));
    EXPECT_THAT(error_of<std::string>(of({1, 0xFC, 5, 0, 0, 0, 0, 0, 0})),
                HasSubstr("found 5 in 3 bytes, allowed is a count in its shortest form"));
    EXPECT_THAT(error_of<std::string>(of({1, 0xFE, 0, 0, 0, 0, 0, 0, 0, 0x80})), HasSubstr("claims 9223372036854775808"));
    EXPECT_THAT((error_of<std::map<int, int>>(of({1, 0xFF, 1, 0, 0, 0, 0, 0, 0, 0}))), HasSubstr("found a range in a chunk"));
}

TEST(archive_hostile, values)
{
    EXPECT_THAT(error_of<bool>(of({1, 2})), HasSubstr("bool at offset 1: found 2, allowed is 0 or 1"));
    EXPECT_THAT(error_of<std::optional<int>>(of({1, 2})), HasSubstr("found 2, allowed is 0 or 1"));
    EXPECT_THAT(error_of<level>(of({1, 6})), HasSubstr("found 6, allowed is 3 to 5"));
    EXPECT_THAT(error_of<level>(of({1, 2})), HasSubstr("found 2, allowed is 3 to 5"));
    EXPECT_THAT((error_of<std::variant<int, bool>>(of({1, 2}))), HasSubstr("found 2, allowed is an alternative below 2"));
    EXPECT_THAT(error_of<std::bitset<3>>(of({1, 8})), HasSubstr("bits beyond the last"));
    EXPECT_THAT(error_of<std::vector<bool>>(of({1, 3, 8})), HasSubstr("bits beyond the last"));
    EXPECT_THAT(error_of<nothing>(of({1, 1})), HasSubstr("found 1, allowed is 0"));
    EXPECT_THAT(error_of<std::set<int>>(of({1, 2, 7, 0, 0, 0, 7, 0, 0, 0})), HasSubstr("a key that was there before"));
    EXPECT_THAT((error_of<std::unordered_map<bool, bool>>(of({1, 2, 1, 0, 1, 0}))), HasSubstr("a key that was there before"));
}

TEST(archive_hostile, nesting)
{
    bytes nest = of({1});
    nest.insert(nest.end(), 1000000, std::byte{1});
    EXPECT_THAT(error_of<deep>(nest), HasSubstr("nested deeper than 64 levels at offset"));
    EXPECT_THAT(error_of<list>(nest), HasSubstr("nested deeper than 64 levels at offset"));
    EXPECT_THAT(error_of<list>(nest, {.max_depth = 5}), HasSubstr("nested deeper than 5 levels"));
    list head;
    list* tail = &head;
    for (int i = 0; i < 70; ++i) {
        tail->next = std::make_unique<list>();
        tail = tail->next.get();
    }
    EXPECT_THROW(packed{head}, archive_error);
}

TEST(archive_hostile, budget)
{
    packed a(std::vector<double>(500));
    bytes const index(a.index().begin(), a.index().end());
    EXPECT_EQ(error_of<std::vector<double>>(index, {.max_bytes = 4000}), "no error");
    EXPECT_THAT(error_of<std::vector<double>>(index, {.max_bytes = 3999}),
                HasSubstr("needs 500 times 8 bytes of memory, but of the budget of 3999"));
    // One byte of archive that stands for much memory.
    struct big {
        std::optional<std::array<double, 1000>> rarely;
    };
    bytes many = of({1, 200});
    many.insert(many.end(), 200, std::byte{0});
    EXPECT_THAT(error_of<std::vector<big>>(many, {.max_bytes = 1 << 20}), HasSubstr("of the budget of 1048576"));
    bytes queues = of({1, 200});
    queues.insert(queues.end(), 200, std::byte{0});
    EXPECT_THAT(error_of<std::vector<std::deque<int>>>(queues, {.max_bytes = 100000}), HasSubstr("of the budget of 100000"));
}

/// Blocks that nobody can look at in place and that arrive when told to.
class late_chunks final : public chunk_source {
public:
    explicit late_chunks(std::span<chunk const> chunks) : chunks_(chunks) {}
    std::size_t count() const override { return chunks_.size(); }
    std::uint64_t size(std::size_t i) const override { return chunks_[i].size; }
    void const* view(std::size_t) override { return nullptr; }
    void* take(std::size_t) override { return nullptr; }
    void fetch(std::size_t i, void* destination) override { wanted_.emplace_back(i, destination); }
    void arrive()
    {
        for (auto [i, to] : wanted_) {
            std::memcpy(to, chunks_[i].data, chunks_[i].size);
        }
    }

private:
    std::span<chunk const> chunks_;
    std::vector<std::pair<std::size_t, void*>> wanted_;
};

TEST(archive_late, blocks_find_their_place_after_decoding)
{
    struct parts {
        std::string text;
        std::vector<double> values;
        std::map<int, std::vector<int>> by_number;
        std::optional<std::vector<int>> maybe;
        std::variant<int, std::string> one_of;
        serialize_buffer<int> buffer;
        std::array<std::vector<int>, 2> two;
        std::list<std::string> list;
    };
    parts const p{std::string(200, 't'), std::vector<double>(100, 1.5), {{1, std::vector<int>(99, 1)}, {2, std::vector<int>(98, 2)}},
                  std::vector<int>(97, 3), std::string(300, 'v'), serialize_buffer<int>(std::vector<int>(96, 4).data(), 96),
                  {std::vector<int>(95, 5), std::vector<int>(94, 6)}, {std::string(150, 'l')}};
    std::vector<std::byte> room;
    archive_writer w(room, 64);
    w.write(p);
    late_chunks source(w.chunks());
    ASSERT_EQ(w.chunks().size(), 10U);
    archive_reader r(w.index(), &source);
    auto const q = r.read<parts>();
    r.finish();
    source.arrive();
    EXPECT_EQ(q.text, p.text);
    EXPECT_EQ(q.values, p.values);
    EXPECT_EQ(q.by_number, p.by_number);
    EXPECT_EQ(q.maybe, p.maybe);
    EXPECT_EQ(q.one_of, p.one_of);
    EXPECT_TRUE(std::ranges::equal(q.buffer, p.buffer));
    EXPECT_EQ(q.two, p.two);
    EXPECT_EQ(q.list, p.list);
}

TEST(archive_late, small_given_blocks_are_not_lost_in_string_objects)
{
    char const text[] = "tiny";
    std::vector<std::byte> room;
    archive_writer w(room);
    w.add_range(4, {.kind = chunk_kind::rma, .data = text, .size = 4});
    late_chunks source(w.chunks());
    archive_reader r(w.index(), &source);
    auto s = r.read<std::string>();
    auto const moved = std::move(s);
    source.arrive();
    EXPECT_EQ(moved, "tiny");
}

TEST(archive_late, views_out_of_reach_are_fetched)
{
    std::vector<double> const values(3000, 2.5);
    packed a(values);
    late_chunks source(a.chunks());
    archive_reader r(a.index(), &source);
    auto const view = r.read<std::span<double const>>();
    source.arrive();
    EXPECT_NE(view.data(), values.data());
    EXPECT_TRUE(std::ranges::equal(view, values));
}

TEST(archive, an_index_at_any_address_is_read)
{
    std::vector<double> const values(10, 2.5);
    packed a(values);
    bytes shifted(a.index().size() + 16);
    for (std::size_t by = 0; by < 16; ++by) {
        std::copy(a.index().begin(), a.index().end(), shifted.begin() + static_cast<std::ptrdiff_t>(by));
        archive_reader r(std::span<std::byte const>(shifted).subspan(by, a.index().size()));
        EXPECT_TRUE(std::ranges::equal(r.read<std::span<double const>>(), values));
    }
}

TEST(archive, reused_objects_keep_their_memory)
{
    std::vector<std::string> const texts(5, std::string(100, 'x'));
    packed a(texts);
    auto used = std::vector<std::string>(5, std::string(200, 'y'));
    auto const* const text = used[3].data();
    auto const* const elements = used.data();
    auto r = a.reader({.max_bytes = 0}); // nothing may be allocated
    r.read_into(used);
    EXPECT_EQ(used, texts);
    EXPECT_EQ(used[3].data(), text);
    EXPECT_EQ(used.data(), elements);
}

TEST(archive, writer_refuses_what_cannot_be)
{
    std::vector<std::byte> room;
    archive_writer w(room);
    w.write(1);
    static_cast<void>(w.index());
    EXPECT_THROW(w.write(2), usage_error);
    struct throwing {
        throwing() = default;
        explicit throwing(int) { throw 1; }
        std::string members_;
        auto members() { return std::tie(members_); }
        auto members() const { return std::tie(members_); }
    };
    std::variant<int, throwing> v = 1;
    try {
        v.emplace<1>(5);
    } catch (int) {
    }
    ASSERT_TRUE(v.valueless_by_exception());
    EXPECT_THROW(packed{v}, usage_error);
}

// A block that changes owner, as rma_vector does.
struct given {
    std::vector<int>* block = nullptr;
    bool gone = false;
};
struct parcel {
    int before;
    given block;
    std::optional<given> more;
    std::vector<given> many;
};

} // namespace

template <> struct towline::serializer<given> {
    static void save(archive_writer& w, given const& v)
    {
        w.add_range(v.block->size(), {.kind = chunk_kind::rma, .data = v.block->data(), .size = v.block->size() * sizeof(int)});
    }
    static void save(archive_writer& w, given&& v)
    {
        w.add_range(v.block->size(), {.kind = chunk_kind::rma_given, .data = v.block->data(), .size = v.block->size() * sizeof(int)});
        v.gone = true;
    }
    static constexpr bool is_range = true;
    static given load(archive_reader& r);
};

namespace {

TEST(archive, rvalues_are_given_through_every_layer)
{
    std::vector<int> block{1, 2, 3};
    std::vector<std::byte> room;
    parcel p{1, {&block}, given{&block}, {{&block}, {&block}}};
    archive_writer lending(room);
    lending.write(p);
    for (auto const& c : lending.chunks()) {
        EXPECT_EQ(c.kind, chunk_kind::rma);
    }
    EXPECT_FALSE(p.block.gone);
    archive_writer giving(room);
    giving.set_viewed(true);
    giving.write(std::move(p));
    ASSERT_EQ(giving.chunks().size(), 4U);
    for (auto const& c : giving.chunks()) {
        EXPECT_EQ(c.kind, chunk_kind::rma_given);
        EXPECT_TRUE(c.viewed);
    }
    EXPECT_TRUE(p.block.gone && p.more->gone && p.many[1].gone);
    memory_chunks source(giving.chunks()); // and anything reads it
    archive_reader r(giving.index(), &source);
    struct vectors {
        int before;
        std::vector<int> block;
        std::optional<std::vector<int>> more;
        std::vector<std::vector<int>> many;
    };
    auto const v = r.read<vectors>();
    r.finish();
    EXPECT_EQ(v.before, 1);
    EXPECT_EQ(v.block, block);
    EXPECT_EQ(v.more, block);
    EXPECT_EQ(v.many[1], block);
    std::map<int, given> const in_value{{1, {&block}}};
    EXPECT_NO_THROW(packed{in_value});
}

} // namespace
