// Layouts as text: what is understood, against the constructors themselves, and what is refused where.

#include "layout_text.hpp"

#include "layout/copy_plan.hpp"
#include "layout/serial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace {

using namespace towline;
using namespace towline::layout;
using tools::parse_layout;
using i64 = std::int64_t;

datatype const real = datatype::of(kind::double_c), whole = datatype::of(kind::int_c);

struct example {
    char const* text;
    datatype type;
};

std::vector<example> examples()
{
    std::array<i64, 3> const lengths{2, 1, 3}, places{0, 5, 9}, sizes{4, 5, 6}, parts{2, 3, 1}, starts{1, 0, 5};
    std::array<i64, 2> const ones{1, 3}, at{0, 8};
    std::array<datatype, 2> const types{whole, real};
    std::array<distributed_dimension, 2> const grid{distributed_dimension{12, distribution::block, std::nullopt, 2},
                                                    {9, distribution::cyclic, 2, 3}};
    std::array<distributed_dimension, 2> const rows{distributed_dimension{5, distribution::none, std::nullopt, 1},
                                                    {4, distribution::block, std::nullopt, 2}};
    return {
        {"double", real},
        {" MPI_DOUBLE\t", real},
        {"Int32_T", datatype::of(kind::int32)},
        {"MPI_LONG_LONG", datatype::of(kind::long_long_c)},
        {"MPI_2double_precision", datatype::of(kind::two_double_precision)},
        {"contiguous(3, int)", contiguous(3, whole)},
        {"vector(512,1,4,double)", vector(512, 1, 4, real)},
        {"MPI_Type_vector(8, 2, -3, MPI_INT)", vector(8, 2, -3, whole)},
        {"hvector(4,1,3*16,double)", hvector(4, 1, 48, real)},
        {"MPI_Type_create_hvector(4,1,48,double)", hvector(4, 1, 48, real)},
        {"indexed([2,1,3],[0,5,9],int)", indexed(lengths, places, whole)},
        {"hindexed([2, 1, 3], [0, 5, 9], int)", hindexed(lengths, places, whole)},
        {"indexed_block(2,[0,5,9],int)", indexed_block(2, places, whole)},
        {"hindexed_block(1,[0,5,9],int)", hindexed_block(1, places, whole)},
        {"struct([1,3],[0,8],[int,double])", structure(ones, at, types)},
        {"subarray([4,5,6],[2,3,1],[1,0,5],double)", subarray(sizes, parts, starts, array_order::c, real)},
        {"subarray([4,5,6],[2,3,1],[1,0,5],C,double)", subarray(sizes, parts, starts, array_order::c, real)},
        {"subarray([4,5,6],[2,3,1],[1,0,5],fortran,double)", subarray(sizes, parts, starts, array_order::fortran, real)},
        {"darray(6,4,[12,9],[block,cyclic],[dflt,2],[2,3],double)", darray(6, 4, grid, array_order::c, real)},
        {"MPI_Type_create_darray(6, 4, [12, 9], [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC], [MPI_DISTRIBUTE_DFLT_DARG, 2], [2, 3], "
         "MPI_ORDER_FORTRAN, MPI_DOUBLE)",
         darray(6, 4, grid, array_order::fortran, real)},
        {"darray(2,1,[5,4],[none,block],[dflt,dflt],[1,2],int)", darray(2, 1, rows, array_order::c, whole)},
        {"resized(vector(512,1,4,double),0,8)", resized(vector(512, 1, 4, real), 0, 8)},
        {"resized(int,-4,-2*6)", resized(whole, -4, -12)},
        {"vector(4,1,2,struct([1,3],[0,8],[contiguous(2,int),double]))",
         vector(4, 1, 2, structure(ones, at, std::array{contiguous(2, whole), real}))},
        {"indexed([],[],int)", indexed({}, {}, whole)},
    };
}

/// The column that the parser names, and what it says.
std::pair<std::size_t, std::string> refused(std::string const& text)
{
    try {
        (void)parse_layout(text);
    } catch (tools::layout_text_error const& e) {
        return {e.column(), e.what()};
    }
    return {0, "accepted"};
}

} // namespace

TEST(layout_text, is_what_the_constructors_make)
{
    for (auto const& [text, type] : examples()) {
        auto const got = parse_layout(text);
        EXPECT_EQ(got.count, 1) << text;
        EXPECT_EQ(got.type.describe(), type.describe()) << text;
        EXPECT_EQ(got.type.lb(), type.lb()) << text;
        EXPECT_EQ(got.type.extent(), type.extent()) << text;
        EXPECT_EQ(meaning_of(elements_of(got.type, 3)), meaning_of(elements_of(type, 3))) << text;
    }
}

TEST(layout_text, may_begin_with_a_count)
{
    EXPECT_EQ(parse_layout("4*vector(512,1,4,double)").count, 4);
    EXPECT_EQ(parse_layout(" 4 * 3*2 * int ").count, 24);
    EXPECT_EQ(parse_layout("0*int").count, 0);
}

TEST(layout_text, every_predefined_name_is_known)
{
    for (std::size_t i = 0; i < kinds; ++i) {
        auto const k = static_cast<kind>(i);
        EXPECT_EQ(parse_layout(info(k).name).type.predefined(), k) << info(k).name;
    }
}

