// Datatypes: predefined ones by the values of the ABI, constructors by the examples and rules of the standard, life and death of handles.

#include "mpi/datatype.hpp"
#include "running.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace {

struct datatypes : running {
    std::vector<MPI_Datatype> made;
    void TearDown() override
    {
        for (MPI_Datatype& t : made)
            EXPECT_EQ(MPI_Type_free(&t), MPI_SUCCESS);
    }
    /// A constructor's result, freed at the end.
    template <class Function, class... Args>
    MPI_Datatype make(Function* constructor, Args... args)
    {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        EXPECT_EQ(constructor(args..., &type), MPI_SUCCESS);
        made.push_back(type);
        return type;
    }
};

struct shape {
    MPI_Count size, lb, extent, true_lb, true_extent;
    friend bool operator==(shape const&, shape const&) = default;
    friend std::ostream& operator<<(std::ostream& out, shape const& s)
    {
        return out << s.size << " bytes, " << s.lb << "+" << s.extent << ", true " << s.true_lb << "+" << s.true_extent;
    }
};

shape shape_of(MPI_Datatype type)
{
    shape s{-1, -1, -1, -1, -1};
    EXPECT_EQ(MPI_Type_size_c(type, &s.size), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_get_extent_c(type, &s.lb, &s.extent), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_get_true_extent_c(type, &s.true_lb, &s.true_extent), MPI_SUCCESS);
    return s;
}

std::string name_of(MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    EXPECT_EQ(MPI_Type_get_name(type, name, &length), MPI_SUCCESS);
    EXPECT_EQ(length, static_cast<int>(std::string(name).size()));
    return name;
}

/// What MPI_Type_get_contents_c tells, derived types freed; those that are predefined are in `types`.
struct told {
    int combiner = -1;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Count> counts;
    std::vector<MPI_Datatype> types;
};

told contents_of(MPI_Datatype type)
{
    told t;
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1;
    EXPECT_EQ(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &t.combiner), MPI_SUCCESS);
    t.integers.resize(static_cast<std::size_t>(ni));
    t.addresses.resize(static_cast<std::size_t>(na));
    t.counts.resize(static_cast<std::size_t>(nc));
    t.types.resize(static_cast<std::size_t>(nd));
    EXPECT_EQ(MPI_Type_get_contents_c(type, ni, na, nc, nd, t.integers.data(), t.addresses.data(), t.counts.data(), t.types.data()),
              MPI_SUCCESS);
    return t;
}

struct known {
    MPI_Datatype type;
    char const* name;
    MPI_Count size, extent;
};

