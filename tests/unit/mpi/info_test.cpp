#include "running.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct info_calls : running {
    MPI_Info info = MPI_INFO_NULL;
    void SetUp() override
    {
        running::SetUp();
        ASSERT_EQ(MPI_Info_create(&info), MPI_SUCCESS);
    }
    void TearDown() override
    {
        if (info != MPI_INFO_NULL) {
            EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
            EXPECT_EQ(info, MPI_INFO_NULL);
        }
    }
    std::string value(char const* key, MPI_Info of = nullptr)
    {
        char text[MPI_MAX_INFO_VAL];
        int length = sizeof text, flag = -1;
        EXPECT_EQ(MPI_Info_get_string(of != nullptr ? of : info, key, &length, text, &flag), MPI_SUCCESS);
        return flag != 0 ? text : "(none)";
    }
    std::string keys(MPI_Info of)
    {
        int n = -1;
        EXPECT_EQ(MPI_Info_get_nkeys(of, &n), MPI_SUCCESS);
        std::string all;
        for (int i = 0; i < n; ++i) {
            char key[MPI_MAX_INFO_KEY];
            EXPECT_EQ(MPI_Info_get_nthkey(of, i, key), MPI_SUCCESS);
            all += std::string(key) + ' ';
        }
        return all;
    }
};

} // namespace

TEST_F(info_calls, set_get_delete_in_order)
{
    for (auto const& [key, text] : {std::pair("b", "1"), {"a", "2"}, {"c", ""}, {"a", "3"}})
        ASSERT_EQ(MPI_Info_set(info, key, text), MPI_SUCCESS);
    EXPECT_EQ(keys(info), "b a c ");
    EXPECT_EQ(value("a"), "3");
    EXPECT_EQ(value("c"), "");
    EXPECT_EQ(value("A"), "(none)");
    ASSERT_EQ(MPI_Info_delete(info, "b"), MPI_SUCCESS);
    EXPECT_EQ(keys(info), "a c ");
    EXPECT_EQ(class_of(MPI_Info_delete(info, "b")), MPI_ERR_INFO_NOKEY);
    char key[MPI_MAX_INFO_KEY];
    EXPECT_EQ(class_of(MPI_Info_get_nthkey(info, 2, key)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Info_get_nthkey(info, -1, key)), MPI_ERR_ARG);
}

TEST_F(info_calls, a_copy_is_its_own)
{
    ASSERT_EQ(MPI_Info_set(info, "k", "v"), MPI_SUCCESS);
    MPI_Info other = MPI_INFO_NULL;
    ASSERT_EQ(MPI_Info_dup(info, &other), MPI_SUCCESS);
    ASSERT_EQ(MPI_Info_set(info, "k", "w"), MPI_SUCCESS);
    ASSERT_EQ(MPI_Info_set(other, "l", "x"), MPI_SUCCESS);
    EXPECT_EQ(value("k", other), "v");
    EXPECT_EQ(keys(info), "k ");
    EXPECT_EQ(keys(other), "k l ");
    MPI_Info const kept = other;
    ASSERT_EQ(MPI_Info_free(&other), MPI_SUCCESS);
    int n = 0;
    EXPECT_EQ(class_of(MPI_Info_get_nkeys(kept, &n)), MPI_ERR_INFO);
    other = kept;
    EXPECT_EQ(class_of(MPI_Info_free(&other)), MPI_ERR_INFO);
}

