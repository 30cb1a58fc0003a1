// The program that is measured on every MPI library: one source, and for those of the standard ABI one binary.
//
//     bench CONDUCTOR [--threads multiple] [--allocate] [--room MIB]
//                                                           ranks take turns, as turn.h says: two, or any number in collective operations
//     bench --alone CASE SIZE MODE CACHE BATCH BATCHES [MEMORY] [multiple]
//                                                           one turn without a conductor, for a look or a profiler; prints the samples
//     bench --crowd MILLISECONDS                            any number of ranks: messages of all pairs, memory of each rank, barriers
//     bench --stencil MILLISECONDS                          any number of ranks that divides 2048: steps of a stencil
//     bench --wait                                          two ranks: what waiting costs
//
// --allocate: big blocks of the heap come from MPI_Alloc_mem; --room: MiB of each of the two.
// Cases (bench_mixed.h and bench_threads.h have more):
//   latency    MPI_Send and MPI_Recv there and back; a sample is one way
//   first      that, of ranks that have done nothing but a barrier, without warming up (--alone)
//   stream     windows of MPI_Isend and MPI_Irecv, MPI_Waitall, then a word back; a sample is a message
//   posted0, posted256
//              latency behind so many posted receives that do not match
//   barrier, bcast, reduce, allreduce, allgather, alltoall, scatter, gather, reduce_scatter, scan, allgatherv, alltoallv, scatterv,
//   gatherv, neighbor_alltoall (in a circle)
//              back to back from one root; a batch ends when all ranks are done. size: a block, what a rank sends to another
//   type_NAME  latency with a derived datatype at both ends; size: bytes of data
#include "bench_memory.h"

enum { plain_tag = 1, back_tag = 2, posted_tag = 1000, posted_most = 256 };

static inline __attribute__((always_inline)) void give(struct work *w, enum mode mode)
{
    char *at = slot_of(w, &w->send);
    prepare(at, w->size, w->rank, w->given++, mode);
    MPI_Send(at, (int)w->size, MPI_BYTE, 1 - w->rank, plain_tag, MPI_COMM_WORLD);
}

