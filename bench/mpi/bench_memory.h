// Where buffers lie, for bench.c: a turn gets them in the memory that it names, and runs there. Big blocks of the heap are there for all
// turns; everything else is gotten, and filled, for the turn. Nothing is aligned beyond what the language gives, as in a program.
#ifndef TOWLINE_BENCH_MEMORY_H
#define TOWLINE_BENCH_MEMORY_H

#include "turn.h"

#include <mpi.h>

// bench/mpi/cases.py knows them as ROOM: bytes of a buffer, at most.
enum { small_most = (64 << 10) - 1, stack_most = 2 << 20, static_most = 16 << 20 };

// What is done in a turn, and what it needs.
struct task {
    operation *run, *check;
    double share;  // operations of which a sample is one, in each that is run
    size_t bytes;  // of each of the two buffers
    int pieces;    // messages of a window, `piece` bytes from each other; 0: no windows
    size_t piece;
    int numbers;   // data are doubles
    int waiting;   // receives posted before that do not match
    int fresh;     // nothing warms up
};

static struct area heap_send, heap_receive;
static char static_send[static_most], static_receive[static_most];
static char *window_at[window_most];  // the messages of a window

static void post(int count);
static void satisfy(int count);

// Whether the buffers are what the figure will say: a mistake here would be seen in no time and no data.
static int lies_as_told(const struct work *w)
{
    extern char __bss_start[], _end[];  // the linker's: where the program's static arrays are
    const uintptr_t at = (uintptr_t)w->send.base, frame = (uintptr_t)__builtin_frame_address(0);
    int is_static = at >= (uintptr_t)__bss_start && at < (uintptr_t)_end;
    int is_stack = at >= frame && at - frame < 2 * (size_t)stack_most + page_size;
    return is_static == (w->memory == in_static) && is_stack == (w->memory == in_stack);
}

static void perform(struct conductor c, struct work *w, const struct task *t)
{
    size_t filled = w->memory == in_static ? t->bytes : w->memory == in_heap ? 0 : w->send.bytes;
    if (!lies_as_told(w))
        give_up("buffers are not in the memory that was asked for");
    fill(w->send.base, filled, seed(w->rank, 0));
    fill(w->receive.base, filled, seed(w->rank, 0));
    if (t->numbers)
        fill_numbers(slot_of(w, &w->send), t->bytes, small_seed(w->rank, 0));
    for (int m = 0; w->memory != in_small && m < t->pieces; ++m)
        window_at[m] = slot_of(w, w->rank == 0 ? &w->send : &w->receive) + t->piece * (size_t)m;
    post(t->waiting);
    if (t->fresh)
        MPI_Barrier(MPI_COMM_WORLD);  // ranks that start at different times are not what is measured
    take_turn(c, w, t->run, t->check, t->share, !t->fresh);
    satisfy(t->waiting);
}

// One slot of just these bytes.
static void lie_at(struct work *w, char *send, char *receive, size_t bytes)
{
    w->send = (struct area){send, bytes};
    w->receive = (struct area){receive, bytes};
    w->stride = bytes;
    w->slots = 1;
    w->slot = 0;
}

static __attribute__((noinline)) void in_frame(struct conductor c, struct work *w, const struct task *t)
{
    uint64_t send[t->bytes / 8 + 1], receive[t->bytes / 8 + 1];
    lie_at(w, (char *)send, (char *)receive, t->bytes);
    perform(c, w, t);
}

static char *block_of(size_t bytes)
{
    char *block = malloc(bytes);
    if (!block && bytes)
        give_up("no memory for small buffers");
    return block;
}

// Each buffer is a block of its own, and so is each message of a window.
static void in_blocks(struct conductor c, struct work *w, const struct task *t)
{
    size_t each = t->pieces ? w->size : t->bytes;
    char *send = block_of(each), *receive = block_of(each);
    for (int m = 0; m < t->pieces; ++m) {
        window_at[m] = block_of(each);
        fill(window_at[m], each, seed(w->rank, 0));
    }
    lie_at(w, send, receive, each);
    perform(c, w, t);
    for (int m = 0; m < t->pieces; ++m)
        free(window_at[m]);
    free(send);
    free(receive);
}

static int in_areas(struct work *w, struct area send, struct area receive, size_t bytes)
{
    w->send = send;
    w->receive = receive;
    return lay_slots(w, bytes);
}

// Takes the turn in the memory that it names.
static void perform_in_memory(struct conductor c, struct work *w, const struct task *t)
{
    size_t each = w->memory == in_small && t->pieces ? w->size : t->bytes;
    struct area sends = {static_send, static_most}, receives = {static_receive, static_most};
    if (w->memory == in_small && each <= small_most)
        in_blocks(c, w, t);
    else if (w->memory == in_stack && each <= stack_most)
        in_frame(c, w, t);
    else if ((w->memory == in_heap && in_areas(w, heap_send, heap_receive, each)) ||
             (w->memory == in_static && in_areas(w, sends, receives, each)))
        perform(c, w, t);
    else
        refuse(c, "the message is too big for this memory");
}

#endif
