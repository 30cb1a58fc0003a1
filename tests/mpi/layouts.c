/* Messages of derived datatypes between all ranks, and from each to itself: random types, other ones at both sides, several times each, so
 * that what was remembered is used again; in every mode. What arrives is compared with what MPI_Pack and MPI_Unpack make of it.
 *
 * Then collective operations on columns of matrices, and of random types from all to all.
 *
 *   mpi_layouts SEED */

#include "check.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;
static int below(int n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % (unsigned)n);
}

enum { most = 1 << 19 };

/* Of `bytes` bytes, in one of several forms; each side draws its own. */
static MPI_Datatype form_of(int bytes)
{
    MPI_Datatype t, inner;
    int const blocks[] = {4, 8, 16, 24, 64, 512};
    int block = blocks[below(6)];
    if (bytes % block != 0) /* smaller ones would reach beyond the buffers */
        block = 8;
    int const n = bytes / block;
    switch (below(5)) {
    case 0: MPI_Type_vector(n, block, block + below(3) * 8 + 8, MPI_BYTE, &t); break;
    case 1: MPI_Type_contiguous(bytes, MPI_BYTE, &t); break;
    case 2: {
        int* at = malloc(sizeof *at * (size_t)n);
        for (int i = 0, end = 0; i < n; ++i, end += block)
            at[i] = end += below(3) * 4;
        MPI_Type_create_indexed_block(n, block, at, MPI_BYTE, &t);
        free(at);
        break;
    }
    case 3:
        MPI_Type_create_hvector(n, block, -(block + 8), MPI_BYTE, &inner);
        MPI_Type_create_resized(inner, 0, 16, &t);
        MPI_Type_free(&inner);
        break;
    default: {
        int lengths[] = {bytes / 2, bytes - bytes / 2};
        MPI_Aint at[] = {bytes / 2 + 24, 0};
        MPI_Type_create_hindexed(2, lengths, at, MPI_BYTE, &t);
    }
    }
    MPI_Type_commit(&t);
    return t;
}

static char *sent, *received, *expected, *packed;

static void fill(char* p, int seed)
{
    for (int i = 0; i < 4 * most; ++i)
        p[i] = (char)(i * 31 + seed);
}

static void exchange(int me, int to, int from, int bytes, int way)
{
    /* The sender's type is drawn from numbers that its receiver can draw, too. */
    unsigned long long const kept = state;
    state = kept + (unsigned long long)me;
    MPI_Datatype out = form_of(bytes);
    state = kept + (unsigned long long)from;
    MPI_Datatype theirs = form_of(bytes);
    state = kept + 1000 + (unsigned long long)me;
    MPI_Datatype in = form_of(bytes);
    state = kept;
    (void)below(2);
    char* const middle_out = sent + 2 * most;
    char* const middle_in = received + 2 * most;
    int const turns = 3;
    for (int turn = 0; turn < turns; ++turn) {
        fill(sent, me + turn);
        fill(received, 77);
        MPI_Request r[2];
        MPI_Status s;
        switch (way) {
        case 0: MPI_Sendrecv(middle_out, 1, out, to, 5, middle_in, 1, in, from, 5, MPI_COMM_WORLD, &s); break;
        case 1:
            MPI_Irecv(middle_in, 1, in, from, 5, MPI_COMM_WORLD, &r[0]);
            MPI_Isend(middle_out, 1, out, to, 5, MPI_COMM_WORLD, &r[1]);
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            MPI_Wait(&r[0], &s);
            break;
        case 2: /* unexpected, most of the time */
            MPI_Isend(middle_out, 1, out, to, 5, MPI_COMM_WORLD, &r[1]);
            MPI_Recv(middle_in, 1, in, from, 5, MPI_COMM_WORLD, &s);
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            break;
        case 3: {
            MPI_Message m;
            MPI_Issend(middle_out, 1, out, to, 5, MPI_COMM_WORLD, &r[1]);
            MPI_Mprobe(from, 5, MPI_COMM_WORLD, &m, &s);
            int count;
            MPI_Get_elements(&s, MPI_BYTE, &count);
            CHECK(count == bytes);
            MPI_Mrecv(middle_in, 1, in, &m, &s);
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            break;
        }
        default: /* the type is freed before the send ends */
            MPI_Isend(middle_out, 1, out, to, 5, MPI_COMM_WORLD, &r[1]);
            MPI_Type_free(&out);
            MPI_Irecv(middle_in, 1, in, from, 5, MPI_COMM_WORLD, &r[0]);
            MPI_Wait(&r[0], &s);
            MPI_Wait(&r[1], MPI_STATUS_IGNORE);
            unsigned long long const now = state;
            state = kept + (unsigned long long)me;
            out = form_of(bytes);
            state = now;
        }
        int count;
        MPI_Get_elements(&s, MPI_BYTE, &count);
        CHECK(count == bytes && s.MPI_SOURCE == from);
        fill(sent, from + turn);
        fill(expected, 77);
        int at = 0;
        MPI_Pack(middle_out, 1, theirs, packed, most, &at, MPI_COMM_WORLD);
        at = 0;
        MPI_Unpack(packed, bytes, &at, expected + 2 * most, 1, in, MPI_COMM_WORLD);
        CHECK(memcmp(received, expected, 4 * most) == 0);
    }
    MPI_Type_free(&out);
    MPI_Type_free(&theirs);
    MPI_Type_free(&in);
}

