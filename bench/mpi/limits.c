// What the machine allows, by hand and without MPI: two processes, one memory that both map, flags in lines of their own, no queue that
// knows tags, no header, no check. Usage: limits CONDUCTOR CPU0 CPU1. Takes the turns of bench.c (turn.h) in these cases:
//   raw        a line there and back, the payload beside its flag; one way, up to 48 bytes
//   memcpy     one copy from a buffer to another, on one processor
//   latency    the sender raises a flag, the receiver copies out of the sender's buffer; one way
//   pipe       the sender copies into pieces that both map, the receiver out of them, both at the same time; one way
//   stream     lines of a window one after another, up to 48 bytes; above that a flag each and the copy
//   barrier, bcast, reduce, allreduce, allgather, alltoall
//              each rank reads what it needs out of the other's buffer; up to 48 bytes beside the flag
#include "turn.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { inline_most = 48, pieces = 2, piece_most = 2048 };

struct line {
    _Alignas(line_size) atomic_ulong flag;
    char payload[inline_most];
};

struct side {
    struct line window[window_most], now[2];  // a message each; small exchanges use `now` by turns
    struct line ready, done, consumed;
    struct line full[pieces];
    _Alignas(page_size) char piece[pieces][piece_most];
};

static struct side *sides;
static struct area published[2];  // the send buffers, which both processes map
static unsigned long count;       // operations that raised flags so far, the same number in both processes

static inline void await(atomic_ulong *flag, unsigned long value)
{
    while (atomic_load_explicit(flag, memory_order_acquire) != value)
        __builtin_ia32_pause();
}

static inline void raise_flag(atomic_ulong *flag, unsigned long value) { atomic_store_explicit(flag, value, memory_order_release); }

static inline void put(struct line *line, const void *from, size_t bytes, unsigned long value)
{
    memcpy(line->payload, from, bytes);
    raise_flag(&line->flag, value);
}

static inline char *theirs(struct work *w) { return published[1 - w->rank].base + w->slot * w->stride; }
static inline char *mine(struct work *w) { return slot_of(w, &w->send); }
static inline char *into(struct work *w) { return slot_of(w, &w->receive); }

static void raw_trips(struct work *w, long times, int rewritten)
{
    for (long i = 0; i < times; ++i, ++count)
        for (int half = 0; half < 2; ++half)
            if (half == w->rank) {
                if (rewritten)
                    fill(mine(w), w->size, seed(w->rank, w->given++));
                put(&sides[w->rank].now[0], mine(w), w->size, count + 1);
            } else {
                struct line *line = &sides[1 - w->rank].now[0];
                await(&line->flag, count + 1);
                memcpy(into(w), line->payload, w->size);
                if (rewritten)
                    w->wrong |= differs(into(w), w->size, seed(1 - w->rank, w->taken++));
            }
}

static void copy_trips(struct work *w, long times, int rewritten)
{
    for (long i = 0; i < times; ++i, ++count) {
        for (int half = 0; half < 2; ++half)
            if (half == w->rank) {
                if (rewritten)
                    fill(mine(w), w->size, seed(w->rank, w->given++));
                raise_flag(&sides[w->rank].ready.flag, count + 1);
            } else {
                await(&sides[1 - w->rank].ready.flag, count + 1);
                memcpy(into(w), theirs(w), w->size);
                if (rewritten)
                    w->wrong |= differs(into(w), w->size, seed(1 - w->rank, w->taken++));
            }
        if (w->cold)
            next_slot(w);
    }
}

// The receiver copies a piece while the sender copies the next. There are two, used again and again: few lines, which stay in the first
// cache.
static void pipe_trips(struct work *w, long times, int rewritten)
{
    static unsigned long filled, emptied;
    struct side *own = &sides[w->rank], *other = &sides[1 - w->rank];
    size_t most = w->size < 1024 ? 512 : w->size / 2 > piece_most ? piece_most : w->size / 2;
    for (long i = 0; i < times; ++i) {
        for (int half = 0; half < 2; ++half) {
            if (half == w->rank && rewritten)
                fill(mine(w), w->size, seed(w->rank, w->given++));
            for (size_t at = 0; at < w->size; at += most) {
                size_t bytes = w->size - at < most ? w->size - at : most;
                if (half == w->rank) {
                    while (filled - atomic_load_explicit(&other->consumed.flag, memory_order_acquire) >= pieces)
                        __builtin_ia32_pause();
                    memcpy(own->piece[filled % pieces], mine(w) + at, bytes);
                    raise_flag(&own->full[filled % pieces].flag, filled + 1);
                    ++filled;
                } else {
                    await(&other->full[emptied % pieces].flag, emptied + 1);
                    memcpy(into(w) + at, other->piece[emptied % pieces], bytes);
                    raise_flag(&own->consumed.flag, ++emptied);
                }
            }
            if (half != w->rank && rewritten)
                w->wrong |= differs(into(w), w->size, seed(1 - w->rank, w->taken++));
        }
        if (w->cold)
            next_slot(w);
    }
}

