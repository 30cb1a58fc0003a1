// The serialized form of layouts, and what they mean: round trips, equal and unequal meanings, forms that are refused by name, and random
// ones.

#include "layout/copy_plan.hpp"
#include "layout/identity.hpp"
#include "layout/serial.hpp"
#include "random_types.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace towline;
using namespace random_types;
using words = std::vector<std::uint64_t>;

constexpr segment everything{std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()};

std::uint64_t word(i64 v)
{
    return static_cast<std::uint64_t>(v);
}

/// Where the bytes of the stream lie.
std::vector<i64> map_of(both const& t, i64 count)
{
    std::vector<i64> at;
    i64 const extent = t.naive.extent();
    for (i64 i = 0; i < count; ++i)
        for (auto const& e : t.naive.map)
            for (i64 k = 0; k < static_cast<i64>(info(e.unit).size); ++k)
                at.push_back(i * extent + e.displacement + k);
    return at;
}

segment span_of(std::vector<i64> const& map)
{
    if (map.empty())
        return {};
    auto const [low, high] = std::minmax_element(map.begin(), map.end());
    return {*low, *high + 1};
}

TEST(layouts, come_out_of_their_form_as_they_went_in)
{
    with_seeds(1500, [](maker& random) {
        both const t = random.make(static_cast<int>(random.pick(0, 4)));
        i64 const count = random.pick(0, 5);
        placed const tree = elements_of(t.real, count);
        segment const within = span_of(map_of(t, count));
        placed const back = deserialize(serialize(tree), tree.size(), within);
        ASSERT_EQ(describe(back), describe(tree));
        ASSERT_TRUE(!tree.tree || alike(*tree.tree, *back.tree));
        ASSERT_EQ(meaning_of(back), meaning_of(tree));
        if (tree.tree) {
            EXPECT_THROW(static_cast<void>(deserialize(serialize(tree), tree.size(), {within.low + 1, within.high})), bad_layout);
            EXPECT_THROW(static_cast<void>(deserialize(serialize(tree), tree.size(), {within.low, within.high - 1})), bad_layout);
            EXPECT_THROW(static_cast<void>(deserialize(serialize(tree), tree.size() + 1, within)), bad_layout);
        }
    });
}

/// A type made of the map alone: the same bytes in another form, in most cases.
datatype written_out(std::vector<i64> const& map)
{
    std::vector<i64> const ones(map.size(), 1);
    return hindexed(ones, map, datatype::of(kind::byte));
}

TEST(meanings, are_equal_where_the_same_bytes_are_at_the_same_places)
{
    with_seeds(1500, [](maker& random) {
        both const t = random.make(static_cast<int>(random.pick(0, 4)));
        i64 const count = random.pick(0, 4);
        auto map = map_of(t, count);
        meaning const real = meaning_of(elements_of(t.real, count));
        ASSERT_EQ(meaning_of(elements_of(written_out(map), 1)), real) << t.real.describe().substr(0, 500);
        if (map.empty())
            return;
        // Another place, another order, a byte less.
        auto const i = static_cast<std::size_t>(random.pick(0, static_cast<i64>(map.size()) - 1));
        auto other = map;
        other[i] += random.pick(0, 1) == 0 ? 1 : -random.pick(1, 1000);
        ASSERT_FALSE(meaning_of(elements_of(written_out(other), 1)) == real);
        other = map;
        std::swap(other[i], other.back());
        ASSERT_EQ(meaning_of(elements_of(written_out(other), 1)) == real, other == map);
        map.pop_back();
        ASSERT_FALSE(meaning_of(elements_of(written_out(map), 1)) == real);
    });
}

TEST(meanings, of_endless_loops_are_found_at_once)
{
    datatype const byte = datatype::of(kind::byte);
    auto const mean = [](datatype const& t, i64 n) { return meaning_of(elements_of(t, n)); };
    i64 const many = i64{1} << 40;
    EXPECT_EQ(mean(vector(many, 1, 3, byte), 1), mean(resized(vector(many / 2, 1, 3, byte), 0, many / 2 * 3), 2));
    EXPECT_FALSE(mean(vector(many, 1, 3, byte), 1) == mean(vector(many + 1, 1, 3, byte), 1));
    EXPECT_EQ(mean(byte, many), mean(contiguous(many, byte), 1));
    EXPECT_FALSE(mean(hvector(many, 1, -3, byte), 1) == mean(hvector(many, 1, 3, byte), 1));
    EXPECT_EQ(mean(hvector(many, 1, 0, byte), 1), mean(resized(byte, 0, 0), many));
}

std::string refusal(words const& form, i64 size, segment within = everything)
{
    try {
        static_cast<void>(deserialize(form, size, within));
    } catch (bad_layout const& e) {
        return e.what();
    }
    return "taken";
}

constexpr std::uint64_t one_node = std::uint64_t{1} << 32 | 1, two_nodes = std::uint64_t{2} << 32 | 1;
constexpr std::uint64_t block = 0, loop = 1, list = 2, pieces = 3, sequence = 4;

