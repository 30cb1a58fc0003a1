/* Intercommunicators. Usage: mpi_communicators_between SCENARIO [multiple]; silent and 0 where everything was as it should. */
#include "communicators.h"

static int side; /* of this rank: even ranks 0, odd ranks 1 */
static MPI_Comm ours;

/* Even and odd ranks, their last ranks first, over the world with these leaders. */
static MPI_Comm even_and_odd(int tag)
{
    MPI_Comm inter = MPI_COMM_NULL;
    side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, -rank, &ours);
    /* Rank 0 of the world leads the even, the highest odd rank leads the odd. */
    int const leader = side == 0 ? size_of(ours) - 1 : 0, other = side == 0 ? size - 1 - size % 2 : 0;
    CHECK(MPI_Intercomm_create(ours, leader, MPI_COMM_WORLD, other, tag, &inter) == MPI_SUCCESS);
    return inter;
}

static int remote_size(MPI_Comm c)
{
    int n = -1;
    CHECK(MPI_Comm_remote_size(c, &n) == MPI_SUCCESS);
    return n;
}

/* Everybody of one group to everybody of the other: each hears of all of them, from the rank that the remote group gives them. */
static void all_hear(MPI_Comm c)
{
    int const n = remote_size(c);
    MPI_Group there, world;
    MPI_Request r[64];
    CHECK(MPI_Comm_remote_group(c, &there) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < n; ++i)
        MPI_Isend(&rank, 1, MPI_INT, i, 3, c, &r[i]);
    for (int i = 0; i < n; ++i) {
        int in = -1, expected = -1;
        MPI_Status s;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, c, &s);
        MPI_Group_translate_ranks(there, 1, &s.MPI_SOURCE, world, &expected);
        CHECK(in == expected);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    MPI_Group_free(&there);
    MPI_Group_free(&world);
}

static void create(void)
{
    MPI_Comm c = even_and_odd(7);
    int flag = -1;
    CHECK(MPI_Comm_test_inter(c, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(size_of(c) == size_of(ours) && rank_in(c) == rank_in(ours));
    CHECK(remote_size(c) == size - size_of(ours));
    all_hear(c);
    /* Another with the same tag, at the same time: another context. */
    MPI_Comm d = even_and_odd(7);
    compares(c, d, MPI_CONGRUENT);
    compares(c, MPI_COMM_WORLD, MPI_UNEQUAL);
    int out[2] = {1, 2}, in = -1;
    MPI_Request r[2];
    int const to = rank_in(c) % remote_size(c);
    int senders = 0; /* of the remote group those whose rank is ours, modulo our size */
    for (int i = 0; i < remote_size(c); ++i)
        senders += i % size_of(c) == rank_in(c);
    MPI_Isend(&out[0], 1, MPI_INT, to, 0, c, &r[0]);
    MPI_Isend(&out[1], 1, MPI_INT, to, 0, d, &r[1]);
    for (int i = 0; i < senders; ++i) {
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, d, MPI_STATUS_IGNORE);
        CHECK(in == 2);
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, c, MPI_STATUS_IGNORE);
        CHECK(in == 1);
    }
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
}

