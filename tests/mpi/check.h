/* What programs that test calls share: who they are, and a check that names its line. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);                                 \
            exit(3);                                                                                               \
        }                                                                                                          \
    } while (0)