static void local_copies(struct work *w, long times, int rewritten)
{
    for (long i = 0; w->rank == 0 && i < times; ++i) {
        if (rewritten)
            fill(mine(w), w->size, seed(0, w->given++));
        memcpy(into(w), mine(w), w->size);
        __asm__ volatile("" : : : "memory");
        if (rewritten)
            w->wrong |= differs(into(w), w->size, seed(0, w->taken++));
        if (w->cold)
            next_slot(w);
    }
}

// From rank `from` to the other, windows of messages that are acknowledged together; with `add` the receiver adds to what it has itself.
static void one_way(struct work *w, long times, int rewritten, int from, int window, int add)
{
    size_t each = w->window > 1 && !add ? (w->size + line_size - 1) / line_size * line_size : 0;
    struct line *lines = sides[from].window;
    for (long i = 0; i < times; ++i) {
        int in = (int)(i % window);
        uint64_t k = w->given++;
        char *own = mine(w) + each * (size_t)in, *to = into(w) + each * (size_t)in;
        if (rewritten && add)
            fill_numbers(own, w->size, small_seed(w->rank, k));
        if (w->rank == from) {
            if (rewritten && !add)
                fill(own, w->size, seed(from, k));
            if (w->size <= inline_most)
                put(&lines[in], own, w->size, count + 1);
            else
                raise_flag(&lines[in].flag, count + 1);
        } else {
            await(&lines[in].flag, count + 1);
            const char *at = w->size <= inline_most ? lines[in].payload : theirs(w) + each * (size_t)in;
            if (add) {
                for (size_t d = 0; d < w->size / 8; ++d)
                    ((double *)(void *)to)[d] = ((const double *)(const void *)own)[d] + ((const double *)(const void *)at)[d];
                if (rewritten)
                    w->wrong |= sum_differs(to, w->size, small_seed(0, k) + small_seed(1, k));
            } else {
                memcpy(to, at, w->size);
                if (rewritten)
                    w->wrong |= differs(to, w->size, seed(from, k));
            }
        }
        ++count;
        if (in == window - 1 || i == times - 1) {
            if (w->rank == from)
                await(&sides[1 - from].done.flag, count);
            else
                raise_flag(&sides[1 - from].done.flag, count);
        }
        if (w->cold)
            next_slot(w);
    }
}

// Big data stay where they are until the other has read them; small ones travel in lines, two in turn.
static void exchanges(struct work *w, long times, int rewritten, int add, int personal)
{
    int small = w->size * (personal ? 2 : 1) <= inline_most, other = 1 - w->rank;
    size_t sent = w->size * (personal ? 2 : 1);
    for (long i = 0; i < times; ++i) {
        uint64_t k = w->given++;
        char *own = mine(w), *to = into(w);
        const char *at = theirs(w);
        if (rewritten && add)
            fill_numbers(own, w->size, small_seed(w->rank, k));
        else if (rewritten)
            fill(own, sent, seed(w->rank, k));
        if (small) {
            put(&sides[w->rank].now[count & 1], own, sent, count + 1);
            await(&sides[other].now[count & 1].flag, count + 1);
            at = sides[other].now[count & 1].payload;
        } else {
            raise_flag(&sides[w->rank].ready.flag, count + 1);
            await(&sides[other].ready.flag, count + 1);
        }
        if (add)
            for (size_t d = 0; d < w->size / 8; ++d)
                ((double *)(void *)to)[d] = ((const double *)(const void *)own)[d] + ((const double *)(const void *)at)[d];
        else {
            size_t part = personal ? w->size * (size_t)w->rank : 0;
            memcpy(to + w->size * (size_t)other, at + part, w->size);
            memcpy(to + w->size * (size_t)w->rank, own + part, w->size);
        }
        if (rewritten && add)
            w->wrong |= sum_differs(to, w->size, small_seed(0, k) + small_seed(1, k));
        else if (rewritten)
            for (int r = 0; r < 2; ++r)
                w->wrong |= differs(to + w->size * (size_t)r, w->size, seed(r, k) + (personal ? w->size / 8 * (size_t)w->rank : 0));
        if (!small) {
            raise_flag(&sides[w->rank].done.flag, count + 1);
            await(&sides[other].done.flag, count + 1);
        }
        ++count;
        if (w->cold)
            next_slot(w);
    }
}

