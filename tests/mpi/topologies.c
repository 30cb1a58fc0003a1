/* Topologies. Usage: mpi_topologies SCENARIO; silent and 0 where everything was as it should. */
#include "check.h"

#include <string.h>

/* Where compilers do not see their values: they warn of arrays at such addresses. */
int *volatile unweighted = MPI_UNWEIGHTED, *volatile weights_empty = MPI_WEIGHTS_EMPTY;

static int class_of(int code)
{
    int c = -1;
    MPI_Error_class(code, &c);
    return c;
}

static int kind_of(MPI_Comm c)
{
    int kind = -1;
    CHECK(MPI_Topo_test(c, &kind) == MPI_SUCCESS);
    return kind;
}

static int rank_in(MPI_Comm c)
{
    int r = -1;
    MPI_Comm_rank(c, &r);
    return r;
}

static int size_of(MPI_Comm c)
{
    int n = -1;
    MPI_Comm_size(c, &n);
    return n;
}

static void returning(MPI_Comm c) { MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN); }

/* Ranks go through the grid with the last coordinate first; shifts agree with coordinates; messages arrive where they say. */
static void grid_of(int ndims, const int* dims, const int* periods)
{
    MPI_Comm c;
    int n = 1, got = -1, d2[3], p2[3], at[3], r = -1;
    for (int d = 0; d < ndims; ++d)
        n *= dims[d];
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 1, &c) == MPI_SUCCESS);
    CHECK((c != MPI_COMM_NULL) == (rank < n));
    if (c == MPI_COMM_NULL)
        return;
    CHECK(size_of(c) == n && kind_of(c) == MPI_CART);
    CHECK(MPI_Cartdim_get(c, &got) == MPI_SUCCESS && got == ndims);
    CHECK(MPI_Cart_get(c, ndims, d2, p2, at) == MPI_SUCCESS);
    int expected = 0;
    for (int d = 0; d < ndims; ++d) {
        CHECK(d2[d] == dims[d] && !p2[d] == !periods[d]);
        expected = expected * dims[d] + at[d];
    }
    CHECK(expected == rank_in(c));
    for (int other = 0; other < n; ++other) {
        CHECK(MPI_Cart_coords(c, other, ndims, at) == MPI_SUCCESS);
        CHECK(MPI_Cart_rank(c, at, &r) == MPI_SUCCESS && r == other);
    }
    for (int d = 0; d < ndims; ++d)
        for (int disp = -3; disp <= 3; ++disp) {
            int from = -9, to = -9, in = -1, there;
            CHECK(MPI_Cart_shift(c, d, disp, &from, &to) == MPI_SUCCESS);
            MPI_Cart_coords(c, rank_in(c), ndims, at);
            at[d] += disp;
            if (!periods[d] && (at[d] < 0 || at[d] >= dims[d]))
                there = MPI_PROC_NULL;
            else
                CHECK(MPI_Cart_rank(c, at, &there) == MPI_SUCCESS);
            CHECK(to == there);
            MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, c, MPI_STATUS_IGNORE);
            CHECK(in == (from == MPI_PROC_NULL ? -1 : from));
        }
    /* A duplicate has the topology, too; a split has none. */
    MPI_Comm copy, part;
    MPI_Comm_dup(c, &copy);
    MPI_Comm_free(&c);
    CHECK(kind_of(copy) == MPI_CART && MPI_Cartdim_get(copy, &got) == MPI_SUCCESS && got == ndims);
    MPI_Comm_split(copy, 0, 0, &part);
    CHECK(kind_of(part) == MPI_UNDEFINED);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
}

