/* Communicators: made of others, freed, their attributes and numbers. Usage: mpi_communicators SCENARIO [multiple]; silent and 0 where
 * everything was as it should. */
#include "communicators.h"

#include <pthread.h>

/* A duplicate has the same ranks and another context. */
static void dup(void)
{
    MPI_Comm d, dd, s;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &d) == MPI_SUCCESS);
    compares(d, MPI_COMM_WORLD, MPI_CONGRUENT);
    CHECK(rank_in(d) == rank && size_of(d) == size);
    CHECK(MPI_Comm_dup(d, &dd) == MPI_SUCCESS);
    int there = -1, in = -1, out[3] = {1, 2, 3};
    MPI_Request r[3];
    MPI_Comm const c[3] = {MPI_COMM_WORLD, d, dd};
    for (int i = 0; i < 3; ++i)
        MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, 0, c[i], &r[i]);
    for (int i = 2; i >= 0; --i) {
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c[i], MPI_STATUS_IGNORE);
        CHECK(in == out[i]);
    }
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, d, &there, MPI_STATUS_IGNORE);
    CHECK(there == 0);
    CHECK(ring(dd) == sum_of_all());
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &s) == MPI_SUCCESS);
    CHECK(size_of(s) == 1 && ring(s) == rank);
    MPI_Comm old = d;
    CHECK(MPI_Comm_free(&d) == MPI_SUCCESS && d == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_free(&old)) == MPI_ERR_COMM);
    CHECK(ring(dd) == sum_of_all());
    MPI_Comm_free(&dd);
    MPI_Comm_free(&s);
}

static void split(void)
{
    MPI_Comm c = MPI_COMM_NULL;
    /* Even and odd ranks, the last first. */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c) == MPI_SUCCESS);
    int const n = (size + 1 - rank % 2) / 2, last = rank % 2 + 2 * (n - 1);
    CHECK(size_of(c) == n && rank_in(c) == (last - rank) / 2);
    int sum = 0;
    for (int r = rank % 2; r < size; r += 2)
        sum += r;
    CHECK(ring(c) == sum);
    compares(c, MPI_COMM_WORLD, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    /* The same key: the old order. A split of a split. */
    MPI_Comm again;
    CHECK(MPI_Comm_split(c, 7, 3, &again) == MPI_SUCCESS);
    compares(again, c, MPI_CONGRUENT);
    CHECK(ring(again) == sum);
    MPI_Comm_free(&again);
    MPI_Comm_free(&c);
    /* Some want none. */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : INT32_MAX, 0, &c) == MPI_SUCCESS);
    CHECK((c == MPI_COMM_NULL) == (rank == 0));
    if (rank != 0) {
        CHECK(rank_in(c) == rank - 1 && ring(c) == sum_of_all());
        MPI_Comm_free(&c);
    }
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    /* Reversed: similar. */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &c) == MPI_SUCCESS);
    compares(c, MPI_COMM_WORLD, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&c);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &c)) == MPI_ERR_ARG);
}

static void create(void)
{
    MPI_Group world, odd, mine;
    MPI_Comm c;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    /* Odd ranks, the last first; the others give the same group and get nothing. */
    int odds[64], n = 0;
    for (int r = size - 1; r >= 0; --r)
        if (r % 2 == 1)
            odds[n++] = r;
    MPI_Group_incl(world, n, odds, &odd);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, odd, &c) == MPI_SUCCESS);
    CHECK((c != MPI_COMM_NULL) == (rank % 2 == 1));
    if (c != MPI_COMM_NULL) {
        CHECK(size_of(c) == n && odds[rank_in(c)] == rank);
        (void)ring(c);
        MPI_Comm_free(&c);
    }
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    /* Every rank a group of its own, in one call. */
    MPI_Group_incl(world, 1, &rank, &mine);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, mine, &c) == MPI_SUCCESS);
    compares(c, MPI_COMM_SELF, MPI_CONGRUENT);
    CHECK(ring(c) == rank);
    /* Not a subset. */
    if (size > 1) {
        MPI_Comm none;
        MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
        CHECK(class_of(MPI_Comm_create(c, world, &none)) == MPI_ERR_GROUP);
    }
    MPI_Comm_free(&c);
    MPI_Group_free(&mine);
    if (odd != MPI_GROUP_EMPTY)
        MPI_Group_free(&odd);
    MPI_Group_free(&world);
}

/* Numbers are used again. */
static void many(void)
{
    for (int i = 0; i < 50000; ++i) {
        MPI_Comm d, s;
        MPI_Comm_dup(MPI_COMM_WORLD, &d);
        MPI_Comm_split(d, rank % 2, 0, &s);
        if (i % 1000 == 0)
            CHECK(ring(d) == sum_of_all());
        MPI_Comm_free(&d);
        MPI_Comm_free(&s);
    }
}