TEST(layout_text, errors_say_where)
{
    struct wrong {
        char const* text;
        std::size_t column;
        char const* words;
    };
    for (auto const& [text, column, words] : {
             wrong{"", 1, "a type is expected, not the end"},
             wrong{"vector(512,x,4,double)", 12, "the blocklength is expected, not 'x'"},
             wrong{"vector(512,1,4,duoble)", 16, "there is no type 'duoble'; did you mean double?"},
             wrong{"vectr(512,1,4,double)", 1, "there is no type 'vectr'; did you mean vector?"},
             wrong{"vector(512,1,4,double", 22, "')' is expected at the end of vector, not the end"},
             wrong{"vector(512,1,4)", 15, "',' is expected behind the stride, not ')'"},
             wrong{"vector 512", 8, "'(' is expected behind vector, not '5'"},
             wrong{"double(3)", 1, "'double' is a predefined type, without parentheses"},
             wrong{"int int", 5, "nothing is expected behind the type"},
             wrong{"4 int", 3, "'*' is expected between the count and the type, not 'i'"},
             wrong{"-1*int", 4, "the count is -1"},
             wrong{"vector(-5,1,4,int)", 1, "count is -5; it must be 0 or more"},
             wrong{"vector(2,1,4,contiguous(-1,int))", 14, "count is -1"},
             wrong{"contiguous(99999999999999999999,int)", 12, "this number does not fit 64 bits"},
             wrong{"contiguous(9999999999*9999999999,int)", 12, "this number does not fit 64 bits"},
             wrong{"contiguous(3*9223372036854775807/2,int)", 12, "this number does not fit 64 bits"},
             wrong{"contiguous(9223372036854775807,double)", 1, "does not fit 64 bits"},
             wrong{"9223372036854775807*contiguous(2,double)", 21, "does not fit 64 bits"},
             wrong{"indexed([1,2],[0],int)", 1, "the lists are 2 and 1 long"},
             wrong{"indexed(3,[0],int)", 9, "the list of blocklengths is expected, in brackets: [1, 2, 3]; not '3'"},
             wrong{"indexed([1,],[0],int)", 12, "a number is expected, not ']'"},
             wrong{"indexed([1 2],[0],int)", 12, "']' is expected at the end of the list of blocklengths, or ',', not '2'"},
             wrong{"subarray([4,4],[5,1],[0,0],int)", 1, "subsizes[0] is 5"},
             wrong{"darray(2,0,[8],[blok],[dflt],[2],int)", 17, "a distribution is expected: none, block or cyclic"},
             wrong{"darray(2,0,[8],[block],[x],[2],int)", 25, "an argument of a distribution is expected: a number, or dflt"},
             wrong{"darray(2,0,[8],[block,block],[dflt],[2],int)", 23, "the list of distributions is longer than the list of sizes"},
             wrong{"darray(2,0,[8,8],[block],[dflt],[2],int)", 18, "the list of distributions is shorter than the list of sizes"},
             wrong{"darray(2,2,[8],[block],[dflt],[2],int)", 1, "rank"},
             wrong{"resized(int,0)", 14, "',' is expected behind the lower bound, not ')'"},
             wrong{"\x01", 1, "an unprintable character"},
         }) {
        auto const [at, what] = refused(text);
        EXPECT_EQ(at, column) << text << ": " << what;
        EXPECT_NE(what.find(words), std::string::npos) << text << ": " << what;
        EXPECT_TRUE(what.starts_with("at column ")) << what;
    }
}

TEST(layout_text, errors_show_the_place)
{
    EXPECT_EQ(refused("vector(512,x,4,double)").second,
              "at column 12: the blocklength is expected, not 'x'\n  vector(512,x,4,double)\n             ^");
    std::string const far(1000, ' ');
    auto const [at, what] = refused(far + "x" + far);
    EXPECT_EQ(at, 1001u);
    auto const lines = what.substr(what.find('\n') + 3);
    EXPECT_EQ(lines.find('x'), lines.substr(lines.find('\n') + 3).find('^'));
}

TEST(layout_text, deep_nesting_is_refused)
{
    std::string text;
    for (int i = 0; i < 100000; ++i)
        text += "contiguous(1,";
    EXPECT_NE(refused(text).second.find("types are nested more than 200 deep"), std::string::npos);
}

TEST(layout_text, anything_ends_in_a_type_or_an_error)
{
    std::random_device any;
    unsigned const seed = std::getenv("TOWLINE_TEST_SEED") != nullptr ? static_cast<unsigned>(std::atoi(std::getenv("TOWLINE_TEST_SEED")))
                                                                      : any();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto const all = examples();
    int accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = all[random() % all.size()].text;
        for (auto n = random() % 3; n-- > 0;) {
            std::size_t const at = random() % text.size();
            switch (random() % 4) {
            case 0: text.erase(at, 1 + random() % 3); break;
            case 1: text.insert(at, 1, "()[],*-0918 xd"[random() % 14]); break;
            case 2: text[at] = static_cast<char>(random()); break;
            default: text.insert(at, all[random() % all.size()].text); break;
            }
            if (text.empty())
                text = "i";
        }
        auto const [column, what] = refused(text);
        accepted += column == 0;
        ASSERT_LE(column, text.size() + 1) << text;
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_LT(accepted, 19000);
}
