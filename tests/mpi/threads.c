/* Several threads of each rank exchange messages. Usage: mpi_threads SCENARIO, silent and 0 where all data were right.
     talk      there and back, and windows: a communicator each, then one with a tag each, then from any source; sizes of all ways
     others    a request that one thread begins is waited for, tested and freed by another
     many      threads that come and go: what they leave is used again
     waiting   one thread waits all the time while another has all the messages, and then gets its own */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, WINDOW = 16, MOST = 70000 };

struct talker {
    int number, rounds, from;
    MPI_Comm comm;
    int tag;
};

static unsigned char byte_of(int i, int round, int of, int thread)
{
    return (unsigned char)(i * 7 + i / 256 + round * 31 + of * 101 + thread * 13);
}

static void fill(unsigned char* to, int n, int round, int of, int thread)
{
    for (int i = 0; i < n; ++i)
        to[i] = byte_of(i, round, of, thread);
}

static void compare(const unsigned char* with, int n, int round, int of, int thread)
{
    for (int i = 0; i < n; ++i)
        CHECK(with[i] == byte_of(i, round, of, thread));
}

static int size_of(int round)
{
    static const int sizes[] = {8, 0, 100, 1024, 3000, 16384, 1, 65536};
    return sizes[round % 8];
}

static void* talk(void* p)
{
    const struct talker* t = p;
    int other = 1 - rank, n = t->number;
    unsigned char *out = malloc(MOST), *in = malloc((size_t)MOST), *window = malloc((size_t)WINDOW * 4096);
    MPI_Request r[WINDOW];
    MPI_Status s;
    CHECK(out && in && window);
    for (int round = 0; round < t->rounds; ++round) {
        int bytes = size_of(round + n);
        for (int turn = 0; turn < 2; ++turn) {
            if (turn == rank) {
                fill(out, bytes, round, rank, n);
                MPI_Send(out, bytes, MPI_BYTE, other, t->tag, t->comm);
            } else {
                int got;
                memset(in, 0xa5, (size_t)bytes);
                MPI_Recv(in, bytes, MPI_BYTE, t->from, t->tag, t->comm, &s);
                MPI_Get_count(&s, MPI_BYTE, &got);
                CHECK(s.MPI_SOURCE == other && s.MPI_TAG == t->tag && got == bytes);
                compare(in, bytes, round, other, n);
            }
        }
        if (round % 4 != 0)
            continue;
        bytes = bytes > 4096 ? 4096 : bytes;
        for (int i = 0; i < WINDOW; ++i) {
            unsigned char* at = window + i * 4096;
            if (rank == (round / 4) % 2) {
                fill(at, bytes, round + i, rank, n);
                MPI_Isend(at, bytes, MPI_BYTE, other, t->tag, t->comm, &r[i]);
            } else
                MPI_Irecv(at, bytes, MPI_BYTE, t->from, t->tag, t->comm, &r[i]);
        }
        MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE);
        for (int i = 0; rank != (round / 4) % 2 && i < WINDOW; ++i)
            compare(window + i * 4096, bytes, round + i, other, n);
    }
    free(out);
    free(in);
    free(window);
    return NULL;
}

static void together(void* (*what)(void*), struct talker* all, int count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; ++i)
        CHECK(pthread_create(&threads[i], NULL, what, &all[i]) == 0);
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
}

static void talks(void)
{
    MPI_Comm comms[THREADS];
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int pairing = 0; pairing < 3; ++pairing) {
        struct talker all[THREADS];
        for (int i = 0; i < THREADS; ++i)
            all[i] = (struct talker){i, 200, pairing == 2 ? MPI_ANY_SOURCE : 1 - rank, comms[pairing ? 0 : i], pairing ? i : 0};
        together(talk, all, THREADS);
    }
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
}

/* Requests that were begun and not yet ended, by place. */
static _Atomic(uintptr_t) handed[2 * THREADS];