static void alive(void)
{
    enum { N = 12000 };
    static MPI_Comm c[N];
    for (int i = 0; i < N; ++i)
        CHECK(MPI_Comm_dup(i % 3 == 0 || i == 0 ? MPI_COMM_WORLD : c[i - 1], &c[i]) == MPI_SUCCESS);
    for (int i = 0; i < N; i += 997)
        CHECK(ring(c[i]) == sum_of_all());
    int out[2] = {1, 2}, in = 0;
    MPI_Request r[2];
    MPI_Isend(&out[0], 1, MPI_INT, rank, 0, c[17], &r[0]);
    MPI_Isend(&out[1], 1, MPI_INT, rank, 0, c[N - 1], &r[1]);
    MPI_Recv(&in, 1, MPI_INT, rank, 0, c[N - 1], MPI_STATUS_IGNORE);
    CHECK(in == 2);
    MPI_Recv(&in, 1, MPI_INT, rank, 0, c[17], MPI_STATUS_IGNORE);
    CHECK(in == 1);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; ++i)
        MPI_Comm_free(&c[i]);
}

/* A communicator is freed under operations that are under way. */
static void pending(void)
{
    enum { N = 200000 };
    static int in[N], out[N];
    for (int i = 0; i < 20; ++i) {
        MPI_Comm c;
        MPI_Request r[2];
        MPI_Status s;
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        out[N - 1] = i;
        MPI_Irecv(in, N, MPI_INT, MPI_ANY_SOURCE, i, c, &r[0]);
        MPI_Isend(out, N, MPI_INT, (rank + 1) % size, i, c, &r[1]);
        MPI_Comm_free(&c);
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        CHECK(ring(c) == sum_of_all());
        MPI_Wait(&r[0], &s);
        CHECK(s.MPI_SOURCE == (rank + size - 1) % size && in[N - 1] == i);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        MPI_Comm_free(&c);
    }
    /* Buffered messages leave before their communicator is gone. */
    static char room[1000 + MPI_BSEND_OVERHEAD];
    MPI_Comm c;
    MPI_Request r;
    char word[900] = "", said[900] = "under way";
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(word, sizeof word, MPI_CHAR, MPI_ANY_SOURCE, 0, c, &r);
    MPI_Comm_attach_buffer(c, room, sizeof room);
    MPI_Bsend(said, sizeof said, MPI_CHAR, (rank + 1) % size, 0, c);
    MPI_Comm_free(&c);
    memset(room, 'x', sizeof room);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(strcmp(word, "under way") == 0);
}

/* What a duplicate takes over. Callbacks write down in which order they are called. */
static char order[256];
static MPI_Comm seen_by_copy;

static int copying(MPI_Comm c, int key, void* state, void* value, void* out, int* flag)
{
    (void)key;
    seen_by_copy = c;
    strcat(order, "c");
    strcat(order, state);
    *flag = strcmp(state, "none") != 0;
    *(void**)out = (char*)value + 1;
    return strcmp(state, "fail") == 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static int deleting(MPI_Comm c, int key, void* value, void* state)
{
    (void)c;
    (void)key;
    (void)value;
    strcat(order, "d");
    strcat(order, state);
    return strcmp(state, "stay") == 0 && value != NULL ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void attributes(void)
{
    static char a[] = "A", b[] = "B", none[] = "none", fail[] = "fail", stay[] = "stay", values[8];
    int ka, kb, kn, kf, ks, flag = -1;
    void* value = NULL;
    MPI_Comm c, d;
    MPI_Comm_create_keyval(copying, deleting, &ka, a);
    MPI_Comm_create_keyval(copying, deleting, &kb, b);
    MPI_Comm_create_keyval(copying, deleting, &kn, none);
    MPI_Comm_create_keyval(copying, deleting, &kf, fail);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleting, &ks, stay);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_attr(c, ka, values);
    MPI_Comm_set_attr(c, kn, values);
    MPI_Comm_set_attr(c, kb, values);
    CHECK(strcmp(order, "") == 0);
    MPI_Comm_dup(c, &d);
    CHECK(strcmp(order, "cAcnonecB") == 0 && seen_by_copy == c);
    MPI_Comm_get_attr(d, ka, &value, &flag);
    CHECK(flag == 1 && value == values + 1);
    MPI_Comm_get_attr(d, kn, &value, &flag);
    CHECK(flag == 0);
    order[0] = 0;
    MPI_Comm_free(&d);
    CHECK(strcmp(order, "dBdA") == 0);
    order[0] = 0;
    /* Neither a split nor a creation copies. */
    MPI_Comm_split(c, 0, 0, &d);
    MPI_Comm_free(&d);
    CHECK(strcmp(order, "") == 0);
    /* A copy fails: no communicator, and what was copied is deleted. Everybody is still in step. */
    MPI_Comm_set_attr(c, kf, values);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_dup(c, &d)) == MPI_ERR_INTERN && d == MPI_COMM_NULL);
    CHECK(strcmp(order, "cAcnonecBcfaildBdA") == 0);
    MPI_Comm_delete_attr(c, kf);
    MPI_Comm_dup(c, &d);
    CHECK(ring(d) == sum_of_all());
    /* A deletion fails: it stays. */
    MPI_Comm_set_attr(d, ks, values);
    MPI_Comm_set_errhandler(d, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_free(&d)) == MPI_ERR_INTERN && d != MPI_COMM_NULL);
    CHECK(ring(d) == sum_of_all());
    MPI_Comm_set_errhandler(d, MPI_ERRORS_ARE_FATAL);
    int const keys[] = {ka, kb, kn, kf, ks};
    for (int i = 0; i < 5; ++i) {
        int k = keys[i];
        MPI_Comm_free_keyval(&k);
    }
    MPI_Comm_free(&c);
}

