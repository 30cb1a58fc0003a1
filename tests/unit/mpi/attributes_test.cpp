#include "mpi/attributes.hpp"
#include "mpi/failure.hpp"
#include "running.hpp"

#include <string>

using towline::mpi::attribute_set;
using towline::mpi::cached_on;
using towline::mpi::failure;
using towline::mpi::keyval;

namespace {

// Callbacks write down what they were called with. An extra state of 1 makes them fail with class 42, one of 2 refuses a copy.
std::string calls_seen;

int copying(MPI_Comm from, int, void* state, void* value, void* out, int* flag)
{
    auto const n = reinterpret_cast<std::intptr_t>(value);
    calls_seen += "copy " + std::to_string(n) + " of " + std::to_string(reinterpret_cast<std::uintptr_t>(from)) + "; ";
    *flag = state != reinterpret_cast<void*>(2);
    *static_cast<void**>(out) = reinterpret_cast<void*>(n + 100);
    return state == reinterpret_cast<void*>(1) ? MPI_ERR_INTERN : MPI_SUCCESS;
}

int deleting(MPI_Comm, int, void* value, void* state)
{
    calls_seen += "delete " + std::to_string(reinterpret_cast<std::intptr_t>(value)) + "; ";
    return state == reinterpret_cast<void*>(1) ? MPI_ERR_INTERN : MPI_SUCCESS;
}

void* number(std::intptr_t n)
{
    return reinterpret_cast<void*>(n);
}

std::string seen()
{
    return std::exchange(calls_seen, {});
}

struct attributes : running {
    int keys[3] = {};
    void make(int i, int state = 0) { ASSERT_EQ(MPI_Comm_create_keyval(copying, deleting, &keys[i], number(state)), MPI_SUCCESS); }
    static keyval& at(int key) { return keyval::get(key, cached_on::comm, "key"); }
    void SetUp() override
    {
        running::SetUp();
        seen();
    }
    void TearDown() override
    {
        for (int& k : keys)
            if (k != 0) {
                MPI_Comm_free_keyval(&k);
            }
    }
};

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

TEST_F(attributes, are_set_got_and_deleted)
{
    make(0);
    void* value = nullptr;
    int flag = -1;
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[0], &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    ASSERT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, keys[0], number(1)), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[0], &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(value, number(1));
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_SELF, keys[0], &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(seen(), "");
    ASSERT_EQ(MPI_Attr_put(MPI_COMM_WORLD, keys[0], number(2)), MPI_SUCCESS);  // the old value is deleted
    EXPECT_EQ(seen(), "delete 1; ");
    ASSERT_EQ(MPI_Attr_get(MPI_COMM_WORLD, keys[0], &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(value, number(2));
    ASSERT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[0]), MPI_SUCCESS);
    EXPECT_EQ(seen(), "delete 2; ");
    EXPECT_EQ(class_of(MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[0])), MPI_ERR_KEYVAL);
}

TEST_F(attributes, a_freed_key_lives_on_in_its_attributes)
{
    make(0);
    int const key = keys[0];
    ASSERT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, number(5)), MPI_SUCCESS);
    attribute_set set;
    set.set(nullptr, at(key), number(6));
    ASSERT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    seen();
    ASSERT_EQ(MPI_Comm_free_keyval(&keys[0]), MPI_SUCCESS);
    EXPECT_EQ(keys[0], MPI_KEYVAL_INVALID);
    void* value = nullptr;
    int flag = 0;
    EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    int again = key;
    EXPECT_EQ(MPI_Comm_free_keyval(&again), MPI_SUCCESS);  // does nothing
    set.clear(nullptr);
    EXPECT_EQ(seen(), "delete 6; ");
    EXPECT_EQ(class_of(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag)), MPI_ERR_KEYVAL);
    again = key;
    EXPECT_EQ(class_of(MPI_Comm_free_keyval(&again)), MPI_ERR_KEYVAL);
}