static void* begins(void* p)
{
    const struct talker* t = p;
    static int in[2 * THREADS], out = 77;
    for (int round = 0; round < t->rounds; ++round) {
        for (int k = 0; k < 2; ++k) {
            int place = 2 * t->number + k;
            MPI_Request r;
            while (handed[place] != 0)
                usleep(1);
            if (k == 0)
                MPI_Irecv(&in[place], 1, MPI_INT, t->from, t->tag, t->comm, &r);
            else
                MPI_Issend(&out, 1, MPI_INT, t->from, t->tag, t->comm, &r);
            handed[place] = (uintptr_t)r;
        }
    }
    return NULL;
}

static void* ends(void* p)
{
    const struct talker* t = p;
    for (int round = 0; round < t->rounds; ++round) {
        for (int k = 0; k < 2; ++k) {
            int place = 2 * t->number + k, flag = 0;
            while (handed[place] == 0)
                usleep(1);
            MPI_Request r = (MPI_Request)handed[place];
            for (int i = 0; round % 3 == 1 && i < 100 && !flag; ++i)
                MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            CHECK(r == MPI_REQUEST_NULL);
            handed[place] = 0;
        }
    }
    return NULL;
}

static void* either(void* p)
{
    struct talker* t = p;
    return t->number < 0 ? (t->number = -1 - t->number, ends(t)) : begins(t);
}

static void others(void)
{
    struct talker all[THREADS];
    for (int i = 0; i < THREADS; ++i)
        all[i] = (struct talker){i % 2 ? -1 - i / 2 : i / 2, 500, 1 - rank, MPI_COMM_WORLD, i / 2};
    together(either, all, THREADS);
}

static int largest;  /* place of a request, of all threads */

static void* leaves_many(void* p)
{
    const struct talker* t = p;
    MPI_Request r[300];
    char bytes[300];
    for (int i = 0; i < 300; ++i) {
        MPI_Irecv(&bytes[i], 1, MPI_BYTE, t->from, t->tag, t->comm, &r[i]);
        int place = MPI_Request_toint(r[i]) & 0xffffff;
        largest = place > largest ? place : largest;
    }
    for (int i = 0; i < 300; ++i)
        MPI_Send("x", 1, MPI_BYTE, t->from, t->tag, t->comm);
    MPI_Waitall(300, r, MPI_STATUSES_IGNORE);
    return NULL;
}

/* 200 threads, one after the other, of 300 requests each: at most two threads' requests are alive, and some are kept by others. */
static void many(void)
{
    struct talker one = {0, 0, 1 - rank, MPI_COMM_WORLD, 0};
    for (int i = 0; i < 200; ++i)
        together(leaves_many, &one, 1);
    CHECK(largest < 2000);
}

static void* waits_long(void* p)
{
    const struct talker* t = p;
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, t->from, 99, t->comm, MPI_STATUS_IGNORE);
    CHECK(word == 4711);
    return NULL;
}

static void waiting(void)
{
    struct talker long_one = {0, 0, 1 - rank, MPI_COMM_WORLD, 99}, short_one = {1, 100, 1 - rank, MPI_COMM_WORLD, 1};
    for (int round = 0; round < 5; ++round) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, waits_long, &long_one) == 0);
        talk(&short_one);
        usleep(2000);  /* this thread does not call MPI: the other one has to poll */
        if (rank == 0) {
            MPI_Send(&(int){4711}, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
            pthread_join(t, NULL);
        } else {
            pthread_join(t, NULL);
            MPI_Send(&(int){4711}, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char** argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level == MPI_THREAD_MULTIPLE && size == 2 && argc == 2);
    const struct { const char* name; void (*run)(void); } scenarios[] = {
        {"talk", talks}, {"others", others}, {"many", many}, {"waiting", waiting}};
    int found = 0;
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; ++i)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            found = 1;
        }
    CHECK(found);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
