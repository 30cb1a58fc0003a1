#include "running.hpp"

#include <cstdarg>
#include <string>
#include <utility>

namespace {

using errors = running;

std::string last_text;
MPI_Comm last_comm = MPI_COMM_NULL;
int last_code = 0, times = 0;

void on_error(MPI_Comm* comm, int* code, ...)
{
    va_list rest;
    va_start(rest, code);
    last_text = va_arg(rest, char const*);
    va_end(rest);
    last_comm = *comm;
    last_code = *code;
    ++times;
}

void on_file_error(MPI_File* file, int* code, ...)
{
    EXPECT_EQ(*file, MPI_FILE_NULL);
    last_code = *code;
    ++times;
}

void on_win_error(MPI_Win*, int*, ...) {}
void on_session_error(MPI_Session*, int*, ...) {}

} // namespace

TEST_F(errors, classes_of_the_standard_have_texts)
{
    for (int c = MPI_SUCCESS; c <= MPI_ERR_ABI; ++c) {
        int error_class = -1;
        EXPECT_EQ(MPI_Error_class(c, &error_class), MPI_SUCCESS);
        EXPECT_EQ(error_class, c);
        EXPECT_EQ(error_text(c).substr(0, 4), "MPI_");
        for (int other = 0; other < c; ++other)
            EXPECT_NE(error_text(other), error_text(c));
    }
    EXPECT_EQ(error_text(MPI_ERR_COMM), "MPI_ERR_COMM: invalid communicator");
    EXPECT_EQ(error_text(MPI_ERR_RMA_SYNC).substr(0, 17), "MPI_ERR_RMA_SYNC:");
    EXPECT_EQ(error_text(MPI_ERR_ABI).substr(0, 12), "MPI_ERR_ABI:");
    EXPECT_EQ(error_text(MPI_T_ERR_PVAR_NO_ATOMIC).substr(0, 25), "MPI_T_ERR_PVAR_NO_ATOMIC:");
    int error_class = 0;
    for (int const unknown : {-1, 63, 1000, 1019, 16384 + 4711})
        EXPECT_EQ(class_of(MPI_Error_class(unknown, &error_class)), MPI_ERR_ARG) << unknown;
}

TEST_F(errors, programs_add_and_remove_their_own)
{
    int* last = nullptr;
    int flag = 0;
    ASSERT_EQ(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag), MPI_SUCCESS);
    EXPECT_EQ(*last, MPI_ERR_LASTCODE);
    int mine = 0, code = 0, other = 0, found = 0;
    ASSERT_EQ(MPI_Add_error_class(&mine), MPI_SUCCESS);
    EXPECT_GT(mine, MPI_ERR_LASTCODE);
    EXPECT_EQ(*last, mine);
    EXPECT_EQ(error_text(mine), "");
    ASSERT_EQ(MPI_Add_error_code(mine, &code), MPI_SUCCESS);
    ASSERT_EQ(MPI_Add_error_code(MPI_ERR_TAG, &other), MPI_SUCCESS);
    EXPECT_EQ(*last, other);
    ASSERT_EQ(MPI_Error_class(code, &found), MPI_SUCCESS);
    EXPECT_EQ(found, mine);
    ASSERT_EQ(MPI_Error_class(other, &found), MPI_SUCCESS);
    EXPECT_EQ(found, MPI_ERR_TAG);
    ASSERT_EQ(MPI_Add_error_string(code, "mine"), MPI_SUCCESS);
    EXPECT_EQ(error_text(code), "mine");
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    ASSERT_EQ(MPI_Comm_create_errhandler(on_error, &handler), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    ASSERT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code), MPI_SUCCESS);
    EXPECT_EQ(last_code, code);
    EXPECT_EQ(last_text, "MPI_Comm_call_errhandler was called with error code " + std::to_string(code) + ": mine.");
    EXPECT_EQ(class_of(MPI_Add_error_string(MPI_ERR_TAG, "mine")), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Add_error_string(code, std::string(MPI_MAX_ERROR_STRING, 'x').c_str())), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Add_error_code(code, &found)), MPI_ERR_ARG);  // a code is no class
    EXPECT_EQ(class_of(MPI_Remove_error_class(mine)), MPI_ERR_OTHER);    // its code is there yet
    EXPECT_EQ(class_of(MPI_Remove_error_class(code)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Remove_error_code(mine)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Remove_error_code(MPI_ERR_TAG)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Remove_error_code(code)), MPI_ERR_OTHER);  // its string is there yet
    ASSERT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Remove_error_string(code)), MPI_ERR_ARG);
    EXPECT_EQ(error_text(code), "");
    ASSERT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Error_class(code, &found)), MPI_ERR_ARG);
    ASSERT_EQ(MPI_Remove_error_code(other), MPI_SUCCESS);
    ASSERT_EQ(MPI_Add_error_string(mine, "all of mine"), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Remove_error_class(mine)), MPI_ERR_OTHER);
    ASSERT_EQ(MPI_Remove_error_string(mine), MPI_SUCCESS);
    ASSERT_EQ(MPI_Remove_error_class(mine), MPI_SUCCESS);
    EXPECT_EQ(*last, MPI_ERR_LASTCODE);
}