static void cart(void)
{
    const int yes[3] = {1, 1, 1}, no[3] = {0, 0, 0}, mixed[3] = {5, 0, 1};
    int const whole[1] = {size}, column[3] = {1, size, 1}, one[2] = {1, 1};
    grid_of(1, whole, yes);
    grid_of(1, whole, no);
    grid_of(3, column, mixed);
    grid_of(2, one, no);
    grid_of(0, NULL, NULL);
    int dims[2] = {0, 0};
    MPI_Dims_create(size, 2, dims);
    grid_of(2, dims, mixed);
    if (size > 2) {
        int const some[2] = {2, 1};
        grid_of(2, some, yes);
    }
    int newrank = -9;
    int const half[1] = {size > 1 ? size - 1 : 1};
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, half, no, &newrank) == MPI_SUCCESS);
    CHECK(newrank == (rank < half[0] ? rank : MPI_UNDEFINED));
    CHECK(kind_of(MPI_COMM_WORLD) == MPI_UNDEFINED);
}

static void sub(void)
{
    int const p[2] = {0, 1};
    int dims[2] = {0, 0}, at[2], keep[2], d[2], periods[2], c2[2], n = -1;
    MPI_Comm c, row, point;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, p, 0, &c);
    MPI_Cart_coords(c, rank, 2, at);
    for (int k = 0; k < 2; ++k) {
        keep[k] = 7;
        keep[1 - k] = 0;
        CHECK(MPI_Cart_sub(c, keep, &row) == MPI_SUCCESS);
        CHECK(size_of(row) == dims[k] && rank_in(row) == at[k]);
        CHECK(MPI_Cartdim_get(row, &n) == MPI_SUCCESS && n == 1);
        MPI_Cart_get(row, 1, d, periods, c2);
        CHECK(d[0] == dims[k] && periods[0] == p[k] && c2[0] == at[k]);
        MPI_Comm_free(&row);
    }
    keep[0] = keep[1] = 0;
    CHECK(MPI_Cart_sub(c, keep, &point) == MPI_SUCCESS && size_of(point) == 1 && kind_of(point) == MPI_CART);
    CHECK(MPI_Cartdim_get(point, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_Cart_get(point, 0, NULL, NULL, NULL) == MPI_SUCCESS && MPI_Cart_rank(point, NULL, &n) == MPI_SUCCESS && n == 0);
    MPI_Comm again;
    CHECK(MPI_Cart_sub(point, NULL, &again) == MPI_SUCCESS && size_of(again) == 1);
    MPI_Comm_free(&again);
    MPI_Comm_free(&point);
    keep[0] = keep[1] = 1;
    CHECK(MPI_Cart_sub(c, keep, &row) == MPI_SUCCESS && size_of(row) == size && rank_in(row) == rank);
    MPI_Comm_free(&row);
    MPI_Comm_free(&c);
}

