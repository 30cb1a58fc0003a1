// What constructors make of their arguments: the canonical form, the rules of bounds, huge counts, and what they refuse.

#include "layout/description.hpp"
#include "layout/stream.hpp"

#include <towline/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace towline;
using namespace towline::layout;
using i64 = std::int64_t;
using list = std::vector<i64>;

constexpr i64 huge = std::numeric_limits<i64>::max();

datatype const byte_type = datatype::of(kind::byte), char_type = datatype::of(kind::character_c), short_type = datatype::of(kind::short_c),
               int_type = datatype::of(kind::int_c), double_type = datatype::of(kind::double_c);

std::string refusal(auto call)
{
    try {
        static_cast<void>(call());
    } catch (usage_error const& e) {
        return e.what();
    } catch (limit_error const& e) {
        return std::string("limit: ") + e.what();
    }
    return "nothing was refused";
}

TEST(kinds, have_the_sizes_of_their_c_types)
{
    struct expected {
        kind k;
        int size, extent, alignment, external;
    };
    for (expected const& e : {expected{kind::long_c, sizeof(long), sizeof(long), alignof(long), 4},
                              {kind::wide_char_c, sizeof(wchar_t), sizeof(wchar_t), alignof(wchar_t), 2},
                              {kind::long_double_c, 16, 16, alignof(long double), 16},
                              {kind::long_double_complex_c, 32, 32, 16, 32},
                              {kind::complex4, 4, 4, 2, 4},
                              {kind::logical16, 16, 16, 16, 16},
                              {kind::double_int, 12, 16, 8, 12},
                              {kind::long_int, 12, 16, 8, 8},
                              {kind::short_int, 6, 8, 4, 6},
                              {kind::float_int, 8, 8, 4, 8},
                              {kind::long_double_int, 20, 32, 16, 20},
                              {kind::two_double_precision, 16, 16, 8, 16}}) {
        kind_info const& i = info(e.k);
        EXPECT_EQ(i.size, e.size) << i.name;
        EXPECT_EQ(i.extent, e.extent) << i.name;
        EXPECT_EQ(i.alignment, e.alignment) << i.name;
        EXPECT_EQ(i.external_size, e.external) << i.name;
        datatype const t = datatype::of(e.k);
        EXPECT_EQ(t.size(), e.size) << i.name;
        EXPECT_EQ(t.extent(), e.extent) << i.name;
        EXPECT_EQ(t.elements(), i.form == number::pair ? 2 : 1) << i.name;
        EXPECT_EQ(t.predefined(), e.k) << i.name;
        EXPECT_EQ(t.uniform(), e.k) << i.name;
    }
}

