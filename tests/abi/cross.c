/* What a program sees of MPI as a job of one, in what the standard fixes. Built with our header and with the wheel's, run on our library
 * and on the wheel's: all four print the same. */
#ifdef WHEEL
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <string.h>

static int error_class(int code)
{
    int c = -1;
    MPI_Error_class(code, &c);
    return c;
}

static int copy_attribute(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag)
{
    (void)comm, (void)keyval, (void)state;
    *(void**)out = (char*)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* state)
{
    (void)keyval;
    printf("delete %ld, state %s, self %d\n", (long)value, (char*)state, comm == MPI_COMM_SELF);
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...)
{
    printf("handler: world %d, class %d\n", *comm == MPI_COMM_WORLD, error_class(*code));
}

static void infos(void)
{
    MPI_Info a, b;
    char text[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY];
    int n, flag, length;
    MPI_Info_create(&a);
    MPI_Info_set(a, "one", "1");
    MPI_Info_set(a, "two", "22");
    MPI_Info_set(a, "one", "111");
    MPI_Info_dup(a, &b);
    MPI_Info_delete(a, "two");
    MPI_Info_get_nkeys(a, &n);
    printf("keys %d", n);
    MPI_Info_get_nkeys(b, &n);
    printf(" %d", n);
    for (int i = 0; i < n; ++i) {
        MPI_Info_get_nthkey(b, i, key);
        length = sizeof text;
        MPI_Info_get_string(b, key, &length, text, &flag);
        printf(", %s=%s (%d %d)", key, text, length, flag);
    }
    length = 3;
    MPI_Info_get_string(b, "one", &length, text, &flag);
    printf(", cut %s of %d", text, length);
    length = 0;
    MPI_Info_get_string(b, "one", &length, NULL, &flag);
    printf(", length %d", length);
    MPI_Info_get_string(b, "none", &length, text, &flag);
    printf(", none %d", flag);
    MPI_Info_get_valuelen(b, "two", &length, &flag);
    printf(", valuelen %d", length);
    MPI_Info_get(b, "one", 3, text, &flag);
    printf(", get %s\n", text);
    MPI_Info_free(&a);
    MPI_Info_free(&b);
    printf("freed %d\n", a == MPI_INFO_NULL);
}

static void groups(void)
{
    MPI_Group world, self, g;
    int n, ranks[] = {0}, out[] = {-9, -9}, with_null[] = {0, MPI_PROC_NULL}, ranges[1][3] = {{0, 0, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Group_compare(world, self, &n);
    printf("groups %d", n == MPI_IDENT);
    MPI_Group_compare(world, MPI_GROUP_EMPTY, &n);
    printf(" %d", n == MPI_UNEQUAL);
    MPI_Group_excl(world, 1, ranks, &g);
    MPI_Group_size(g, &n);
    printf(" %d", n);
    MPI_Group_translate_ranks(world, 2, with_null, g, out);
    printf(" %d %d", out[0] == MPI_UNDEFINED, out[1] == MPI_PROC_NULL);
    MPI_Group_range_incl(world, 1, ranges, &g);
    MPI_Group_rank(g, &n);
    printf(" %d", n);
    MPI_Group_free(&g);
    MPI_Group_union(world, self, &g);
    MPI_Group_size(g, &n);
    printf(" %d %d\n", n, g == MPI_GROUP_NULL);
    MPI_Group_free(&g);
    MPI_Group_free(&world);
    MPI_Group_free(&self);
}

static void errors(void)
{
    MPI_Errhandler mine, got;
    int n, c, code, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_create_errhandler(on_error, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    printf("errors: same handler %d", got == mine);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine);
    printf(", null %d\n", mine == MPI_ERRHANDLER_NULL);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    printf("classes: comm %d", error_class(MPI_Comm_size(MPI_COMM_NULL, &n)));
    printf(", group %d", error_class(MPI_Group_size(MPI_GROUP_NULL, &n)));
    MPI_Add_error_class(&c);
    MPI_Add_error_code(c, &code);
    MPI_Add_error_string(code, "our own");
    MPI_Error_string(code, text, &n);
    printf(", added %d %d, %s", c > MPI_ERR_LASTCODE, error_class(code) == c, text);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    printf(", last %d\n", flag && *last >= c);
}

static void attributes(void)
{
    int keys[2], flag;
    void* value;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keys[0], "a");
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keys[1], "b");
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], (void*)1);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], (void*)2);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], (void*)3);
    MPI_Comm_get_attr(MPI_COMM_SELF, keys[0], &value, &flag);
    printf("attribute %ld %d\n", (long)value, flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[0], &value, &flag);
    printf("attribute of world %d\n", flag);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keys[0]);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], (void*)4);
    MPI_Comm_free_keyval(&keys[0]);
    printf("keyval %d\n", keys[0] == MPI_KEYVAL_INVALID);
}

int main(int argc, char** argv)
{
    int version, subversion, n, provided, flag;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Initialized(&flag);
    printf("initialized %d", flag);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Initialized(&flag);
    printf(" %d, provided %d\n", flag, provided >= MPI_THREAD_FUNNELED);
    MPI_Get_version(&version, &subversion);
    MPI_Abi_get_version(&n, &flag);
    printf("version %d.%d, abi %d.%d\n", version, subversion, n, flag);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &n);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &flag);
    printf("compare %d, name %s %d\n", n == MPI_CONGRUENT, name, flag);
    printf("integers %x %x %x\n", MPI_Comm_toint(MPI_COMM_WORLD), MPI_Type_toint(MPI_DOUBLE), MPI_Op_toint(MPI_SUM));
    infos();
    groups();
    errors();
    attributes();
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    printf("tools %d\n", MPI_T_cvar_get_num(&n) == MPI_SUCCESS);
    MPI_T_finalize();
    MPI_Finalize();
    MPI_Finalized(&flag);
    printf("finalized %d\n", flag);
    return 0;
}
