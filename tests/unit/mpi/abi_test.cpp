// The ABI about itself, handles as integers, addresses, memory, names, time, tools.

#include "running.hpp"

#include <cstring>
#include <string>

namespace {

using abi_calls = running;

std::string value(MPI_Info info, char const* key)
{
    char text[MPI_MAX_INFO_VAL];
    int length = sizeof text, flag = 0;
    EXPECT_EQ(MPI_Info_get_string(info, key, &length, text, &flag), MPI_SUCCESS);
    return flag != 0 ? text : "(none)";
}

} // namespace

TEST_F(abi_calls, versions)
{
    int major = 0, minor = -1;
    ASSERT_EQ(MPI_Get_version(&major, &minor), MPI_SUCCESS);
    EXPECT_EQ(major, 5);
    EXPECT_EQ(minor, 0);
    ASSERT_EQ(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
    EXPECT_EQ(major, 1);
    EXPECT_EQ(minor, 0);
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    ASSERT_EQ(MPI_Get_library_version(text, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string(text).substr(0, 8), "Towline ");
    EXPECT_EQ(length, static_cast<int>(std::strlen(text)));
    ASSERT_EQ(MPI_Get_processor_name(text, &length), MPI_SUCCESS);
    EXPECT_GT(length, 0);
    EXPECT_EQ(length, static_cast<int>(std::strlen(text)));
    MPI_Info info = MPI_INFO_NULL;
    ASSERT_EQ(MPI_Abi_get_info(&info), MPI_SUCCESS);
    for (char const* const key : {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"})
        EXPECT_EQ(value(info, key), "8");
    MPI_Info_free(&info);
}

TEST_F(abi_calls, facts_about_fortran_are_set_once)
{
    MPI_Info info = MPI_INFO_ENV;
    ASSERT_EQ(MPI_Abi_get_fortran_info(&info), MPI_SUCCESS);
    EXPECT_EQ(info, MPI_INFO_NULL);
    EXPECT_EQ(class_of(MPI_Abi_set_fortran_info(MPI_INFO_NULL)), MPI_ERR_INFO);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "4");
    EXPECT_EQ(MPI_Abi_set_fortran_info(info), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Abi_set_fortran_info(info)), MPI_ERR_ABI);
    MPI_Info_free(&info);
    ASSERT_EQ(MPI_Abi_get_fortran_info(&info), MPI_SUCCESS);
    EXPECT_EQ(value(info, "mpi_integer_size"), "4");
    MPI_Info_free(&info);

    std::int32_t yes = -1, no = 0, got_yes = 5, got_no = 5;
    int is_set = -1;
    ASSERT_EQ(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set), MPI_SUCCESS);
    EXPECT_EQ(is_set, 0);
    ASSERT_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(4, &yes, &no)), MPI_ERR_ABI);
    ASSERT_EQ(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set), MPI_SUCCESS);
    EXPECT_EQ(is_set, 1);
    EXPECT_EQ(got_yes, -1);
    EXPECT_EQ(got_no, 0);
    ASSERT_EQ(MPI_Abi_get_fortran_booleans(8, nullptr, nullptr, &is_set), MPI_SUCCESS);
    EXPECT_EQ(is_set, 0);
    for (int const bad : {0, 3, -4, 32})
        EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(bad, &yes, &no)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(8, nullptr, &no)), MPI_ERR_ARG);
}

TEST_F(abi_calls, handles_are_integers_and_back)
{
    EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    EXPECT_EQ(MPI_Comm_fromint(0x101), MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Type_toint(MPI_INT), 0x209);
    EXPECT_EQ(MPI_Type_fromint(0x209), MPI_INT);
    EXPECT_EQ(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)), MPI_SUM);
    EXPECT_EQ(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)), MPI_REQUEST_NULL);
    for (int i = 0; i < 3; ++i) {  // places are used again
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        int const n = MPI_Info_toint(info);
        EXPECT_GE(n, 4096);
        EXPECT_EQ(MPI_Info_fromint(n), info);
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        EXPECT_NE(MPI_Group_toint(group), n);
        EXPECT_EQ(MPI_Group_fromint(MPI_Group_toint(group)), group);
        MPI_Group_free(&group);
        MPI_Info_free(&info);
        int keys = 0;
        EXPECT_EQ(class_of(MPI_Info_get_nkeys(MPI_Info_fromint(n), &keys)), MPI_ERR_INFO);
    }
    int keys = 0;
    for (int const odd : {-1, 0, 5000, 0x7fffffff})
        EXPECT_EQ(class_of(MPI_Info_get_nkeys(MPI_Info_fromint(odd), &keys)), MPI_ERR_INFO);
}

TEST_F(abi_calls, addresses)
{
    int array[4] = {};
    MPI_Aint a = 0, b = 0;
    ASSERT_EQ(MPI_Get_address(&array[3], &a), MPI_SUCCESS);
    ASSERT_EQ(MPI_Get_address(&array[0], &b), MPI_SUCCESS);
    EXPECT_EQ(MPI_Aint_diff(a, b), static_cast<MPI_Aint>(3 * sizeof(int)));
    EXPECT_EQ(MPI_Aint_diff(b, a), -static_cast<MPI_Aint>(3 * sizeof(int)));
    EXPECT_EQ(MPI_Aint_add(b, 12), a);
    ASSERT_EQ(MPI_Get_address(MPI_BOTTOM, &a), MPI_SUCCESS);
    EXPECT_EQ(a, 0);
    EXPECT_EQ(MPI_Aint_add(INTPTR_MAX, 1), INTPTR_MIN);
}

