/* What the tests of collective operations share. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static unsigned long long seed = 1;
static const char* now = "";
/* How operations are called: 0 blocking, 1 nonblocking, 2 persistent. */
static int way;
/* Starts of a persistent one; 1 where the result is among the arguments. */
static int starts = 2;
static MPI_Comm comm;

#define CHECK(condition)                                                                                                      \
    do {                                                                                                                      \
        if (!(condition)) {                                                                                                   \
            fprintf(stderr, "rank %d of %d, line %d: %s (%s, way %d, seed %llu)\n", rank, size, __LINE__, #condition, now, way, seed); \
            exit(3);                                                                                                          \
        }                                                                                                                     \
    } while (0)

/* Two streams of chance: one that all ranks share, and each its own. */
static unsigned long long shared_state, own_state;

static unsigned drawn(unsigned long long* state, unsigned below)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)((*state >> 33) % below);
}
static inline int draw(int below) { return (int)drawn(&shared_state, (unsigned)below); }
static inline int draw_own(int below) { return (int)drawn(&own_state, (unsigned)below); }

static inline void begin_chance(unsigned long long s)
{
    seed = s;
    shared_state = s * 2654435761u + 1;
    own_state = shared_state + (unsigned)rank * 977 + 5;
}

static inline void complete(MPI_Request* r)
{
    if (draw_own(2) == 0) {
        MPI_Wait(r, MPI_STATUS_IGNORE);
        return;
    }
    for (int flag = 0; !flag;)
        MPI_Test(r, &flag, MPI_STATUS_IGNORE);
}

#define EVERY_WAY(Name, name, ...)                                                       \
    do {                                                                                 \
        MPI_Request request_ = MPI_REQUEST_NULL;                                         \
        now = #Name;                                                                     \
        if (way == 0) {                                                                  \
            CHECK(MPI_##Name(__VA_ARGS__, comm) == MPI_SUCCESS);                         \
        } else if (way == 1) {                                                           \
            CHECK(MPI_I##name(__VA_ARGS__, comm, &request_) == MPI_SUCCESS);             \
            complete(&request_);                                                         \
        } else {                                                                         \
            CHECK(MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request_) == 0);  \
            for (int start_ = 0; start_ < starts; ++start_) {                            \
                MPI_Start(&request_);                                                    \
                complete(&request_);                                                     \
            }                                                                            \
            MPI_Request_free(&request_);                                                 \
        }                                                                                \
    } while (0)