known const predefined[] = {
    {MPI_CHAR, "MPI_CHAR", 1, 1}, {MPI_INT, "MPI_INT", 4, 4}, {MPI_LONG_LONG, "MPI_LONG_LONG_INT", 8, 8}, {MPI_WCHAR, "MPI_WCHAR", 4, 4},
    {MPI_C_BOOL, "MPI_C_BOOL", 1, 1}, {MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", 16, 16}, {MPI_AINT, "MPI_AINT", 8, 8},
    {MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", 16, 16}, {MPI_PACKED, "MPI_PACKED", 1, 1}, {MPI_BYTE, "MPI_BYTE", 1, 1},
    {MPI_INTEGER, "MPI_INTEGER", 4, 4}, {MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", 16, 16}, {MPI_LOGICAL2, "MPI_LOGICAL2", 2, 2},
    {MPI_FLOAT_INT, "MPI_FLOAT_INT", 8, 8}, {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 12, 16}, {MPI_LONG_INT, "MPI_LONG_INT", 12, 16},
    {MPI_2INT, "MPI_2INT", 8, 8}, {MPI_SHORT_INT, "MPI_SHORT_INT", 6, 8}, {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", 20, 32},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", 16, 16}};

// Callbacks of attributes.
int deleted;
int on_delete(MPI_Datatype, int, void*, void* state)
{
    ++deleted;
    return state == nullptr ? MPI_SUCCESS : MPI_ERR_OTHER;
}
int on_copy(MPI_Datatype, int, void* state, void* value, void* out, int* flag)
{
    *static_cast<void**>(out) = value;
    *flag = 1;
    return state == nullptr ? MPI_SUCCESS : MPI_ERR_OTHER;
}

} // namespace

TEST_F(datatypes, predefined_ones_have_names_sizes_and_no_contents)
{
    for (known const& k : predefined) {
        EXPECT_EQ(name_of(k.type), k.name);
        shape const s = shape_of(k.type);
        EXPECT_EQ(s.size, k.size) << k.name;
        EXPECT_EQ(s.extent, k.extent) << k.name;
        EXPECT_EQ(s.lb, 0) << k.name;
        int ni = -1, na = -1, nd = -1, combiner = -1;
        EXPECT_EQ(MPI_Type_get_envelope(k.type, &ni, &na, &nd, &combiner), MPI_SUCCESS);
        EXPECT_EQ(combiner, MPI_COMBINER_NAMED);
        EXPECT_EQ(ni + na + nd, 0);
        EXPECT_EQ(class_of(MPI_Type_get_contents(k.type, 0, 0, 0, nullptr, nullptr, nullptr)), MPI_ERR_TYPE);
        MPI_Datatype t = k.type;
        EXPECT_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
        EXPECT_EQ(class_of(MPI_Type_free(&t)), MPI_ERR_TYPE);
        EXPECT_EQ(t, k.type);
    }
}

TEST_F(datatypes, the_codes_of_types_of_fixed_size_say_their_size)
{
    int types = 0;
    for (std::uint64_t code = 0x201; code <= 0x2ff; ++code) {
        auto const type = handle<MPI_Datatype>(code);
        int size = -1;
        if (int const e = MPI_Type_size(type, &size); e != MPI_SUCCESS) {
            EXPECT_EQ(class_of(e), MPI_ERR_TYPE);
            continue;
        }
        ++types;
        if (code >= 0x240) {
            EXPECT_EQ(size, 1 << (code >> 3 & 7)) << name_of(type);
        }
        EXPECT_EQ(MPI_Type_fromint(MPI_Type_toint(type)), type);
    }
    EXPECT_EQ(types, 70);
}

TEST_F(datatypes, constructors_make_what_the_standard_says)
{
    // Examples of 5.1: a type of {(double, 0), (char, 8)}, extent 16.
    int const ones[] = {1, 1};
    MPI_Aint const places[] = {0, 8};
    MPI_Datatype const parts[] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype const old = make(MPI_Type_create_struct, 2, ones, places, parts);
    EXPECT_EQ(shape_of(old), (shape{9, 0, 16, 0, 9}));
    EXPECT_EQ(shape_of(make(MPI_Type_contiguous, 3, old)), (shape{27, 0, 48, 0, 41}));
    EXPECT_EQ(shape_of(make(MPI_Type_vector, 2, 3, 4, old)), (shape{54, 0, 112, 0, 105}));
    EXPECT_EQ(shape_of(make(MPI_Type_vector, 3, 1, -2, old)), (shape{27, -64, 80, -64, 73}));
    EXPECT_EQ(shape_of(make(MPI_Type_create_hvector, 2, 1, MPI_Aint{104}, old)), (shape{18, 0, 120, 0, 113}));
    int const lengths[] = {3, 1}, displacements[] = {4, 0};
    EXPECT_EQ(shape_of(make(MPI_Type_indexed, 2, lengths, displacements, old)), (shape{36, 0, 112, 0, 105}));
    MPI_Aint const far[] = {64, 0};
    EXPECT_EQ(shape_of(make(MPI_Type_create_hindexed, 2, lengths, far, old)), (shape{36, 0, 112, 0, 105}));
    EXPECT_EQ(shape_of(make(MPI_Type_create_indexed_block, 2, 2, displacements, old)), (shape{36, 0, 96, 0, 89}));
    EXPECT_EQ(shape_of(make(MPI_Type_create_hindexed_block, 2, 2, far, old)), (shape{36, 0, 96, 0, 89}));
    EXPECT_EQ(shape_of(make(MPI_Type_create_resized, MPI_INT, MPI_Aint{-3}, MPI_Aint{9})), (shape{4, -3, 9, 0, 4}));
    int const sizes[] = {10, 20}, subsizes[] = {2, 3}, starts[] = {1, 4};
    EXPECT_EQ(shape_of(make(MPI_Type_create_subarray, 2, sizes, subsizes, starts, int{MPI_ORDER_C}, MPI_INT)),
              (shape{24, 0, 800, 96, 92}));
    EXPECT_EQ(shape_of(make(MPI_Type_create_subarray, 2, sizes, subsizes, starts, int{MPI_ORDER_FORTRAN}, MPI_INT)),
              (shape{24, 0, 800, 164, 88}));
    int const how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    EXPECT_EQ(shape_of(make(MPI_Type_create_darray, 6, 4, 2, sizes, how, blocks, grid, int{MPI_ORDER_C}, MPI_INT)),
              (shape{5 * 6 * 4, 0, 800, 408, 376}));
    EXPECT_EQ(shape_of(make(MPI_Type_contiguous, 0, old)), (shape{0, 0, 0, 0, 0}));
    EXPECT_EQ(shape_of(make(MPI_Type_dup, old)), shape_of(old));
}

TEST_F(datatypes, sizes_that_no_int_holds_are_undefined)
{
    MPI_Datatype const big = make(MPI_Type_contiguous_c, MPI_Count{1} << 40, MPI_INT);
    int size = -1;
    EXPECT_EQ(MPI_Type_size(big, &size), MPI_SUCCESS);
    EXPECT_EQ(size, MPI_UNDEFINED);
    MPI_Count wide = -1, lb = -1;
    EXPECT_EQ(MPI_Type_size_x(big, &wide), MPI_SUCCESS);
    EXPECT_EQ(wide, MPI_Count{1} << 42);
    EXPECT_EQ(MPI_Type_get_extent_x(big, &lb, &wide), MPI_SUCCESS);
    EXPECT_EQ(wide, MPI_Count{1} << 42);
    EXPECT_EQ(MPI_Type_get_true_extent_x(big, &lb, &wide), MPI_SUCCESS);
    EXPECT_EQ(wide, MPI_Count{1} << 42);
    MPI_Datatype none = MPI_DATATYPE_NULL;
    EXPECT_EQ(class_of(MPI_Type_contiguous_c(MPI_Count{1} << 40, big, &none)), MPI_ERR_ARG);
    EXPECT_EQ(none, MPI_DATATYPE_NULL);
}

TEST_F(datatypes, contents_are_the_arguments_in_the_order_of_the_standard)
{
    using ints = std::vector<int>;
    using aints = std::vector<MPI_Aint>;
    using wide = std::vector<MPI_Count>;
    int const lengths[] = {3, 1}, displacements[] = {4, 0};
    MPI_Aint const places[] = {64, 0};
    MPI_Count const wide_lengths[] = {3, 1}, wide_places[] = {64, 0};
    MPI_Datatype const types[] = {MPI_INT, MPI_CHAR};
    int const sizes[] = {10, 20}, subsizes[] = {2, 3}, starts[] = {1, 4}, how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
              blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Count const wide_sizes[] = {10, 20}, wide_subsizes[] = {2, 3}, wide_starts[] = {1, 4};
    auto const check = [](MPI_Datatype type, int combiner, ints const& i, aints const& a, wide const& c,
                          std::vector<MPI_Datatype> const& t = {MPI_INT}) {
        told const is = contents_of(type);
        EXPECT_EQ(is.combiner, combiner);
        EXPECT_EQ(is.integers, i) << combiner;
        EXPECT_EQ(is.addresses, a) << combiner;
        EXPECT_EQ(is.counts, c) << combiner;
        EXPECT_EQ(is.types, t) << combiner;
        int ni = -1, na = -1, nd = -1, also = -1;
        EXPECT_EQ(class_of(MPI_Type_get_envelope(type, &ni, &na, &nd, &also)), c.empty() ? MPI_SUCCESS : MPI_ERR_TYPE);
        if (c.empty()) {
            EXPECT_EQ(ni, static_cast<int>(i.size()));
            EXPECT_EQ(na, static_cast<int>(a.size()));
            EXPECT_EQ(nd, static_cast<int>(t.size()));
            EXPECT_EQ(also, combiner);
        } else {
            EXPECT_EQ(class_of(MPI_Type_get_contents(type, 9, 9, 9, nullptr, nullptr, nullptr)), MPI_ERR_TYPE);
        }
    };
    int constexpr c = MPI_ORDER_C, b = MPI_DISTRIBUTE_BLOCK, n = MPI_DISTRIBUTE_NONE, d = MPI_DISTRIBUTE_DFLT_DARG;
    check(make(MPI_Type_dup, MPI_INT), MPI_COMBINER_DUP, {}, {}, {});
    check(make(MPI_Type_contiguous, 5, MPI_INT), MPI_COMBINER_CONTIGUOUS, {5}, {}, {});
    check(make(MPI_Type_contiguous_c, MPI_Count{5}, MPI_INT), MPI_COMBINER_CONTIGUOUS, {}, {}, {5});
    check(make(MPI_Type_vector, 2, 3, 4, MPI_INT), MPI_COMBINER_VECTOR, {2, 3, 4}, {}, {});
    check(make(MPI_Type_vector_c, MPI_Count{2}, MPI_Count{3}, MPI_Count{4}, MPI_INT), MPI_COMBINER_VECTOR, {}, {}, {2, 3, 4});
    check(make(MPI_Type_create_hvector, 2, 3, MPI_Aint{40}, MPI_INT), MPI_COMBINER_HVECTOR, {2, 3}, {40}, {});
    check(make(MPI_Type_create_hvector_c, MPI_Count{2}, MPI_Count{3}, MPI_Count{40}, MPI_INT), MPI_COMBINER_HVECTOR, {}, {}, {2, 3, 40});
    check(make(MPI_Type_indexed, 2, lengths, displacements, MPI_INT), MPI_COMBINER_INDEXED, {2, 3, 1, 4, 0}, {}, {});
    check(make(MPI_Type_indexed_c, MPI_Count{2}, wide_lengths, wide_places, MPI_INT), MPI_COMBINER_INDEXED, {}, {}, {2, 3, 1, 64, 0});
    check(make(MPI_Type_create_hindexed, 2, lengths, places, MPI_INT), MPI_COMBINER_HINDEXED, {2, 3, 1}, {64, 0}, {});
    check(make(MPI_Type_create_hindexed_c, MPI_Count{2}, wide_lengths, wide_places, MPI_INT), MPI_COMBINER_HINDEXED, {}, {},
          {2, 3, 1, 64, 0});
    check(make(MPI_Type_create_indexed_block, 2, 2, displacements, MPI_INT), MPI_COMBINER_INDEXED_BLOCK, {2, 2, 4, 0}, {}, {});
    check(make(MPI_Type_create_indexed_block_c, MPI_Count{2}, MPI_Count{2}, wide_places, MPI_INT), MPI_COMBINER_INDEXED_BLOCK, {}, {},
          {2, 2, 64, 0});
    check(make(MPI_Type_create_hindexed_block, 2, 2, places, MPI_INT), MPI_COMBINER_HINDEXED_BLOCK, {2, 2}, {64, 0}, {});
    check(make(MPI_Type_create_hindexed_block_c, MPI_Count{2}, MPI_Count{2}, wide_places, MPI_INT), MPI_COMBINER_HINDEXED_BLOCK, {}, {},
          {2, 2, 64, 0});
    check(make(MPI_Type_create_struct, 2, lengths, places, types), MPI_COMBINER_STRUCT, {2, 3, 1}, {64, 0}, {}, {MPI_INT, MPI_CHAR});
    check(make(MPI_Type_create_struct_c, MPI_Count{2}, wide_lengths, wide_places, types), MPI_COMBINER_STRUCT, {}, {}, {2, 3, 1, 64, 0},
          {MPI_INT, MPI_CHAR});
    check(make(MPI_Type_create_resized, MPI_INT, MPI_Aint{-3}, MPI_Aint{9}), MPI_COMBINER_RESIZED, {}, {-3, 9}, {});
    check(make(MPI_Type_create_resized_c, MPI_INT, MPI_Count{-3}, MPI_Count{9}), MPI_COMBINER_RESIZED, {}, {}, {-3, 9});
    check(make(MPI_Type_create_subarray, 2, sizes, subsizes, starts, int{c}, MPI_INT), MPI_COMBINER_SUBARRAY, {2, 10, 20, 2, 3, 1, 4, c},
          {}, {});
    check(make(MPI_Type_create_subarray_c, 2, wide_sizes, wide_subsizes, wide_starts, int{c}, MPI_INT), MPI_COMBINER_SUBARRAY, {2, c}, {},
          {10, 20, 2, 3, 1, 4});
    check(make(MPI_Type_create_darray, 2, 1, 2, sizes, how, blocks, grid, int{c}, MPI_INT), MPI_COMBINER_DARRAY,
          {2, 1, 2, 10, 20, b, n, d, d, 2, 1, c}, {}, {});
    check(make(MPI_Type_create_darray_c, 2, 1, 2, wide_sizes, how, blocks, grid, int{c}, MPI_INT), MPI_COMBINER_DARRAY,
          {2, 1, 2, b, n, d, d, 2, 1, c}, {}, {10, 20});
}

TEST_F(datatypes, contents_give_references_that_outlive_the_original)
{
    MPI_Datatype inner = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_vector(2, 1, 3, MPI_INT, &inner), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_contiguous(2, inner, &outer), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_set_name(inner, "inner"), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_free(&inner), MPI_SUCCESS);
    EXPECT_EQ(inner, MPI_DATATYPE_NULL);
    int count = -1;
    ASSERT_EQ(MPI_Type_get_contents(outer, 1, 0, 1, &count, nullptr, &inner), MPI_SUCCESS);
    EXPECT_EQ(count, 2);
    MPI_Datatype again = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_get_contents(outer, 1, 0, 1, &count, nullptr, &again), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_free(&outer), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_free(&again), MPI_SUCCESS);
    EXPECT_EQ(shape_of(inner), (shape{8, 0, 16, 0, 16}));
    EXPECT_EQ(contents_of(inner).integers, (std::vector{2, 1, 3}));
    EXPECT_EQ(class_of(MPI_Type_get_contents(inner, 2, 0, 1, &count, nullptr, &again)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_get_contents(inner, 3, 0, 0, &count, nullptr, &again)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_get_contents(inner, 3, 0, 1, nullptr, nullptr, &again)), MPI_ERR_ARG);
    ASSERT_EQ(MPI_Type_free(&inner), MPI_SUCCESS);
}

