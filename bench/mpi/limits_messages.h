// Messages by hand, for limits.c.
#ifndef TOWLINE_BENCH_LIMITS_MESSAGES_H
#define TOWLINE_BENCH_LIMITS_MESSAGES_H

#include "limits_shared.h"

#define INLINED static inline __attribute__((always_inline)) void

static inline void compare(struct work *w, enum mode mode)
{
    uint64_t k = w->taken++;
    if (mode == rewritten)
        w->wrong |= differs(into(w), w->size, seed(1 - w->rank, k));
}

INLINED raw_trips(struct work *w, long times, enum mode mode)
{
    for (long i = 0; i < times; ++i, ++count)
        for (int half = 0; half < 2; ++half)
            if (half == w->rank) {
                prepare(mine(w), w->size, w->rank, w->given++, mode);
                put(&sides[w->rank].now[0], mine(w), w->size, count + 1);
            } else {
                struct line *line = &sides[1 - w->rank].now[0];
                await(&line->flag, count + 1);
                memcpy(into(w), line->payload, w->size);
                compare(w, mode);
            }
}

// pull: the sender raises a flag, the receiver copies. push: the sender copies, then raises a flag. both: they divide it between them.
// both_past: past the caches. taking: pull, and the lines of the sender's buffer become the receiver's.
enum who { pull, push, both, both_past, taking };

static inline __attribute__((always_inline)) int divided(enum who who) { return who == both || who == both_past; }

INLINED trips(struct work *w, long times, enum mode mode, enum who who)
{
    for (long i = 0; i < times; ++i, ++count) {
        for (int half = 0; half < 2; ++half) {
            struct side *sender = &sides[half];
            if (half == w->rank) {
                prepare(mine(w), w->size, w->rank, w->given++, mode);
                if (who == push)
                    move(into_theirs(w), mine(w), w->size, w->size);
                atomic_store_explicit(&sender->claimed.flag, 0, memory_order_relaxed);
                raise_flag(&sender->ready.flag, count + 1);
                if (divided(who)) {
                    copy_parts(&sender->claimed, into_theirs(w), mine(w), w->size, who == both_past);
                    raise_flag(&sender->done.flag, count + 1);
                }
            } else {
                await(&sender->ready.flag, count + 1);
                if (who == pull)
                    move(into(w), theirs(w), w->size, w->size);
                if (who == taking)
                    move_taking(into(w), theirs(w), w->size);
                if (divided(who)) {
                    copy_parts(&sender->claimed, into(w), theirs(w), w->size, who == both_past);
                    await(&sender->done.flag, count + 1);
                }
                compare(w, mode);
            }
        }
        if (w->cold)
            next_slot(w);
    }
}

// The receiver copies a piece while the sender copies the next. There are two, used again and again: few lines, which stay in the first
// cache.
INLINED pipe_trips(struct work *w, long times, enum mode mode)
{
    static unsigned long filled, emptied;
    struct side *own = &sides[w->rank], *other = &sides[1 - w->rank];
    size_t most = w->size < 1024 ? 512 : w->size / 2 > piece_most ? piece_most : w->size / 2;
    for (long i = 0; i < times; ++i) {
        for (int half = 0; half < 2; ++half) {
            if (half == w->rank)
                prepare(mine(w), w->size, w->rank, w->given++, mode);
            for (size_t at = 0; at < w->size; at += most) {
                size_t bytes = w->size - at < most ? w->size - at : most;
                if (half == w->rank) {
                    while (filled - atomic_load_explicit(&other->consumed.flag, memory_order_acquire) >= pieces)
                        relax();
                    memcpy(own->piece[filled % pieces], mine(w) + at, bytes);
                    raise_flag(&own->full[filled % pieces].flag, filled + 1);
                    ++filled;
                } else {
                    await(&other->full[emptied % pieces].flag, emptied + 1);
                    memcpy(into(w) + at, other->piece[emptied % pieces], bytes);
                    raise_flag(&own->consumed.flag, ++emptied);
                }
            }
            if (half != w->rank)
                compare(w, mode);
        }
        if (w->cold)
            next_slot(w);
    }
}

INLINED local_copies(struct work *w, long times, enum mode mode)
{
    for (long i = 0; w->rank == 0 && i < times; ++i) {
        uint64_t k = w->given++;
        prepare(mine(w), w->size, 0, k, mode);
        memcpy(into(w), mine(w), w->size);
        __asm__ volatile("" : : : "memory");
        if (mode == rewritten)
            w->wrong |= differs(into(w), w->size, seed(0, k));
        if (w->cold)
            next_slot(w);
    }
}

// Windows from rank 0 to rank 1: a flag for each message, one back for the window. Small messages travel beside their flags; of big ones
// the receiver copies each when its flag is up, and, with `both`, the sender helps when all flags are.
INLINED windows(struct work *w, long times, enum mode mode, enum who who)
{
    size_t each = (w->size + line_size - 1) / line_size * line_size, part = part_of(w->size);
    size_t parts = divided(who) ? (w->size + part - 1) / part : 1;
    struct side *sender = &sides[0];
    int small = w->size <= inline_most;
    for (long i = 0; i < times; ++i) {
        if (w->rank == 0) {
            atomic_store_explicit(&sender->claimed.flag, 0, memory_order_relaxed);
            for (int m = 0; m < w->window; ++m) {
                char *own = mine(w) + each * (size_t)m;
                prepare(own, w->size, 0, w->given++, mode);
                if (small)
                    memcpy(sender->window[m].payload, own, w->size);
                raise_flag(&sender->window[m].flag, count + 1);
            }
        }
        for (size_t at = 0; !small && (divided(who) || w->rank == 1); ++at) {
            size_t claimed = divided(who) ? atomic_fetch_add_explicit(&sender->claimed.flag, 1, memory_order_relaxed) : at;
            size_t m = claimed / parts, begin = claimed % parts * part;
            if (m >= (size_t)w->window)
                break;
            await(&sender->window[m].flag, count + 1);
            size_t bytes = divided(who) ? (w->size - begin < part ? w->size - begin : part) : w->size;
            char *to = received[1].base + each * m + begin;
            if (who == both_past)
                move_past(to, published[0].base + each * m + begin, bytes);
            else
                move(to, published[0].base + each * m + begin, bytes, w->size);
        }
        if (divided(who) && w->rank == 0)
            raise_flag(&sender->done.flag, count + 1);
        if (w->rank == 1) {
            for (int m = 0; small && m < w->window; ++m) {
                await(&sender->window[m].flag, count + 1);
                memcpy(into(w) + each * (size_t)m, sender->window[m].payload, w->size);
            }
            if (divided(who))
                await(&sender->done.flag, count + 1);
            for (int m = 0; m < w->window; ++m) {
                uint64_t k = w->taken++;
                if (mode == rewritten)
                    w->wrong |= differs(into(w) + each * (size_t)m, w->size, seed(0, k));
            }
            raise_flag(&sides[1].done.flag, count + 1);
        } else
            await(&sides[1].done.flag, count + 1);
        ++count;
    }
}

#endif
