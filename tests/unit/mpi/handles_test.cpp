// Handles: given, found, freed, invented.

#include "mpi/entry.hpp"
#include "mpi/handle_table.hpp"
#include "running.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <thread>

using namespace towline::mpi;

namespace {

struct thing final : object {
    explicit thing(int v = 0) : value(v) { ++living; }
    ~thing() override { --living; }
    int value;
    static inline std::atomic<int> living{0};
};

using table = handle_table<thing, object_kind::comm>;

/// Tables live for ever.
table* new_table()
{
    static auto& all = *new std::vector<table*>;
    all.push_back(new table);
    return all.back();
}

std::uint64_t seed()
{
    char const* const given = std::getenv("TOWLINE_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

} // namespace

TEST(handle_table, finds_what_was_given_and_not_what_was_freed)
{
    table* const t = new_table();
    auto const a = t->insert(make<thing>(1));
    auto const b = t->insert(make<thing>(2));
    EXPECT_NE(a, b);
    EXPECT_GE(a, handle_bits::predefined_end);
    EXPECT_LE(a & 0xffffffff, handle_bits::integer);
    EXPECT_EQ(t->find(a)->value, 1);
    EXPECT_EQ(t->find(b)->value, 2);
    EXPECT_FALSE(t->was_freed(a));

    EXPECT_EQ(t->remove(a)->value, 1);
    EXPECT_EQ(t->find(a), nullptr);
    EXPECT_TRUE(t->was_freed(a));
    EXPECT_FALSE(t->remove(a));
    EXPECT_EQ(t->find(b)->value, 2);

    auto const c = t->insert(make<thing>(3));  // in a's place
    EXPECT_NE(c, a);
    EXPECT_EQ(t->find(a), nullptr);
    EXPECT_EQ(t->find(c)->value, 3);
    EXPECT_TRUE(t->was_freed(a));
    EXPECT_FALSE(t->was_freed(c));
    (void)t->remove(b);
    (void)t->remove(c);
}

TEST(handle_table, a_reference_keeps_the_object)
{
    int const before = thing::living;
    table* const t = new_table();
    auto const h = t->insert(make<thing>(7));
    thing* const found = t->find(h);
    ASSERT_NE(found, nullptr);
    ref<thing> held(*found);
    (void)t->remove(h);
    EXPECT_EQ(held->value, 7);
    held = {};
    EXPECT_EQ(thing::living, before);
}

TEST(handle_table, integers_are_handles_of_the_living)
{
    table* const t = new_table();
    (void)t->remove(t->insert(make<thing>()));
    auto const h = t->insert(make<thing>(5));
    EXPECT_NE(h >> 32, 0U);
    EXPECT_EQ(t->from_integer(static_cast<std::uint32_t>(h & handle_bits::integer)), h);
    (void)t->remove(h);
    EXPECT_EQ(t->from_integer(static_cast<std::uint32_t>(h & handle_bits::integer)), 0U);
    for (std::uint32_t const odd : {0U, 4095U, 0x80000000U, 0xffffffffU, 0x02000000U})
        EXPECT_EQ(t->from_integer(odd), 0U);
}

TEST(handle_table, garbage_is_no_handle)
{
    table* const t = new_table();
    std::set<std::uint64_t> given;
    for (int i = 0; i < 3000; ++i)
        given.insert(t->insert(make<thing>(i)));
    auto const s = seed();
    std::cout << "seed " << s << '\n';
    std::mt19937_64 random(s);
    for (int i = 0; i < 200000; ++i) {
        std::uint64_t h = random();
        if (i % 3 == 0)
            h = *given.begin() ^ (std::uint64_t{1} << (h % 64));  // one bit off
        if (i % 3 == 1)
            h &= 0x7fffffffffff;  // a pointer
        ASSERT_EQ(t->find(h) != nullptr, given.contains(h)) << std::hex << h;
    }
    for (std::uint64_t const h : given)
        (void)t->remove(h);
}

TEST(handle_table, threads_give_and_free_at_once)
{
    table* const t = new_table();
    constexpr int rounds = 3000;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([&, n] {
            std::vector<std::uint64_t> mine;
            for (int i = 0; i < rounds; ++i) {
                mine.push_back(t->insert(make<thing>(n * rounds + i)));
                wrong += t->find(mine.back())->value != n * rounds + i;
                if (i % 3 == 2) {
                    wrong += !t->remove(mine[mine.size() / 2]);
                    wrong += t->find(mine[mine.size() / 2]) != nullptr;
                    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(mine.size() / 2));
                }
            }
            for (auto const h : mine)
                wrong += !t->remove(h);
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(thing::living, 0);
}

TEST(arguments, counts_that_do_not_fit_become_undefined)
{
    EXPECT_EQ(narrowed<int>(5), 5);
    EXPECT_EQ(narrowed<int>(-5), -5);
    EXPECT_EQ(narrowed<int>(std::int64_t{1} << 31), MPI_UNDEFINED);
    EXPECT_EQ(narrowed<MPI_Aint>(std::int64_t{1} << 31), MPI_Aint{1} << 31);
}

TEST(arguments, arrays_are_read_in_either_width)
{
    int const narrow[] = {1, -2, 3};
    MPI_Count const wide[] = {1, -2, MPI_Count{1} << 40};
    EXPECT_EQ(wide_array(narrow)[1], -2);
    EXPECT_EQ(wide_array(narrow)[2], 3);
    EXPECT_EQ(wide_array(wide)[1], -2);
    EXPECT_EQ(wide_array(wide)[2], MPI_Count{1} << 40);
    EXPECT_TRUE(wide_array(static_cast<int const*>(nullptr)).is_null());
}

using bad_handles = running;

TEST_F(bad_handles, are_refused_by_every_kind)
{
    int n = 0;
    std::uint64_t const garbage[] = {0, 7, 0x209, 0x107, 0x7ffc12345678, ~std::uint64_t{0}, 0x01000001, 0x0f000000};
    for (std::uint64_t const bits : garbage) {
        EXPECT_EQ(class_of(MPI_Comm_size(handle<MPI_Comm>(bits), &n)), MPI_ERR_COMM) << std::hex << bits;
        EXPECT_EQ(class_of(MPI_Group_size(handle<MPI_Group>(bits), &n)), MPI_ERR_GROUP) << std::hex << bits;
        EXPECT_EQ(class_of(MPI_Info_get_nkeys(handle<MPI_Info>(bits), &n)), MPI_ERR_INFO) << std::hex << bits;
        MPI_Errhandler e = handle<MPI_Errhandler>(bits);
        EXPECT_EQ(class_of(MPI_Errhandler_free(&e)), MPI_ERR_ERRHANDLER) << std::hex << bits;
    }
    EXPECT_EQ(class_of(MPI_Comm_size(MPI_COMM_NULL, &n)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPI_Group_size(MPI_GROUP_NULL, &n)), MPI_ERR_GROUP);
    EXPECT_EQ(class_of(MPI_Info_get_nkeys(MPI_INFO_NULL, &n)), MPI_ERR_INFO);
}

TEST_F(bad_handles, null_pointers_are_refused)
{
    EXPECT_EQ(class_of(MPI_Comm_size(MPI_COMM_WORLD, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Comm_set_name(MPI_COMM_WORLD, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Info_create(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Group_free(nullptr)), MPI_ERR_ARG);
    int flag = 0;
    EXPECT_EQ(class_of(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, nullptr, &flag)), MPI_ERR_ARG);
}

TEST_F(bad_handles, what_is_not_built_says_so_and_gives_nulls)
{
    MPI_Request request = handle<MPI_Request>(1);
    MPI_Status status{1, 2, 3, {4, 5, 6, 7, 8}};
    int flag = 9, size = 9;
    void* base = &flag;
    EXPECT_EQ(class_of(MPI_Win_test(MPI_WIN_NULL, &flag)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(class_of(MPI_File_read(MPI_FILE_NULL, nullptr, 0, MPI_INT, &status)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Win_shared_query(MPI_WIN_NULL, 0, nullptr, &size, &base)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(size, 0);
    EXPECT_EQ(base, nullptr);
    EXPECT_EQ(class_of(MPI_File_iread_c(MPI_FILE_NULL, nullptr, 0, MPI_INT, &request)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    char port[MPI_MAX_PORT_NAME] = "x";
    EXPECT_EQ(class_of(MPI_Open_port(MPI_INFO_NULL, port)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_STREQ(port, "");
    MPI_File file = handle<MPI_File>(1);
    EXPECT_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, "x", 0, MPI_INFO_NULL, &file)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(file, MPI_FILE_NULL);
}