TEST_F(errors, a_handler_is_called_with_what_happened)
{
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
    ASSERT_EQ(MPI_Comm_create_errhandler(on_error, &mine), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine), MPI_SUCCESS);
    times = 0;
    EXPECT_EQ(class_of(MPI_Comm_set_name(MPI_COMM_WORLD, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(times, 1);
    EXPECT_EQ(last_comm, MPI_COMM_WORLD);
    EXPECT_EQ(class_of(last_code), MPI_ERR_ARG);
    EXPECT_EQ(last_text, "MPI_Comm_set_name failed: comm_name is a null pointer (MPI_ERR_ARG). The call was "
                         "MPI_Comm_set_name(comm=MPI_COMM_WORLD, comm_name=null).");
    EXPECT_EQ(class_of(MPI_Comm_set_name(MPI_COMM_SELF, nullptr)), MPI_ERR_ARG);  // another communicator, another handler
    EXPECT_EQ(times, 1);
    EXPECT_EQ(class_of(MPI_Send_c(&times, -3, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD)), MPI_ERR_COUNT);
    EXPECT_NE(last_text.find("count=-3, datatype=MPI_INT, dest=MPI_PROC_NULL, tag=5, comm=MPI_COMM_WORLD"), std::string::npos) << last_text;
    ASSERT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT_EQ(class_of(last_code), MPI_ERR_TAG);
    EXPECT_EQ(last_text, "MPI_Comm_call_errhandler was called with MPI_ERR_TAG.");
    EXPECT_EQ(times, 3);
    ASSERT_EQ(MPI_Errhandler_free(&mine), MPI_SUCCESS);
    EXPECT_EQ(mine, MPI_ERRHANDLER_NULL);
    ASSERT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG), MPI_SUCCESS);  // the communicator has it yet
    EXPECT_EQ(times, 4);
}

TEST_F(errors, a_handler_has_one_handle)
{
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL, got = MPI_ERRHANDLER_NULL, again = MPI_ERRHANDLER_NULL;
    ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got), MPI_SUCCESS);
    EXPECT_EQ(got, MPI_ERRORS_RETURN);
    ASSERT_EQ(MPI_Errhandler_free(&got), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_create_errhandler(on_error, &mine), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got), MPI_SUCCESS);
    EXPECT_EQ(got, mine);
    MPI_Errhandler const kept = mine;
    ASSERT_EQ(MPI_Errhandler_free(&mine), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, got), MPI_SUCCESS);  // still a handle: it was got twice
    ASSERT_EQ(MPI_Errhandler_free(&got), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_SELF, &again), MPI_SUCCESS);  // freed as often as got: a new one
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    ASSERT_EQ(MPI_Errhandler_free(&again), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_SELF, kept)), MPI_ERR_ERRHANDLER);
}