static inline __attribute__((always_inline)) void take(struct work *w, enum mode mode)
{
    char *at = slot_of(w, &w->receive);
    MPI_Recv(at, (int)w->size, MPI_BYTE, 1 - w->rank, plain_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t k = w->taken++;
    if (mode == rewritten)
        w->wrong |= differs(at, w->size, seed(1 - w->rank, k));
}

static inline __attribute__((always_inline)) void round_trips(struct work *w, long times, enum mode mode, int cold)
{
    for (long i = 0; i < times; ++i) {
        if (w->rank == 0) {
            give(w, mode);
            take(w, mode);
        } else {
            take(w, mode);
            give(w, mode);
        }
        if (cold)
            next_slot(w);
    }
}

static void latency(struct work *w, long times)
{
    if (w->mode == rewritten)
        round_trips(w, times, rewritten, w->cold);
    else if (w->mode == dirtied)
        round_trips(w, times, dirtied, w->cold);
    else if (w->cold)
        round_trips(w, times, untouched, 1);
    else
        round_trips(w, times, untouched, 0);
}

static void check_latency(struct work *w, long times)
{
    memset(slot_of(w, &w->receive), 0xa5, w->size);
    round_trips(w, times, rewritten, 0);
}

static void word_back(struct work *w, int from)
{
    if (w->rank == from)
        MPI_Send(NULL, 0, MPI_BYTE, 1 - from, back_tag, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, from, back_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The messages of a window lie beside each other, or in blocks of their own.
static void windows(struct work *w, long times, enum mode mode)
{
    MPI_Request requests[window_most];
    for (long i = 0; i < times; ++i) {
        for (int m = 0; m < w->window; ++m) {
            char *message = window_at[m];
            if (w->rank == 0) {
                prepare(message, w->size, 0, w->given++, mode);
                MPI_Isend(message, (int)w->size, MPI_BYTE, 1, plain_tag, MPI_COMM_WORLD, &requests[m]);
            } else
                MPI_Irecv(message, (int)w->size, MPI_BYTE, 0, plain_tag, MPI_COMM_WORLD, &requests[m]);
        }
        MPI_Waitall(w->window, requests, MPI_STATUSES_IGNORE);
        for (int m = 0; w->rank == 1 && m < w->window; ++m) {
            uint64_t k = w->taken++;
            if (mode == rewritten)
                w->wrong |= differs(window_at[m], w->size, seed(0, k));
        }
        word_back(w, 1);
    }
}

static void stream(struct work *w, long times) { windows(w, times, w->mode); }
static void check_stream(struct work *w, long times) { windows(w, times, rewritten); }

// Receives that stand in the queue while latency is measured.
static MPI_Request posted[posted_most];
static char posted_bytes[posted_most];

static void post(int count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; ++i)
        MPI_Irecv(&posted_bytes[i], 1, MPI_BYTE, 1 - rank, posted_tag + i, MPI_COMM_WORLD, &posted[i]);
}

static void satisfy(int count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char nothing = 0;
    for (int i = 0; i < count; ++i)
        MPI_Send(&nothing, 1, MPI_BYTE, 1 - rank, posted_tag + i, MPI_COMM_WORLD);
    MPI_Waitall(count, posted, MPI_STATUSES_IGNORE);
}

#include "bench_collectives.h"
#include "bench_crowd.h"
#include "bench_gentle.h"
#include "bench_mixed.h"
#include "bench_threads.h"
#include "bench_types.h"

struct measured {
    const char *name;
    operation *run, *check;
    double share;  // operations of which a sample is one, in each that is run
    int blocks;    // the buffers hold a block of `size` bytes for each rank
    int pair;      // two ranks only
    int numbers;   // data are doubles
};

static const struct measured measured[] = {
    {"latency", latency, check_latency, 2, 0, 1, 0},
    {"first", latency, check_latency, 2, 0, 1, 0},
    {"posted0", latency, check_latency, 2, 0, 1, 0},
    {"posted256", latency, check_latency, 2, 0, 1, 0},
    {"barrier", barrier, barrier, 1, 0, 0, 0},
    {"bcast", bcast, check_bcast, 1, 0, 0, 0},
    {"reduce", reduce, check_reduce, 1, 0, 0, 1},
    {"allreduce", allreduce, check_allreduce, 1, 0, 0, 1},
    {"allgather", allgather, check_allgather, 1, 1, 0, 0},
    {"alltoall", alltoall, check_alltoall, 1, 1, 0, 0},
    {"scatter", scatter, check_scatter, 1, 1, 0, 0},
    {"gather", gather, check_gather, 1, 1, 0, 0},
    {"allgatherv", allgatherv, check_allgatherv, 1, 1, 0, 0},
    {"alltoallv", alltoallv, check_alltoallv, 1, 1, 0, 0},
    {"scatterv", scatterv, check_scatterv, 1, 1, 0, 0},
    {"gatherv", gatherv, check_gatherv, 1, 1, 0, 0},
    {"neighbor_alltoall", neighbor_alltoall, check_neighbor_alltoall, 1, 1, 0, 0},
    {"reduce_scatter", reduce_scatter, check_reduce_scatter, 1, 1, 0, 1},
    {"scan", scan, check_scan, 1, 0, 0, 1},
    {"mixed", mixed, check_mixed, 1, 0, 0, 0},
    {"bcast_barrier", bcast_barrier, check_bcast_barrier, 1, 0, 0, 0},
    {"bcast_alone", bcast_alone, check_bcast_barrier, 1, 0, 0, 0},
    {"alltoall_barrier", alltoall_barrier, check_alltoall_barrier, 1, 1, 0, 0},
    {"alltoall_alone", alltoall_alone, check_alltoall_barrier, 1, 1, 0, 0},
    {"allreduce_barrier", allreduce_barrier, check_allreduce_barrier, 1, 0, 0, 1},
    {"allreduce_alone", allreduce_alone, check_allreduce_barrier, 1, 0, 0, 1},
};

// Takes the turn that stands in `w`.
static void answer(struct conductor c, struct work *w)
{
    int pair = w->ranks == 2;
    if (pair && strncmp(w->name, "type_", 5) == 0) {
        struct shape shape;
        if (!make_shape(&shape, w->name + 5, w->size)) {
            refuse(c, "no such datatype");
            return;
        }
        current_shape = &shape;
        perform_in_memory(c, w, &(struct task){.run = typed, .check = check_typed, .share = 2, .bytes = shape.extent});
        MPI_Type_free(&shape.type);
        return;
    }
    if (pair && strcmp(w->name, "stream") == 0) {
        size_t each = (w->size + line_size - 1) / line_size * line_size;
        struct task t = {.run = stream, .check = check_stream, .share = w->window, .pieces = w->window, .piece = each};
        t.bytes = each * (size_t)w->window;
        perform_in_memory(c, w, &t);
        return;
    }
    if (answer_threads(c, w))
        return;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; ++i) {
        const struct measured *m = &measured[i];
        if (strcmp(w->name, m->name) != 0 || (m->pair && !pair))
            continue;
        struct task t = {.run = m->run, .check = m->check, .share = m->share, .numbers = m->numbers};
        t.bytes = w->size * (m->blocks ? (size_t)w->ranks : 1);
        t.waiting = strcmp(w->name, "posted256") == 0 ? posted_most : 0;
        t.fresh = strcmp(w->name, "first") == 0;
        perform_in_memory(c, w, &t);
        return;
    }
    refuse(c, "no such case");
}

// Both big blocks, filled: the pages are there, and what is sent untouched is something.
static void get_heap(int rank, int allocate, size_t bytes)
{
    struct area *areas[] = {&heap_send, &heap_receive};
    for (int i = 0; i < 2; ++i) {
        void *at = NULL;
        if (allocate ? MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &at) != MPI_SUCCESS : posix_memalign(&at, page_size, bytes) != 0)
            give_up("no memory for buffers");
        *areas[i] = (struct area){at, bytes};
        fill(at, bytes, seed(rank, 0));
    }
}

