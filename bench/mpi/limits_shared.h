// What the patterns by hand share: the memory that both processes map, flags in lines of their own, and copies by one processor or by both.
#ifndef TOWLINE_BENCH_LIMITS_SHARED_H
#define TOWLINE_BENCH_LIMITS_SHARED_H

#include "turn.h"

#include <stdatomic.h>

#if defined __AVX2__
#include <immintrin.h>
#endif

enum { inline_most = 48, pieces = 4, piece_most = 2048 };

struct line {
    _Alignas(line_size) atomic_ulong flag;
    char payload[inline_most];
};

struct side {
    struct line window[window_most], now[2];  // a message each; small exchanges use `now` by turns
    struct line ready, done, consumed;
    struct line full[pieces];
    struct line claimed;                      // parts of this side's message that somebody copies or has copied
    struct line sleeps;
    _Alignas(page_size) char piece[pieces][piece_most];
};

static struct side *sides;
static struct area published[2], received[2];  // the buffers of both ranks, which both processes map
static unsigned long count;                    // operations that raised flags so far, the same number in both processes

static inline void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

static inline void await(atomic_ulong *flag, unsigned long value)
{
    while (atomic_load_explicit(flag, memory_order_acquire) != value)
        relax();
}

static inline void await_at_least(atomic_ulong *flag, unsigned long value)
{
    while (atomic_load_explicit(flag, memory_order_acquire) < value)
        relax();
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
static inline char *into_theirs(struct work *w) { return received[1 - w->rank].base + w->slot * w->stride; }

// One processor copies a part of a message of `all` bytes: the best of libc's memcpy, a plain AVX2 loop and `rep movsb`, or within a tenth
// of it, at every size, on an AMD EPYC of 2023 and on a Skylake server.
static inline void move(char *to, const char *from, size_t bytes, size_t all)
{
#if defined __x86_64__
    if (all > (size_t)256 << 10) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
#else
    (void)all;
#endif
    memcpy(to, from, bytes);
}

// The same past the caches, where the machine can: better by a third on the EPYC, and worse on the Skylake, for data that do not fit in
// them. `to` lies at a line.
static inline void move_past(char *to, const char *from, size_t bytes)
{
#if defined __AVX2__
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
        const __m256i_u *source = (const __m256i_u *)(const void *)from;
        __m256i a = source[0], b = source[1];
        _mm256_stream_si256((__m256i *)(void *)to, a);
        _mm256_stream_si256((__m256i *)(void *)(to + 32), b);
    }
    _mm_sfence();
#endif
    memcpy(to, from, bytes);
}

// The same, and whoever wrote `from` writes it again without asking for each line: who read it last has written a byte back as it was.
static inline void move_taking(char *to, const char *from, size_t bytes)
{
    enum { page = 4096 };
    for (size_t at = 0; at < bytes; at += page) {
        size_t n = bytes - at < page ? bytes - at : page;
        memcpy(to + at, from + at, n);
        for (const char *line = from + at; line < from + at + n; line += line_size)
            *(volatile char *)(uintptr_t)line = *line;
    }
}

// A part that one processor copies at a time when both do: at least two of a message, eight where it is big, 2 to 128 KiB each.
static inline size_t part_of(size_t size)
{
    size_t least = 2048, most = 131072, part = (size / 8 + page_size - 1) / page_size * page_size;
    return size <= 4 * least ? (size / 2 + line_size - 1) / line_size * line_size : part < most ? part : most;
}

// Copies parts that nobody has claimed until there are none.
static inline void copy_parts(struct line *claimed, char *to, const char *from, size_t size, int past)
{
    size_t part = part_of(size);
    for (;;) {
        size_t at = part * atomic_fetch_add_explicit(&claimed->flag, 1, memory_order_relaxed);
        if (at >= size)
            return;
        size_t bytes = size - at < part ? size - at : part;
        if (past)
            move_past(to + at, from + at, bytes);
        else
            move(to + at, from + at, bytes, size);
    }
}

#endif
