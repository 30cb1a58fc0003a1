#include "mpi/failure.hpp"
#include "mpi/group.hpp"
#include "running.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>

using towline::mpi::compare;
using towline::mpi::excluding;
using towline::mpi::expand;
using towline::mpi::failure;
using towline::mpi::group;
using towline::mpi::including;
using towline::mpi::make;
using towline::mpi::positions;
using towline::mpi::rank_range;
using towline::mpi::ref;
using ids = std::vector<int>;

namespace {

ref<group> of(ids members, int self = 0)
{
    return make<group>(std::move(members), self);
}

ids members(ref<group> const& g)
{
    return {g->members().begin(), g->members().end()};
}

ids range(group const& g, std::vector<rank_range> ranges)
{
    return expand(g, ranges);
}

/// The class of the failure that is thrown.
template <class Body>
int failing(Body&& body)
{
    try {
        body();
    } catch (failure const& f) {
        return f.code();
    }
    return MPI_SUCCESS;
}

} // namespace

TEST(groups, keep_the_order_of_the_standard)
{
    auto const a = of({5, 3, 9, 1}), b = of({1, 7, 5, 2});
    EXPECT_EQ(members(set_union(*a, *b)), (ids{5, 3, 9, 1, 7, 2}));
    EXPECT_EQ(members(set_intersection(*a, *b)), (ids{5, 1}));
    EXPECT_EQ(members(set_intersection(*b, *a)), (ids{1, 5}));
    EXPECT_EQ(members(set_difference(*a, *b)), (ids{3, 9}));
    EXPECT_EQ(members(including(*a, ids{3, 0})), (ids{1, 5}));
    EXPECT_EQ(members(excluding(*a, ids{3, 0})), (ids{3, 9}));
    EXPECT_EQ(set_difference(*a, *a).get(), &group::empty());
    EXPECT_EQ(including(*a, ids{}).get(), &group::empty());
}

TEST(groups, compare)
{
    EXPECT_EQ(compare(*of({1, 2, 3}), *of({1, 2, 3})), MPI_IDENT);
    EXPECT_EQ(compare(*of({1, 2, 3}), *of({3, 1, 2})), MPI_SIMILAR);
    EXPECT_EQ(compare(*of({1, 2, 3}), *of({1, 2, 4})), MPI_UNEQUAL);
    EXPECT_EQ(compare(*of({1, 2, 3}), *of({1, 2})), MPI_UNEQUAL);
    EXPECT_EQ(compare(group::empty(), group::empty()), MPI_IDENT);
    EXPECT_EQ(compare(group::empty(), *of({1})), MPI_UNEQUAL);
}

TEST(groups, know_their_own_rank)
{
    EXPECT_EQ(of({4, 2, 6}, 6)->rank(), 2);
    EXPECT_EQ(of({4, 2, 6}, 5)->rank(), MPI_UNDEFINED);
    EXPECT_EQ(set_union(group::empty(), *of({4, 2}, 2))->rank(), 1);
    EXPECT_EQ(including(*of({4, 2, 6}, 6), ids{2, 0})->rank(), 0);
}

TEST(groups, ranges_name_what_they_reach)
{
    auto const g = of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_EQ(range(*g, {{1, 7, 3}}), (ids{1, 4, 7}));
    EXPECT_EQ(range(*g, {{1, 6, 3}}), (ids{1, 4}));
    EXPECT_EQ(range(*g, {{9, 0, -4}}), (ids{9, 5, 1}));
    EXPECT_EQ(range(*g, {{2, 2, 5}, {0, 0, -1}}), (ids{2, 0}));
    EXPECT_EQ(range(*g, {{7, 10, 2}}), (ids{7, 9}));  // 10 is outside, and not reached
}

