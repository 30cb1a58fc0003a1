/* Sessions: MPI without MPI_Init, with it, and again. Usage: sessions SCENARIO */
#include "check.h"

#include <string.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static int handled;
static void on_error(MPI_Session* session, int* code, ...)
{
    CHECK(*session != MPI_SESSION_NULL);
    handled = class_of(*code);
}

static MPI_Comm comm_of(MPI_Session s, char const* set, char const* tag)
{
    MPI_Group g;
    MPI_Comm c;
    CHECK(MPI_Group_from_session_pset(s, set, &g) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c) == MPI_SUCCESS);
    MPI_Group_free(&g);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    return c;
}

static void use(char const* tag)
{
    MPI_Session s;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS && s != MPI_SESSION_NULL);
    MPI_Comm c = comm_of(s, "mpi://WORLD", tag);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&c);
    CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS && s == MPI_SESSION_NULL);
}

static void sets(void)
{
    MPI_Session s;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
    int n = 0, worlds = 0, selves = 0;
    MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
    CHECK(n >= 2);
    for (int i = 0; i < n; ++i) {
        char name[MPI_MAX_PSET_NAME_LEN], cut[6], value[20];
        int length = 0, flag = 0;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &length, NULL);
        CHECK(length > 1 && length < (int)sizeof name);
        int given = length;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &given, name);
        CHECK((int)strlen(name) + 1 == length && given == length);
        given = 6;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &given, cut);
        CHECK(strlen(cut) == 5 && strncmp(cut, name, 5) == 0 && given == length);
        worlds += strcmp(name, "mpi://WORLD") == 0;
        selves += strcmp(name, "mpi://SELF") == 0;
        MPI_Info about;
        MPI_Session_get_pset_info(s, name, &about);
        int room = sizeof value;
        MPI_Info_get_string(about, "mpi_size", &room, value, &flag);
        MPI_Group g;
        MPI_Group_from_session_pset(s, name, &g);
        MPI_Group_size(g, &n);
        CHECK(flag && atoi(value) == n);
        MPI_Group_free(&g);
        MPI_Info_free(&about);
        MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
    }
    CHECK(worlds == 1 && selves == 1);
    MPI_Info used;
    char level[40];
    int room = sizeof level, flag = 0;
    MPI_Session_get_info(s, &used);
    MPI_Info_get_string(used, "thread_level", &room, level, &flag);
    CHECK(flag && strncmp(level, "MPI_THREAD_", 11) == 0);
    MPI_Info_free(&used);
    MPI_Session_finalize(&s);
}

/* A buffer of the session is used by communicators of its groups, also of groups and communicators made of them. */
static void buffers(void)
{
    enum { room = 4096 };
    static char mine[room], other[room];
    MPI_Session s;
    MPI_Group g, part;
    MPI_Comm c, d;
    int const first[] = {0};
    int value = 7, got = 0, length = 0;
    char* where = NULL;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
    MPI_Group_from_session_pset(s, "mpi://SELF", &g);
    MPI_Group_incl(g, 1, first, &part);
    MPI_Comm_create_from_group(part, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
    MPI_Comm_dup(c, &d);
    CHECK(class_of(MPI_Bsend(&value, 1, MPI_INT, 0, 1, d)) == MPI_ERR_BUFFER);
    CHECK(MPI_Session_attach_buffer(s, mine, room) == MPI_SUCCESS);
    CHECK(class_of(MPI_Session_attach_buffer(s, other, room)) == MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(&value, 1, MPI_INT, 0, 1, d) == MPI_SUCCESS);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, d, MPI_STATUS_IGNORE);
    CHECK(got == 7);
    MPI_Request r;
    CHECK(MPI_Session_flush_buffer(s) == MPI_SUCCESS && MPI_Session_iflush_buffer(s, &r) == MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(MPI_Session_detach_buffer(s, &where, &length) == MPI_SUCCESS && where == mine && length == room);
    CHECK(class_of(MPI_Bsend(&value, 1, MPI_INT, 0, 1, d)) == MPI_ERR_BUFFER);
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
    MPI_Group_free(&g);
    MPI_Group_free(&part);
    MPI_Session_finalize(&s);
}

static void errors(void)
{
    MPI_Session s = (MPI_Session)5;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SOMEHOW");
    CHECK(class_of(MPI_Session_init(info, MPI_ERRORS_RETURN, &s)) == MPI_ERR_INFO_VALUE && s == MPI_SESSION_NULL);
    MPI_Info_free(&info);
    CHECK(class_of(MPI_Session_init((MPI_Info)0x13f, MPI_ERRORS_RETURN, &s)) == MPI_ERR_INFO);
    MPI_Errhandler mine;
    MPI_Session_create_errhandler(on_error, &mine);
    CHECK(MPI_Session_init(MPI_INFO_NULL, mine, &s) == MPI_SUCCESS);
    MPI_Group g;
    CHECK(class_of(MPI_Group_from_session_pset(s, "mpi://NOWHERE", &g)) == MPI_ERR_ARG && handled == MPI_ERR_ARG && g == MPI_GROUP_NULL);
    int length = 0;
    CHECK(class_of(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 99, &length, NULL)) == MPI_ERR_ARG);
    MPI_Session_call_errhandler(s, MPI_ERR_OTHER);
    CHECK(handled == MPI_ERR_OTHER);
    MPI_Errhandler got;
    MPI_Session_get_errhandler(s, &got);
    CHECK(got == mine);
    MPI_Errhandler_free(&got);
    MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN);
    handled = 0;
    CHECK(class_of(MPI_Group_from_session_pset(s, "mpi://NOWHERE", &g)) == MPI_ERR_ARG && handled == 0);
    MPI_Errhandler_free(&mine);
    MPI_Session_finalize(&s);
}

int main(int argc, char** argv)
{
    char const* const scenario = argc > 1 ? argv[1] : "";
    int flag = -1;
    if (!strcmp(scenario, "alone")) {
        use("a");
        MPI_Initialized(&flag);
        CHECK(flag == 0);
        use("b");
        use("a");
    } else if (!strcmp(scenario, "many")) {
        MPI_Session s;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
        use("inner");
        MPI_Comm c = comm_of(s, "mpi://SELF", "self");
        CHECK(size == 1);
        MPI_Comm_free(&c);
        MPI_Session_finalize(&s);
    } else if (!strcmp(scenario, "with_world")) {
        use("before");
        MPI_Init(&argc, &argv);
        use("within");
        MPI_Session s;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        MPI_Finalized(&flag);
        CHECK(flag == 1);
        MPI_Comm c = comm_of(s, "mpi://WORLD", "after");
        MPI_Barrier(c);
        MPI_Comm_free(&c);
        MPI_Session_finalize(&s);
        CHECK(class_of(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s)) == MPI_ERR_OTHER);
    } else if (!strcmp(scenario, "sets")) {
        sets();
    } else if (!strcmp(scenario, "buffers")) {
        buffers();
    } else if (!strcmp(scenario, "errors")) {
        errors();
    } else if (!strcmp(scenario, "open")) {
        MPI_Session s;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
        return 0;  /* no end of MPI */
    } else {
        return 2;
    }
    return 0;
}