TEST_F(datatypes, a_long_chain_ends_without_deep_calls)
{
    MPI_Datatype last = MPI_INT;
    for (int i = 0; i < 200000; ++i) {
        MPI_Datatype next = MPI_DATATYPE_NULL;
        ASSERT_EQ(MPI_Type_dup(last, &next), MPI_SUCCESS);
        if (i != 0) {
            ASSERT_EQ(MPI_Type_free(&last), MPI_SUCCESS);
        }
        last = next;
    }
    EXPECT_EQ(shape_of(last), (shape{4, 0, 4, 0, 4}));
    EXPECT_EQ(MPI_Type_free(&last), MPI_SUCCESS);
}

TEST_F(datatypes, layouts_of_several_counts_are_shown_from_the_second_time_on)
{
    MPI_Datatype type = make(MPI_Type_vector, 1000, 1, 2, MPI_DOUBLE);
    ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    auto& t = towline::mpi::get(type, "type");
    if (towline::matching::wished_design() == towline::matching::layout_design::basic || t.shown(9) != nullptr || t.shown(9) == nullptr)
        GTEST_SKIP() << "layouts are not kept, or there is no shared heap";
    constexpr int counts[] = {1, 5, 2, 7};
    for (int const count : counts)
        EXPECT_EQ(t.shown(count), nullptr);
    for (int turn = 0; turn < 3; ++turn) {
        for (int const count : counts) {
            auto const shown = t.shown(count);
            ASSERT_NE(shown, nullptr);
            EXPECT_EQ(shown->span(), static_cast<std::uint64_t>(1999 * 8 * count));
            EXPECT_EQ(shown, t.shown(count));
        }
    }
    EXPECT_EQ(t.shown(3), nullptr);  // takes the place of the one that was asked for the longest ago
    EXPECT_NE(t.shown(7), nullptr);
    EXPECT_EQ(t.shown(1), nullptr);
}