/* A star: rank 0 has all, itself too, and twice. */
static void graph(void)
{
    int index[64], edges[128], n = 0, nodes = -1, nedges = -1, i2[64], e2[128];
    MPI_Comm c;
    for (int r = 0; r < size; ++r)
        edges[n++] = r;
    edges[n++] = 0;
    index[0] = n;
    for (int r = 1; r < size; ++r) {
        edges[n++] = 0;
        index[r] = n;
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &c) == MPI_SUCCESS && kind_of(c) == MPI_GRAPH);
    CHECK(MPI_Graphdims_get(c, &nodes, &nedges) == MPI_SUCCESS && nodes == size && nedges == n);
    CHECK(MPI_Graph_get(c, size, n, i2, e2) == MPI_SUCCESS);
    CHECK(memcmp(index, i2, sizeof(int) * (size_t)size) == 0 && memcmp(edges, e2, sizeof(int) * (size_t)n) == 0);
    for (int r = 0; r < size; ++r) {
        int k = -1;
        CHECK(MPI_Graph_neighbors_count(c, r, &k) == MPI_SUCCESS && k == (r == 0 ? size + 1 : 1));
        CHECK(MPI_Graph_neighbors(c, r, k, e2) == MPI_SUCCESS && e2[0] == 0 && e2[k - 1] == 0);
    }
    returning(c);
    CHECK(class_of(MPI_Graph_neighbors(c, 0, size, e2)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Graph_neighbors_count(c, size, &n)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Graph_get(c, size - 1, 1, i2, e2)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Cartdim_get(c, &n)) == MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&c);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    int const lonely[1] = {0};
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, lonely, NULL, 0, &c) == MPI_SUCCESS && (c != MPI_COMM_NULL) == (rank == 0));
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    int newrank = -9;
    CHECK(MPI_Graph_map(MPI_COMM_WORLD, 1, lonely, NULL, &newrank) == MPI_SUCCESS && newrank == (rank == 0 ? 0 : MPI_UNDEFINED));
    returning(MPI_COMM_WORLD);
    int const down[2] = {1, 0}, zero[2] = {0, 0}, outside[1] = {size};
    CHECK(class_of(MPI_Graph_create(MPI_COMM_WORLD, -1, down, zero, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Graph_create(MPI_COMM_WORLD, size + 1, down, zero, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Graph_create(MPI_COMM_WORLD, 1, down, outside, 0, &c)) == MPI_ERR_ARG);
    if (size > 1)
        CHECK(class_of(MPI_Graph_create(MPI_COMM_WORLD, 2, down, zero, 0, &c)) == MPI_ERR_ARG);
}

/* The same graph, told by those at its ends and told by others. */
static void distributed(void)
{
    int in = -1, out = -1, weighted = -1, s[8], d[8], sw[8], dw[8];
    int const next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Comm c, copy;
    /* To the next with weight 10 + this rank, and to itself with 5. */
    int const sources[2] = {previous, rank}, sweights[2] = {10 + previous, 5}, destinations[2] = {next, rank}, dweights[2] = {10 + rank, 5};
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, sweights, 2, destinations, dweights, MPI_INFO_NULL, 0, &c) == MPI_SUCCESS);
    CHECK(kind_of(c) == MPI_DIST_GRAPH && rank_in(c) == rank);
    MPI_Comm_dup(c, &copy);
    MPI_Comm_free(&c);
    CHECK(MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted) == MPI_SUCCESS && in == 2 && out == 2 && weighted == 1);
    CHECK(MPI_Dist_graph_neighbors(copy, 2, s, sw, 2, d, dw) == MPI_SUCCESS);
    CHECK(memcmp(s, sources, sizeof sources) == 0 && memcmp(sw, sweights, sizeof sweights) == 0);
    CHECK(memcmp(d, destinations, sizeof destinations) == 0 && memcmp(dw, dweights, sizeof dweights) == 0);
    s[1] = d[0] = -7;
    CHECK(MPI_Dist_graph_neighbors(copy, 1, s, unweighted, 0, NULL, unweighted) == MPI_SUCCESS);
    CHECK(s[0] == previous && s[1] == -7 && d[0] == -7);
    MPI_Comm_free(&copy);

    /* Each tells the edges of the rank before it. */
    int const from[2] = {previous, previous}, degrees[2] = {1, 1}, to[2] = {rank, previous}, weights[2] = {10 + previous, 5};
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 2, from, degrees, to, weights, MPI_INFO_NULL, 1, &c) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted) == MPI_SUCCESS && in == 2 && out == 2 && weighted == 1);
    CHECK(MPI_Dist_graph_neighbors(c, 8, s, sw, 8, d, dw) == MPI_SUCCESS);
    for (int i = 0; i < 2; ++i) {
        CHECK((s[i] == rank && sw[i] == 5) || (s[i] == previous && sw[i] == 10 + previous));
        CHECK((d[i] == rank && dw[i] == 5) || (d[i] == next && dw[i] == 10 + rank));
    }
    CHECK(sw[0] != sw[1] && dw[0] != dw[1]);
    MPI_Comm_free(&c);

    /* Rank 0 tells all: everybody sends to everybody. Without weights. */
    int all[64], of[64], n = rank == 0 ? size : 0, targets[64 * 64];
    for (int i = 0; i < size; ++i) {
        all[i] = i;
        of[i] = size;
        for (int k = 0; k < size; ++k)
            targets[i * size + k] = k;
    }
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, all, of, targets, unweighted, MPI_INFO_NULL, 0, &c) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted) == MPI_SUCCESS && in == size && out == size && weighted == 0);
    memset(sw, 1, sizeof sw);
    MPI_Dist_graph_neighbors(c, size < 8 ? size : 8, s, sw, size < 8 ? size : 8, d, unweighted);
    for (int i = 0; i < size && i < 8; ++i)
        CHECK(s[i] == i && d[i] == i);
    CHECK(sw[0] == 0x01010101);
    MPI_Comm_free(&c);

    /* Nobody has neighbours; weights there are, and none. */
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, weights_empty, MPI_INFO_NULL, 0, &c) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted) == MPI_SUCCESS && in == 0 && out == 0 && weighted == 1);
    CHECK(MPI_Dist_graph_neighbors(c, 0, NULL, NULL, 0, NULL, NULL) == MPI_SUCCESS);
    MPI_Comm_free(&c);

    returning(MPI_COMM_WORLD);
    int const outside[1] = {size}, one[1] = {1}, minus[1] = {-1}, zero[1] = {0};
    CHECK(class_of(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, outside, one, zero, unweighted, MPI_INFO_NULL, 0, &c)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zero, minus, zero, unweighted, MPI_INFO_NULL, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zero, one, zero, minus, MPI_INFO_NULL, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zero, one, zero, weights_empty, MPI_INFO_NULL, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, zero, one, zero, unweighted, MPI_INFO_NULL, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, zero, unweighted, 1, zero, one, MPI_INFO_NULL, 0, &c)) ==
          MPI_ERR_ARG);
    CHECK(class_of(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted)) == MPI_ERR_TOPOLOGY);
}