TEST(canonical_form, is_as_small_as_it_can_be)
{
    EXPECT_EQ(int_type.describe(), "at 0: block 4");
    EXPECT_EQ(contiguous(10, contiguous(10, int_type)).describe(), "at 0: block 400");
    EXPECT_EQ(vector(10, 2, 2, int_type).describe(), "at 0: block 80");
    EXPECT_EQ(vector(10, 2, 8, int_type).describe(), "at 0: loop 10 x 32 of block 8");
    EXPECT_EQ(vector(1, 2, 8, int_type).describe(), "at 0: block 8");
    // a vector of vectors that goes on with the same step is one vector
    EXPECT_EQ(hvector(5, 1, 320, vector(10, 2, 8, int_type)).describe(), "at 0: loop 50 x 32 of block 8");
    EXPECT_EQ(contiguous(5, resized(vector(10, 2, 8, int_type), 0, 320)).describe(), "at 0: loop 50 x 32 of block 8");
    EXPECT_EQ(hvector(5, 1, 400, vector(10, 2, 8, int_type)).describe(), "at 0: loop 5 x 400 of loop 10 x 32 of block 8");
    // lists with equal steps are loops, neighbours are one block
    EXPECT_EQ(indexed_block(1, list{3, 5, 7, 9}, int_type).describe(), "at 12: loop 4 x 8 of block 4");
    EXPECT_EQ(indexed_block(1, list{3, 4, 5, 6}, int_type).describe(), "at 12: block 16");
    EXPECT_EQ(indexed_block(1, list{9, 7, 5}, int_type).describe(), "at 36: loop 3 x -8 of block 4");
    EXPECT_EQ(indexed(list{2, 0, 2}, list{0, 99, 2}, int_type).describe(), "at 0: block 16");
    EXPECT_EQ(indexed_block(1, list{0, 2, 5}, int_type).describe(), "at 0: list 3 {0, 8, 20} of block 4");
    EXPECT_EQ(indexed(list{1, 2, 1}, list{0, 2, 5}, int_type).describe(), "at 0: pieces 3 {0: 4, 8: 8, 20: 4}");
    // a list that is nearly regular is loops and the rest
    list many(100), lengths(100, 3);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = 5 * static_cast<i64>(i);
    lengths.back() = 1;
    EXPECT_EQ(indexed(lengths, many, int_type).describe(), "at 0: sequence 2 {0: loop 99 x 20 of block 12, 1980: block 4}");
    // rows given one by one: a loop of loops
    list rows;
    for (i64 r = 0; r < 10; ++r)
        for (i64 c = 0; c < 10; ++c)
            rows.push_back(100 * r + 2 * c);
    EXPECT_EQ(indexed_block(1, rows, int_type).describe(), "at 0: loop 10 x 400 of loop 10 x 8 of block 4");
    // structs: kinds do not matter for moving bytes, and nested ones are one
    datatype const particle = structure(list{3, 1, 1}, list{0, 24, 28}, std::vector{double_type, int_type, int_type});
    EXPECT_EQ(particle.describe(), "at 0: block 32");
    EXPECT_TRUE(particle.is_contiguous());
    EXPECT_EQ(particle.uniform(), std::nullopt);
    datatype const inner = structure(list{1, 1}, list{0, 8}, std::vector{char_type, double_type});
    EXPECT_EQ(inner.describe(), "at 0: pieces 2 {0: 1, 8: 8}");
    EXPECT_EQ(structure(list{1, 1}, list{0, 16}, std::vector{inner, int_type}).describe(), "at 0: pieces 2 {0: 1, 8: 12}");
    // a face of a cube
    EXPECT_EQ(subarray(list{64, 64, 64}, list{64, 64, 1}, list{0, 0, 5}, array_order::c, double_type).describe(),
              "at 40: loop 4096 x 512 of block 8");
    EXPECT_EQ(subarray(list{64, 64, 64}, list{64, 1, 64}, list{0, 5, 0}, array_order::c, double_type).describe(),
              "at 2560: loop 64 x 32768 of block 512");
    EXPECT_EQ(subarray(list{64, 64, 64}, list{1, 64, 64}, list{63, 0, 0}, array_order::c, double_type).describe(),
              "at 2064384: block 32768");
    EXPECT_EQ(contiguous(0, int_type).describe(), "nothing");
}