TEST(groups, mistakes_are_refused)
{
    auto const g = of({0, 1, 2, 3});
    EXPECT_EQ(failing([&] { (void)including(*g, ids{4}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)including(*g, ids{-1}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)including(*g, ids{1, 1}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)excluding(*g, ids{1, 1}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)range(*g, {{0, 3, 0}}); }), MPI_ERR_ARG);
    EXPECT_EQ(failing([&] { (void)range(*g, {{0, 3, -1}}); }), MPI_ERR_ARG);
    EXPECT_EQ(failing([&] { (void)range(*g, {{0, 4, 1}}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)range(*g, {{-2, 2, 1}}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)range(*g, {{0, 2147483647, 1}}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)range(*g, {{2, -2147483647 - 1, -2147483647 - 1}}); }), MPI_ERR_RANK);
    EXPECT_EQ(failing([&] { (void)range(*g, {{0, 3, 1}, {0, 3, 1}}); }), MPI_ERR_RANK);
}

// Random groups against sets in the plainest form.
TEST(groups, agree_with_a_model)
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    auto const seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    auto const some = [&] {
        ids all(12);
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), random);
        all.resize(random() % 13);
        return all;
    };
    auto const has = [](ids const& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); };
    for (int i = 0; i < 2000; ++i) {
        ids const a = some(), b = some();
        auto const ga = of(a), gb = of(b);
        ids both, only, all = a;
        for (int const x : a)
            (has(b, x) ? both : only).push_back(x);
        for (int const x : b)
            if (!has(a, x))
                all.push_back(x);
        ASSERT_EQ(members(set_union(*ga, *gb)), all);
        ASSERT_EQ(members(set_intersection(*ga, *gb)), both);
        ASSERT_EQ(members(set_difference(*ga, *gb)), only);
        ASSERT_EQ(compare(*ga, *gb) == MPI_IDENT, a == b);
        ASSERT_EQ(compare(*ga, *gb) != MPI_UNEQUAL, only.empty() && a.size() == b.size());
        positions const at(*gb);
        for (int x = 0; x < 12; ++x) {
            auto const where = std::find(b.begin(), b.end(), x);
            ASSERT_EQ(at.of(x), where == b.end() ? MPI_UNDEFINED : static_cast<int>(where - b.begin()));
        }
    }
}

using group_calls = running;

TEST_F(group_calls, of_communicators)
{
    MPI_Group world = MPI_GROUP_NULL, self = MPI_GROUP_NULL;
    ASSERT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_group(MPI_COMM_SELF, &self), MPI_SUCCESS);
    int n = -1;
    ASSERT_EQ(MPI_Group_compare(world, self, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_IDENT);  // a job of one
    ASSERT_EQ(MPI_Group_rank(world, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    MPI_Group none = MPI_GROUP_NULL;
    ASSERT_EQ(MPI_Group_difference(world, self, &none), MPI_SUCCESS);
    EXPECT_EQ(none, MPI_GROUP_EMPTY);
    ASSERT_EQ(MPI_Group_rank(none, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_UNDEFINED);
    int const ranks[] = {0, MPI_PROC_NULL};
    int other[] = {7, 7};
    ASSERT_EQ(MPI_Group_translate_ranks(world, 2, ranks, MPI_GROUP_EMPTY, other), MPI_SUCCESS);
    EXPECT_EQ(other[0], MPI_UNDEFINED);
    EXPECT_EQ(other[1], MPI_PROC_NULL);
    ASSERT_EQ(MPI_Group_translate_ranks(world, 2, ranks, self, other), MPI_SUCCESS);
    EXPECT_EQ(other[0], 0);
    int const bad[] = {1};
    EXPECT_EQ(class_of(MPI_Group_translate_ranks(world, 1, bad, self, other)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPI_Group_translate_ranks(world, -1, bad, self, other)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Group_translate_ranks(world, 1, nullptr, self, other)), MPI_ERR_ARG);
    int ranges[][3] = {{0, 0, 1}};
    MPI_Group same = MPI_GROUP_NULL;
    ASSERT_EQ(MPI_Group_range_incl(world, 1, ranges, &same), MPI_SUCCESS);
    ASSERT_EQ(MPI_Group_compare(world, same, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_IDENT);
    for (MPI_Group* const g : {&world, &self, &none, &same}) {
        EXPECT_EQ(MPI_Group_free(g), MPI_SUCCESS);
        EXPECT_EQ(*g, MPI_GROUP_NULL);
    }
    EXPECT_EQ(class_of(MPI_Group_free(&world)), MPI_ERR_GROUP);
}