static void put_heap_back(int allocate)
{
    struct area *areas[] = {&heap_send, &heap_receive};
    for (int i = 0; i < 2; ++i)
        if (allocate)
            MPI_Free_mem(areas[i]->base);
        else
            free(areas[i]->base);
}

int main(int argc, char **argv)
{
    int multiple = 0, allocate = 0, provided;
    const size_t megabyte = (size_t)1 << 20, alone_most = 64 * megabyte;
    size_t room = 0;
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--room") == 0 && i + 1 < argc)
            room = (size_t)atol(argv[i + 1]) * megabyte;
        multiple |= strcmp(argv[i], "multiple") == 0;
        allocate |= strcmp(argv[i], "--allocate") == 0;
    }
    int wanted = multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    if (argc < 2 || provided < wanted)
        give_up(argc < 2 ? "the conductor's socket is needed; it stands at the head of bench/mpi/bench.c" : "no MPI_THREAD_MULTIPLE here");
    struct work w = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    const size_t most = room ? room : (w.ranks == 2 ? 80 : 16) * megabyte;  // many ranks measure no cold caches
    double milliseconds = argc > 2 ? atof(argv[2]) : 500;
    int crowded = strcmp(argv[1], "--crowd") == 0, stencils = strcmp(argv[1], "--stencil") == 0, waits = strcmp(argv[1], "--wait") == 0;
    if (crowded || stencils || waits) {
        if (crowded)
            crowd(w.rank, w.ranks, milliseconds);
        else if (stencils)
            stencil(w.rank, w.ranks, milliseconds);
        else
            wait_long(w.rank);
        MPI_Finalize();
        return 0;
    }
    if (w.ranks < 2)
        give_up("two ranks are needed");
    if (strcmp(argv[1], "--alone") == 0) {
        char turn[256] = "turn";
        for (int i = 2; i < 9 && i < argc; ++i)
            snprintf(turn + strlen(turn), sizeof turn - strlen(turn), " %s", argv[i]);
        get_heap(w.rank, allocate, alone_most);
        struct conductor c = {fmemopen(turn, sizeof turn, "r"), w.rank == 0 ? stdout : fopen("/dev/null", "w")};
        if (await_turn(c, &w))
            answer(c, &w);
        close_link(c);
    } else {
        char words[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(words, &length);
        words[strcspn(words, "\r\n")] = 0;
        struct conductor c = meet_conductor(argv[1], w.rank, words);
        get_heap(w.rank, allocate, most);
        while (await_turn(c, &w))
            answer(c, &w);
        close_link(c);
    }
    put_heap_back(allocate);
    MPI_Finalize();
    return 0;
}