static void copies(void)
{
    MPI_Comm c = even_and_odd(0), d, e;
    MPI_Request r;
    CHECK(MPI_Comm_dup(c, &d) == MPI_SUCCESS);
    compares(c, d, MPI_CONGRUENT);
    CHECK(MPI_Comm_idup(d, &e, &r) == MPI_SUCCESS);
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    all_hear(e);
    /* Colors that only one side has give nothing. */
    CHECK(MPI_Comm_split(e, rank < 2 ? 5 : 8 + side, -rank, &d) == MPI_SUCCESS);
    CHECK((d != MPI_COMM_NULL) == (rank < 2));
    if (d != MPI_COMM_NULL) {
        CHECK(size_of(d) == 1 && remote_size(d) == 1);
        all_hear(d);
        MPI_Comm_free(&d);
    }
    CHECK(MPI_Comm_split(e, side == 0 ? 1 : MPI_UNDEFINED, 0, &d) == MPI_SUCCESS && d == MPI_COMM_NULL);
    /* The order is that of the keys on each side. */
    CHECK(MPI_Comm_split(e, 1, rank, &d) == MPI_SUCCESS);
    CHECK(size_of(d) == size_of(e) && rank_in(d) == rank / 2 && remote_size(d) == remote_size(e));
    all_hear(d);
    MPI_Comm_free(&d);
    /* A group of each side, in its order. */
    MPI_Group all, some;
    MPI_Comm_group(e, &all);
    int const last = size_of(e) - 1;
    MPI_Group_incl(all, 1, &last, &some);
    CHECK(MPI_Comm_create(e, some, &d) == MPI_SUCCESS);
    CHECK((d != MPI_COMM_NULL) == (rank < 2)); /* the last of each side has the lowest number in the world */
    if (d != MPI_COMM_NULL) {
        all_hear(d);
        MPI_Comm_free(&d);
    }
    CHECK(MPI_Comm_create(e, side == 0 ? MPI_GROUP_EMPTY : some, &d) == MPI_SUCCESS && d == MPI_COMM_NULL);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_free(&e);
}

static void merge(void)
{
    MPI_Comm c = even_and_odd(3), m;
    for (int odd_first = 0; odd_first < 2; ++odd_first) {
        CHECK(MPI_Intercomm_merge(c, side == odd_first ? 0 : 17, &m) == MPI_SUCCESS);
        int flag = -1, mine = rank_in(m), before = side == odd_first ? 0 : size - size_of(ours);
        MPI_Comm_test_inter(m, &flag);
        CHECK(flag == 0 && size_of(m) == size && mine == before + rank_in(ours));
        CHECK(ring(m) == sum_of_all());
        MPI_Comm_free(&m);
    }
    /* Both the same: some order, the same for all. */
    CHECK(MPI_Intercomm_merge(c, 1, &m) == MPI_SUCCESS);
    CHECK(ring(m) == sum_of_all());
    MPI_Comm_free(&m);
    /* An error that all of them see, and nobody is left behind. */
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    if (size > 2) {
        int const code = MPI_Intercomm_merge(c, rank == 2, &m);
        CHECK(class_of(code) == MPI_ERR_ARG);
    }
    CHECK(MPI_Intercomm_merge(c, side, &m) == MPI_SUCCESS);
    MPI_Errhandler h;
    MPI_Comm_get_errhandler(m, &h);
    CHECK(h == MPI_ERRORS_RETURN);
    MPI_Comm_free(&m);
    MPI_Comm_free(&c);
}

static void errors(void)
{
    MPI_Comm c, m;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &m)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, size, MPI_COMM_WORLD, 0, 0, &c)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 0, &c)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, -1, &c)) == MPI_ERR_TAG);
    /* What only the leader can see, all get to know. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, 0, rank == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL, size, 0, &c)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_NULL, 0, 0, &c)) == MPI_ERR_COMM);
    /* Groups that are not disjoint: a rank that meets itself. */
    CHECK(class_of(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, rank, 0, &c)) == MPI_ERR_COMM);
    MPI_Comm d;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &d) == MPI_SUCCESS && ring(d) == sum_of_all());
    MPI_Comm_free(&d);
}

/* Made and freed, over and over. */
static void many(void)
{
    for (int i = 0; i < 3000; ++i) {
        MPI_Comm c = even_and_odd(i % 3), m;
        MPI_Intercomm_merge(c, side, &m);
        if (i % 100 == 0)
            CHECK(ring(m) == sum_of_all());
        MPI_Comm_free(&c);
        MPI_Comm_free(&m);
        MPI_Comm_free(&ours);
    }
}

int main(int argc, char** argv)
{
    const struct scenario scenarios[] = {{"create", create}, {"copies", copies}, {"merge", merge}, {"errors", errors}, {"many", many}};
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}
