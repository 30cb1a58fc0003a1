/* Communicators that some of the ranks make, or that are made meanwhile, or by what ranks share; and their end. Usage:
 * mpi_communicators_groups SCENARIO [multiple]; silent and 0 where everything was as it should. */
#include "communicators.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static MPI_Group group_of(const int* ranks, int n)
{
    MPI_Group world, g;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &g);
    MPI_Group_free(&world);
    return g;
}

static void create_group(void)
{
    MPI_Comm c, d;
    int all[64], n = 0;
    for (int r = size - 1; r >= 0; --r)
        all[n++] = r;
    /* All, from the last; then without the first, who does not call. */
    for (int round = 0; round < 3; ++round) {
        MPI_Group g = group_of(all, n);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &c) == MPI_SUCCESS);
        CHECK(size_of(c) == size && rank_in(c) == size - 1 - rank && ring(c) == sum_of_all());
        MPI_Comm_free(&c);
        MPI_Group_free(&g);
        if (rank != 0) {
            g = group_of(all, n - 1);
            CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &c) == MPI_SUCCESS);
            CHECK(MPI_Comm_create_group(c, g, 0, &d) == MPI_SUCCESS);
            CHECK(size_of(d) == size - 1 && ring(d) == sum_of_all());
            MPI_Comm_free(&c);
            MPI_Comm_free(&d);
            MPI_Group_free(&g);
        }
    }
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    if (size > 1) {
        int const other = rank == 0 ? 1 : 0;
        MPI_Group g = group_of(&other, 1);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, g, 0, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        CHECK(class_of(MPI_Comm_create_group(MPI_COMM_SELF, g, 0, &c)) == MPI_ERR_GROUP);
        MPI_Group_free(&g);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, -1, &c)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &c)) == MPI_ERR_GROUP);
}