/* A message that is longer than its receive is told of, and nothing is written beyond what the receive has. Packed first, then laid. */
static void truncated(int me, int to, int from)
{
    MPI_Datatype t;
    MPI_Type_vector(1024, 1, 3, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 3; ++turn) {
        fill(sent, me);
        fill(received, 77);
        fill(expected, 77);
        MPI_Request r;
        MPI_Isend(sent, 2, t, to, 6, MPI_COMM_WORLD, &r);
        int class = MPI_SUCCESS;
        MPI_Error_class(MPI_Recv(received, 1, t, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4 * most; ++i) /* what lies in the receive is undefined */
            CHECK(received[i] == expected[i] || (i / 24 < 1024 && i % 24 < 8));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&t);
}

/* Collective operations whose data are columns: those that are written are next to others that stay. */

enum { others = -7 };
static double value(int from, int to, int line, int turn) { return from * 1e9 + to * 1e7 + line * 10. + turn; }

/* A matrix of `lines` lines of size + 1 numbers; the last column stays. */
static void clear(double* m, int lines)
{
    for (int i = 0; i < lines * (size + 1); ++i)
        m[i] = others;
}
/* Column c came from rank `from`, who sent it to `to`; negative: it stayed. */
static void check_column(double const* m, int lines, int c, int from, int to, int turn)
{
    for (int i = 0; i < lines; ++i)
        CHECK(m[i * (size + 1) + c] == (from < 0 ? others : value(from, to, i, turn)));
}

static void columns(int lines)
{
    int const width = size + 1;
    double* const in = malloc(sizeof *in * (size_t)(lines * width));
    double* const out = malloc(sizeof *out * (size_t)(lines * width));
    MPI_Datatype line, column;
    MPI_Type_vector(lines, 1, width, MPI_DOUBLE, &line);
    MPI_Type_create_resized(line, 0, sizeof(double), &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&line);
    MPI_Request kept;
    MPI_Allgather_init(out, 1, column, in, 1, column, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
    for (int turn = 0; turn < 4; ++turn) {
        int const root = turn % size;
        for (int way = 0; way < 9; ++way) {
            MPI_Request r = MPI_REQUEST_NULL;
            clear(in, lines);
            for (int i = 0; i < lines; ++i)
                for (int c = 0; c < size; ++c)
                    out[i * width + c] = value(rank, c, i, turn);
            switch (way) {
            case 0: MPI_Alltoall(out, 1, column, in, 1, column, MPI_COMM_WORLD); break;
            case 1: MPI_Ialltoall(out, 1, column, in, 1, column, MPI_COMM_WORLD, &r); break;
            case 2: MPI_Allgather(out, 1, column, in, 1, column, MPI_COMM_WORLD); break;
            case 3: MPI_Iallgather(out, 1, column, in, 1, column, MPI_COMM_WORLD, &r); break;
            case 4: MPI_Start(&kept); break;
            case 5: MPI_Bcast(rank == root ? out : in, 1, column, root, MPI_COMM_WORLD); break;
            case 6: MPI_Ibcast(rank == root ? out : in, 1, column, root, MPI_COMM_WORLD, &r); break;
            case 7: MPI_Gather(out, 1, column, in, 1, column, root, MPI_COMM_WORLD); break;
            default: MPI_Scatter(out, 1, column, in, 1, column, root, MPI_COMM_WORLD);
            }
            MPI_Wait(way == 4 ? &kept : &r, MPI_STATUS_IGNORE);
            for (int c = 0; c <= size; ++c) {
                int from = c, to = rank;
                if (way >= 2)
                    to = 0;
                if (way == 5 || way == 6)
                    from = c == 0 && rank != root ? root : -1;
                if (way == 7)
                    from = rank == root ? c : -1;
                if (way == 8) {
                    from = c == 0 ? root : -1;
                    to = rank;
                }
                check_column(in, lines, c, c == size ? -1 : from, to, turn);
            }
        }
    }
    MPI_Request_free(&kept);
    MPI_Type_free(&column);
    free(in);
    free(out);
}

enum { room = 1 << 19 }; /* of each rank, where data go to all */

/* A form that stays within a rank's room when it lies in the middle of it. */
static MPI_Datatype form_within_room(int bytes)
{
    for (;;) {
        MPI_Datatype t = form_of(bytes);
        MPI_Aint begin, extent;
        MPI_Type_get_true_extent(t, &begin, &extent);
        if (begin >= -room / 2 && begin + extent <= room / 2)
            return t;
        MPI_Type_free(&t);
    }
}

/* From all to all by random types, of which each rank draws its own for what it receives. */
static void forms_to_all(int bytes)
{
    enum { most_ranks = 4 };
    unsigned long long const kept = state;
    MPI_Datatype out[most_ranks], in[most_ranks];
    int counts[most_ranks], at[most_ranks];
    CHECK(size <= most_ranks);
    state = kept + 50;
    MPI_Datatype const form = form_within_room(bytes);
    state = kept + 100 + (unsigned long long)rank;
    for (int r = 0; r < size; ++r) {
        out[r] = form;
        in[r] = form_within_room(bytes);
        counts[r] = 1;
        at[r] = r * room + room / 2;
    }
    state = kept;
    (void)below(2);
    for (int turn = 0; turn < 4; ++turn) {
        fill(sent, rank + turn);
        fill(received, 77);
        fill(expected, 77);
        MPI_Request r = MPI_REQUEST_NULL;
        if (turn % 2 == 0)
            MPI_Alltoallw(sent, counts, at, out, received, counts, at, in, MPI_COMM_WORLD);
        else
            MPI_Ialltoallw(sent, counts, at, out, received, counts, at, in, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int from = 0; from < size; ++from) {
            int position = 0;
            fill(sent, from + turn);
            MPI_Pack(sent + at[rank], 1, form, packed, most, &position, MPI_COMM_WORLD);
            position = 0;
            MPI_Unpack(packed, bytes, &position, expected + at[from], 1, in[from], MPI_COMM_WORLD);
        }
        CHECK(memcmp(received, expected, 4 * most) == 0);
    }
    MPI_Datatype last = form;
    MPI_Type_free(&last);
    for (int r = 0; r < size; ++r)
        MPI_Type_free(&in[r]);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int n;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = size;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    sent = malloc(4 * most);
    received = malloc(4 * most);
    expected = malloc(4 * most);
    packed = malloc(most);
    int const sizes[] = {64, 256, 512, 4096, 6144, 65536, 98304};
    for (int i = 0; i < 32; ++i) {
        int const step = below(n), bytes = sizes[below(7)], way = below(5);
        exchange(rank, (rank + step) % n, (rank + n - step) % n, bytes, way);
    }
    truncated(rank, (rank + 1) % n, (rank + n - 1) % n);
    int const lines[] = {16, 300, 700, 5000, 40000};
    for (int i = 0; i < 5; ++i)
        columns(lines[i]);
    for (int i = 0; i < 4; ++i)
        forms_to_all(sizes[1 + below(6)]);
    MPI_Finalize();
    return 0;
}
