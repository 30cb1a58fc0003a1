// Several threads of each rank, for bench.c, of two ranks under MPI_THREAD_MULTIPLE. threadsN_PAIRING_KIND: thread i of rank 0 and thread i
// of rank 1 exchange messages, N of them at the same time.
//   own        a communicator for each pair of threads
//   tag        one communicator, a tag for each pair
//   any        the same, and receives from MPI_ANY_SOURCE
//   latency    there and back; a sample is one way, as one thread sees it
//   stream     windows of MPI_Isend and MPI_Irecv, MPI_Waitall, then a word back; a sample is a message of any thread, so that more threads
//              should make it smaller
// Whatever the mode, a message carries its number, and its receiver compares it. A batch begins when all threads of a rank are there and
// ends when all are done.
#ifndef TOWLINE_BENCH_THREADS_H
#define TOWLINE_BENCH_THREADS_H

#include "bench_memory.h"

#include <pthread.h>

enum { threads_most = 8, thread_tag = 10, thread_page = 4096 };

struct thread_turn {
    struct work *w;
    int threads;
    int shared, any;   // one communicator for all; MPI_ANY_SOURCE
    int windows;       // stream
    int over;          // no batch follows
    long times;        // of the batch
    enum mode mode;    // of the batch
    MPI_Comm comms[threads_most];
    uint64_t given[threads_most][8], taken[threads_most][8];  // by thread; a line each
    uint64_t wrong[threads_most][8];
    pthread_barrier_t begin, end;
};

static struct thread_turn thread_turn;

// What thread `i` exchanges, for the time of a batch.
struct pair_of_threads {
    struct work *w;
    MPI_Comm comm;
    int tag, from, other;
    char *send, *receive;
    size_t stride;
    int marks;         // a message has room for its number
    enum mode mode;
    uint64_t first, given, taken, wrong;
};

static size_t thread_stride(size_t size) { return (size + line_size - 1) / line_size * line_size; }

// Bytes of a thread's part of a buffer. Those of two threads share no page.
static size_t thread_bytes(size_t size, int windows)
{
    size_t all = thread_stride(size) * (windows ? (size_t)window_of_size(size) : 1);
    return (all + thread_page - 1) / thread_page * thread_page + thread_page;
}

static inline void write_message(struct pair_of_threads *p, char *at)
{
    uint64_t k = p->given++;
    if (p->mode != untouched)
        prepare(at, p->w->size, p->w->rank, p->first + k, p->mode);
    if (p->marks)
        *(uint64_t *)(void *)at = seed(p->w->rank, p->first + k);
}

static inline void read_message(struct pair_of_threads *p, const char *at)
{
    uint64_t k = p->taken++;
    if (p->mode == rewritten)
        p->wrong |= differs(at, p->w->size, seed(p->other, p->first + k));
    else if (p->marks)
        p->wrong |= *(const uint64_t *)(const void *)at ^ seed(p->other, p->first + k);
}

static void pair_send(struct pair_of_threads *p)
{
    write_message(p, p->send);
    MPI_Send(p->send, (int)p->w->size, MPI_BYTE, p->other, p->tag, p->comm);
}

static void pair_receive(struct pair_of_threads *p)
{
    MPI_Recv(p->receive, (int)p->w->size, MPI_BYTE, p->from, p->tag, p->comm, MPI_STATUS_IGNORE);
    read_message(p, p->receive);
}

static void pair_round_trips(struct pair_of_threads *p, long times)
{
    for (long i = 0; i < times; ++i) {
        if (p->w->rank == 0)
            pair_send(p);
        pair_receive(p);
        if (p->w->rank != 0)
            pair_send(p);
    }
}