TEST_F(errors, handlers_are_for_their_kind_of_object)
{
    MPI_Errhandler file = MPI_ERRHANDLER_NULL, win = MPI_ERRHANDLER_NULL, session = MPI_ERRHANDLER_NULL, got = MPI_ERRHANDLER_NULL;
    ASSERT_EQ(MPI_File_create_errhandler(on_file_error, &file), MPI_SUCCESS);
    ASSERT_EQ(MPI_Win_create_errhandler(on_win_error, &win), MPI_SUCCESS);
    ASSERT_EQ(MPI_Session_create_errhandler(on_session_error, &session), MPI_SUCCESS);
    for (MPI_Errhandler const wrong : {file, win, session, MPI_ERRHANDLER_NULL})
        EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, wrong)), MPI_ERR_ERRHANDLER);
    EXPECT_EQ(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, win)), MPI_ERR_ERRHANDLER);
    EXPECT_EQ(MPI_File_get_errhandler(MPI_FILE_NULL, &got), MPI_SUCCESS);
    EXPECT_EQ(got, MPI_ERRORS_RETURN);
    ASSERT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, file), MPI_SUCCESS);
    times = 0;
    MPI_File f = MPI_FILE_NULL;
    EXPECT_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, "f", MPI_MODE_RDONLY, MPI_INFO_NULL, &f)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(times, 1);
    EXPECT_EQ(class_of(last_code), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE), MPI_SUCCESS);
    EXPECT_EQ(class_of(last_code), MPI_ERR_AMODE);
    ASSERT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_File_get_errhandler(handle<MPI_File>(0x5000), &got)), MPI_ERR_FILE);
    EXPECT_EQ(class_of(MPI_Comm_create_errhandler(nullptr, &got)), MPI_ERR_ARG);
    for (MPI_Errhandler* const e : {&file, &win, &session})
        EXPECT_EQ(MPI_Errhandler_free(e), MPI_SUCCESS);
}

// What people see where nobody handles the error; the process ends with the code.
using errors_DeathTest = errors;

TEST_F(errors_DeathTest, one_paragraph_says_it_all)
{
    GTEST_FLAG_SET(death_test_style, "fast");
    int n = 0;
    EXPECT_EXIT(
        {
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
            MPI_Comm_remote_size(MPI_COMM_WORLD, &n);
        },
        ::testing::ExitedWithCode(MPI_ERR_COMM),
        "MPI_Comm_remote_size failed: comm is MPI_COMM_WORLD, an intracommunicator, which has no remote group .MPI_ERR_COMM.. The call was "
        "MPI_Comm_remote_size.comm=MPI_COMM_WORLD.. The job ends here, because the error handler of MPI_COMM_WORLD is "
        "MPI_ERRORS_ARE_FATAL.");
    EXPECT_EXIT(
        {
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT);
            MPI_Group_size(handle<MPI_Group>(0x209), &n);
        },
        ::testing::ExitedWithCode(MPI_ERR_GROUP),
        "group is MPI_INT, a datatype, where a group is wanted.*of MPI_COMM_SELF is MPI_ERRORS_ABORT");
    EXPECT_EXIT(
        {
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
            MPI_Op op = MPI_SUM;
            MPI_Op_free(&op);
        },
        ::testing::ExitedWithCode(MPI_ERR_OP), "op is MPI_SUM, which is predefined and cannot be freed.*MPI_Op_free.op=MPI_SUM.");
    EXPECT_EXIT(MPI_Abort(MPI_COMM_WORLD, 300), ::testing::ExitedWithCode(300 & 0xff),
                "MPI_Abort was called on MPI_COMM_WORLD, with error code 300");
    EXPECT_EXIT(MPI_Abort(MPI_COMM_WORLD, 256), ::testing::ExitedWithCode(1), "with error code 256");
    EXPECT_EXIT(MPI_Abort(MPI_COMM_WORLD, 0), ::testing::ExitedWithCode(0), "with error code 0");
}