static void errors(void)
{
    MPI_Comm c, x;
    int const big[2] = {size + 1, 1}, zero[1] = {0}, huge[4] = {1 << 30, 1 << 30, 1 << 30, 1 << 30}, one[1] = {1}, p[4] = {0, 0, 0, 0};
    int n = -1, at[2] = {-1, 0}, r, s;
    returning(MPI_COMM_WORLD);
    returning(MPI_COMM_SELF);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_WORLD, 2, big, p, 0, &c)) == MPI_ERR_DIMS);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_WORLD, 4, huge, p, 0, &c)) == MPI_ERR_DIMS);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_WORLD, 1, zero, p, 0, &c)) == MPI_ERR_DIMS);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_WORLD, -1, one, p, 0, &c)) == MPI_ERR_DIMS);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, p, 0, &c)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Cart_create(MPI_COMM_NULL, 1, one, p, 0, &c)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Cartdim_get(MPI_COMM_WORLD, &n)) == MPI_ERR_TOPOLOGY);
    CHECK(class_of(MPI_Topo_test(MPI_COMM_NULL, &n)) == MPI_ERR_COMM);
    int const whole[1] = {size};
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, whole, p, 0, &c) == MPI_SUCCESS);
    CHECK(class_of(MPI_Cart_coords(c, size, 1, at)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Cart_coords(c, 0, 0, at)) == MPI_ERR_ARG);
    at[0] = -1;
    CHECK(class_of(MPI_Cart_rank(c, at, &r)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Cart_shift(c, 1, 1, &s, &r)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Cart_sub(c, NULL, &x)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Graphdims_get(c, &n, &r)) == MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&c);
}

int main(int argc, char** argv)
{
    struct {
        const char* name;
        void (*run)(void);
    } const scenarios[] = {{"cart", cart}, {"sub", sub}, {"graph", graph}, {"distributed", distributed}, {"errors", errors}};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; ++i)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "usage: mpi_topologies SCENARIO\n");
    return 2;
}