/* Error handlers go over, hints only where they are given, names never. */
static void inherits(void)
{
    MPI_Comm c, d;
    MPI_Errhandler h;
    MPI_Info i, used;
    char text[MPI_MAX_OBJECT_NAME];
    int n = -1, flag = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_get_name(c, text, &n);
    CHECK(n == 0 && text[0] == 0);
    MPI_Comm_set_name(c, "mine");
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Info_create(&i);
    MPI_Info_set(i, "mpi_assert_no_any_tag", "true");
    MPI_Comm_set_info(c, i);
    MPI_Comm_dup(c, &d);
    MPI_Comm_get_errhandler(d, &h);
    CHECK(h == MPI_ERRORS_RETURN);
    MPI_Comm_get_name(d, text, &n);
    CHECK(n == 0);
    MPI_Comm_get_info(d, &used);
    MPI_Info_get(used, "mpi_assert_no_any_tag", 100, text, &flag);
    CHECK(flag == 0);
    MPI_Info_free(&used);
    MPI_Comm_free(&d);
    MPI_Comm_dup_with_info(c, i, &d);
    MPI_Comm_get_info(d, &used);
    MPI_Info_get(used, "mpi_assert_no_any_tag", 100, text, &flag);
    CHECK(flag == 1 && strcmp(text, "true") == 0);
    MPI_Info_free(&used);
    MPI_Comm_free(&d);
    MPI_Comm_dup_with_info(c, MPI_INFO_NULL, &d);
    MPI_Comm_free(&d);
    MPI_Comm_split(c, 0, 0, &d);
    MPI_Comm_get_errhandler(d, &h);
    CHECK(h == MPI_ERRORS_RETURN);
    MPI_Comm_free(&d);
    MPI_Info_free(&i);
    MPI_Comm_free(&c);
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, text, &n) == MPI_SUCCESS && strcmp(text, "MPI_COMM_NULL") == 0 && n == 13);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    c = MPI_COMM_WORLD;
    CHECK(class_of(MPI_Comm_free(&c)) == MPI_ERR_COMM && c == MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    c = MPI_COMM_NULL;
    CHECK(class_of(MPI_Comm_free(&c)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Comm_dup(MPI_COMM_NULL, &c)) == MPI_ERR_COMM);
}

/* Threads make communicators of different parents at the same time. */
static void* making(void* parent)
{
    for (int i = 0; i < 300; ++i) {
        MPI_Comm d, s;
        MPI_Comm_dup(*(MPI_Comm*)parent, &d);
        MPI_Comm_split(d, i % 2 == 0 ? 0 : rank, -rank, &s);
        CHECK(ring(s) == (i % 2 == 0 ? sum_of_all() : rank));
        MPI_Comm_free(&d);
        MPI_Comm_free(&s);
    }
    return NULL;
}

static void threads(void)
{
    enum { N = 4 };
    MPI_Comm c[N];
    pthread_t t[N];
    for (int i = 0; i < N; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &c[i]);
    for (int i = 0; i < N; ++i)
        CHECK(pthread_create(&t[i], NULL, making, &c[i]) == 0);
    for (int i = 0; i < N; ++i) {
        pthread_join(t[i], NULL);
        MPI_Comm_free(&c[i]);
    }
}

int main(int argc, char** argv)
{
    const struct scenario scenarios[] = {{"dup", dup}, {"split", split}, {"create", create}, {"many", many}, {"alive", alive},
                                         {"pending", pending}, {"attributes", attributes}, {"inherits", inherits}, {"threads", threads}};
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}
