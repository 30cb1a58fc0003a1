// Derived datatypes as programs use them, on every MPI library: one source, and for those of the standard ABI one binary.
//
//     layout CONDUCTOR                                   two ranks take turns, as bench/mpi/turn.h says
//     layout --alone PATTERN.WAY BYTES [BATCH BATCHES [dirtied]]
//                                                        one turn without a conductor, for a look or a profiler; prints the samples
//
// A turn's case is PATTERN:NUMBER:...WAY, its size what one rank gives another. Ways of one message:
//   .type      there and back with a datatype at both ends; a sample is one way
//   .hand      that with a contiguous message, packed and unpacked by loops
//   .pack      MPI_Pack and MPI_Unpack of the same bytes, no message
//   .used1, .used16
//              datatypes are made, used for 1 or 16 round trips and freed; a sample is one way
//   .made      datatypes are made, committed and freed
// of several messages (stencil): .type and .hand, all faces at once to and from the other rank; of collective patterns: .type and .hand,
// back to back. With dirtied data these two write a word of each line of what they give before they give it, as the program's next step
// would: without that a datatype's source never changes, while what is packed by hand always does. `types:ALIVE.made`: a datatype is made
// while so many others live, and the oldest is freed.
#include "faces.h"
#include "fields.h"
#include "spreads.h"

static const struct pattern patterns[] = {
    {"contiguous", 1, lay_contiguous, make_contiguous, pack_contiguous, unpack_contiguous, 1, NULL, NULL},
    {"vector", 2, lay_vector, make_vector, pack_vector, unpack_vector, 1, NULL, NULL},
    {"milc", 4, lay_milc, make_milc, pack_milc, unpack_milc, 1, NULL, NULL},
    {"mg_x", 3, lay_mg_x, make_mg_x, pack_mg_x, unpack_mg_x, 1, NULL, NULL},
    {"mg_y", 3, lay_mg_y, make_mg_y, pack_mg_y, unpack_mg_y, 1, NULL, NULL},
    {"mg_z", 3, lay_mg_z, make_mg_z, pack_mg_z, unpack_mg_z, 1, NULL, NULL},
    {"lu_x", 1, lay_lu_x, make_lu_x, pack_lu_x, unpack_lu_x, 1, NULL, NULL},
    {"lu_y", 1, lay_lu_y, make_lu_y, pack_lu_y, unpack_lu_y, 1, NULL, NULL},
    {"wrf_x", 4, lay_wrf, make_wrf, pack_wrf, unpack_wrf, 0, NULL, NULL},
    {"wrf_y", 4, lay_wrf, make_wrf, pack_wrf, unpack_wrf, 0, NULL, NULL},
    {"specfem_oc", 1, lay_specfem_oc, make_specfem_oc, pack_specfem_oc, unpack_specfem_oc, 1, NULL, NULL},
    {"specfem_cm", 2, lay_specfem_cm, make_specfem_cm, pack_specfem_cm, unpack_specfem_cm, 0, NULL, NULL},
    {"lammps_full", 1, lay_lammps, make_lammps, pack_lammps, unpack_lammps, 0, NULL, NULL},
    {"lammps_atomic", 1, lay_lammps, make_lammps, pack_lammps, unpack_lammps, 0, NULL, NULL},
    {"stencil", 1, lay_stencil, make_stencil, pack_stencil, unpack_stencil, 0, NULL, NULL},
    {"fft2", 1, lay_fft2, make_fft2, pack_fft2, unpack_fft2, 0, call_fft2, alltoall_packed},
    {"alltoallw", 1, lay_alltoallw, make_alltoallw, pack_alltoallw, unpack_alltoallw, 0, call_alltoallw, alltoall_packed},
    {"bcast", 1, lay_columns, make_columns, pack_columns, unpack_columns, 0, call_bcast, bcast_packed},
    {"allgather", 1, lay_columns, make_columns, pack_columns, unpack_columns, 0, call_allgather, allgather_packed},
};