TEST_F(attributes, a_freed_key_deletes_its_attributes)
{
    make(0);
    int const key = keys[0];
    ASSERT_EQ(MPI_Comm_set_attr(MPI_COMM_WORLD, key, number(5)), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_free_keyval(&keys[0]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_EQ(seen(), "delete 5; ");
    EXPECT_EQ(class_of(MPI_Comm_delete_attr(MPI_COMM_WORLD, key)), MPI_ERR_KEYVAL);
}

TEST_F(attributes, are_deleted_last_first_and_copied_first_first)
{
    for (int i = 0; i < 3; ++i)
        make(i, i == 1 ? 2 : 0);
    attribute_set from, to;
    for (int i = 0; i < 3; ++i)
        from.set(nullptr, at(keys[i]), number(i));
    from.copy_to(number(8), to, number(9));
    EXPECT_EQ(seen(), "copy 0 of 8; copy 1 of 8; copy 2 of 8; ");
    EXPECT_EQ(to.get(at(keys[0])), number(100));
    EXPECT_FALSE(to.get(at(keys[1])));  // its callback wanted none
    EXPECT_EQ(to.get(at(keys[2])), number(102));
    from.clear(nullptr);
    EXPECT_EQ(seen(), "delete 2; delete 1; delete 0; ");
    to.clear(nullptr);
    EXPECT_EQ(seen(), "delete 102; delete 100; ");
}

TEST_F(attributes, a_copy_that_fails_leaves_nothing)
{
    make(0);
    make(1, 1);
    attribute_set from, to;
    from.set(nullptr, at(keys[0]), number(0));
    from.set(nullptr, at(keys[1]), number(1));
    EXPECT_EQ(failing([&] { from.copy_to(nullptr, to, nullptr); }), MPI_ERR_INTERN);
    EXPECT_EQ(seen(), "copy 0 of 0; copy 1 of 0; delete 100; ");
    EXPECT_FALSE(to.get(at(keys[0])));
    // A delete callback that fails keeps its attribute, and those before it.
    EXPECT_EQ(failing([&] { from.clear(nullptr); }), MPI_ERR_INTERN);
    EXPECT_TRUE(from.get(at(keys[0])));
    EXPECT_TRUE(from.get(at(keys[1])));
    EXPECT_EQ(failing([&] { from.set(nullptr, at(keys[1]), number(3)); }), MPI_ERR_INTERN);
    EXPECT_EQ(from.get(at(keys[1])), number(1));
}

TEST_F(attributes, values_that_stand_for_callbacks)
{
    ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[0], nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[1], nullptr), MPI_SUCCESS);
    attribute_set from, to;
    from.set(nullptr, at(keys[0]), number(1));
    from.set(nullptr, at(keys[1]), number(2));
    from.copy_to(nullptr, to, nullptr);
    EXPECT_EQ(to.get(at(keys[0])), number(1));
    EXPECT_FALSE(to.get(at(keys[1])));
    from.clear(nullptr);
}

TEST_F(attributes, keys_are_for_their_kind_of_object)
{
    int type_key = 0, win_key = 0, old_key = 0;
    ASSERT_EQ(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &old_key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, nullptr)), MPI_ERR_KEYVAL);
    EXPECT_EQ(class_of(MPI_Comm_free_keyval(&win_key)), MPI_ERR_KEYVAL);
    EXPECT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, old_key, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Attr_delete(MPI_COMM_SELF, old_key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free_keyval(&type_key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_free_keyval(&win_key), MPI_SUCCESS);
    EXPECT_EQ(MPI_Keyval_free(&old_key), MPI_SUCCESS);
    for (int bad : {0, -1, 77, static_cast<int>(MPI_WIN_SIZE), static_cast<int>(MPI_TAG_UB), 0x7fffffff}) {
        EXPECT_EQ(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, bad, nullptr)), MPI_ERR_KEYVAL) << bad;
        EXPECT_EQ(class_of(MPI_Comm_free_keyval(&bad)), MPI_ERR_KEYVAL) << bad;
    }
}

TEST_F(attributes, of_the_standard)
{
    void* value = nullptr;
    int flag = 0;
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag), MPI_SUCCESS);
    ASSERT_EQ(flag, 1);
    EXPECT_GE(*static_cast<int*>(value), 32767);
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(*static_cast<int*>(value), 1);
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);  // no launcher
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
}