TEST_F(datatypes, wrong_arguments_are_refused)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    int const lengths[] = {1, -1}, places[] = {0, 0};
    MPI_Aint const far[] = {0, 0};
    MPI_Datatype const types[] = {MPI_INT, MPI_DATATYPE_NULL};
    EXPECT_EQ(class_of(MPI_Type_contiguous(-1, MPI_INT, &t)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Type_contiguous(1, handle<MPI_Datatype>(0x204), &t)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Type_contiguous(1, handle<MPI_Datatype>(0x101), &t)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Type_contiguous(1, MPI_INT, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_vector(1, -1, 1, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_indexed(2, lengths, places, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_indexed(2, nullptr, places, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_indexed(-2, lengths, places, MPI_INT, &t)), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Type_indexed(0, nullptr, nullptr, MPI_INT, &t), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&t), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Type_create_struct(2, places, far, types, &t)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Type_create_struct(2, places, far, nullptr, &t)), MPI_ERR_ARG);
    int const sizes[] = {4}, parts[] = {2}, starts[] = {3}, how[] = {99}, one[] = {1};
    EXPECT_EQ(class_of(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_create_subarray(1, sizes, parts, one, 7, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_create_subarray(0, sizes, parts, one, MPI_ORDER_C, MPI_INT, &t)), MPI_ERR_DIMS);
    EXPECT_EQ(class_of(MPI_Type_create_darray(1, 0, 1, sizes, how, one, one, MPI_ORDER_C, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_create_darray(1, 0, 1, sizes, nullptr, one, one, MPI_ORDER_C, MPI_INT, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_free(&t)), MPI_ERR_TYPE);  // freed above
    EXPECT_EQ(class_of(MPI_Type_commit(&t)), MPI_ERR_TYPE);
}

TEST_F(datatypes, names_are_set_and_cut)
{
    MPI_Datatype const t = make(MPI_Type_contiguous, 2, MPI_INT);
    EXPECT_EQ(name_of(t), "");
    EXPECT_EQ(name_of(MPI_DATATYPE_NULL), "MPI_DATATYPE_NULL");
    EXPECT_EQ(class_of(MPI_Type_set_name(MPI_DATATYPE_NULL, "x")), MPI_ERR_TYPE);
    ASSERT_EQ(MPI_Type_set_name(t, "two ints"), MPI_SUCCESS);
    EXPECT_EQ(name_of(t), "two ints");
    EXPECT_EQ(name_of(make(MPI_Type_dup, t)), "");
    ASSERT_EQ(MPI_Type_set_name(t, std::string(500, 'x').c_str()), MPI_SUCCESS);
    EXPECT_EQ(name_of(t), std::string(MPI_MAX_OBJECT_NAME - 1, 'x'));
}

TEST_F(datatypes, attributes_are_copied_and_deleted_with_the_type)
{
    int key = MPI_KEYVAL_INVALID, failing = MPI_KEYVAL_INVALID, flag = -1, value = 0;
    ASSERT_EQ(MPI_Type_create_keyval(on_copy, on_delete, &key, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_create_keyval(on_copy, on_delete, &failing, &value), MPI_SUCCESS);
    MPI_Datatype a = MPI_DATATYPE_NULL, b = MPI_DATATYPE_NULL, inner = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_contiguous(2, MPI_INT, &a), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_set_attr(a, key, &value), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_dup(a, &b), MPI_SUCCESS);
    void* got = nullptr;
    ASSERT_EQ(MPI_Type_get_attr(b, key, &got, &flag), MPI_SUCCESS);
    EXPECT_TRUE(flag != 0 && got == &value);
    deleted = 0;
    ASSERT_EQ(MPI_Type_get_contents(b, 0, 0, 1, nullptr, nullptr, &inner), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_free(&inner), MPI_SUCCESS);
    EXPECT_EQ(deleted, 0);  // a's attribute is a's
    ASSERT_EQ(MPI_Type_delete_attr(b, key), MPI_SUCCESS);
    EXPECT_EQ(deleted, 1);
    EXPECT_EQ(class_of(MPI_Type_delete_attr(b, key)), MPI_ERR_KEYVAL);
    ASSERT_EQ(MPI_Type_get_attr(b, key, &got, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    ASSERT_EQ(MPI_Type_free(&a), MPI_SUCCESS);
    EXPECT_EQ(deleted, 2);

    // One whose callbacks fail: no copy is made, and the type stays.
    ASSERT_EQ(MPI_Type_set_attr(b, failing, &value), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Type_dup(b, &a)), MPI_ERR_OTHER);
    EXPECT_EQ(a, MPI_DATATYPE_NULL);
    EXPECT_EQ(class_of(MPI_Type_free(&b)), MPI_ERR_OTHER);
    EXPECT_EQ(shape_of(b).size, 8);
    int comm_key = MPI_KEYVAL_INVALID;
    ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Type_set_attr(b, comm_key, nullptr)), MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&comm_key);
    MPI_Type_free_keyval(&key);
    MPI_Type_free_keyval(&failing);
}

TEST_F(datatypes, are_found_by_class_and_size_and_by_value_and_index)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_REAL8);
    ASSERT_EQ(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_INTEGER2);
    ASSERT_EQ(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_COMPLEX16);
    EXPECT_EQ(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_match_size(1, 4, &t)), MPI_ERR_ARG);
    ASSERT_EQ(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_DOUBLE_INT);
    ASSERT_EQ(MPI_Type_get_value_index(MPI_REAL, MPI_REAL, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_2REAL);
    ASSERT_EQ(MPI_Type_get_value_index(MPI_CHAR, MPI_CHAR, &t), MPI_SUCCESS);
    EXPECT_EQ(t, MPI_DATATYPE_NULL);
    EXPECT_EQ(class_of(MPI_Type_get_value_index(make(MPI_Type_contiguous, 1, MPI_INT), MPI_INT, &t)), MPI_ERR_TYPE);
}

TEST_F(datatypes, numbers_of_fortran_are_kept_by_the_library)
{
    MPI_Datatype a = MPI_DATATYPE_NULL, b = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_create_f90_real(15, 300, &a), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_create_f90_real(15, 300, &b), MPI_SUCCESS);
    EXPECT_EQ(a, b);
    EXPECT_EQ(shape_of(a), shape_of(MPI_REAL8));
    told const is = contents_of(a);
    EXPECT_EQ(is.combiner, MPI_COMBINER_F90_REAL);
    EXPECT_EQ(is.integers, (std::vector{15, 300}));
    EXPECT_TRUE(is.types.empty());
    EXPECT_EQ(class_of(MPI_Type_free(&b)), MPI_ERR_TYPE);
    EXPECT_EQ(b, a);
    ASSERT_EQ(MPI_Type_get_contents(make(MPI_Type_dup, a), 0, 0, 1, nullptr, nullptr, &b), MPI_SUCCESS);
    EXPECT_EQ(b, a);
    char packed[8];
    int position = 0;
    double const one = 1;
    EXPECT_EQ(MPI_Pack(&one, 1, a, packed, 8, &position, MPI_COMM_SELF), MPI_SUCCESS);  // is committed

    auto const size_of = [](auto* constructor, auto... args) {
        MPI_Datatype t = MPI_DATATYPE_NULL;
        int size = -1;
        EXPECT_EQ(constructor(args..., &t), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_size(t, &size), MPI_SUCCESS);
        return size;
    };
    EXPECT_EQ(size_of(MPI_Type_create_f90_real, 6, 37), 4);
    EXPECT_EQ(size_of(MPI_Type_create_f90_real, int{MPI_UNDEFINED}, 38), 8);
    EXPECT_EQ(size_of(MPI_Type_create_f90_real, 16, int{MPI_UNDEFINED}), 16);
    EXPECT_EQ(size_of(MPI_Type_create_f90_complex, 15, 300), 16);
    EXPECT_EQ(size_of(MPI_Type_create_f90_integer, 2), 1);
    EXPECT_EQ(size_of(MPI_Type_create_f90_integer, 9), 4);
    EXPECT_EQ(size_of(MPI_Type_create_f90_integer, 10), 8);
    EXPECT_EQ(class_of(MPI_Type_create_f90_real(34, 1, &b)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &b)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Type_create_f90_integer(39, &b)), MPI_ERR_ARG);
}