static void pair_windows(struct pair_of_threads *p, long times)
{
    MPI_Request requests[window_most];
    int n = p->w->window, size = (int)p->w->size;
    for (long i = 0; i < times; ++i) {
        for (int m = 0; m < n; ++m) {
            char *at = (p->w->rank == 0 ? p->send : p->receive) + p->stride * (size_t)m;
            if (p->w->rank == 0) {
                write_message(p, at);
                MPI_Isend(at, size, MPI_BYTE, p->other, p->tag, p->comm, &requests[m]);
            } else
                MPI_Irecv(at, size, MPI_BYTE, p->from, p->tag, p->comm, &requests[m]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        if (p->w->rank == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, p->from, p->tag, p->comm, MPI_STATUS_IGNORE);
        } else {
            for (int m = 0; m < n; ++m)
                read_message(p, p->receive + p->stride * (size_t)m);
            MPI_Send(NULL, 0, MPI_BYTE, p->other, p->tag, p->comm);
        }
    }
}

static void thread_batch(int i)
{
    struct thread_turn *t = &thread_turn;
    struct work *w = t->w;
    size_t offset = thread_bytes(w->size, t->windows) * (size_t)i;
    struct pair_of_threads p = {.w = w, .comm = t->comms[t->shared ? 0 : i], .tag = thread_tag + (t->shared ? i : 0), .mode = t->mode};
    p.other = 1 - w->rank;
    p.from = t->any ? MPI_ANY_SOURCE : p.other;
    p.send = slot_of(w, &w->send) + offset;
    p.receive = slot_of(w, &w->receive) + offset;
    p.stride = thread_stride(w->size);
    p.marks = w->size >= 8;
    p.first = (uint64_t)i << 32;
    p.given = t->given[i][0];
    p.taken = t->taken[i][0];
    (t->windows ? pair_windows : pair_round_trips)(&p, t->times);
    t->given[i][0] = p.given;
    t->taken[i][0] = p.taken;
    t->wrong[i][0] |= p.wrong;
}

static void *other_thread(void *number)
{
    for (;;) {
        pthread_barrier_wait(&thread_turn.begin);
        if (thread_turn.over)
            return NULL;
        thread_batch((int)(intptr_t)number);
        pthread_barrier_wait(&thread_turn.end);
    }
}

static void thread_batches(struct work *w, long times, enum mode mode)
{
    struct thread_turn *t = &thread_turn;
    t->w = w;
    t->times = times;
    t->mode = mode;
    pthread_barrier_wait(&t->begin);
    thread_batch(0);
    pthread_barrier_wait(&t->end);
    for (int i = 0; i < t->threads; ++i)
        w->wrong |= t->wrong[i][0];
}

static void threads_run(struct work *w, long times) { thread_batches(w, times, w->mode); }
static void threads_check(struct work *w, long times) { thread_batches(w, times, rewritten); }

// A communicator for each thread. Intel's library and MPICH give each an endpoint of its own, where their settings ask for it.
static void make_comms(struct thread_turn *t)
{
    for (int i = 0; i < threads_most; ++i) {
        char number[16];
        MPI_Info info;
        snprintf(number, sizeof number, "%d", i);
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_id", number);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &t->comms[i]);
        MPI_Info_free(&info);
    }
}

static void free_comms(struct thread_turn *t)
{
    for (int i = 0; i < threads_most; ++i)
        MPI_Comm_free(&t->comms[i]);
}

// Takes the turn of `w` if its name is that of this file's; 0: it is not.
static int answer_threads(struct conductor c, struct work *w)
{
    struct thread_turn *t = &thread_turn;
    char pairing[8], kind[16];
    int threads, level;
    if (sscanf(w->name, "threads%d_%7[a-z]_%15s", &threads, pairing, kind) != 3 || threads < 1 || threads > threads_most || w->ranks != 2)
        return 0;
    if ((strcmp(pairing, "own") != 0 && strcmp(pairing, "tag") != 0 && strcmp(pairing, "any") != 0) ||
        (strcmp(kind, "latency") != 0 && strcmp(kind, "stream") != 0))
        return 0;
    MPI_Query_thread(&level);
    if (threads > 1 && level < MPI_THREAD_MULTIPLE) {
        refuse(c, "this process has no MPI_THREAD_MULTIPLE");
        return 1;
    }
    memset(t, 0, sizeof *t);
    t->threads = threads;
    t->shared = strcmp(pairing, "own") != 0;
    t->any = strcmp(pairing, "any") == 0;
    t->windows = strcmp(kind, "stream") == 0;
    make_comms(t);
    pthread_barrier_init(&t->begin, NULL, (unsigned)threads);
    pthread_barrier_init(&t->end, NULL, (unsigned)threads);
    pthread_t others[threads_most];
    for (int i = 1; i < threads; ++i)
        if (pthread_create(&others[i], NULL, other_thread, (void *)(intptr_t)i) != 0)
            give_up("no more threads");
    struct task task = {.run = threads_run, .check = threads_check, .share = t->windows ? w->window * threads : 2};
    task.bytes = thread_bytes(w->size, t->windows) * (size_t)threads;
    perform_in_memory(c, w, &task);
    if (threads > 1) {
        t->over = 1;
        pthread_barrier_wait(&t->begin);
    }
    for (int i = 1; i < threads; ++i)
        pthread_join(others[i], NULL);
    pthread_barrier_destroy(&t->begin);
    pthread_barrier_destroy(&t->end);
    free_comms(t);
    return 1;
}

#endif
