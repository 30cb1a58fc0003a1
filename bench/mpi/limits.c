// What the machine allows, by hand and without MPI: two processes, one memory that both map, flags in lines of their own, no queue that
// knows tags, no header, no check. Usage: limits CONDUCTOR CPU0 CPU1. Takes the turns of bench.c (turn.h) in these cases:
//   raw        a line there and back, the payload beside its flag; one way, up to 48 bytes
//   memcpy     one copy from a buffer to another, on one processor
//   pull, push, both
//              the receiver copies out of the sender's buffer, the sender into the receiver's, or each takes parts from a shared counter
//   both_past  that, past the caches
//   taking     pull, and a byte of each line of the sender's buffer written back as it is
//   pipe       the sender copies into pieces that both map, the receiver out of them, both at the same time; one way
//   stream, stream_both, stream_past
//              lines of a window one after another, up to 48 bytes; above that a flag each, and who copies as above
//   barrier, bcast, reduce, allreduce, allgather, alltoall, scatter, gather, reduce_scatter, scan
//              back to back: slots beside flags up to 48 bytes, above that read and written in place
//   bcast_parts, reduce_parts, allreduce_parts
//              each rank does half of it, into every place where it is wanted
//   hop_yield, hop_futex
//              a line there and back where both run on one processor (CPU0 is CPU1), which who waits gives away
#include "limits_collectives.h"
#include "limits_hop.h"
#include "limits_messages.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

// Modes are constants where they are measured.
#define IN_MODE(w, call)                                                                                                                   \
    do {                                                                                                                                   \
        if ((w)->mode == untouched)                                                                                                        \
            call(untouched);                                                                                                               \
        else if ((w)->mode == dirtied)                                                                                                     \
            call(dirtied);                                                                                                                 \
        else                                                                                                                               \
            call(rewritten);                                                                                                               \
    } while (0)

#define RAW(mode) raw_trips(w, times, mode)
#define PULL(mode) trips(w, times, mode, pull)
#define PUSH(mode) trips(w, times, mode, push)
#define BOTH(mode) trips(w, times, mode, both)
#define BOTH_PAST(mode) trips(w, times, mode, both_past)
#define TAKING(mode) trips(w, times, mode, taking)
#define PIPE(mode) pipe_trips(w, times, mode)
#define COPY(mode) local_copies(w, times, mode)
#define STREAM(mode) windows(w, times, mode, pull)
#define STREAM_BOTH(mode) windows(w, times, mode, both)
#define STREAM_PAST(mode) windows(w, times, mode, both_past)

static void raw(struct work *w, long times) { IN_MODE(w, RAW); }
static void pulled(struct work *w, long times) { IN_MODE(w, PULL); }
static void pushed(struct work *w, long times) { IN_MODE(w, PUSH); }
static void by_both(struct work *w, long times) { IN_MODE(w, BOTH); }
static void past_caches(struct work *w, long times) { IN_MODE(w, BOTH_PAST); }
static void taken(struct work *w, long times) { IN_MODE(w, TAKING); }
static void piped(struct work *w, long times) { IN_MODE(w, PIPE); }
static void copied(struct work *w, long times) { IN_MODE(w, COPY); }
static void stream(struct work *w, long times) { IN_MODE(w, STREAM); }
static void stream_both(struct work *w, long times) { IN_MODE(w, STREAM_BOTH); }
static void stream_past(struct work *w, long times) { IN_MODE(w, STREAM_PAST); }
static void hop_yield(struct work *w, long times) { hops(w, times, 0); }
static void hop_futex(struct work *w, long times) { hops(w, times, 1); }

enum { numbers = 1, window = 2 };

static const struct {
    const char *name;
    operation *run;
    double share;
    size_t blocks, most;  // blocks of `size` in a buffer; biggest size
    int what;
} measured[] = {
    {"raw", raw, 2, 1, inline_most, 0},
    {"memcpy", copied, 1, 1, -1, 0},
    {"pull", pulled, 2, 1, -1, 0},
    {"push", pushed, 2, 1, -1, 0},
    {"both", by_both, 2, 1, -1, 0},
    {"both_past", past_caches, 2, 1, -1, 0},
    {"taking", taken, 2, 1, -1, 0},
    {"pipe", piped, 2, 1, -1, 0},
    {"hop_yield", hop_yield, 2, 1, inline_most, 0},
    {"hop_futex", hop_futex, 2, 1, inline_most, 0},
    {"stream", stream, 1, 1, -1, window},
    {"stream_both", stream_both, 1, 1, -1, window},
    {"stream_past", stream_past, 1, 1, -1, window},
    {"barrier", barrier, 1, 1, -1, 0},
    {"bcast", bcast, 1, 1, -1, 0},
    {"bcast_parts", bcast_parts, 1, 1, -1, 0},
    {"reduce", reduce, 1, 1, -1, numbers},
    {"reduce_parts", reduce_parts, 1, 1, -1, numbers},
    {"allreduce", allreduce, 1, 1, -1, numbers},
    {"allreduce_parts", allreduce_parts, 1, 1, -1, numbers},
    {"allgather", allgather, 1, 2, -1, 0},
    {"alltoall", alltoall, 1, 2, -1, 0},
    {"scatter", scatter, 1, 2, -1, 0},
    {"gather", gather, 1, 2, -1, 0},
    {"reduce_scatter", reduce_scatter, 1, 2, -1, numbers},
    {"scan", scan, 1, 1, -1, numbers},
};

static operation *to_check;

static void check(struct work *w, long times)
{
    enum mode mode = w->mode;
    w->mode = rewritten;
    w->rewritten = 1;
    to_check(w, times);
    w->mode = mode;
    w->rewritten = mode == rewritten;
}

static void answer(struct conductor c, struct work *w)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; ++i) {
        if (strcmp(w->name, measured[i].name) != 0)
            continue;
        size_t each = w->size * measured[i].blocks;
        if (measured[i].what == window)
            each = (w->size + line_size - 1) / line_size * line_size;
        else
            w->window = 1;
        if (w->size > measured[i].most || !lay_slots(w, each * (size_t)w->window))
            break;
        if (measured[i].what == numbers)
            fill_numbers(mine(w), w->stride, small_seed(w->rank, 0));
        to_check = measured[i].run;
        take_turn(c, w, measured[i].run, check, measured[i].share * w->window, 1);
        return;
    }
    refuse(c, "no such limit, or not of this size");
}

static void work_as(int rank, const char *conductor, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        give_up("there is no such processor");
    struct work w = {.rank = rank, .ranks = 2, .send = published[rank], .receive = received[rank]};
    fill(w.send.base, w.send.bytes, seed(rank, 0));
    fill(w.receive.base, w.receive.bytes, seed(rank, 0));
    struct conductor c = meet_conductor(conductor, rank, "by hand");
    while (await_turn(c, &w))
        answer(c, &w);
}

int main(int argc, char **argv)
{
    const size_t most = (size_t)80 << 20, all = sizeof(struct side) * 2 + 4 * most + page_size;
    if (argc != 4)
        give_up("usage: limits CONDUCTOR CPU0 CPU1");
    char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("no memory");
    for (size_t r = 0; r < 2; ++r) {
        published[r] = (struct area){memory + 2 * r * most, most};
        received[r] = (struct area){memory + (2 * r + 1) * most, most};
    }
    sides = (struct side *)(void *)(memory + 4 * most);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            work_as(1, argv[1], atoi(argv[3]));
        return 0;
    }
    work_as(0, argv[1], atoi(argv[2]));
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}
