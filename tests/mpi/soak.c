/* Random messages and collective operations of all ranks, every byte checked. Usage: mpi_soak SECONDS SEED; prints what was done.

   All ranks draw the same numbers, so that everybody knows what everybody sends. A round is a list of messages (sizes, directions, modes,
   memory with gaps), messages that are taken from anybody, or a collective operation. Bytes are drawn from round, message and place. */
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { most_messages = 16, most_blocks = 24, guard = 64, wild_tag = 5000, big = 300000, huge = 3000000 };

static uint64_t state;  /* the same everywhere */
static uint64_t seed;
static long round_number;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static uint64_t draw(void) { return mix(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }

/* As many small ones as long ones. */
static int draw_size(int most)
{
    int bits = 0;
    while (most >> bits != 0)
        ++bits;
    int n = (int)(draw() & (((uint64_t)1 << below(bits + 1)) - 1));
    return n < most ? n : most;
}

/* Byte `at` of stream `what` of this round. */
static unsigned char byte_of(uint64_t what, int at)
{
    uint64_t const word = mix(seed ^ mix(((uint64_t)round_number << 20) ^ what) ^ (uint64_t)(at / 8));
    return (unsigned char)(word >> (at % 8 * 8));
}

static void wrong(char const* op, uint64_t what, int at, unsigned char is, unsigned char should)
{
    fprintf(stderr, "rank %d, round %ld of seed %llu: %s: byte %d of stream %llu is %02x, not %02x\n", rank, round_number,
            (unsigned long long)seed, op, at, (unsigned long long)what, is, should);
    exit(3);
}

/* ---- memory of a message: a block, or several with gaps */

struct place {
    unsigned char* memory;
    int bytes, extent, blocks;
    int lengths[most_blocks];
    MPI_Aint offsets[most_blocks];
    MPI_Datatype type;
};

static void make_place(struct place* p, int bytes)
{
    p->bytes = bytes;
    p->blocks = below(3) == 0 ? 1 + below(most_blocks) : 1;
    int left = bytes, at = 0;
    for (int b = 0; b < p->blocks; ++b) {
        int const gap = p->blocks == 1 ? 0 : below(40);
        p->lengths[b] = b + 1 == p->blocks ? left : below(left + 1);
        p->offsets[b] = at + gap;
        at += gap + p->lengths[b];
        left -= p->lengths[b];
    }
    p->extent = at;
    p->memory = malloc((size_t)at + guard);
    CHECK(p->memory != NULL);
    memset(p->memory, 0xee, (size_t)at + guard);
    p->type = MPI_BYTE;
    if (p->blocks != 1) {
        CHECK(MPI_Type_create_hindexed(p->blocks, p->lengths, p->offsets, MPI_BYTE, &p->type) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&p->type) == MPI_SUCCESS);
    }
}
static int count_of(struct place const* p) { return p->blocks == 1 ? p->bytes : 1; }

static void fill(struct place* p, uint64_t what)
{
    for (int b = 0, n = 0; b < p->blocks; ++b)
        for (int i = 0; i < p->lengths[b]; ++i)
            p->memory[p->offsets[b] + i] = byte_of(what, n++);
}

/* What was sent lies where it should, and nothing anywhere else. */
static void check_place(struct place const* p, uint64_t what, char const* op)
{
    int at = 0, n = 0;
    for (int b = 0; b < p->blocks; ++b) {
        for (; at < p->offsets[b]; ++at)
            if (p->memory[at] != 0xee)
                wrong(op, what, -1, p->memory[at], 0xee);
        for (int i = 0; i < p->lengths[b]; ++i, ++at, ++n)
            if (p->memory[at] != byte_of(what, n))
                wrong(op, what, n, p->memory[at], byte_of(what, n));
    }
    for (; at < p->extent + guard; ++at)
        if (p->memory[at] != 0xee)
            wrong(op, what, -2, p->memory[at], 0xee);
}

static void drop(struct place* p)
{
    if (p->blocks != 1)
        MPI_Type_free(&p->type);
    free(p->memory);
}

/* ---- messages */

struct message {
    int from, to, tag, mode, early;
    struct place at;  /* here, if this rank has part in it */
};

