// Both ranks on one processor, for limits.c: a word there and back, where who waits has to give the processor away.
#ifndef TOWLINE_BENCH_LIMITS_HOP_H
#define TOWLINE_BENCH_LIMITS_HOP_H

#include "limits_messages.h"

#include <linux/futex.h>
#include <sys/syscall.h>

static void await_yielding(struct line *line, unsigned long value)
{
    while (atomic_load_explicit(&line->flag, memory_order_acquire) != value)
        sched_yield();
}

// The futex is the low half of the flag; `sleeps` of the waiting side says whether somebody has to be woken.
static void await_sleeping(struct line *line, struct line *sleeps, unsigned long value)
{
    for (;;) {
        unsigned long seen = atomic_load_explicit(&line->flag, memory_order_acquire);
        if (seen == value)
            break;
        atomic_store(&sleeps->flag, 1);
        if (atomic_load(&line->flag) == seen)
            syscall(SYS_futex, &line->flag, FUTEX_WAIT, (uint32_t)seen, NULL, NULL, 0);
    }
    atomic_store_explicit(&sleeps->flag, 0, memory_order_relaxed);
}

static void wake(struct line *line, struct line *sleeps)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleeps->flag, memory_order_relaxed))
        syscall(SYS_futex, &line->flag, FUTEX_WAKE, 1, NULL, NULL, 0);
}

INLINED hops(struct work *w, long times, int sleeping)
{
    struct side *own = &sides[w->rank], *other = &sides[1 - w->rank];
    for (long i = 0; i < times; ++i, ++count)
        for (int half = 0; half < 2; ++half)
            if (half == w->rank) {
                prepare(mine(w), w->size, w->rank, w->given++, w->mode);
                put(&own->now[0], mine(w), w->size, count + 1);
                if (sleeping)
                    wake(&own->now[0], &other->sleeps);
            } else {
                if (sleeping)
                    await_sleeping(&other->now[0], &own->sleeps, count + 1);
                else
                    await_yielding(&other->now[0], count + 1);
                memcpy(into(w), other->now[0].payload, w->size);
                compare(w, w->mode);
            }
}

#endif