static void barrier(struct work *w, long times)
{
    for (long i = 0; i < times; ++i, ++count) {
        raise_flag(&sides[w->rank].now[count & 1].flag, count + 1);
        await(&sides[1 - w->rank].now[count & 1].flag, count + 1);
    }
}

static int window_of(struct work *w) { return w->size <= inline_most ? window_most : 1; }

static void raw(struct work *w, long times) { raw_trips(w, times, w->rewritten); }
static void latency(struct work *w, long times) { copy_trips(w, times, w->rewritten); }
static void pipe_copy(struct work *w, long times) { pipe_trips(w, times, w->rewritten); }
static void copy(struct work *w, long times) { local_copies(w, times, w->rewritten); }
static void stream(struct work *w, long times) { one_way(w, times * w->window, w->rewritten, 0, w->window, 0); }
static void bcast(struct work *w, long times) { one_way(w, times, w->rewritten, 0, window_of(w), 0); }
static void reduce(struct work *w, long times) { one_way(w, times, w->rewritten, 1, window_of(w), 1); }
static void allreduce(struct work *w, long times) { exchanges(w, times, w->rewritten, 1, 0); }
static void allgather(struct work *w, long times) { exchanges(w, times, w->rewritten, 0, 0); }
static void alltoall(struct work *w, long times) { exchanges(w, times, w->rewritten, 0, 1); }

static const struct {
    const char *name;
    operation *run;
    double share;
    size_t blocks, most;  // blocks of `size` in a buffer; biggest size
} measured[] = {
    {"raw", raw, 2, 1, inline_most},   {"memcpy", copy, 1, 1, -1},         {"latency", latency, 2, 1, -1},
    {"pipe", pipe_copy, 2, 1, -1},     {"stream", stream, 1, 1, -1},      {"barrier", barrier, 1, 1, -1},     {"bcast", bcast, 1, 1, -1},
    {"reduce", reduce, 1, 1, -1},      {"allreduce", allreduce, 1, 1, -1}, {"allgather", allgather, 1, 2, -1},
    {"alltoall", alltoall, 1, 2, -1},
};

static operation *to_check;

static void check(struct work *w, long times)
{
    int rewritten = w->rewritten;
    w->rewritten = 1;
    to_check(w, times);
    w->rewritten = rewritten;
}

static void answer(struct conductor c, struct work *w)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; ++i) {
        if (strcmp(w->name, measured[i].name) != 0)
            continue;
        int streams = measured[i].run == stream;
        size_t each = streams ? (w->size + line_size - 1) / line_size * line_size : w->size * measured[i].blocks;
        while (streams && w->window > 4 && each * (size_t)w->window > w->send.bytes / 2)
            w->window /= 2;
        if (!streams)
            w->window = 1;
        if (w->size > measured[i].most || !lay_slots(w, each * (size_t)w->window))
            break;
        to_check = measured[i].run;
        take_turn(c, w, measured[i].run, check, measured[i].share * w->window);
        return;
    }
    refuse(c, "no such limit, or not of this size");
}

static void work_as(int rank, const char *conductor, int cpu)
{
    const size_t most = published[rank].bytes;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        give_up("there is no such processor");
    struct work w = {.rank = rank, .send = published[rank]};
    void *at;
    if (posix_memalign(&at, page_size, most) != 0)
        give_up("no memory for buffers");
    w.receive = (struct area){at, most};
    fill(w.send.base, most, seed(rank, 0));
    fill(w.receive.base, most, seed(rank, 0));
    struct conductor c = meet_conductor(conductor, rank, "by hand");
    while (await_turn(c, &w))
        answer(c, &w);
}

int main(int argc, char **argv)
{
    const size_t most = (size_t)80 << 20, all = sizeof(struct side) * 2 + 2 * most + page_size;
    if (argc != 4)
        give_up("usage: limits CONDUCTOR CPU0 CPU1");
    char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("no memory");
    published[0] = (struct area){memory, most};
    published[1] = (struct area){memory + most, most};
    sides = (struct side *)(void *)(memory + 2 * most);
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