TEST(bounds, follow_the_markers)
{
    // rounding: without markers the extent is a multiple of the strictest alignment
    datatype const padded = structure(list{1, 1}, list{0, 8}, std::vector{double_type, char_type});
    EXPECT_EQ(padded.extent(), 16);
    EXPECT_EQ(padded.true_extent(), 9);
    // also where it lies at a displacement that is not aligned: its end is not past the outer type's
    EXPECT_EQ(structure(list{1}, list{9}, std::vector{padded}).ub(), 25);
    EXPECT_EQ(structure(list{1, 1}, list{0, 9}, std::vector{char_type, padded}).extent(), 32);
    EXPECT_EQ(structure(list{1, 1}, list{0, 9}, std::vector{char_type, padded}).true_extent(), 18);
    // MPI-5.0, "Lower-Bound and Upper-Bound Markers": with a marker anywhere only markers count
    datatype const type1 = resized(int_type, -3, 9);
    EXPECT_EQ(type1.lb(), -3);
    EXPECT_EQ(type1.extent(), 9);
    datatype const type2 = contiguous(2, type1);
    EXPECT_EQ(type2.lb(), -3);
    EXPECT_EQ(type2.extent(), 18);
    EXPECT_EQ(type2.describe(), "at 0: loop 2 x 9 of block 4");
    datatype const mixed = structure(list{1, 1}, list{0, -100}, std::vector{type1, double_type});
    EXPECT_EQ(mixed.lb(), -3);
    EXPECT_EQ(mixed.ub(), 6);
    EXPECT_EQ(mixed.true_lb(), -100);
    EXPECT_EQ(mixed.true_ub(), 4);
    // negative extents
    datatype const backwards = resized(int_type, 6, -9);
    EXPECT_EQ(backwards.extent(), -9);
    datatype const three = contiguous(3, backwards);
    EXPECT_EQ(three.lb(), -12);
    EXPECT_EQ(three.ub(), -3);
    EXPECT_EQ(three.true_lb(), -18);
    EXPECT_EQ(three.true_ub(), 4);
    // bounds of nothing
    datatype const nothing = contiguous(0, type1);
    EXPECT_EQ(nothing.extent(), 0);
    EXPECT_EQ(nothing.lb(), 0);
    EXPECT_EQ(nothing.size(), 0);
    EXPECT_EQ(resized(nothing, -4, 10).lb(), -4);
    EXPECT_EQ(contiguous(3, resized(nothing, -4, 10)).extent(), 30);
    EXPECT_EQ(nothing.elements_in(0), 0);
    EXPECT_EQ(nothing.elements_in(1), std::nullopt);
    EXPECT_TRUE(nothing.is_contiguous());
    // an array has its whole bounds, also where a process has none of it
    std::vector const few{distributed_dimension{3, distribution::block, {}, 4}};
    datatype const last = darray(4, 3, few, array_order::c, int_type);
    EXPECT_EQ(last.size(), 0);
    EXPECT_EQ(last.extent(), 12);
}

TEST(pairs, are_two_elements_and_one_kind)
{
    datatype const t = contiguous(3, datatype::of(kind::double_int));
    EXPECT_EQ(t.uniform(), kind::double_int);
    EXPECT_EQ(t.predefined(), std::nullopt);
    EXPECT_EQ(t.elements(), 6);
    EXPECT_EQ(t.elements_in(12), 2);
    EXPECT_EQ(t.elements_in(20), 3);
    EXPECT_EQ(t.elements_in(13), std::nullopt);
    EXPECT_EQ(structure(list{1, 2}, list{0, 16}, std::vector{double_type, double_type}).uniform(), kind::double_c);
    EXPECT_EQ(structure(list{1, 1, 1}, list{0, 8, 16}, std::vector{double_type, int_type, double_type}).uniform(), std::nullopt);
    EXPECT_EQ(resized(double_type, 0, 24).predefined(), std::nullopt);
}

TEST(huge_counts, take_no_time)
{
    datatype const t = vector(i64{1} << 40, 1, 2, double_type);
    EXPECT_EQ(t.size(), i64{8} << 40);
    EXPECT_EQ(t.extent(), (i64{16} << 40) - 8);
    datatype const nested = hvector(1 << 10, 1 << 9, i64{1} << 51, resized(t, 0, i64{1} << 45));
    EXPECT_EQ(nested.size(), i64{1} << 62);
    EXPECT_EQ(nested.elements_in(nested.size() - 8), (i64{1} << 59) - 1);
    EXPECT_EQ(nested.bytes_of((i64{1} << 59) - 1), nested.size() - 8);

    std::vector<distributed_dimension> const grid{{i64{1} << 30, distribution::cyclic, 3, 7}, {i64{1} << 28, distribution::block, {}, 5}};
    datatype const part = darray(35, 17, grid, array_order::fortran, byte_type);
    EXPECT_EQ(part.extent(), i64{1} << 58);
    EXPECT_GT(part.size(), (i64{1} << 58) / 36);

    // The middle of a huge stream is found by arithmetic.
    stream const s(t, 3);
    EXPECT_EQ(s.at((i64{8} << 40) + 8 * 12345 + 3).displacement, t.extent() + 16 * 12345 + 3);
    EXPECT_EQ(s.at((i64{8} << 40) + 8 * 12345 + 3).bytes, 5);
    std::vector<char> few(100);
    std::iota(few.begin(), few.end(), '\0');
    char got[16];
    i64 const first = i64{8} << 39;
    s.pack(few.data() - 2 * first, first, first + 16, got); // NOLINT: displacements are absolute
    EXPECT_EQ(std::memcmp(got, few.data(), 8), 0);
    EXPECT_EQ(std::memcmp(got + 8, few.data() + 16, 8), 0);
    datatype const nothing = contiguous(0, t);
    EXPECT_EQ(stream(nothing, huge).size(), 0);
}