/* Without a parent: groups and a string. */
static void from_groups(void)
{
    int all[64], n = 0;
    for (int r = size - 1; r >= 0; --r)
        all[n++] = r;
    MPI_Comm c, inter;
    MPI_Errhandler h;
    MPI_Group const g = group_of(all, n), self = group_of(&rank, 1);
    CHECK(MPI_Comm_create_from_group(g, "a string", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    CHECK(size_of(c) == size && rank_in(c) == size - 1 - rank && ring(c) == sum_of_all());
    MPI_Comm_get_errhandler(c, &h);
    CHECK(h == MPI_ERRORS_RETURN);
    MPI_Comm_free(&c);
    CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    CHECK(MPI_Comm_create_from_group(self, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS && ring(c) == rank);
    MPI_Comm_free(&c);
    if (size > 1) {
        /* Rank 0 and all others; only the leaders, who are the last of their groups, say who the others are. */
        int const zero = 0;
        MPI_Group const one = group_of(&zero, 1), rest = group_of(all, n - 1);
        MPI_Group const mine = rank == 0 ? one : rest, there = rank == 0 ? rest : rank == 1 ? one : MPI_GROUP_NULL;
        int const leader = rank == 0 ? 0 : size - 2, other = rank == 0 ? size - 2 : 0;
        int remote = -1, in = -1;
        CHECK(MPI_Intercomm_create_from_groups(mine, leader, there, other, "between", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_remote_size(inter, &remote) == MPI_SUCCESS && remote == (rank == 0 ? size - 1 : 1));
        if (rank == 0)
            for (int r = 0; r < remote; ++r)
                MPI_Send(&r, 1, MPI_INT, r, 0, inter);
        else {
            MPI_Recv(&in, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
            CHECK(in == rank_in(inter) && in == size - 1 - rank);
        }
        MPI_Comm_free(&inter);
    }
    static char long_tag[MPI_MAX_STRINGTAG_LEN + 8];
    memset(long_tag, 'x', sizeof long_tag - 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_create_from_group(self, long_tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Comm_create_from_group(self, "", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &c)) == MPI_ERR_ERRHANDLER);
    CHECK(class_of(MPI_Intercomm_create_from_groups(self, 1, self, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Intercomm_create_from_groups(self, 0, self, 1, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Intercomm_create_from_groups(self, 0, self, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter)) == MPI_ERR_COMM);
}

/* Threads of the same ranks and one communicator, apart by their tags. */
static void* grouping(void* tag)
{
    int all[64];
    for (int r = 0; r < size; ++r)
        all[r] = r;
    MPI_Group g = group_of(all, size);
    for (int i = 0; i < 200; ++i) {
        MPI_Comm c;
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, g, *(int*)tag, &c) == MPI_SUCCESS);
        CHECK(ring(c) == sum_of_all());
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&g);
    return NULL;
}

static void group_threads(void)
{
    enum { N = 4 };
    int tags[N] = {0, 1, 77, 2147483647};
    pthread_t t[N];
    for (int i = 0; i < N; ++i)
        CHECK(pthread_create(&t[i], NULL, grouping, &tags[i]) == 0);
    for (int i = 0; i < N; ++i)
        pthread_join(t[i], NULL);
}

static int copies_made;

static int copying(MPI_Comm c, int key, void* state, void* value, void* out, int* flag)
{
    (void)c;
    (void)key;
    ++copies_made;
    *(void**)out = value;
    *flag = 1;
    return state != NULL ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void idup(void)
{
    enum { N = 8 };
    MPI_Comm c, d[N], copy;
    MPI_Request r[N];
    int key, bad, flag = -1, a = 1, b = 2;
    int* value = NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_create_keyval(copying, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_create_keyval(copying, MPI_COMM_NULL_DELETE_FN, &bad, &b);
    MPI_Comm_set_attr(c, key, &a);
    /* Attributes are those at the time of the call. Many at once, others in between, freed before the end. */
    for (int i = 0; i < N; ++i) {
        CHECK(MPI_Comm_idup(c, &d[i], &r[i]) == MPI_SUCCESS);
        CHECK(copies_made == 1);
        copies_made = 0;
        if (i == 3) {
            MPI_Comm_dup(c, &copy);
            CHECK(ring(copy) == sum_of_all());
            MPI_Comm_free(&copy);
            copies_made = 0;
        }
    }
    MPI_Comm_set_attr(c, key, &b);
    MPI_Comm_free(&c);
    MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
    for (int i = N - 1; i >= 0; --i) {
        CHECK(ring(d[i]) == sum_of_all());
        MPI_Comm_get_attr(d[i], key, &value, &flag);
        CHECK(flag == 1 && value == &a);
        compares(d[i], MPI_COMM_WORLD, MPI_CONGRUENT);
        if (i > 0) {
            compares(d[i], d[i - 1], MPI_CONGRUENT);
            MPI_Comm_free(&d[i]);
        }
    }
    /* A copy fails on one rank: it has none, the others have theirs. */
    MPI_Comm_set_errhandler(d[0], MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Comm_set_attr(d[0], bad, &b);
    int const code = MPI_Comm_idup(d[0], &c, &r[0]);
    CHECK(class_of(code) == (rank == 0 ? MPI_ERR_INTERN : MPI_SUCCESS));
    CHECK((c == MPI_COMM_NULL) == (rank == 0) && (r[0] == MPI_REQUEST_NULL) == (rank == 0));
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    /* Hints; a request that nobody waits for. */
    MPI_Info i, used;
    char text[8];
    MPI_Info_create(&i);
    MPI_Info_set(i, "some_hint", "true");
    if (rank == 0)
        MPI_Comm_delete_attr(d[0], bad);
    CHECK(MPI_Comm_idup_with_info(d[0], i, &c, &r[0]) == MPI_SUCCESS);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Comm_get_info(c, &used);
    MPI_Info_get(used, "some_hint", 7, text, &flag);
    CHECK(flag == 1 && strcmp(text, "true") == 0);
    MPI_Info_free(&used);
    MPI_Info_free(&i);
    MPI_Comm_free(&c);
    MPI_Comm_idup(d[0], &c, &r[0]);
    MPI_Request_free(&r[0]);
    MPI_Comm_dup(d[0], &copy);
    CHECK(ring(copy) == sum_of_all());
    MPI_Comm_free(&copy);
    MPI_Comm_free(&d[0]);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&bad);
}

static MPI_Comm split_by(int type, const char* key, const char* value)
{
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Info i = MPI_INFO_NULL;
    if (key != NULL) {
        MPI_Info_create(&i);
        MPI_Info_set(i, key, value);
    }
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, i, &c) == MPI_SUCCESS);
    if (key != NULL)
        MPI_Info_free(&i);
    return c;
}

static void is_all(MPI_Comm c)
{
    CHECK(c != MPI_COMM_NULL && size_of(c) == size && rank_in(c) == size - 1 - rank);
    MPI_Comm_free(&c);
}

static void split_type(void)
{
    const char* const type = "mpi_hw_resource_type";
    MPI_Comm c;
    is_all(split_by(MPI_COMM_TYPE_SHARED, NULL, NULL));
    is_all(split_by(MPI_COMM_TYPE_HW_GUIDED, type, "mpi_shared_memory"));
    is_all(split_by(MPI_COMM_TYPE_HW_GUIDED, type, "hwloc://Machine"));
    is_all(split_by(MPI_COMM_TYPE_RESOURCE_GUIDED, type, "machine"));
    is_all(split_by(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"));
    c = split_by(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF");
    CHECK(size_of(c) == 1);
    MPI_Comm_free(&c);
    CHECK(split_by(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == MPI_COMM_NULL);
    CHECK(split_by(MPI_COMM_TYPE_HW_GUIDED, type, "unheard of") == MPI_COMM_NULL);
    CHECK(split_by(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://SELF") == MPI_COMM_NULL);
    CHECK(split_by(MPI_UNDEFINED, NULL, NULL) == MPI_COMM_NULL);
    /* Some want none; each split by differences is smaller than the last. */
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c) == MPI_SUCCESS);
    CHECK((c == MPI_COMM_NULL) == (rank == 0));
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    for (int depth = 0; c != MPI_COMM_NULL; ++depth) {
        MPI_Comm next;
        CHECK(depth < 64);
        CHECK(MPI_Comm_split_type(c, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &next) == MPI_SUCCESS);
        CHECK(next == MPI_COMM_NULL || size_of(next) < size_of(c));
        MPI_Comm_free(&c);
        c = next;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &c)) == MPI_ERR_ARG);
    if (size > 1)
        CHECK(class_of(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                           &c)) == MPI_ERR_ARG);
}

/* Ranks that are bound to cores of their own (towline run --bind core). */
static void split_bound(void)
{
    MPI_Comm c = split_by(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://Core");
    if (c == MPI_COMM_NULL) /* a system that does not tell of cores */
        c = split_by(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://PU");
    CHECK(c != MPI_COMM_NULL && size_of(c) == 1);
    MPI_Comm_free(&c);
    /* Left to the library, which says what it chose. */
    MPI_Info i;
    char type[64] = "";
    int flag = 0;
    MPI_Info_create(&i);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, i, &c) == MPI_SUCCESS);
    CHECK(c != MPI_COMM_NULL && size_of(c) < size);
    MPI_Info_get(i, "mpi_hw_resource_type", 63, type, &flag);
    CHECK(flag == 1 && strncmp(type, "hwloc://", 8) == 0);
    MPI_Info_free(&i);
    MPI_Comm_free(&c);
}

static void disconnect(void)
{
    enum { N = 100000 };
    static int in[N], out[N];
    MPI_Comm c;
    MPI_Request r[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    out[N - 1] = rank;
    MPI_Irecv(in, N, MPI_INT, (rank + size - 1) % size, 0, c, &r[0]);
    MPI_Isend(out, N, MPI_INT, (rank + 1) % size, 0, c, &r[1]);
    CHECK(MPI_Comm_disconnect(&c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    int done = -1;
    MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
    CHECK(done == 1 && in[N - 1] == (rank + size - 1) % size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    c = MPI_COMM_WORLD;
    CHECK(class_of(MPI_Comm_disconnect(&c)) == MPI_ERR_COMM);
}

/* The last rank is killed while the others make communicators with it, in one way or another: they get an error, or wait for one that
 * left because it got one (towline run --keep-going). */
static int make_one(int way, MPI_Comm* c)
{
    static MPI_Comm half = MPI_COMM_NULL;
    MPI_Request r;
    MPI_Group g;
    int code, all[64];
    switch (way) {
    case 0: return MPI_Comm_dup(MPI_COMM_WORLD, c);
    case 1: return MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, c);
    case 2:
        for (int i = 0; i < size; ++i)
            all[i] = i;
        g = group_of(all, size);
        code = MPI_Comm_create_group(MPI_COMM_WORLD, g, 1, c);
        MPI_Group_free(&g);
        return code;
    case 3:
        code = MPI_Comm_idup(MPI_COMM_WORLD, c, &r);
        return code != MPI_SUCCESS ? code : MPI_Wait(&r, MPI_STATUS_IGNORE);
    default:
        if (half == MPI_COMM_NULL)
            MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, 0, &half);
        return MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == size - 1 ? 0 : size - 1, 0, c);
    }
}

static void survive(int way)
{
    MPI_Comm c;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; rank != size - 1 || i < 100; ++i) {
        int const code = make_one(way, &c);
        if (code != MPI_SUCCESS) {
            CHECK(rank != size - 1 && class_of(code) == MPI_ERR_PROC_ABORTED);
            _exit(0);
        }
        MPI_Comm_free(&c);
    }
    kill(getpid(), SIGKILL);
}

static void survive_dup(void) { survive(0); }
static void survive_split(void) { survive(1); }
static void survive_group(void) { survive(2); }
static void survive_idup(void) { survive(3); }
static void survive_inter(void) { survive(4); }

int main(int argc, char** argv)
{
    const struct scenario scenarios[] = {{"create_group", create_group}, {"from_groups", from_groups},
                                         {"group_threads", group_threads}, {"idup", idup},
                                         {"split_type", split_type}, {"split_bound", split_bound}, {"disconnect", disconnect},
                                         {"survive_dup", survive_dup}, {"survive_split", survive_split},
                                         {"survive_group", survive_group}, {"survive_idup", survive_idup},
                                         {"survive_inter", survive_inter}};
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}
