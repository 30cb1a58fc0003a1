/* What programs of the field do beside the standard's straight path. Usage: field SCENARIO */
#include "check.h"

#include <limits.h>
#include <string.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static char const* text_of(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && (int)strlen(text) == length);
    return text;
}

/* Receives fail, and the call says so: all outputs are there. What is to be made is null. */
static void some_outputs(void)
{
    MPI_Comm made = MPI_COMM_WORLD;
    int const dims[] = {size, size}, none[] = {0, 0};
    MPI_Comm same;
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    MPI_Comm_set_errhandler(same, MPI_ERRORS_RETURN);
    CHECK(MPI_Cart_create(same, 2, dims, none, 0, &made) != MPI_SUCCESS && made == MPI_COMM_NULL);
    MPI_Group group = MPI_GROUP_EMPTY;
    CHECK(MPI_Comm_remote_group(same, &group) != MPI_SUCCESS && group == MPI_GROUP_NULL);
    MPI_Comm_free(&same);
    if (rank != 0) {
        int two[2] = {1, 2};
        for (int round = 0; round < 2; ++round) {
            MPI_Send(two, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Send(two, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        }
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; ++round) {
        int a[2], b[2], n = -7, indices[2] = {-1, -1};
        MPI_Request r[2];
        MPI_Status s[2];
        MPI_Irecv(a, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(b, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(MPI_Request_get_status_some(2, r, &n, indices, s) == MPI_ERR_IN_STATUS);
        CHECK(n == 2 && indices[0] == 0 && indices[1] == 1 && r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
        n = -7;
        int const code = round == 0 ? MPI_Waitsome(2, r, &n, indices, s) : MPI_Testsome(2, r, &n, indices, s);
        CHECK(code == MPI_ERR_IN_STATUS && n == 2 && indices[0] == 0 && indices[1] == 1);
        CHECK(s[0].MPI_ERROR == MPI_SUCCESS && class_of(s[1].MPI_ERROR) == MPI_ERR_TRUNCATE && s[1].MPI_TAG == 1);
        CHECK(strstr(text_of(s[1].MPI_ERROR), "array_of_requests[1]: the message from rank 1 with tag 1 has 8 bytes") != NULL);
        CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    }
}

/* Receives from any rank, begun anew as they end: what came first is told of first. HPCC's RandomAccess takes its end from it. */
enum { slots = 4, messages = 11 };
static void order_of_completion(int with_test)
{
    if (rank != 0) {
        for (int i = 0; i < messages; ++i)
            MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        return;
    }
    int values[slots];
    MPI_Request r[slots];
    for (int i = 0; i < slots; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r[i]);
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < messages; ++i) {
        int index = -1, flag = 0;
        if (with_test)
            MPI_Testany(slots, r, &index, &flag, MPI_STATUS_IGNORE);
        else
            MPI_Waitany(slots, r, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < slots && values[index] == i);
        if (i + slots < messages)
            MPI_Irecv(&values[index], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r[index]);
    }
}

static void order_of_some(void)
{
    if (rank != 0) {
        int const tags[] = {2, 0, 3, 1};
        for (int i = 0; i < 4; ++i)
            MPI_Send(&i, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        return;
    }
    int values[4], n = 0, indices[4];
    MPI_Request r[4];
    for (int i = 0; i < 4; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &r[i]);
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
    CHECK(n == 4 && indices[0] == 2 && indices[1] == 0 && indices[2] == 3 && indices[3] == 1);
}

/* A send that ends at once, again and again, does not keep what has come from being told of. */
static void nobody_starves(void)
{
    int value = 7, seen = 0;
    MPI_Request r[2];
    MPI_Irecv(&seen, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    int told = 0;
    for (int i = 0; i < 3 && !told; ++i) {
        int index = -1, drained;
        MPI_Isend(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &r[0]);
        MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
        told = index == 1;
        MPI_Recv(&drained, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    CHECK(told && seen == 7);
}

static void chars(void)
{
    signed char mine[5] = {(signed char)(rank + 1), 2, -3, 4, (signed char)rank}, all[5];
    MPI_Allreduce(mine, all, 5, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all[0] == size * (size + 1) / 2 && all[1] == 2 * size && all[2] == -3 * size);
    MPI_Allreduce(mine, all, 5, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD);
    CHECK(all[0] == 1 && all[2] == -3 && all[4] == 0);
    MPI_Allreduce(mine, all, 5, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    CHECK(all[0] == size && all[2] == -3 && all[4] == size - 1);
    MPI_Op const ops[] = {MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    signed char const results[] = {12, 0, 7, 7, 1, 1, 0};
    for (int i = 0; i < 7; ++i) {
        signed char const in = 3;
        signed char inout = 4;
        MPI_Reduce_local(&in, &inout, 1, MPI_CHAR, ops[i]);
        CHECK(inout == results[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Reduce_local(mine, all, 1, MPI_CHAR, MPI_MAXLOC)) == MPI_ERR_OP);
    CHECK(class_of(MPI_Reduce_local(mine, all, 1, MPI_WCHAR, MPI_SUM)) == MPI_ERR_OP);
}

static int handled = 0;
static void count_error(MPI_Comm* comm, int* code, ...)
{
    (void)comm, (void)code;
    ++handled;
}

static void removed_names(void)
{
    struct pair { int n; double x; } pairs[2] = {{1, 2.5}, {3, 4.5}}, back[2];
    MPI_Aint base, places[2];
    MPI_Address(&pairs[0].n, &base);
    MPI_Address(&pairs[0].x, &places[1]);
    places[0] = 0;
    places[1] -= base;
    int const lengths[] = {1, 1};
    MPI_Datatype const types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype t, v, h;
    MPI_Aint extent, lower, upper;
    MPI_Type_struct(2, lengths, places, types, &t);
    MPI_Type_commit(&t);
    MPI_Type_extent(t, &extent);
    MPI_Type_lb(t, &lower);
    MPI_Type_ub(t, &upper);
    CHECK(extent == (MPI_Aint)sizeof(struct pair) && lower == 0 && upper == extent);
    memset(back, 0, sizeof back);
    MPI_Sendrecv(pairs, 2, t, 0, 0, back, 2, t, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(back[1].n == 3 && back[0].x == 2.5 && back[1].x == 4.5);
    MPI_Type_hvector(2, 1, 8, MPI_INT, &v);
    MPI_Type_ub(v, &upper);
    CHECK(upper == 12);
    MPI_Aint const at[] = {4, 12};
    MPI_Type_hindexed(2, lengths, at, MPI_INT, &h);
    MPI_Type_lb(h, &lower);
    CHECK(lower == 4);
    MPI_Type_free(&t);
    MPI_Type_free(&v);
    MPI_Type_free(&h);
    MPI_Errhandler mine, got;
    MPI_Handler_function* const function = count_error;
    MPI_Errhandler_create(function, &mine);
    MPI_Errhandler_set(MPI_COMM_WORLD, mine);
    MPI_Errhandler_get(MPI_COMM_WORLD, &got);
    CHECK(got == mine);
    CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPI_SUCCESS && handled == 0);
    CHECK(class_of(MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK && handled == 1);
}

static void no_datatype(void)
{
    MPI_Status s;
    MPI_Request r[2];
    MPI_Message m;
    MPI_Comm const c = MPI_COMM_WORLD;
    MPI_Send(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c);
    MPI_Recv(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c, &s);
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
    MPI_Isend(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c, &r[0]);
    MPI_Irecv(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Send_init(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c, &r[0]);
    MPI_Recv_init(NULL, 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c, &r[1]);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    int here = 5, there = -1;
    int const next = (rank + 1) % size, before = (rank + size - 1) % size;
    /* the end of a chain */
    int const to = rank == size - 1 ? MPI_PROC_NULL : next, from = rank == 0 ? MPI_PROC_NULL : before;
    MPI_Sendrecv(&here, 1, to == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT, to, 0, &there, 1,
                 from == MPI_PROC_NULL ? MPI_DATATYPE_NULL : MPI_INT, from, 0, c, &s);
    CHECK(there == (rank == 0 ? -1 : 5));
    MPI_Mprobe(MPI_PROC_NULL, 0, c, &m, &s);
    MPI_Mrecv(NULL, 0, MPI_DATATYPE_NULL, &m, &s);
    /* nothing, to somebody */
    MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, next, 1, NULL, 0, MPI_DATATYPE_NULL, before, 1, c, &s);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Send(&here, 1, MPI_DATATYPE_NULL, next, 0, c)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(NULL, -1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, c)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Recv(NULL, 1, (MPI_Datatype)0x2ff, MPI_PROC_NULL, 0, c, &s)) == MPI_ERR_TYPE);
}

static void handler_of_world(void)
{
    MPI_Comm before, own, of_own;
    MPI_Errhandler mine;
    MPI_Comm_dup(MPI_COMM_WORLD, &before);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_create_errhandler(count_error, &mine);
    MPI_Comm_set_errhandler(own, mine);
    MPI_Comm_dup(own, &of_own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_dup(before, NULL)) == MPI_ERR_ARG && handled == 0);
    CHECK(class_of(MPI_Comm_dup(of_own, NULL)) == MPI_ERR_ARG && handled == 1);
    MPI_Datatype t;
    CHECK(class_of(MPI_Type_contiguous(-1, MPI_INT, &t)) == MPI_ERR_COUNT);
    int n;
    CHECK(class_of(MPI_Group_size(MPI_GROUP_NULL, &n)) == MPI_ERR_GROUP);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (rank == 0)
        MPI_Type_contiguous(-1, MPI_INT, &t);
}

static void error_texts(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int x = 0, other = 0;
    char expected[80];
    int const code = MPI_Send(&x, 1, MPI_INT, size + 5, 3, MPI_COMM_WORLD);
    other = MPI_Send(&x, 1, MPI_INT, -40, 3, MPI_COMM_WORLD);
    CHECK(code != other && code > 0 && code < 1 << 30 && class_of(code) == MPI_ERR_RANK && class_of(other) == MPI_ERR_RANK);
    snprintf(expected, sizeof expected, "dest is %d, and MPI_COMM_WORLD has the ranks 0 to %d", size + 5, size - 1);
    CHECK(strncmp(text_of(code), "MPI_ERR_RANK: ", 14) == 0 && strstr(text_of(code), expected) != NULL);
    snprintf(expected, sizeof expected, "on rank %d of MPI_COMM_WORLD", rank);
    CHECK(strstr(text_of(code), expected) != NULL && strstr(text_of(code), "MPI_Send(buf=0x") != NULL);
    CHECK(strstr(text_of(other), "dest is -40") != NULL);
    CHECK(strstr(text_of(MPI_Send(NULL, 3, MPI_INT, 0, 3, MPI_COMM_WORLD)), "buf is NULL, and 3 elements") != NULL);
    CHECK(strcmp(text_of(MPI_ERR_RANK), "MPI_ERR_RANK: invalid rank") == 0);
    for (int i = 0; i < 300; ++i)
        CHECK(class_of(MPI_Send(&x, -1, MPI_INT, 0, 3, MPI_COMM_WORLD)) == MPI_ERR_COUNT);
    CHECK(class_of(code) == MPI_ERR_RANK && strcmp(text_of(code), "MPI_ERR_RANK: invalid rank") == 0); /* too long ago */
    int mine;
    MPI_Add_error_class(&mine);
    CHECK(class_of(mine) == mine);
}

static void fortran(void)
{
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Fint const f = MPI_Comm_c2f(c);
    CHECK(MPI_Comm_f2c(f) == c && (MPI_Comm_f2c)(f) == c && (PMPI_Comm_c2f)(c) == f);
    MPI_Comm_free(&c);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE && MPI_Op_f2c(MPI_Op_c2f(MPI_MAX)) == MPI_MAX);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    int value = 3;
    MPI_Status s, back;
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 4, &value, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &s);
    MPI_Fint fs[MPI_F_STATUS_SIZE];
    MPI_F08_status s08;
    int count = 0;
    CHECK(MPI_Status_c2f(&s, fs) == MPI_SUCCESS && fs[MPI_F_SOURCE] == 0 && fs[MPI_F_TAG] == 4);
    CHECK(MPI_Status_f2f08(fs, &s08) == MPI_SUCCESS && MPI_Status_f082c(&s08, &back) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&back, MPI_INT, &count) == MPI_SUCCESS && count == 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back)) == MPI_ERR_ARG);
}

static void leftovers(void)
{
    static int kept[2];
    MPI_Request r;
    if (rank == 0) {
        MPI_Irecv(kept, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
        MPI_Irecv(kept + 1, 1, MPI_INT, 1, 78, MPI_COMM_WORLD, &r);
    } else if (rank == 1) {
        MPI_Send(kept, 2, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
}

static void abort_of_unnamed(void)
{
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    if (rank == 0)
        MPI_Abort(c, 3);
    MPI_Barrier(c);
    MPI_Barrier(c);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char const* const scenario = argc > 1 ? argv[1] : "";
    if (!strcmp(scenario, "some_outputs"))
        some_outputs();
    else if (!strcmp(scenario, "order_of_any"))
        order_of_completion(0);
    else if (!strcmp(scenario, "order_of_testany"))
        order_of_completion(1);
    else if (!strcmp(scenario, "order_of_some"))
        order_of_some();
    else if (!strcmp(scenario, "nobody_starves"))
        nobody_starves();
    else if (!strcmp(scenario, "chars"))
        chars();
    else if (!strcmp(scenario, "removed_names"))
        removed_names();
    else if (!strcmp(scenario, "no_datatype"))
        no_datatype();
    else if (!strcmp(scenario, "handler_of_world"))
        handler_of_world();
    else if (!strcmp(scenario, "error_texts"))
        error_texts();
    else if (!strcmp(scenario, "fortran"))
        fortran();
    else if (!strcmp(scenario, "leftovers"))
        leftovers();
    else if (!strcmp(scenario, "abort_of_unnamed"))
        abort_of_unnamed();
    else
        return 2;
    MPI_Finalize();
    return 0;
}
