/* What MPI tells of nodes: ranks that share memory, and whether they share a clock. And that nothing listens in a job of one node. Run by
   tests/programs/hosts_test.py. */
#include "check.h"

#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int is_of_a_network(unsigned long inode)
{
    char const* const tables[] = {"/proc/self/net/udp", "/proc/self/net/udp6", "/proc/self/net/tcp", "/proc/self/net/tcp6"};
    for (int t = 0; t < 4; t++) {
        FILE* const file = fopen(tables[t], "r");
        char line[512];
        unsigned long there = 0;
        int found = 0;
        while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
            found = sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &there) == 1 && there == inode;
        if (file != NULL)
            fclose(file);
        if (found)
            return 1;
    }
    return 0;
}

/* A rank has sockets of a network where its job has several nodes, and only there. */
static void check_sockets(int has_several_nodes)
{
    int found = 0;
    DIR* const all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    for (struct dirent const* one; (one = readdir(all)) != NULL;) {
        char target[64];
        unsigned long inode = 0;
        ssize_t const n = readlinkat(dirfd(all), one->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) == 1)
            found += is_of_a_network(inode);
    }
    closedir(all);
    CHECK((found != 0) == has_several_nodes);
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
    check_sockets(atoi(getenv("MPI_LOCALNRANKS")) != all);
    MPI_Finalize();
    return 0;
}