TEST_F(abi_calls, memory)
{
    void* p = nullptr;
    ASSERT_EQ(MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &p), MPI_SUCCESS);
    std::memset(p, 1, 1 << 20);
    ASSERT_EQ(MPI_Free_mem(p), MPI_SUCCESS);
    ASSERT_EQ(MPI_Alloc_mem(0, MPI_INFO_NULL, &p), MPI_SUCCESS);
    ASSERT_EQ(MPI_Free_mem(p), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Alloc_mem(-1, MPI_INFO_NULL, &p)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Alloc_mem(MPI_Aint{1} << 60, MPI_INFO_NULL, &p)), MPI_ERR_NO_MEM);
    EXPECT_EQ(class_of(MPI_Alloc_mem(1, handle<MPI_Info>(1), &p)), MPI_ERR_INFO);
    int local = 0;
    EXPECT_EQ(class_of(MPI_Free_mem(&local)), MPI_ERR_BASE);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    ASSERT_EQ(MPI_Alloc_mem(100, info, &p), MPI_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 4096, 0U);
    MPI_Free_mem(p);
    for (char const* const bad : {"3", "x", "-8", "64k", "0"}) {
        MPI_Info_set(info, "mpi_minimum_memory_alignment", bad);
        EXPECT_EQ(class_of(MPI_Alloc_mem(100, info, &p)), MPI_ERR_INFO_VALUE) << bad;
    }
    MPI_Info_free(&info);
}

TEST_F(abi_calls, communicators_of_a_job_of_one)
{
    int n = -1;
    EXPECT_EQ(MPI_Comm_size(MPI_COMM_WORLD, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 1);
    EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_IDENT);
    EXPECT_EQ(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_CONGRUENT);
    EXPECT_EQ(MPI_Comm_test_inter(MPI_COMM_WORLD, &n), MPI_SUCCESS);
    EXPECT_EQ(n, 0);
    MPI_Comm parent = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Comm_get_parent(&parent), MPI_SUCCESS);
    EXPECT_EQ(parent, MPI_COMM_NULL);
    char name[MPI_MAX_OBJECT_NAME];
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_SELF, name, &n), MPI_SUCCESS);
    EXPECT_STREQ(name, "MPI_COMM_SELF");
    std::string const text(200, 'n');
    EXPECT_EQ(MPI_Comm_set_name(MPI_COMM_SELF, text.c_str()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_SELF, name, &n), MPI_SUCCESS);
    EXPECT_EQ(name, text.substr(0, MPI_MAX_OBJECT_NAME - 1));
    EXPECT_EQ(n, MPI_MAX_OBJECT_NAME - 1);
    EXPECT_EQ(MPI_Comm_set_name(MPI_COMM_SELF, "MPI_COMM_SELF"), MPI_SUCCESS);
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "hint", "1");
    EXPECT_EQ(MPI_Comm_set_info(MPI_COMM_SELF, hints), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_info(MPI_COMM_SELF, MPI_INFO_NULL), MPI_SUCCESS);
    MPI_Info_free(&hints);
    EXPECT_EQ(MPI_Comm_get_info(MPI_COMM_SELF, &hints), MPI_SUCCESS);
    EXPECT_EQ(value(hints, "hint"), "1");
    MPI_Info_free(&hints);
}

TEST_F(abi_calls, time_goes_on)
{
    double const a = MPI_Wtime(), b = MPI_Wtime();
    EXPECT_GT(a, 0);
    EXPECT_GE(b, a);
    EXPECT_GT(MPI_Wtick(), 0);
    EXPECT_LT(MPI_Wtick(), 1e-3);
    int level = -1, flag = 0;
    EXPECT_EQ(MPI_Query_thread(&level), MPI_SUCCESS);
    EXPECT_EQ(level, MPI_THREAD_SINGLE);
    EXPECT_EQ(MPI_Is_thread_main(&flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Pcontrol(1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pcontrol(2, "more", 3), MPI_SUCCESS);
}

TEST(tools, start_with_nothing_to_show)
{
    int n = -1;
    EXPECT_EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &n), MPI_SUCCESS);
    EXPECT_EQ(n, MPI_THREAD_MULTIPLE);
    ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &n), MPI_SUCCESS);
    for (auto* const count : {MPI_T_cvar_get_num, MPI_T_pvar_get_num, MPI_T_event_get_num, MPI_T_source_get_num, MPI_T_category_get_num,
                              MPI_T_category_changed}) {
        n = -1;
        EXPECT_EQ(count(&n), MPI_SUCCESS);
        EXPECT_EQ(n, 0);
        EXPECT_EQ(count(nullptr), MPI_T_ERR_INVALID);
    }
    char text[16];
    int length = sizeof text;
    EXPECT_EQ(MPI_T_category_get_info(0, text, &length, text, &length, &n, &n, &n), MPI_T_ERR_INVALID_INDEX);
    EXPECT_EQ(MPI_T_cvar_get_index("x", &n), MPI_T_ERR_INVALID_NAME);
    MPI_T_cvar_handle cvar = handle<MPI_T_cvar_handle>(1);
    EXPECT_EQ(MPI_T_cvar_handle_alloc(0, nullptr, &cvar, &n), MPI_T_ERR_INVALID_INDEX);
    EXPECT_EQ(cvar, MPI_T_CVAR_HANDLE_NULL);
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    ASSERT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, text), MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_session const kept = session;
    EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    EXPECT_EQ(session, MPI_T_PVAR_SESSION_NULL);
    EXPECT_EQ(MPI_T_pvar_start(kept, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_get_num(&n), MPI_SUCCESS);  // started twice
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
}
