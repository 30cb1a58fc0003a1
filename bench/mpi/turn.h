// What bench.c (any MPI) and limits.c (no MPI, by hand) share: the conductor's turns, buffers, and data that can be checked.
//
// A process connects to the conductor's Unix socket and says
//     rank RANK CPUS WORDS...               CPUS: those it may run on, as 0,1; WORDS: what library this is
// then it sleeps in a read until it is told, and all ranks are told the same:
//     turn CASE SIZE MODE CACHE BATCH BATCHES MEMORY
// (MEMORY may be left out: heap). All ranks do BATCH * BATCHES operations and some before that warm up; rank 0 reads a clock between
// batches and answers
//     samples NS NS ...                     nanoseconds an operation, one for each batch
// and the others answer
//     done
// or any of them "failed TEXT". End of file: the process leaves. Nothing but the socket tells processes when to run, so those of
// many libraries can be kept ready, and only those whose turn it is use the processors.
#ifndef TOWLINE_BENCH_TURN_H
#define TOWLINE_BENCH_TURN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // the mask of processors
#endif
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { line_size = 64, page_size = 4096, window_most = 64, batches_most = 4096 };

// A buffer of many slots: with warm caches slot 0 alone is used, with cold ones each operation takes the next.
struct area {
    char *base;
    size_t bytes;
};

// untouched: the same bytes again and again. dirtied: the sender writes a word of each line before it sends, so that every line has to
// cross. rewritten: the sender writes all of each message, the receiver compares all of it. Both inside of what is timed.
enum mode { untouched, rewritten, dirtied };

// Where buffers lie: in big blocks of the heap (one for all turns), in blocks that malloc gives for this very size, below 64 KiB, in the
// frame of a function, or in static arrays of the program.
enum memory { in_heap, in_small, in_stack, in_static };

struct work {
    int rank, ranks;
    size_t size;  // bytes of a message, or of a block of a collective operation
    enum mode mode;
    enum memory memory;
    int rewritten;  // mode == rewritten
    int cold;
    long batch, batches;
    struct area send, receive;
    size_t stride, slots, slot;
    uint64_t given, taken;  // messages written and read so far
    uint64_t wrong;         // not 0: something that was read was not what was written
    int window;
    double alone;           // nanoseconds of a batch that count, where not all do; below 0: all
    char name[64];
};

// Data: word i of message k of rank r is seed(r, k) + i; reductions use doubles, whose sums must be exact, from small_seed.
static inline uint64_t seed(int rank, uint64_t k) { return (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + k * 0xda942042e4dd58b5u; }
static inline double small_seed(int rank, uint64_t k) { return (double)(rank * 3 + (int)(k & 1023)); }

static inline void fill(char *to, size_t bytes, uint64_t from)
{
    uint64_t *words = (uint64_t *)(void *)to;
    for (size_t i = 0; i < bytes / 8; ++i)
        words[i] = from + i;
}

// Reads every word; 0 if all are what fill wrote.
static inline uint64_t differs(const char *at, size_t bytes, uint64_t from)
{
    const uint64_t *words = (const uint64_t *)(const void *)at;
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes / 8; ++i)
        wrong |= words[i] ^ (from + i);
    return wrong;
}

static inline void fill_numbers(char *to, size_t bytes, double from)
{
    double *numbers = (double *)(void *)to;
    for (int i = 0; i < (int)(bytes / 8); ++i)
        numbers[i] = from + i;
}

// Whether `at` holds the sum of what `ranks` ranks filled; `from`: the first number.
static inline uint64_t sum_differs(const char *at, size_t bytes, double from, int ranks)
{
    const double *numbers = (const double *)(const void *)at;
    uint64_t wrong = 0;
    for (int i = 0; i < (int)(bytes / 8); ++i)
        wrong |= numbers[i] != from + (double)ranks * i;
    return wrong;
}

// What the first `ranks` ranks filled as message k, summed: the first number.
static inline double first_sum(int ranks, uint64_t k)
{
    double sum = 0;
    for (int r = 0; r < ranks; ++r)
        sum += small_seed(r, k);
    return sum;
}

static inline void dirty_lines(char *to, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i + 8 <= bytes; i += line_size)
        *(volatile uint64_t *)(void *)(to + i) = value;
}

// What a sender does before message k.
static inline __attribute__((always_inline)) void prepare(char *at, size_t bytes, int rank, uint64_t k, enum mode mode)
{
    if (mode == rewritten)
        fill(at, bytes, seed(rank, k));
    else if (mode == dirtied)
        dirty_lines(at, bytes, k);
}

static inline char *slot_of(const struct work *w, const struct area *a) { return a->base + w->slot * w->stride; }

static inline void next_slot(struct work *w)
{
    if (++w->slot == w->slots)
        w->slot = 0;
}