TEST(streams, take_absolute_addresses)
{
    int here[4] = {1, 2, 3, 4};
    datatype const t = hindexed(list{1, 1}, list{static_cast<i64>(reinterpret_cast<std::intptr_t>(&here[3])),
                                                 static_cast<i64>(reinterpret_cast<std::intptr_t>(&here[1]))},
                                int_type);
    int got[2] = {};
    stream(t, 1).pack(nullptr, 0, 8, got);
    EXPECT_EQ(got[0], 4);
    EXPECT_EQ(got[1], 2);
    int const back[2] = {7, 8};
    stream(t, 1).unpack(nullptr, 0, 8, back);
    EXPECT_EQ(here[3], 7);
    EXPECT_EQ(here[1], 8);
}

TEST(refusals, name_the_argument)
{
    EXPECT_EQ(refusal([] { return contiguous(-1, int_type); }), "contiguous: count is -1; it must be 0 or more");
    EXPECT_EQ(refusal([] { return vector(2, -3, 1, int_type); }), "vector: blocklength is -3; it must be 0 or more");
    EXPECT_EQ(refusal([] { return vector(-2, 3, 1, int_type); }), "vector: count is -2; it must be 0 or more");
    EXPECT_EQ(refusal([] { return hindexed(list{1, -2}, list{0, 0}, int_type); }), "hindexed: blocklengths[1] is -2; it must be 0 or more");
    EXPECT_EQ(refusal([] { return indexed_block(-1, list{}, int_type); }), "indexed_block: blocklength is -1; it must be 0 or more");
    EXPECT_EQ(refusal([] { return indexed(list{1}, list{0, 0}, int_type); }),
              "indexed: the lists are 1 and 2 long; give one entry per block in each");
    EXPECT_EQ(refusal([] { return structure(list{1}, list{0}, std::vector<datatype>{}); }),
              "struct: the lists are 1 and 0 long; give one entry per block in each");
    auto sub = [](list const& sizes, list const& subsizes, list const& starts) {
        return refusal([&] { return subarray(sizes, subsizes, starts, array_order::c, int_type); });
    };
    EXPECT_NE(sub(list{4}, list{5}, list{0}).find("subsizes[0] is 5"), std::string::npos);
    EXPECT_NE(sub(list{4}, list{0}, list{0}).find("subsizes[0] is 0"), std::string::npos);
    EXPECT_NE(sub(list{4}, list{2}, list{3}).find("starts[0] is 3"), std::string::npos);
    EXPECT_NE(sub(list{4, 1}, list{2}, list{3}).find("2, 1 and 1 dimensions"), std::string::npos);
    using dims = std::vector<distributed_dimension>;
    auto array = [](i64 processes, i64 rank, dims const& d) {
        return refusal([&] { return darray(processes, rank, d, array_order::c, int_type); });
    };
    EXPECT_NE(array(4, 0, dims{{10, distribution::block, {}, 2}}).find("the grid of psizes has 2 processes, size says 4"),
              std::string::npos);
    EXPECT_NE(array(2, 2, dims{{10, distribution::block, {}, 2}}).find("rank is 2; it must be from 0 to 1"), std::string::npos);
    EXPECT_NE(array(2, 0, dims{{10, distribution::block, 4, 2}}).find("need blocks of 5 or more"), std::string::npos);
    EXPECT_NE(array(2, 0, dims{{10, distribution::none, {}, 2}}).find("has 1 process"), std::string::npos);
    EXPECT_NE(array(2, 0, dims{{10, distribution::cyclic, 0, 2}}).find("dargs[0] is 0"), std::string::npos);
    EXPECT_NE(array(1, 0, dims{}).find("no dimension"), std::string::npos);
    EXPECT_NE(refusal([] { return stream(int_type, -1); }).find("a message of -1 elements"), std::string::npos);
}