TEST_F(datatypes, statuses_count_whole_types_and_elements)
{
    int const ones[] = {1, 2};
    MPI_Aint const places[] = {0, 8};
    MPI_Datatype const parts[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype const t = make(MPI_Type_create_struct, 2, ones, places, parts), none = make(MPI_Type_contiguous, 0, MPI_INT);
    MPI_Status s{};
    int n = -1;
    MPI_Count wide = -1;
    auto const count = [&] {
        EXPECT_EQ(MPI_Get_count(&s, t, &n), MPI_SUCCESS);
        return n;
    };
    auto const elements = [&] {
        EXPECT_EQ(MPI_Get_elements(&s, t, &n), MPI_SUCCESS);
        return n;
    };
    ASSERT_EQ(MPI_Status_set_elements(&s, t, 6), MPI_SUCCESS);
    EXPECT_EQ(count(), 2);
    EXPECT_EQ(elements(), 6);
    ASSERT_EQ(MPI_Status_set_elements(&s, t, 5), MPI_SUCCESS);
    EXPECT_EQ(count(), MPI_UNDEFINED);
    EXPECT_EQ(elements(), 5);
    ASSERT_EQ(MPI_Status_set_elements(&s, MPI_BYTE, 17), MPI_SUCCESS);
    EXPECT_EQ(elements(), MPI_UNDEFINED);
    ASSERT_EQ(MPI_Get_count(&s, none, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_UNDEFINED);
    ASSERT_EQ(MPI_Status_set_elements(&s, none, 0), MPI_SUCCESS);
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(elements(), 0);
    ASSERT_EQ(MPI_Get_count(&s, none, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    ASSERT_EQ(MPI_Status_set_elements_c(&s, MPI_INT, MPI_Count{1} << 40), MPI_SUCCESS);
    ASSERT_EQ(MPI_Get_elements(&s, MPI_INT, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_UNDEFINED);
    ASSERT_EQ(MPI_Get_elements_x(&s, MPI_INT, &wide), MPI_SUCCESS);
    EXPECT_EQ(wide, MPI_Count{1} << 40);
    ASSERT_EQ(MPI_Get_count_c(&s, MPI_INT, &wide), MPI_SUCCESS);
    EXPECT_EQ(wide, MPI_Count{1} << 40);
    EXPECT_EQ(class_of(MPI_Status_set_elements(&s, MPI_INT, -1)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Status_set_elements(&s, none, 1)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Status_set_elements_x(&s, MPI_INT, std::numeric_limits<MPI_Count>::max())), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &n)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Get_count(&s, MPI_DATATYPE_NULL, &n)), MPI_ERR_TYPE);
}
