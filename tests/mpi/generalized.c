/* Generalized requests. Usage: mpi_generalized SCENARIO; silent and 0 where everything was as it should. */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct operation {
    MPI_Request request;
    int queries, frees, cancels, complete;
    int query_error, free_error, cancel_error;
};

static int query(void* state, MPI_Status* status)
{
    struct operation* o = state;
    ++o->queries;
    CHECK(o->frees == 0);
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, o->cancels);
    status->MPI_SOURCE = 11;
    status->MPI_TAG = 12;
    return o->query_error;
}

static int release(void* state)
{
    struct operation* o = state;
    ++o->frees;
    return o->free_error;
}

static int cancel(void* state, int complete)
{
    struct operation* o = state;
    ++o->cancels;
    CHECK(complete == o->complete);
    return o->cancel_error;
}

static void begin(struct operation* o)
{
    memset(o, 0, sizeof *o);
    MPI_Grequest_start(query, release, cancel, o, &o->request);
    CHECK(o->request != MPI_REQUEST_NULL);
}

static void end(struct operation* o)
{
    o->complete = 1;
    MPI_Grequest_complete(o->request);
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void is_status(const MPI_Status* s, int cancelled)
{
    int count = -1, flag = -1;
    MPI_Get_count(s, MPI_INT, &count);
    MPI_Test_cancelled(s, &flag);
    CHECK(s->MPI_SOURCE == 11 && s->MPI_TAG == 12 && count == 5 && flag == cancelled);
}

static void ends(void)
{
    struct operation o;
    MPI_Status s;
    int flag = -1;
    begin(&o);
    MPI_Test(&o.request, &flag, &s);
    CHECK(!flag && o.queries == 0);
    MPI_Cancel(&o.request);
    CHECK(o.cancels == 1);
    MPI_Request_get_status(o.request, &flag, &s);
    CHECK(!flag);
    end(&o);
    CHECK(o.queries == 0 && o.frees == 0);
    s.MPI_ERROR = 77;
    MPI_Request_get_status(o.request, &flag, &s);
    CHECK(flag && o.queries == 1 && o.frees == 0 && s.MPI_ERROR == 77);
    is_status(&s, 1);
    MPI_Cancel(&o.request);
    CHECK(o.cancels == 2);
    MPI_Wait(&o.request, &s);
    CHECK(o.request == MPI_REQUEST_NULL && o.queries == 2 && o.frees == 1);

    begin(&o);
    end(&o);
    MPI_Test(&o.request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && o.request == MPI_REQUEST_NULL && o.queries == 1 && o.frees == 1);
}

/* MPI_Request_free before MPI_Grequest_complete, and behind it: the later one frees. */
static void freed(void)
{
    struct operation o;
    begin(&o);
    MPI_Request handle = o.request;
    MPI_Request_free(&o.request);
    CHECK(o.request == MPI_REQUEST_NULL && o.frees == 0);
    struct operation others[100];
    for (int i = 0; i < 100; ++i) {
        begin(&others[i]);
        end(&others[i]);
        MPI_Wait(&others[i].request, MPI_STATUS_IGNORE);
        CHECK(others[i].frees == 1);
    }
    CHECK(o.frees == 0);
    o.complete = 1;
    MPI_Grequest_complete(handle);
    CHECK(o.frees == 1 && o.queries == 0);

    begin(&o);
    end(&o);
    CHECK(o.frees == 0);
    MPI_Request_free(&o.request);
    CHECK(o.request == MPI_REQUEST_NULL && o.frees == 1 && o.queries == 0);
}

/* Together with messages. */
static void among(void)
{
    struct operation a, b;
    int out = rank, in = -1;
    MPI_Status s[3];
    begin(&a);
    begin(&b);
    end(&b);
    MPI_Request r[3] = {a.request, MPI_REQUEST_NULL, b.request};
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &r[1]);
    int i = -1, n = -1, some[3], flag = -1;
    MPI_Waitany(3, r, &i, s);
    CHECK(i == 2 && r[2] == MPI_REQUEST_NULL && b.frees == 1);
    is_status(s, 0);
    MPI_Testall(3, r, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag && a.queries == 0);
    MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Waitsome(3, r, &n, some, s);
    CHECK(n == 1 && some[0] == 1 && in == (rank + size - 1) % size && s[0].MPI_TAG == 3);
    end(&a);
    MPI_Waitall(3, r, s);
    CHECK(a.queries == 1 && a.frees == 1 && r[0] == MPI_REQUEST_NULL);
    is_status(&s[0], 0);
}

static void errors(void)
{
    struct operation o;
    MPI_Status s;
    int code = 0, class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);

    begin(&o);
    o.query_error = code;
    end(&o);
    CHECK(MPI_Wait(&o.request, &s) == code && o.request == MPI_REQUEST_NULL && o.frees == 1);

    begin(&o);
    o.free_error = MPI_ERR_IO;
    end(&o);
    CHECK(class_of(MPI_Wait(&o.request, &s)) == MPI_ERR_IO && o.request == MPI_REQUEST_NULL && o.frees == 1);

    begin(&o);
    o.free_error = MPI_ERR_IO;
    end(&o);
    CHECK(class_of(MPI_Waitall(1, &o.request, &s)) == MPI_ERR_IN_STATUS && class_of(s.MPI_ERROR) == MPI_ERR_IO && o.frees == 1);

    begin(&o);
    o.cancel_error = MPI_ERR_ARG;
    CHECK(class_of(MPI_Cancel(&o.request)) == MPI_ERR_ARG);
    end(&o);
    CHECK(class_of(MPI_Grequest_complete(o.request)) == MPI_ERR_REQUEST);
    MPI_Request was = o.request;
    MPI_Wait(&o.request, &s);
    CHECK(class_of(MPI_Grequest_complete(was)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Grequest_complete(MPI_REQUEST_NULL)) == MPI_ERR_REQUEST);

    int in = 0;
    MPI_Request r;
    MPI_Irecv(&in, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &r);
    CHECK(class_of(MPI_Grequest_complete(r)) == MPI_ERR_REQUEST);
    MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in == rank);
}

static void* ends_later(void* state)
{
    usleep(30000);
    end(state);
    return NULL;
}

/* Another thread completes what this one waits for, asleep. */
static void threads(void)
{
    for (int i = 0; i < 6; ++i) {
        struct operation o;
        pthread_t thread;
        int index = -1;
        begin(&o);
        pthread_create(&thread, NULL, ends_later, &o);
        if (i % 3 == 0) {
            MPI_Wait(&o.request, MPI_STATUS_IGNORE);
        } else if (i % 3 == 1) {
            MPI_Waitany(1, &o.request, &index, MPI_STATUS_IGNORE);
            CHECK(index == 0);
        } else {
            MPI_Waitall(1, &o.request, MPI_STATUSES_IGNORE);
        }
        CHECK(o.frees == 1 && o.queries == 1);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char** argv)
{
    const struct { const char* name; void (*run)(void); } all[] = {
        {"ends", ends}, {"freed", freed}, {"among", among}, {"errors", errors}, {"threads", threads}};
    int level = -1;
    const char* name = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(name, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
        if (strcmp(all[i].name, name) == 0) {
            all[i].run();
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "no scenario %s\n", name);
    return 2;
}
