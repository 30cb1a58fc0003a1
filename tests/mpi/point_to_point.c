/* Point-to-point communication. Usage: mpi_point_to_point SCENARIO; silent and 0 where everything was as it should. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static long long bytes_of(const MPI_Status* s)
{
    MPI_Count n = -1;
    MPI_Get_count_c(s, MPI_BYTE, &n);
    return n;
}

static void is_status(const MPI_Status* s, int source, int tag, long long bytes)
{
    int cancelled = -1;
    MPI_Test_cancelled(s, &cancelled);
    CHECK(s->MPI_SOURCE == source);
    CHECK(s->MPI_TAG == tag);
    CHECK(bytes_of(s) == bytes);
    CHECK(cancelled == 0);
}

static int next(void) { return (rank + 1) % size; }
static int previous(void) { return (rank + size - 1) % size; }

/* Everybody sends to everybody: arrive in the order of sending, whatever the sizes. */
static void order(void)
{
    enum { N = 60 };
    static int out[N][5000], in[5000];
    const int sizes[] = {1, 3000, 2, 5000, 16, 0};
    MPI_Request* const r = malloc((size_t)N * (size_t)size * sizeof *r);
    int n = 0;
    for (int i = 0; i < N; ++i) {
        out[i][0] = i;
        out[i][sizes[i % 6] > 0 ? sizes[i % 6] - 1 : 0] = i;
        for (int to = 0; to < size; ++to)
            MPI_Isend(out[i], sizes[i % 6], MPI_INT, to, i % 6 == 3 ? 5 : 4, MPI_COMM_WORLD, &r[n++]);
    }
    for (int from = 0; from < size; ++from)
        for (int i = 0; i < N; ++i) {
            MPI_Status s;
            MPI_Recv(in, 5000, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            is_status(&s, from, i % 6 == 3 ? 5 : 4, 4LL * sizes[i % 6]);
            CHECK(sizes[i % 6] == 0 || (in[0] == i && in[sizes[i % 6] - 1] == i));
        }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i)
        CHECK(r[i] == MPI_REQUEST_NULL);
    free(r);
}

/* Tags choose; any source takes all; a wildcard posted first gets the first message. */
static void wildcards(void)
{
    int v = rank, a = -1, b = -1;
    MPI_Status s[2];
    MPI_Request r[2];
    MPI_Irecv(&a, 1, MPI_INT, previous(), MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&b, 1, MPI_INT, previous(), 2, MPI_COMM_WORLD, &r[1]);
    int one = 100 + rank, two = 200 + rank;
    MPI_Send(&two, 1, MPI_INT, next(), 2, MPI_COMM_WORLD);
    MPI_Send(&one, 1, MPI_INT, next(), 2, MPI_COMM_WORLD);
    MPI_Waitall(2, r, s);
    CHECK(a == 200 + previous() && b == 100 + previous());
    is_status(&s[0], previous(), 2, 4);
    is_status(&s[1], previous(), 2, 4);
    if (rank == 0) {
        int seen[64] = {0};
        for (int i = 1; i < size; ++i) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &s[0]);
            CHECK(v == s[0].MPI_SOURCE && !seen[v]);
            seen[v] = 1;
        }
    } else {
        MPI_Send(&v, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    /* From anywhere, also from oneself. */
    for (int i = 0; i < 200; ++i) {
        MPI_Isend(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(&rank, 1, MPI_INT, next(), 8, MPI_COMM_WORLD, &r[1]);
        int mine = 0, others = 0;
        for (int k = 0; k < 2; ++k) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &s[0]);
            CHECK(v == s[0].MPI_SOURCE && (v == rank || v == previous()));
            mine += v == rank;
            others += v == previous();
        }
        CHECK(size == 1 ? mine == 2 : mine == 1 && others == 1);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(&i, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &r[0]);
        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &s[0]);
        CHECK(v == i && s[0].MPI_SOURCE == 0);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
}