static struct layout current;  // stays for the turns that follow, until one wants another
static char current_name[64];

enum { message_tag = 1, end_tag = 2 };

static int dirties;          // the turn's mode
static uint32_t dirt = 1;

static inline void before_giving(const struct layout *l)
{
    if (dirties)
        dirty_given(l, dirt++);
}

static void give(struct layout *l)
{
    before_giving(l);
    MPI_Send(begin_of(l, 0, given), 1, l->type[0][given], 1 - l->rank, message_tag, MPI_COMM_WORLD);
}

static void take(struct layout *l)
{
    MPI_Recv(begin_of(l, 0, taken), 1, l->type[0][taken], 1 - l->rank, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void round_trip(struct layout *l)
{
    if (l->rank == 0) {
        give(l);
        take(l);
    } else {
        take(l);
        give(l);
    }
}

static void give_packed(struct layout *l)
{
    before_giving(l);
    l->kind->pack(l, 0, l->packed[given]);
    MPI_Send(l->packed[given], (int)l->bytes, MPI_BYTE, 1 - l->rank, message_tag, MPI_COMM_WORLD);
}

static void take_packed(struct layout *l)
{
    MPI_Recv(l->packed[taken], (int)l->bytes, MPI_BYTE, 1 - l->rank, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    l->kind->unpack(l, 0, l->packed[taken]);
}

// What the ways do once.
static void typed(struct layout *l) { round_trip(l); }

static void by_hand(struct layout *l)
{
    if (l->rank == 0) {
        give_packed(l);
        take_packed(l);
    } else {
        take_packed(l);
        give_packed(l);
    }
}

static void packed_alone(struct layout *l)
{
    int at = 0, bytes = (int)l->bytes;
    MPI_Pack(begin_of(l, 0, given), 1, l->type[0][given], l->packed[given], bytes, &at, MPI_COMM_WORLD);
    at = 0;
    MPI_Unpack(l->packed[given], bytes, &at, begin_of(l, 0, taken), 1, l->type[0][taken], MPI_COMM_WORLD);
}

static void made(struct layout *l)
{
    free_types(l);
    make_types(l);
}

static void used(struct layout *l, int times)
{
    free_types(l);
    make_types(l);
    for (int i = 0; i < times; ++i)
        round_trip(l);
}

static void used_once(struct layout *l) { used(l, 1); }
static void used_more(struct layout *l) { used(l, 16); }

static void exchanged(struct layout *l)
{
    MPI_Request requests[2 * parts_most];
    int many = 0;
    for (int p = 0; p < l->parts[taken]; ++p)
        MPI_Irecv(begin_of(l, p, taken), 1, l->type[p][taken], 1 - l->rank, p, MPI_COMM_WORLD, &requests[many++]);
    before_giving(l);
    for (int p = 0; p < l->parts[given]; ++p)
        MPI_Isend(begin_of(l, p, given), 1, l->type[p][given], 1 - l->rank, p, MPI_COMM_WORLD, &requests[many++]);
    MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
}

static void exchanged_by_hand(struct layout *l)
{
    MPI_Request receives[parts_most], sends[parts_most];
    char *to = l->packed[taken], *from = l->packed[given];
    for (int p = 0; p < l->parts[taken]; to += l->part_bytes[p++][taken])
        MPI_Irecv(to, (int)l->part_bytes[p][taken], MPI_BYTE, 1 - l->rank, p, MPI_COMM_WORLD, &receives[p]);
    before_giving(l);
    for (int p = 0; p < l->parts[given]; from += l->part_bytes[p++][given]) {
        l->kind->pack(l, p, from);
        MPI_Isend(from, (int)l->part_bytes[p][given], MPI_BYTE, 1 - l->rank, p, MPI_COMM_WORLD, &sends[p]);
    }
    to = l->packed[taken];
    for (int p = 0; p < l->parts[taken]; to += l->part_bytes[p++][taken]) {
        MPI_Wait(&receives[p], MPI_STATUS_IGNORE);
        l->kind->unpack(l, p, to);
    }
    MPI_Waitall(l->parts[given], sends, MPI_STATUSES_IGNORE);
}

static void called(struct layout *l)
{
    before_giving(l);
    l->kind->call(l);
}

static void called_by_hand(struct layout *l)
{
    char *to = l->packed[taken], *from = l->packed[given];
    before_giving(l);
    for (int p = 0; p < l->parts[given]; from += l->part_bytes[p++][given])
        l->kind->pack(l, p, from);
    l->kind->call_packed(l);
    for (int p = 0; p < l->parts[taken]; to += l->part_bytes[p++][taken])
        l->kind->unpack(l, p, to);
}

// messages: one, there and back; exchanges: several at once; calls: of collective operations.
enum family { messages = 1, exchanges = 2, calls = 4 };

struct way {
    const char *name;
    enum family family;
    void (*once)(struct layout *l);
    double share;  // operations of which a sample is one
    int own;       // what is taken is what the rank itself gave
};

static const struct way ways[] = {
    {"type", messages, typed, 2, 0},
    {"hand", messages, by_hand, 2, 0},
    {"pack", messages, packed_alone, 1, 1},
    {"made", messages, made, 1, 0},
    {"used1", messages, used_once, 2, 0},
    {"used16", messages, used_more, 32, 0},
    {"type", exchanges, exchanged, 1, 0},
    {"hand", exchanges, exchanged_by_hand, 1, 0},
    {"type", calls, called, 1, 0},
    {"hand", calls, called_by_hand, 1, 0},
};

static const struct way *current_way;

static void run(struct work *w, long times)
{
    for (long i = 0; i < times; ++i)
        current_way->once(&current);
    if (current_way->family != calls)
        return;
    // Where rank 0 does not wait for the other by the operation itself, the batch ends when it is done.
    if (w->rank != 0)
        MPI_Send(NULL, 0, MPI_BYTE, 0, end_tag, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 1, end_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Does it once more with fresh data, and compares what was taken and what was given; in a way's first turn also the gaps.
static void check(struct work *w, long times)
{
    static uint64_t message = 1;
    struct layout *l = &current;
    unsigned bit = 1u << (current_way - ways);
    uint64_t *bits = l->looked & bit ? NULL : data_words(l), k = message++;
    (void)times;
    dirties = 0;
    if (bits)
        gaps(l, bits, 1);
    write_given(l, k);
    MPI_Barrier(MPI_COMM_WORLD);
    int moves = current_way->once != made;
    if (!moves)
        round_trip(l);
    run(w, 1);
    for (int p = 0; p < l->parts[taken]; ++p)
        w->wrong |= part_differs(l, p, current_way->own ? l->rank : l->from_rank[p], k);
    w->wrong |= given_differs(l, k);
    if (current_way->once == packed_alone)
        w->wrong |= packed_differs(l, 0, k);
    if (bits)
        w->wrong |= gaps(l, bits, 0);
    free(bits);
    l->looked |= bit;
    if (!moves) {  // the types that were made last are right, too
        write_given(l, k = message++);
        MPI_Barrier(MPI_COMM_WORLD);
        round_trip(l);
        w->wrong |= part_differs(l, 0, l->from_rank[0], k);
    }
}

// Types that live at once: a ring of vectors of all shapes.
static MPI_Datatype *alive;
static long alive_many, alive_next;

static void renew(struct work *w, long times)
{
    (void)w;
    for (long i = 0; i < times; ++i) {
        MPI_Datatype *type = &alive[alive_next % alive_many];
        if (*type != MPI_DATATYPE_NULL)
            MPI_Type_free(type);
        MPI_Type_vector((int)(16 + alive_next % 61), (int)(1 + alive_next % 7), 10, MPI_DOUBLE, type);
        MPI_Type_commit(type);
        ++alive_next;
    }
}

static void check_alive(struct work *w, long times)
{
    (void)times;
    for (long i = 0; i < alive_many && i < alive_next; ++i) {
        long number = alive_next - 1 - i;
        int size;
        MPI_Type_size(alive[number % alive_many], &size);
        w->wrong |= size != 8 * (16 + number % 61) * (1 + number % 7);
    }
}

static void types_alive(struct conductor c, struct work *w, long many)
{
    if (!(alive = malloc((size_t)many * sizeof *alive)))
        give_up("no memory for datatypes");
    alive_many = many;
    alive_next = 0;
    for (long i = 0; i < many; ++i)
        alive[i] = MPI_DATATYPE_NULL;
    renew(w, many);
    take_turn(c, w, renew, check_alive, 1, 1);
    for (long i = 0; i < many; ++i)
        MPI_Type_free(&alive[i]);
    free(alive);
}

// Splits NAME:NUMBER:... into `d`; returns how many numbers there are.
static int read_numbers(char *name, long d[dims_most])
{
    int many = 0;
    for (char *at = strchr(name, ':'); at; at = strchr(at, ':')) {
        *at++ = 0;
        if (many < dims_most)
            d[many] = atol(at);
        ++many;
    }
    return many;
}

// Makes it the current layout; NULL, or why not.
static const char *find_layout(const struct work *w, const char *name)
{
    if (strcmp(name, current_name) == 0)
        return NULL;
    clear_away(&current);
    current_name[0] = 0;
    char word[64];
    snprintf(word, sizeof word, "%s", name);
    current.rank = w->rank;
    int many = read_numbers(word, current.d);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i)
        if (strcmp(word, patterns[i].name) == 0 && many == patterns[i].dims)
            current.kind = &patterns[i];
    if (!current.kind)
        return "no such pattern";
    lay_out(&current);
    snprintf(current_name, sizeof current_name, "%s", name);
    return NULL;
}

static void answer(struct conductor c, struct work *w)
{
    char name[64];
    snprintf(name, sizeof name, "%s", w->name);
    char *word = strchr(name, '.');
    if (word)
        *word++ = 0;
    if (word && strncmp(name, "types:", 6) == 0 && strcmp(word, "made") == 0 && atol(name + 6) > 0) {
        types_alive(c, w, atol(name + 6));
        return;
    }
    const char *why = word ? find_layout(w, name) : "no way is named";
    if (why) {
        refuse(c, why);
        return;
    }
    if (current.bytes != w->size) {
        refuse(c, "the pattern has another size");
        return;
    }
    enum family family = current.kind->call ? calls : current.parts[given] > 1 ? exchanges : messages;
    current_way = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
        if (ways[i].family == family && strcmp(ways[i].name, word) == 0)
            current_way = &ways[i];
    dirties = w->mode == dirtied;
    if (!current_way)
        refuse(c, "no such way");
    else
        take_turn(c, w, run, check, current_way->share, 1);
    dirties = 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct work w = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    if (argc < 2 || w.ranks != 2)
        give_up(argc < 2 ? "the conductor's socket is needed; it stands at the head of bench/layout/layout.c" : "two ranks are needed");
    if (strcmp(argv[1], "--alone") == 0) {
        char turn[256];
        snprintf(turn, sizeof turn, "turn %s %s %s warm %s %s", argc > 2 ? argv[2] : "?", argc > 3 ? argv[3] : "0",
                 argc > 6 ? argv[6] : "untouched", argc > 4 ? argv[4] : "100", argc > 5 ? argv[5] : "10");
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
        while (await_turn(c, &w))
            answer(c, &w);
        close_link(c);
    }
    clear_away(&current);
    MPI_Finalize();
    return 0;
}
