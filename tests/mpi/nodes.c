/* What MPI tells of nodes: ranks that share memory, and whether they share a clock. Run by tests/programs/hosts_test.py. */
#include "check.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of several nodes never share hardware, though their machines number it alike. */
static void check_hardware(int all)
{
    char const* const types[] = {"mpi_shared_memory", "hwloc://Machine"};
    int const local = atoi(getenv("MPI_LOCALNRANKS"));
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm part = MPI_COMM_NULL;
    for (int t = 0; t < 2; t++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_hw_resource_type", types[t]);
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part);
        MPI_Info_free(&info);
        if (part == MPI_COMM_NULL)
            continue; /* no such type here */
        MPI_Comm_size(part, &size);
        CHECK(size == local);
        MPI_Comm_free(&part);
    }
    if (local == all)
        return;
    char found[MPI_MAX_INFO_VAL] = "";
    int flag = 0;
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
    MPI_Comm_size(part, &size);
    CHECK(size == local);
    int room = sizeof found;
    MPI_Info_get_string(info, "mpi_hw_resource_type", &room, found, &flag);
    CHECK(flag == 1 && strcmp(found, "mpi_shared_memory") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&part);
}

int main(int argc, char** argv)
{
    MPI_Comm here = MPI_COMM_NULL;
    int all = 0;
    int* global = NULL;
    int flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &size);
    MPI_Comm_rank(here, &rank);
    CHECK(size == atoi(getenv("MPI_LOCALNRANKS")));
    CHECK(rank == atoi(getenv("MPI_LOCALRANKID")));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
    CHECK(flag == 1 && *global == (size == all));
    MPI_Comm_free(&here);
    check_hardware(all);
    MPI_Finalize();
    return 0;
}
