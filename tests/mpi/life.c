/* Start and end of MPI. Usage: mpi_life SCENARIO; prints what it saw. */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static int rank, size;

static void state(const char* when)
{
    int initialized = -1, finalized = -1;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    printf("%s: initialized %d, finalized %d\n", when, initialized, finalized);
}

static void start(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static int at_end(MPI_Comm comm, int keyval, void* value, void* extra)
{
    int initialized = -1, finalized = -1, n = -1;
    (void)keyval;
    (void)extra;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Comm_size(comm, &n);
    printf("deleted %s on a communicator of %d: initialized %d, finalized %d\n", (const char*)value, n, initialized, finalized);
    return MPI_SUCCESS;
}

static void* elsewhere(void* unused)
{
    int flag = -1;
    MPI_Is_thread_main(&flag);
    printf("other thread: main %d\n", flag);
    return unused;
}

/* The code says that the other rank is dead. */
static void expect(int code, char const* call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (class_of(code) == MPI_ERR_PROC_ABORTED)
        return;
    MPI_Error_string(code, text, &length);
    printf("%s: %s\n", call, text);
}

/* The call began well, and its end says it. */
static void expect_late(int code, MPI_Request* request, char const* call)
{
    if (code != MPI_SUCCESS)
        printf("%s returned an error\n", call);
    expect(MPI_Wait(request, MPI_STATUS_IGNORE), call);
}

static void end_now(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

int main(int argc, char** argv)
{
    const char* const what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "states") == 0) {
        state("before");
        MPI_Info info = MPI_INFO_NULL;  /* calls that work without MPI_Init */
        int n = -1, error_class = -1;
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        MPI_Info_create(&info);
        MPI_Info_set(info, "k", "v");
        MPI_Info_get_nkeys(info, &n);
        MPI_Info_free(&info);
        MPI_Get_library_version(text, &n);
        MPI_Error_class(MPI_ERR_TAG, &error_class);
        printf("class %d, a time %d\n", error_class, MPI_Wtime() > 0);
        start();
        state("running");
        MPI_Finalize();
        state("after");
        MPI_Get_library_version(text, &n);
        MPI_Info_create(&info);
        MPI_Info_free(&info);
    } else if (strcmp(what, "ranks") == 0) {
        start();
        printf("rank %d of %d\n", rank, size);
        MPI_Finalize();
    } else if (strcmp(what, "twice") == 0) {
        start();
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        printf("second MPI_Init: %d\n", class_of(MPI_Init(NULL, NULL)) == MPI_ERR_OTHER);
        MPI_Finalize();
    } else if (strcmp(what, "before") == 0) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    } else if (strcmp(what, "after") == 0) {
        start();
        MPI_Finalize();
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    } else if (strcmp(what, "again") == 0) {
        start();
        MPI_Finalize();
        MPI_Init(NULL, NULL);
    } else if (strcmp(what, "attributes") == 0) {
        start();
        int keys[3];
        for (int i = 0; i < 3; ++i)
            MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &keys[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[2], "world");
        MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], "first");
        MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], "second");
        MPI_Comm_free_keyval(&keys[1]);
        MPI_Finalize();
    } else if (strcmp(what, "thread") == 0) {
        int provided = -1, flag = -1;
        pthread_t other;
        MPI_Init_thread(&argc, &argv, atoi(argv[2]), &provided);
        printf("provided %d\n", provided);
        MPI_Query_thread(&provided);
        MPI_Is_thread_main(&flag);
        printf("again %d, main %d\n", provided, flag);
        pthread_create(&other, NULL, elsewhere, NULL);
        pthread_join(other, NULL);
        MPI_Finalize();
    } else if (strcmp(what, "abort") == 0) {
        start();
        printf("printed before\n");
        if (rank == size - 1)
            MPI_Abort(MPI_COMM_WORLD, 7);
        MPI_Finalize();
    } else if (strcmp(what, "quit") == 0) {
        start();
        MPI_Finalize();
        _exit(0);
    } else if (strcmp(what, "unfinished") == 0) {
        start();
        _exit(0);
    } else if (strcmp(what, "forgetful") == 0) {
        start();
        if (rank != 1)
            MPI_Finalize();
    } else if (strcmp(what, "killed") == 0) {
        start();
        if (rank == size - 1)
            raise(SIGKILL);
        MPI_Finalize();
    } else if (strcmp(what, "absent") == 0) {
        const char* const job = getenv("TOWLINE_JOB");  /* "descriptor:rank" */
        if (job != NULL && strcmp(strchr(job, ':'), ":1") == 0)
            return 0;
        start();
        MPI_Finalize();
    } else if (strcmp(what, "late") == 0) {
        start();
        if (rank == 0)
            usleep(300000);
        double const before = MPI_Wtime();
        MPI_Finalize();
        printf("rank %d waited %d\n", rank, MPI_Wtime() - before > 0.1);
    } else if (strcmp(what, "fewer") == 0) {
        /* Under --keep-going. Ranks named by a digit die: 0 before the others end, 1 while they wait in MPI_Finalize, 2 at any time of
           that. The others end well. */
        start();
        int const how = (int)strlen(argv[2]) > rank ? argv[2][rank] : '-';
        MPI_Barrier(MPI_COMM_WORLD);
        if (how == '0')
            raise(SIGKILL);
        if (how == '1') {
            usleep(200000);
            raise(SIGKILL);
        }
        if (how == '2') {
            signal(SIGALRM, end_now);
            struct itimerval const soon = {.it_value = {.tv_usec = 1 + atoi(argv[3])}};
            setitimer(ITIMER_REAL, &soon, NULL);
        }
        MPI_Finalize();
        if (how == '2')
            pause();
        printf("rank %d ended\n", rank);
    } else if (strcmp(what, "dead_receiver") == 0) {
        /* Under --keep-going: rank 1 is gone. What does not block begins well, and ends with the error; what blocks returns it. */
        start();
        if (rank == 1)
            raise(SIGKILL);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        static char data[100000], other[8];
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Recv(other, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int size = 8; size <= 100000; size = size == 8 ? 3000 : size == 3000 ? 100000 : 1000000) {
            expect(MPI_Send(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD), "MPI_Send");
            expect_late(MPI_Isend(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r), &r, "MPI_Isend");
            expect_late(MPI_Issend(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r), &r, "MPI_Issend");
            expect_late(MPI_Isendrecv(data, size, MPI_BYTE, 1, 0, other, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r), &r,
                        "MPI_Isendrecv");
            expect(MPI_Sendrecv(data, size, MPI_BYTE, 1, 0, other, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                   "MPI_Sendrecv");
            MPI_Request again;
            MPI_Send_init(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &again);
            for (int i = 0; i < 2; ++i)
                expect_late(MPI_Start(&again), &again, "MPI_Start");
            MPI_Request_free(&again);
            MPI_Datatype gaps;
            MPI_Type_vector(size / 8, 4, 8, MPI_BYTE, &gaps);
            MPI_Type_commit(&gaps);
            expect_late(MPI_Isend(data, 1, gaps, 1, 0, MPI_COMM_WORLD, &r), &r, "MPI_Isend of a vector");
            MPI_Type_free(&gaps);
        }
        MPI_Finalize();
        printf("all of them\n");
    } else {
        fprintf(stderr, "mpi_life: no scenario '%s'\n", what);
        return 2;
    }
    return 0;
}