TEST_F(info_calls, lengths_are_told_and_kept)
{
    ASSERT_EQ(MPI_Info_set(info, "key", "value"), MPI_SUCCESS);
    // get_string: the length counts the end; 0 asks for it.
    int length = 0, flag = 0;
    ASSERT_EQ(MPI_Info_get_string(info, "key", &length, nullptr, &flag), MPI_SUCCESS);
    EXPECT_EQ(length, 6);
    EXPECT_EQ(class_of(MPI_Info_get_string(info, "key", &length, nullptr, &flag)), MPI_ERR_ARG);
    length = 0;
    char text[16] = "untouched";
    ASSERT_EQ(MPI_Info_get_string(info, "key", &length, text, &flag), MPI_SUCCESS);
    EXPECT_EQ(length, 6);
    EXPECT_EQ(flag, 1);
    EXPECT_STREQ(text, "untouched");
    length = 4;
    ASSERT_EQ(MPI_Info_get_string(info, "key", &length, text, &flag), MPI_SUCCESS);
    EXPECT_STREQ(text, "val");
    EXPECT_EQ(length, 6);
    length = 4;
    ASSERT_EQ(MPI_Info_get_string(info, "other", &length, text, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(length, 4);
    length = -1;
    EXPECT_EQ(class_of(MPI_Info_get_string(info, "key", &length, text, &flag)), MPI_ERR_ARG);
    // The older ones do not count it.
    std::memset(text, 'x', sizeof text);
    ASSERT_EQ(MPI_Info_get(info, "key", 3, text, &flag), MPI_SUCCESS);
    EXPECT_STREQ(text, "val");
    EXPECT_EQ(text[4], 'x');
    ASSERT_EQ(MPI_Info_get_valuelen(info, "key", &length, &flag), MPI_SUCCESS);
    EXPECT_EQ(length, 5);
    ASSERT_EQ(MPI_Info_get_valuelen(info, "other", &length, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
}

TEST_F(info_calls, limits_are_checked)
{
    std::string const key(MPI_MAX_INFO_KEY - 1, 'k'), text(MPI_MAX_INFO_VAL - 1, 'v');
    EXPECT_EQ(MPI_Info_set(info, key.c_str(), text.c_str()), MPI_SUCCESS);
    EXPECT_EQ(value(key.c_str()), text);
    EXPECT_EQ(class_of(MPI_Info_set(info, (key + "k").c_str(), "v")), MPI_ERR_INFO_KEY);
    EXPECT_EQ(class_of(MPI_Info_set(info, "k", (text + "v").c_str())), MPI_ERR_INFO_VALUE);
    EXPECT_EQ(class_of(MPI_Info_set(info, "", "v")), MPI_ERR_INFO_KEY);
    EXPECT_EQ(class_of(MPI_Info_set(info, nullptr, "v")), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Info_set(info, "k", nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(keys(info), key + " ");
}

TEST_F(info_calls, the_environment_is_told_and_stays)
{
    EXPECT_EQ(value("maxprocs", MPI_INFO_ENV), "1");
    EXPECT_EQ(value("thread_level", MPI_INFO_ENV), "MPI_THREAD_SINGLE");
    EXPECT_NE(value("wdir", MPI_INFO_ENV), "(none)");
    EXPECT_EQ(class_of(MPI_Info_set(MPI_INFO_ENV, "k", "v")), MPI_ERR_INFO);
    MPI_Info env = MPI_INFO_ENV;
    EXPECT_EQ(class_of(MPI_Info_free(&env)), MPI_ERR_INFO);
    char name[] = "program", one[] = "one", two[] = "two";
    char* arguments[] = {name, one, two, nullptr};
    ASSERT_EQ(MPI_Info_create_env(3, arguments, &env), MPI_SUCCESS);
    EXPECT_EQ(value("command", env), "program");
    EXPECT_EQ(value("argv", env), "one two");
    ASSERT_EQ(MPI_Info_free(&env), MPI_SUCCESS);
}

TEST_F(info_calls, threads_share_an_object)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                std::string const key = std::to_string(t) + '.' + std::to_string(i % 10);
                MPI_Info_set(info, key.c_str(), key.c_str());
                char text[MPI_MAX_INFO_VAL];
                int length = sizeof text, flag = 0;
                MPI_Info_get_string(info, key.c_str(), &length, text, &flag);
                EXPECT_EQ(flag, 1);
                EXPECT_EQ(text, key);
                if (i % 10 == 9) {
                    MPI_Info_delete(info, key.c_str());
                }
            }
        });
    for (auto& thread : threads)
        thread.join();
    int n = 0;
    MPI_Info_get_nkeys(info, &n);
    EXPECT_EQ(n, 4 * 9);
}