static void modes(void)
{
    int in = -1, flag = -1, out = 77;
    char* const space = malloc(100000);
    MPI_Status s;
    MPI_Request r;
    /* Synchronous: not before the receive. */
    MPI_Issend(&out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
    for (int i = 0; i < 100; ++i) {
        MPI_Test(&r, &flag, &s);
        CHECK(!flag && r != MPI_REQUEST_NULL);
    }
    MPI_Recv(&in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in == 77 && r == MPI_REQUEST_NULL);
    if (size > 1) {
        if (rank % 2 == 0 && rank + 1 < size)
            MPI_Ssend(&rank, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
        if (rank % 2 == 1) {
            usleep(20000);
            MPI_Recv(&in, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(in == rank - 1);
        }
    }
    /* Ready. */
    MPI_Irecv(&in, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &r);
    MPI_Rsend(&out, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
    MPI_Wait(&r, &s);
    is_status(&s, rank, 2, 4);
    /* Buffered: ends whatever the receiver does; the buffer has room for so much. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Bsend(&out, 1, MPI_INT, rank, 4, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(space, 100000) == MPI_SUCCESS);
    static char big[30000], got[30000];
    for (int i = 0; i < 3; ++i) {
        memset(big, 'a' + i, sizeof big);
        CHECK(MPI_Bsend(big, sizeof big, MPI_CHAR, rank, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(class_of(MPI_Bsend(big, sizeof big, MPI_CHAR, rank, 5, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    for (int i = 0; i < 3; ++i) {
        MPI_Recv(got, sizeof got, MPI_CHAR, rank, 5, MPI_COMM_WORLD, &s);
        is_status(&s, rank, 5, 30000);
        CHECK(got[0] == 'a' + i && got[29999] == 'a' + i);
    }
    CHECK(MPI_Ibsend(big, sizeof big, MPI_CHAR, rank, 6, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request flushed;
    CHECK(MPI_Buffer_iflush(&flushed) == MPI_SUCCESS);
    MPI_Recv(got, sizeof got, MPI_CHAR, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&flushed, MPI_STATUS_IGNORE);
    CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    void* was = NULL;
    int bytes = 0;
    CHECK(MPI_Buffer_detach(&was, &bytes) == MPI_SUCCESS);
    CHECK(was == space && bytes == 100000);
    CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    for (int i = 0; i < 20; ++i)
        CHECK(MPI_Bsend(big, sizeof big, MPI_CHAR, next(), 8, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < 20; ++i)
        MPI_Recv(got, sizeof got, MPI_CHAR, previous(), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &was, &bytes) == MPI_SUCCESS && was == MPI_BUFFER_AUTOMATIC);
    free(space);
}

static void probes(void)
{
    int v[4] = {rank, 2, 3, 4}, in[4] = {0}, flag = -1;
    MPI_Status s;
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Request r, sent;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &s);
    CHECK(flag == 0);
    MPI_Isend(v, 3, MPI_INT, next(), 11, MPI_COMM_WORLD, &sent);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    is_status(&s, previous(), 11, 12);
    MPI_Iprobe(previous(), 11, MPI_COMM_WORLD, &flag, &s);
    CHECK(flag == 1);
    MPI_Mprobe(previous(), MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
    is_status(&s, previous(), 11, 12);
    CHECK(m != MPI_MESSAGE_NULL && m != MPI_MESSAGE_NO_PROC);
    MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &flag, &s);
    CHECK(flag == 0);
    MPI_Mrecv(in, 4, MPI_INT, &m, &s);
    is_status(&s, previous(), 11, 12);
    CHECK(m == MPI_MESSAGE_NULL && in[0] == previous() && in[2] == 3);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Send(v, 4, MPI_INT, rank, 12, MPI_COMM_WORLD);
    do
        MPI_Improbe(rank, 12, MPI_COMM_WORLD, &flag, &m, &s);
    while (!flag);
    MPI_Imrecv(in, 4, MPI_INT, &m, &r);
    MPI_Wait(&r, &s);
    is_status(&s, rank, 12, 16);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &s);
    CHECK(m == MPI_MESSAGE_NO_PROC && s.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(in, 4, MPI_INT, &m, &s);
    CHECK(m == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
}

static void big(void)
{
    const long long n = 64LL << 20;
    char* const out = malloc((size_t)n);
    char* const in = malloc((size_t)n);
    CHECK(out && in);
    for (long long i = 0; i < n; ++i)
        out[i] = (char)(i * 7 + i / 4096 + rank);
    MPI_Status s;
    MPI_Sendrecv_c(out, n, MPI_BYTE, next(), 1, in, n, MPI_BYTE, previous(), 1, MPI_COMM_WORLD, &s);
    is_status(&s, previous(), 1, n);
    for (long long i = 0; i < n; ++i)
        CHECK(in[i] == (char)(i * 7 + i / 4096 + previous()));
    memset(in, 0, (size_t)n);
    MPI_Request r, w;
    MPI_Irecv(in, (int)(n / 8), MPI_DOUBLE, previous(), 2, MPI_COMM_WORLD, &r);
    MPI_Isend(out, (int)(n / 8), MPI_DOUBLE, next(), 2, MPI_COMM_WORLD, &w);
    MPI_Wait(&r, &s);
    MPI_Wait(&w, MPI_STATUS_IGNORE);
    CHECK(in[n - 1] == (char)((n - 1) * 7 + (n - 1) / 4096 + previous()));
    MPI_Sendrecv_replace(out, (int)n, MPI_CHAR, next(), 3, previous(), 3, MPI_COMM_WORLD, &s);
    CHECK(memcmp(in, out, (size_t)n) == 0);
    free(out);
    free(in);
}

static void truncation(void)
{
    int v[4000] = {1, 2, 3, 4}, in[5] = {0, 0, 0, -5, -5};
    MPI_Status s[2];
    MPI_Request r[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(v, 4, MPI_INT, rank, 1, MPI_COMM_WORLD);
    CHECK(class_of(MPI_Recv(in, 3, MPI_INT, rank, 1, MPI_COMM_WORLD, &s[0])) == MPI_ERR_TRUNCATE);
    CHECK(in[2] == 3 && in[3] == -5);
    MPI_Isend(v, 4000, MPI_INT, rank, 2, MPI_COMM_WORLD, &r[0]);
    CHECK(class_of(MPI_Recv(in, 3, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(in[3] == -5 && MPI_Wait(&r[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Irecv(in, 5, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &r[1]);
    MPI_Send(v, 4, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Send(v, 4, MPI_INT, rank, 4, MPI_COMM_WORLD);
    CHECK(MPI_Waitall(2, r, s) == MPI_ERR_IN_STATUS);
    CHECK(s[0].MPI_ERROR == MPI_SUCCESS && class_of(s[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    /* What followed is unharmed. */
    MPI_Send(v, 2, MPI_INT, rank, 1, MPI_COMM_WORLD);
    CHECK(MPI_Recv(in, 3, MPI_INT, rank, 1, MPI_COMM_WORLD, &s[0]) == MPI_SUCCESS);
    is_status(&s[0], rank, 1, 8);
}

static void persistent(void)
{
    int out = 0, in = -1, flag = -1;
    MPI_Status s;
    MPI_Request r[2];
    MPI_Send_init(&out, 1, MPI_INT, next(), 3, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(&in, 1, MPI_INT, previous(), 3, MPI_COMM_WORLD, &r[1]);
    MPI_Request const before = r[1];
    MPI_Wait(&r[1], &s);  /* inactive: an empty status */
    is_status(&s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    for (int i = 0; i < 50; ++i) {
        out = rank * 100 + i;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK(in == previous() * 100 + i && r[1] == before);
    }
    int index = 0;
    MPI_Testany(2, r, &index, &flag, &s);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    CHECK(r[1] == MPI_REQUEST_NULL);
    MPI_Ssend_init(&out, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &r[0]);
    for (int i = 0; i < 5; ++i) {
        MPI_Start(&r[0]);
        MPI_Test(&r[0], &flag, &s);
        CHECK(!flag);
        MPI_Recv(&in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &s);
        MPI_Wait(&r[0], &s);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Start(&r[0]);
    CHECK(class_of(MPI_Start(&r[0])) == MPI_ERR_REQUEST);
    MPI_Request_free(&r[0]);  /* with pending work, which goes on */
    MPI_Recv(&in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &s);
    is_status(&s, rank, 4, 4);
}

static void completion(void)
{
    int in[4] = {-1, -1, -1, -1}, v = 5, flag = -1, index = -1, n = -1, which[4];
    MPI_Request r[4];
    MPI_Status s, all[4];
    for (int i = 0; i < 4; ++i)
        MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &r[i]);
    MPI_Testall(4, r, &flag, all);
    CHECK(!flag);
    MPI_Testsome(4, r, &n, which, all);
    CHECK(n == 0);
    MPI_Send(&v, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
    MPI_Waitany(4, r, &index, &s);
    CHECK(index == 2 && r[2] == MPI_REQUEST_NULL && in[2] == 5);
    is_status(&s, rank, 2, 4);
    MPI_Send(&v, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Send(&v, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    do
        MPI_Request_get_status(r[0], &flag, &s);
    while (!flag);
    CHECK(r[0] != MPI_REQUEST_NULL);
    MPI_Waitsome(4, r, &n, which, all);
    CHECK(n == 2 && which[0] == 3 && which[1] == 0);  /* in the order in which they ended */
    is_status(&all[0], rank, 3, 4);
    /* Cancel. */
    MPI_Cancel(&r[1]);
    MPI_Wait(&r[1], &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag == 1 && in[1] == -1);
    MPI_Waitsome(4, r, &n, which, all);
    CHECK(n == MPI_UNDEFINED);
    MPI_Waitany(4, r, &index, &s);
    CHECK(index == MPI_UNDEFINED);
    MPI_Waitall(4, r, all);
    MPI_Wait(&r[0], &s);
    is_status(&s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    /* A cancelled receive takes nothing. */
    MPI_Send(&v, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Recv(&in[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &s);
    CHECK(in[1] == 5);
}

static void nobody(void)
{
    int v = 1, flag = -1;
    MPI_Request r;
    MPI_Status s;
    MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
    is_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Irecv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &s);
    is_status(&s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Isend(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
    MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 1);
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &s);
    CHECK(flag == 1 && s.MPI_SOURCE == MPI_PROC_NULL);
    int a = rank, b = -1;
    MPI_Sendrecv(&a, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 0, &b, 1, MPI_INT, rank > 0 ? rank - 1 : MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &s);
    CHECK(b == (rank > 0 ? rank - 1 : -1));
    /* Nothing at all. */
    MPI_Sendrecv(NULL, 0, MPI_INT, next(), 0, NULL, 0, MPI_DOUBLE, previous(), 0, MPI_COMM_WORLD, &s);
    is_status(&s, previous(), 0, 0);
    MPI_Sendrecv_replace(&a, 1, MPI_INT, next(), 0, previous(), 0, MPI_COMM_WORLD, &s);
    CHECK(a == previous());
    MPI_Isendrecv(&rank, 1, MPI_INT, next(), 4, &b, 1, MPI_INT, previous(), 4, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &s);
    CHECK(b == previous());
    is_status(&s, previous(), 4, 4);
    MPI_Isendrecv_replace(&b, 1, MPI_INT, next(), 4, previous(), 4, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &s);
    CHECK(b == (rank + 2 * size - 2) % size);
}

/* Types with gaps keep what lies in the gaps. */
static void gaps(void)
{
    struct pair { double value; int index, gap; } out[300], in[300];
    memset(out, 0, sizeof out);
    for (int i = 0; i < 300; ++i) {
        out[i].value = i + 0.5;
        out[i].index = rank + i;
        out[i].gap = 1;
        in[i].gap = -7;
    }
    MPI_Status s;
    for (int n = 3; n <= 300; n += 297) {
        MPI_Sendrecv(out, n, MPI_DOUBLE_INT, next(), 1, in, n, MPI_DOUBLE_INT, previous(), 1, MPI_COMM_WORLD, &s);
        is_status(&s, previous(), 1, 12LL * n);
        for (int i = 0; i < n; ++i)
            CHECK(in[i].value == i + 0.5 && in[i].index == previous() + i && in[i].gap == -7);
    }
    MPI_Request r[2];
    memset(&in[0], 0, sizeof in[0]);
    MPI_Irecv(in, 1, MPI_DOUBLE_INT, previous(), 2, MPI_COMM_WORLD, &r[0]);
    MPI_Issend(out, 1, MPI_DOUBLE_INT, next(), 2, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in[0].value == 0.5 && in[0].index == previous() && in[0].gap == 0);
}

/* Sends whose requests are freed, and a finalize that comes before they are received. */
static void freed(void)
{
    static int out[20000], in[20000];
    MPI_Request r;
    for (int i = 0; i < 20000; ++i)
        out[i] = rank + i;
    for (int k = 0; k < 3; ++k) {
        MPI_Isend(out, 20000, MPI_INT, next(), k, MPI_COMM_WORLD, &r);
        MPI_Request_free(&r);
        CHECK(r == MPI_REQUEST_NULL);
    }
    if (rank % 2 == 1)
        usleep(50000);
    for (int k = 2; k >= 0; --k) {
        MPI_Recv(in, 20000, MPI_INT, previous(), k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in[19999] == previous() + 19999);
    }
}

static void errors(void)
{
    int v = 1;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Send(&v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Send(&v, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(&v, 1, MPI_INT, size, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&v, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&v, 1, MPI_INT, 0, -1, MPI_COMM_WORLD)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(&v, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(&v, 1, MPI_INT, 0, 0, MPI_COMM_NULL)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Send_c(&v, (MPI_Count)1 << 62, MPI_INT, 0, 0, MPI_COMM_WORLD)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Recv(&v, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Recv(&v, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Irecv(&v, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &r)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Start(&r)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Wait(NULL, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
    MPI_Irecv(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r);
    MPI_Request stale = r;
    CHECK(class_of(MPI_Start(&r)) == MPI_ERR_REQUEST);
    MPI_Cancel(&r);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&stale, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    MPI_Request list[2] = {MPI_REQUEST_NULL, stale};
    CHECK(class_of(MPI_Waitall(2, list, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
    MPI_Message m = MPI_MESSAGE_NULL;
    CHECK(class_of(MPI_Mrecv(&v, 1, MPI_INT, &m, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
}

static void* talk(void* which)
{
    const int tag = *(int*)which;
    for (int i = 0; i < 300; ++i) {
        int out = tag * 1000 + i, in = -1;
        static const int counts[] = {1, 5000};
        MPI_Request r[2];
        if (i % 3 == 0) {
            MPI_Sendrecv(&out, 1, MPI_INT, next(), tag, &in, 1, MPI_INT, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (i % 3 == 1) {
            int* const large = calloc((size_t)counts[1], sizeof *large);
            int* const got = calloc((size_t)counts[1], sizeof *large);
            large[4999] = out;
            MPI_Irecv(got, counts[1], MPI_INT, previous(), tag, MPI_COMM_WORLD, &r[0]);
            MPI_Isend(large, counts[1], MPI_INT, next(), tag, MPI_COMM_WORLD, &r[1]);
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            in = got[4999];
            free(large);
            free(got);
        } else {
            MPI_Irecv(&in, 1, MPI_INT, previous(), tag, MPI_COMM_WORLD, &r[0]);
            MPI_Issend(&out, 1, MPI_INT, next(), tag, MPI_COMM_WORLD, &r[1]);
            int index = -1;
            MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
            MPI_Wait(&r[1 - index], MPI_STATUS_IGNORE);
        }
        CHECK(in == out);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[3];
    int tags[3] = {1, 2, 3};
    for (int i = 0; i < 3; ++i)
        pthread_create(&t[i], NULL, talk, &tags[i]);
    for (int i = 0; i < 3; ++i)
        pthread_join(t[i], NULL);
}

static void too_long(void)
{
    int v[3] = {1, 2, 3};
    MPI_Send(v, 3, MPI_INT, rank, 6, MPI_COMM_WORLD);
    MPI_Recv(v, 2, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A wait for a cancelled send ends although nobody receives it. */
static void cancelled_sends(void)
{
    static char out[100000], in[100000];
    const int sizes[] = {1, 100000};
    for (int i = 0; i < 4; ++i) {
        MPI_Request r;
        MPI_Status s;
        int flag = -1, word = -1, size_of = sizes[i % 2];
        if (i < 2)
            MPI_Isend(out, size_of, MPI_BYTE, next(), 1, MPI_COMM_WORLD, &r);
        else
            MPI_Issend(out, size_of, MPI_BYTE, next(), 1, MPI_COMM_WORLD, &r);
        MPI_Cancel(&r);
        MPI_Wait(&r, &s);
        MPI_Test_cancelled(&s, &flag);
        CHECK(flag == (i != 0)); /* a small send has ended when it begins */
        MPI_Sendrecv(&flag, 1, MPI_INT, next(), 2, &word, 1, MPI_INT, previous(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!word) {
            MPI_Recv(in, size_of, MPI_BYTE, previous(), 1, MPI_COMM_WORLD, &s);
            is_status(&s, previous(), 1, size_of);
        }
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, &s);
        CHECK(!flag);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Nonblocking sends return whatever their receivers do: rank 1 leaves MPI alone until rank 0 says, outside MPI, that all its sends are
   under way. Then they arrive in order. BACKLOG names a file that is not there. */
static void backlog(void)
{
    enum { N = 20000, LONG = 100 };
    const char* sign = getenv("BACKLOG");
    static char out[N / LONG][20000];
    static int small[N], in[5000];
    MPI_Request r[N];
    CHECK(sign != NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < N; ++i) {
            small[i] = i;
            if (i % LONG == 0) {
                memcpy(out[i / LONG], &i, sizeof i);
                MPI_Isend(out[i / LONG], 20000, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[i]);
            } else if (i % LONG == 1) {
                MPI_Issend(&small[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &r[i]);
            } else {
                MPI_Isend(&small[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &r[i]);
            }
        }
        FILE* file = fopen(sign, "w");
        CHECK(file != NULL && fclose(file) == 0);
        MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        while (access(sign, F_OK) != 0)
            usleep(1000);
        for (int i = 0; i < N; ++i) {
            MPI_Status s;
            MPI_Recv(in, 5000, MPI_INT, 0, 1, MPI_COMM_WORLD, &s);
            is_status(&s, 0, 1, i % LONG == 0 ? 20000 : 4);
            CHECK(in[0] == i);
        }
    }
}

/* What a finished send has sent arrives although its sender leaves MPI alone from then on: also if the ring had no room at first. */
static void left_alone(void)
{
    enum { N = 6, LONG = 6000 };
    static char text[LONG];
    int const pid = (int)getpid();
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGUSR1);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    if (rank == 0) {
        MPI_Send(&pid, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        for (int i = 0; i < N; ++i) {
            memset(text, 'a' + i, LONG);
            MPI_Send(text, LONG, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        }
        const struct timespec patience = {60, 0};
        CHECK(sigtimedwait(&taken, NULL, &patience) == SIGUSR1);
    } else if (rank == 1) {
        int sender = 0;
        MPI_Recv(&sender, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(100000); /* the ring is full meanwhile */
        for (int i = 0; i < N; ++i) {
            MPI_Recv(text, LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(text[0] == 'a' + i && text[LONG - 1] == 'a' + i);
        }
        CHECK(kill(sender, SIGUSR1) == 0);
    }
}

int main(int argc, char** argv)
{
    static const struct { const char* name; void (*run)(void); } scenarios[] = {
        {"order", order}, {"wildcards", wildcards}, {"modes", modes}, {"probes", probes}, {"big", big}, {"truncation", truncation},
        {"persistent", persistent}, {"completion", completion}, {"nobody", nobody}, {"gaps", gaps}, {"freed", freed}, {"errors", errors},
        {"threads", threads}, {"too_long", too_long}, {"backlog", backlog}, {"cancelled_sends", cancelled_sends},
        {"left_alone", left_alone}};
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        int provided = 0, level = argc > 2 || scenarios[i].run == threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
        MPI_Init_thread(&argc, &argv, level, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        scenarios[i].run();
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "mpi_point_to_point: no such scenario\n");
    return 2;
}
