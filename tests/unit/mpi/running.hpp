#pragma once
// For tests of calls: MPI runs in the test's process, as a job of one, and errors are returned.

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

struct running : ::testing::Test {
    static void SetUpTestSuite()
    {
        int initialized = 0;
        MPI_Initialized(&initialized);
        if (initialized == 0) {
            ASSERT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
        }
    }
    void SetUp() override
    {
        ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    }
};

/// The error class of what a call returned.
inline int class_of(int code)
{
    int error_class = -1;
    EXPECT_EQ(MPI_Error_class(code, &error_class), MPI_SUCCESS);
    return error_class;
}

/// The text that an error's code has.
inline std::string error_text(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1;
    EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
    EXPECT_EQ(length, static_cast<int>(std::string(text).size()));
    return text;
}

/// A handle of whatever type, made of a number.
template <class Handle>
Handle handle(std::uint64_t bits)
{
    return reinterpret_cast<Handle>(bits);
}