TEST(refusals, nothing_wraps)
{
    EXPECT_EQ(refusal([] { return contiguous(huge / 2, int_type); }).substr(0, 17), "limit: contiguous");
    EXPECT_EQ(refusal([] { return vector(2, 1, huge / 2, int_type); }).substr(0, 13), "limit: vector");
    EXPECT_EQ(refusal([] { return hvector(3, 1, huge / 2 + 1, int_type); }).substr(0, 14), "limit: hvector");
    EXPECT_EQ(refusal([] { return hindexed_block(1, list{huge - 2}, int_type); }).substr(0, 21), "limit: hindexed_block");
    EXPECT_EQ(refusal([] { return hindexed_block(1, list{-huge, huge - 8}, int_type); }).substr(0, 21), "limit: hindexed_block");
    EXPECT_EQ(refusal([] { return indexed(list{1}, list{huge / 2}, int_type); }).substr(0, 14), "limit: indexed");
    EXPECT_EQ(refusal([] { return hindexed(list{huge / 8, huge / 8, huge / 8}, list{0, 0, 0}, int_type); }).substr(0, 15),
              "limit: hindexed");
    EXPECT_EQ(refusal([] { return structure(list{huge / 4 + 1}, list{0}, std::vector{int_type}); }).substr(0, 13), "limit: struct");
    EXPECT_EQ(refusal([] { return resized(int_type, huge, 1); }).substr(0, 14), "limit: resized");
    EXPECT_EQ(refusal([] { return subarray(list{huge / 2, 3}, list{1, 1}, list{0, 0}, array_order::c, int_type); }).substr(0, 15),
              "limit: subarray");
    EXPECT_EQ(refusal([] { return stream(int_type, huge / 2); }).substr(0, 6), "limit:");
    // copies of nothing, however many, are nothing
    EXPECT_EQ(contiguous(huge, contiguous(0, int_type)).size(), 0);
    EXPECT_EQ(vector(0, huge, huge, int_type).extent(), 0);
}

TEST(refusals, a_type_that_is_nested_too_deep_is_refused_before_the_stack_ends)
{
    datatype t = structure(list{1, 1, 1}, list{0, 8, 12}, std::vector{int_type, char_type, short_type});
    int depth = 0;
    auto nest = [&] {
        for (; depth < 2000; ++depth)
            t = structure(list{1, 2}, list{0, t.true_extent() + 1}, std::vector{int_type, resized(t, 0, 1)});
        return t;
    };
    // each level holds the one below twice, so the size ends first, or the depth
    EXPECT_EQ(refusal(nest).substr(0, 6), "limit:");

    // lists that are too long to be put into one another
    list irregular(300);
    for (std::size_t i = 0; i < irregular.size(); ++i)
        irregular[i] = static_cast<i64>(i * i);
    datatype const longer = indexed_block(1, irregular, int_type);
    datatype chain = longer;
    int levels = 1;
    auto link = [&] {
        for (; levels < 2 * deepest; ++levels)
            chain = structure(list{1, 1}, list{0, 8}, std::vector{longer, chain});
        return chain;
    };
    EXPECT_NE(refusal(link).find("512 levels"), std::string::npos);
    EXPECT_EQ(levels, deepest);
    std::vector<std::byte> memory(static_cast<std::size_t>(chain.true_extent())), packed(static_cast<std::size_t>(chain.size()));
    stream(chain, 1).pack(memory.data(), 0, chain.size(), packed.data());
    stream(chain, 1).pack(memory.data(), 1, chain.size() - 1, packed.data());
}