static void exchange(void)
{
    static struct message all[most_messages];
    MPI_Request requests[most_messages];
    int const n = 1 + below(most_messages), most = below(20) == 0 ? huge : big;
    int open = 0;
    for (int i = 0; i < n; ++i) {
        struct message* const m = &all[i];
        m->from = below(size);
        m->to = (m->from + 1 + below(size - 1)) % size;
        m->tag = below(3);
        m->mode = below(4);
        m->early = below(2);
        int const bytes = draw_size(most);
        uint64_t const kept = state;  /* places are drawn by their owner alone */
        state ^= (uint64_t)rank;
        if (m->from == rank || m->to == rank)
            make_place(&m->at, bytes);
        state = kept;
        draw();
        if (m->from == rank)
            fill(&m->at, (uint64_t)i);
    }
    for (int pass = 0; pass < 3; ++pass) {  /* early receives, sends, late receives: these have other tags */
        for (int i = 0; i < n; ++i) {
            struct message* const m = &all[i];
            int const tag = 10 * m->tag + m->early;
            if (m->to == rank && pass == (m->early ? 0 : 2))
                MPI_Irecv(m->at.memory, count_of(&m->at), m->at.type, m->from, tag, MPI_COMM_WORLD, &requests[open++]);
            if (m->from == rank && pass == 1)
                (m->mode == 0 ? MPI_Issend : MPI_Isend)(m->at.memory, count_of(&m->at), m->at.type, m->to, tag, MPI_COMM_WORLD,
                                                        &requests[open++]);
        }
    }
    CHECK(MPI_Waitall(open, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; ++i) {
        if (all[i].to == rank)
            check_place(&all[i].at, (uint64_t)i, "message");
        if (all[i].to == rank || all[i].from == rank)
            drop(&all[i].at);
    }
}

/* Blocking sends along a random order of the ranks, one after the other. */
static void chain(void)
{
    int const bytes = draw_size(big), times = 1 + below(20);
    int const start = below(size), step = 1 + below(size - 1);
    int const to = (start + step) % size;
    for (int i = 0; i < times; ++i) {
        struct place p;
        if (rank != start && rank != to)
            continue;
        uint64_t const kept = state;
        state += (uint64_t)rank + 1;
        make_place(&p, bytes);
        state = kept;
        if (rank == start) {
            fill(&p, (uint64_t)i);
            MPI_Send(p.memory, count_of(&p), p.type, to, i, MPI_COMM_WORLD);
        } else {
            MPI_Recv(p.memory, count_of(&p), p.type, start, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_place(&p, (uint64_t)i, "blocking message");
        }
        drop(&p);
    }
}

/* Messages from anybody, with any tag: the tag tells which one it is, probes tell its size. */
static void wild(void)
{
    int from[most_messages], to[most_messages], bytes[most_messages], open = 0, mine = 0, seen = 0;
    struct place places[most_messages];
    MPI_Request requests[most_messages];
    int const n = 1 + below(most_messages);
    for (int i = 0; i < n; ++i) {
        from[i] = below(size);
        to[i] = (from[i] + 1 + below(size - 1)) % size;
        bytes[i] = draw_size(big / 4);
        mine += to[i] == rank;
    }
    uint64_t const kept = state;
    for (int i = 0; i < n; ++i)
        if (from[i] == rank) {
            make_place(&places[i], bytes[i]);
            fill(&places[i], (uint64_t)i);
            MPI_Isend(places[i].memory, count_of(&places[i]), places[i].type, to[i], wild_tag + i, MPI_COMM_WORLD, &requests[open++]);
        }
    for (; mine != 0; --mine) {
        MPI_Message matched;
        MPI_Status status;
        int count;
        struct place p;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &matched, &status);
        int const i = status.MPI_TAG - wild_tag;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(i >= 0 && i < n && to[i] == rank && from[i] == status.MPI_SOURCE && count == bytes[i]);
        CHECK((seen & 1 << i) == 0);
        seen |= 1 << i;
        make_place(&p, bytes[i]);
        MPI_Mrecv(p.memory, count_of(&p), p.type, &matched, MPI_STATUS_IGNORE);
        check_place(&p, (uint64_t)i, "message from anybody");
        drop(&p);
    }
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i)
        if (from[i] == rank)
            drop(&places[i]);
    state = kept;
    draw();
    MPI_Barrier(MPI_COMM_WORLD);  /* else somebody takes a message of the next round */
}

/* ---- collective operations */

static unsigned char* block(int bytes)
{
    unsigned char* const p = malloc((size_t)bytes + guard);
    CHECK(p != NULL);
    memset(p, 0xee, (size_t)bytes + guard);
    return p;
}
static void put(unsigned char* to, int bytes, uint64_t what)
{
    for (int i = 0; i < bytes; ++i)
        to[i] = byte_of(what, i);
}
static void check_bytes(unsigned char const* at, int bytes, uint64_t what, char const* op)
{
    for (int i = 0; i < bytes; ++i)
        if (at[i] != byte_of(what, i))
            wrong(op, what, i, at[i], byte_of(what, i));
}
static void check_guard(unsigned char const* at, char const* op)
{
    for (int i = 0; i < guard; ++i)
        if (at[i] != 0xee)
            wrong(op, 0, -2, at[i], 0xee);
}