// Lays slots of `bytes` over the areas. Small messages in cold caches lie on pages of their own, and not at the same place in each.
static inline int lay_slots(struct work *w, size_t bytes)
{
    size_t least = w->send.bytes < w->receive.bytes ? w->send.bytes : w->receive.bytes;
    w->stride = (bytes + line_size - 1) / line_size * line_size;
    if (w->cold)
        w->stride += page_size + line_size;
    if (w->stride == 0)
        w->stride = line_size;
    w->slots = w->cold ? least / w->stride : 1;
    w->slot = 0;
    return w->stride <= least;
}

// Messages of a window: 64, and 16, 8, 4 of 1, 4, 16 MiB and more.
static inline int window_of_size(size_t size)
{
    size_t megabyte = (size_t)1 << 20;
    return size < megabyte ? window_most : size < 4 * megabyte ? 16 : size < 16 * megabyte ? 8 : 4;
}

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static inline void give_up(const char *what)
{
    fprintf(stderr, "bench/mpi: %s\n", what);
    exit(1);
}

// The processors this process may run on, as "0,1".
static inline void tell_cpus(char *text, size_t room)
{
    cpu_set_t set;
    size_t used = 0;
    text[0] = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 8 < room; ++cpu)
        if (CPU_ISSET(cpu, &set))
            used += (size_t)snprintf(text + used, room - used, used ? ",%d" : "%d", cpu);
}

struct conductor {
    FILE *in, *out;
};

static inline struct conductor meet_conductor(const char *path, int rank, const char *words)
{
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path)
        give_up("the path of the conductor's socket is too long");
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        give_up("the conductor does not answer");
    struct conductor c = {fdopen(fd, "r"), fdopen(dup(fd), "w")};
    if (!c.in || !c.out)
        give_up("no memory");
    char cpus[256];
    tell_cpus(cpus, sizeof cpus);
    fprintf(c.out, "rank %d %s %.100s\n", rank, cpus[0] ? cpus : "?", words);
    fflush(c.out);
    return c;
}

static inline void close_link(struct conductor c)
{
    fclose(c.in);
    fclose(c.out);
}

static inline void read_mode(struct work *w, const char *word)
{
    w->mode = strcmp(word, "rewritten") == 0 ? rewritten : strcmp(word, "dirtied") == 0 ? dirtied : untouched;
    w->rewritten = w->mode == rewritten;
}

// 0: there is no such memory.
static inline int read_memory(struct work *w, const char *word)
{
    static const char *const names[] = {"heap", "small", "stack", "static"};
    for (int i = 0; i < 4; ++i)
        if (strcmp(word, names[i]) == 0) {
            w->memory = (enum memory)i;
            return 1;
        }
    return 0;
}

// The next turn into `w`; 0 at the end.
static inline int await_turn(struct conductor c, struct work *w)
{
    char line[256], mode[16], cache[16], memory[16] = "heap";
    if (!fgets(line, sizeof line, c.in))
        return 0;
    if (sscanf(line, "turn %63s %zu %15s %15s %ld %ld %15s", w->name, &w->size, mode, cache, &w->batch, &w->batches, memory) < 6 ||
        w->batch < 1 || w->batches < 1 || w->batches > batches_most || !read_memory(w, memory))
        give_up("the conductor said what is not understood");
    read_mode(w, mode);
    w->cold = strcmp(cache, "cold") == 0;
    w->given = w->taken = w->wrong = 0;
    w->window = window_of_size(w->size);
    return 1;
}

typedef void operation(struct work *w, long times);

// Does the turn's operations and answers. `share` is what a sample is divided by: 2 where an operation is there and back. `warm`: some
// operations before are not timed.
static inline void take_turn(struct conductor c, struct work *w, operation *run, operation *check, double share, int warm)
{
    static double took[batches_most];
    if (warm)
        run(w, 1 + w->batch * w->batches / 8);
    double begin = now_ns();
    for (long i = 0; i < w->batches; ++i) {
        w->alone = -1;
        run(w, w->batch);
        double end = now_ns();
        took[i] = w->alone < 0 ? end - begin : w->alone;
        begin = end;
    }
    check(w, 1);
    if (w->wrong)
        fprintf(c.out, "failed rank %d read what was not written\n", w->rank);
    else if (w->rank != 0)
        fprintf(c.out, "done\n");
    else {
        fprintf(c.out, "samples");
        for (long i = 0; i < w->batches; ++i)
            fprintf(c.out, " %.2f", took[i] / (double)w->batch / share);
        fprintf(c.out, "\n");
    }
    fflush(c.out);
}

static inline void refuse(struct conductor c, const char *why)
{
    fprintf(c.out, "failed %s\n", why);
    fflush(c.out);
}

#endif