TEST(canonical_form, long_chains_of_structs_stay_shallow)
{
    datatype chain = int_type;
    for (int i = 0; i < 5000; ++i)
        chain = structure(list{1, 1}, list{0, 8}, std::vector{i % 2 == 0 ? char_type : short_type, chain});
    EXPECT_LT(chain.describes().bytes.tree->depth, 5000 / 200);
    EXPECT_EQ(chain.size(), 4 + 2500 * 3);
}

// Lists of rows are made without a node for each block; a struct of the same blocks is made the general way.
TEST(canonical_form, lists_of_rows_are_as_structs_make_them)
{
    unsigned const seed = std::getenv("TOWLINE_TEST_SEED") != nullptr ? static_cast<unsigned>(std::atoi(std::getenv("TOWLINE_TEST_SEED")))
                                                                       : std::random_device{}();
    SCOPED_TRACE("repeat with TOWLINE_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    auto const pick = [&](i64 from, i64 to) { return std::uniform_int_distribution<i64>(from, to)(random); };
    std::vector<datatype> const rows{byte_type, char_type, double_type, contiguous(3, int_type), datatype::of(kind::long_double_c),
                                     contiguous(2, datatype::of(kind::float_int)), hindexed_block(1, list{16}, int_type)};
    int lists = 0;
    for (int turn = 0; turn < 2000; ++turn) {
        datatype const& row = rows[static_cast<std::size_t>(pick(0, static_cast<i64>(rows.size()) - 1))];
        auto const n = static_cast<std::size_t>(pick(0, turn % 10 == 0 ? 300 : 24));
        i64 const most = pick(1, 4), spread = pick(1, 4);
        bool const same = pick(0, 1) == 0, regular = pick(0, 3) == 0;
        list lengths(n), elements(n), bytes(n);
        i64 at = pick(-40, 40);
        for (std::size_t i = 0; i < n; ++i) {
            lengths[i] = same ? most : pick(0, most);
            elements[i] = at;
            bytes[i] = at * row.extent();
            at += regular ? most + 1 : lengths[i] + pick(pick(0, 20) == 0 ? -9 : 0, spread);
        }
        datatype const expected = structure(lengths, bytes, std::vector<datatype>(n, row));
        for (datatype const& made : {indexed(lengths, elements, row), hindexed(lengths, bytes, row),
                                     same ? indexed_block(most, elements, row) : hindexed(lengths, bytes, row)}) {
            ASSERT_EQ(made.describe(), expected.describe());
            ASSERT_EQ(describe(made.describes().typed), describe(expected.describes().typed));
            ASSERT_EQ(made.lb(), expected.lb());
            ASSERT_EQ(made.ub(), expected.ub());
            ASSERT_EQ(made.true_lb(), expected.true_lb());
            ASSERT_EQ(made.true_ub(), expected.true_ub());
            ASSERT_EQ(made.size(), expected.size());
            ASSERT_EQ(made.external_size(), expected.external_size());
            ASSERT_EQ(made.elements(), expected.elements());
            ASSERT_EQ(made.uniform(), expected.uniform());
            if (made.size() != 0) {
                for (int i = 0; i < 8; ++i) {
                    i64 const some = pick(0, made.size());
                    ASSERT_EQ(made.elements_in(some), expected.elements_in(some));
                }
            }
            ASSERT_EQ(vector(3, 2, 5, made).describe(), vector(3, 2, 5, expected).describe());
        }
        form const what = expected.size() == 0 ? form::block : expected.describes().bytes.tree->what;
        lists += what == form::list || what == form::pieces ? 1 : 0;
    }
    EXPECT_GT(lists, 500);
    EXPECT_NE(refusal([&] { return indexed(list{1, 1, -1}, list{0, 2, 9}, int_type); }).find("blocklengths"), std::string::npos);
    EXPECT_NE(refusal([&] { return indexed(list{1, 1, 1}, list{0, 2, huge / 2}, int_type); }), "nothing was refused");
}

} // namespace