static void broadcasts(void)
{
    int const bytes = draw_size(below(8) == 0 ? huge : big), root = below(size);
    unsigned char* const data = block(bytes);
    if (rank == root)
        put(data, bytes, 1);
    MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    check_bytes(data, bytes, 1, "bcast");
    check_guard(data + bytes, "bcast");
    free(data);
}

/* Sums of integers, which are the same in whatever order they are made. */
static void reductions(void)
{
    int const n = draw_size(big / 4), which = below(3), root = below(size);
    uint64_t* const mine = malloc((size_t)n * 8 + 8);
    uint64_t* const sums = malloc((size_t)n * 8 + 8);
    CHECK(mine != NULL && sums != NULL);
    for (int i = 0; i < n; ++i)
        mine[i] = mix((uint64_t)i ^ mix((uint64_t)(round_number * size + rank) ^ seed));
    if (which == 0)
        MPI_Allreduce(mine, sums, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    else if (which == 1)
        MPI_Reduce(mine, sums, n, MPI_UINT64_T, MPI_SUM, root, MPI_COMM_WORLD);
    else
        MPI_Scan(mine, sums, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n && (which != 1 || rank == root); ++i) {
        uint64_t sum = 0;
        for (int r = 0; r < (which == 2 ? rank + 1 : size); ++r)
            sum += mix((uint64_t)i ^ mix((uint64_t)(round_number * size + r) ^ seed));
        if (sums[i] != sum)
            wrong(which == 0 ? "allreduce" : which == 1 ? "reduce" : "scan", 0, 8 * i, (unsigned char)sums[i], (unsigned char)sum);
    }
    free(mine);
    free(sums);
}

/* Blocks of all lengths from everybody to everybody: stream 1000 r + s is what r gives to s. */
static void all_to_all(void)
{
    int counts[64][64], from[64], to[64], here[64], there[64], sent = 0, taken = 0;
    CHECK(size <= 64);
    int const most = draw_size(big / 4), later = below(2);
    for (int r = 0; r < size; ++r)
        for (int s = 0; s < size; ++s)
            counts[r][s] = draw_size(most);
    for (int r = 0; r < size; ++r) {
        here[r] = counts[rank][r];
        there[r] = counts[r][rank];
        from[r] = sent;
        to[r] = taken;
        sent += here[r];
        taken += there[r];
    }
    unsigned char* const give = block(sent);
    unsigned char* const take = block(taken);
    for (int r = 0; r < size; ++r)
        put(give + from[r], here[r], (uint64_t)(1000 * rank + r));
    if (later) {
        MPI_Request request;
        MPI_Ialltoallv(give, here, from, MPI_BYTE, take, there, to, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Alltoallv(give, here, from, MPI_BYTE, take, there, to, MPI_BYTE, MPI_COMM_WORLD);
    }
    for (int r = 0; r < size; ++r)
        check_bytes(take + to[r], there[r], (uint64_t)(1000 * r + rank), "alltoallv");
    check_guard(take + taken, "alltoallv");
    free(give);
    free(take);
}

static void gathers(void)
{
    int counts[64], at[64], all = 0;
    CHECK(size <= 64);
    int const most = draw_size(big), which = below(3), root = below(size);
    for (int r = 0; r < size; ++r) {
        counts[r] = draw_size(most);
        at[r] = all;
        all += counts[r];
    }
    unsigned char* const one = block(counts[rank]);
    unsigned char* const many = block(all);
    if (which == 2) {
        for (int r = 0; r < size; ++r)
            put(many + at[r], counts[r], (uint64_t)r);
        MPI_Scatterv(many, counts, at, MPI_BYTE, one, counts[rank], MPI_BYTE, root, MPI_COMM_WORLD);
        check_bytes(one, counts[rank], (uint64_t)rank, "scatterv");
        check_guard(one + counts[rank], "scatterv");
    } else {
        put(one, counts[rank], (uint64_t)rank);
        if (which == 0)
            MPI_Allgatherv(one, counts[rank], MPI_BYTE, many, counts, at, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Gatherv(one, counts[rank], MPI_BYTE, many, counts, at, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size && (which == 0 || rank == root); ++r)
            check_bytes(many + at[r], counts[r], (uint64_t)r, which == 0 ? "allgatherv" : "gatherv");
    }
    check_guard(many + all, "gather");
    free(one);
    free(many);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv)
{
    static void (*const rounds[])(void) = {exchange, exchange, exchange, chain, wild, broadcasts, reductions, all_to_all, gathers};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3 && size >= 2);
    double const end = seconds() + atof(argv[1]);
    state = seed = strtoull(argv[2], NULL, 10);
    for (int more = 1; more; ++round_number) {
        rounds[below((int)(sizeof rounds / sizeof *rounds))]();
        if (round_number % 8 == 7) {
            more = seconds() < end;
            MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("%ld rounds of %d ranks\n", round_number, size);
    MPI_Finalize();
    return 0;
}