TEST(layouts, that_make_no_sense_are_refused_by_name)
{
    auto const says = [](words const& form, i64 size, char const* what, segment within = everything) {
        std::string const text = refusal(form, size, within);
        EXPECT_NE(text.find(what), std::string::npos) << text;
    };
    EXPECT_EQ(refusal({one_node, 0, block, 8}, 8), "taken");
    EXPECT_EQ(refusal({1, 0}, 0), "taken");
    says({}, 0, "ends before its head");
    says({1}, 0, "ends before its displacement");
    says({2, 0}, 0, "of version 2; this is version 1");
    says({one_node, 0}, 0, "1 nodes, and 0 words are left");
    says({std::uint64_t{0xffffffff} << 32 | 1, 0, block, 8}, 8, "4294967295 nodes, and 2 words are left");
    says({one_node, 0, 9, 8}, 8, "of kind 9, which there is not");
    says({one_node, 0, block, 0}, 0, "the size of a block is 0");
    says({one_node, 0, block, word(-1)}, 1, "the size of a block is -1");
    says({one_node, 0, block, 8}, 9, "8 bytes of data, where the message has 9");
    says({one_node, 0, block, 8, 0}, 8, "1 words are left behind the last node");
    // Cycles: a child comes before its parent, so none can be.
    says({one_node, 0, loop, 0, 2, 8}, 8, "node 0: its child is node 0, which does not come before it");
    says({two_nodes, 0, loop, 1, 2, 8, block, 8}, 8, "node 0: its child is node 1, which does not come before it");
    says({two_nodes, 0, block, 8, loop, 0, 0, 8}, 0, "the count of a loop is 0");
    says({two_nodes, 0, block, 8, list, 0, 3, 1, 2}, 24, "a list of 3 entries, and 2 words are left");
    says({one_node, 0, pieces, std::uint64_t{1} << 62, 2, 3}, 24, "entries, and 2 words are left");
    says({one_node, 0, pieces, 1, 0, 0}, 0, "the size of a piece is 0");
    says({two_nodes, 0, block, 8, sequence, 2, 0, 0, 0}, 0, "a list of 2 entries, and 3 words are left");
    // What does not fit.
    std::uint64_t const large = word(std::numeric_limits<i64>::max());
    says({two_nodes, 0, block, 8, loop, 0, large, 1}, 8, "the size does not fit 64 bits");
    says({two_nodes, 0, block, 1, loop, 0, 3, large}, 3, "a place does not fit 64 bits");
    says({one_node, large, block, 1}, 1, "a place does not fit 64 bits");
    says({one_node, 0, pieces, 2, 0, large, 0, large}, 8, "does not fit 64 bits");
    says({one_node, 0, pieces, 1, large, 8}, 8, "a place does not fit 64 bits");
    // Outside of the segment.
    EXPECT_EQ(refusal({one_node, 100, block, 8}, 8, {100, 108}), "taken");
    says({one_node, 100, block, 8}, 8, "bytes 100 to 108 of a segment that has 100 to 107", {100, 107});
    says({two_nodes, 0, block, 1, loop, 0, 4, word(-8)}, 4, "bytes -24 to 1 of a segment that has 0 to 100", {0, 100});
    // Too deep: by lists, which are never brought into one.
    words deep{0, 0, block, 1};
    for (std::uint64_t i = 0; i < 600; ++i)
        deep.insert(deep.end(), {list, i, 1, 0});
    deep[0] = std::uint64_t{601} << 32 | 1;
    says(deep, 1, "nested more than 512 levels deep");
}

/// Any form is refused, or is a layout that keeps to its segment: copying from a row of just these bytes shows it to the address sanitizer.
TEST(layouts, of_any_words_are_refused_or_keep_to_their_segment)
{
    int taken = 0;
    with_seeds(6000, [&taken](maker& random) {
        both const t = random.make(static_cast<int>(random.pick(0, 4)));
        i64 const count = random.pick(1, 4);
        auto const map = map_of(t, count);
        words form = serialize(elements_of(t.real, count));
        i64 size = static_cast<i64>(map.size());
        segment const within = span_of(map);
        for (i64 changes = random.pick(1, 3); changes > 0 && !form.empty(); --changes) {
            auto const i = static_cast<std::size_t>(random.pick(0, static_cast<i64>(form.size()) - 1));
            switch (random.pick(0, 5)) {
            case 0: form[i] = word(random.pick(-3, 9)); break;
            case 1: form[i] ^= std::uint64_t{1} << random.pick(0, 63); break;
            case 2: form[i] += word(random.pick(-8, 8)); break;
            case 3: form.erase(form.begin() + static_cast<std::ptrdiff_t>(i)); break;
            case 4: form.insert(form.begin() + static_cast<std::ptrdiff_t>(i), word(random.pick(-2, 5))); break;
            default: form[i] = form[static_cast<std::size_t>(random.pick(0, static_cast<i64>(form.size()) - 1))]; break;
            }
        }
        if (random.pick(0, 1) == 0)
            size += random.pick(-8, 8);
        try {
            placed const tree = deserialize(form, size, within);
            ++taken;
            ASSERT_EQ(tree.size(), size);
            static_cast<void>(meaning_of(tree));
            std::vector<std::byte> const memory(static_cast<std::size_t>(within.high - within.low));
            std::vector<std::byte> row(static_cast<std::size_t>(size));
            auto const base = reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(within.low);
            copy_plan(make_block(kind::byte, size), tree).copy(row.data(), reinterpret_cast<void const*>(base));
        } catch (bad_layout const& e) {
            ASSERT_NE(std::string(e.what()).find("a layout of"), std::string::npos);
        }
    });
    if (std::getenv("TOWLINE_TEST_SEED") == nullptr) {
        EXPECT_GT(taken, 100);
    }
}

} // namespace
