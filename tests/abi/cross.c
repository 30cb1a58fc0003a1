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

/* Size, bounds and construction of a datatype, which is freed. */
static void tell(const char* what, MPI_Datatype type)
{
    MPI_Count size, lb, extent, true_lb, true_extent, n[4], counts[16];
    int combiner, integers[16];
    MPI_Aint addresses[16];
    MPI_Datatype types[4];
    MPI_Type_size_c(type, &size);
    MPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
    MPI_Type_get_contents_c(type, 16, 16, 16, 4, integers, addresses, counts, types);
    printf("%s: %ld bytes, %ld+%ld, true %ld+%ld, combiner %d, ints", what, (long)size, (long)lb, (long)extent, (long)true_lb,
           (long)true_extent, combiner);
    for (int i = 0; i < n[0]; ++i)
        printf(" %d", integers[i]);
    printf(", addresses");
    for (int i = 0; i < n[1]; ++i)
        printf(" %ld", (long)addresses[i]);
    printf(", counts");
    for (int i = 0; i < n[2]; ++i)
        printf(" %ld", (long)counts[i]);
    printf(", types");
    for (int i = 0; i < n[3]; ++i)
        printf(" %x", MPI_Type_toint(types[i]));
    MPI_Type_free(&type);
    printf(", freed %d\n", type == MPI_DATATYPE_NULL);
}

/* Of types with two names (MPI_LONG_LONG_INT, MPI_C_COMPLEX) either may be told: they are not here. */
static void datatypes(void)
{
    static const MPI_Datatype all[] = {MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_PACKED, MPI_SHORT, MPI_INT, MPI_LONG,
        MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_C_DOUBLE_COMPLEX, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX, MPI_C_BOOL, MPI_WCHAR, MPI_CHARACTER, MPI_INTEGER, MPI_REAL,
        MPI_DOUBLE_PRECISION, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_INT8_T,
        MPI_UINT8_T, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_INT16_T, MPI_UINT16_T, MPI_INT32_T, MPI_UINT32_T,
        MPI_INT64_T, MPI_UINT64_T, MPI_INTEGER4, MPI_REAL8, MPI_COMPLEX16};
    char name[MPI_MAX_OBJECT_NAME], packed[64];
    int length, position = 0, ints[12], back[12] = {0}, n, count;
    MPI_Aint lb, extent, at = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        MPI_Type_get_name(all[i], name, &length);
        MPI_Type_size(all[i], &n);
        MPI_Type_get_extent(all[i], &lb, &extent);
        printf("%s %d: %d %ld %ld\n", name, length, n, (long)lb, (long)extent);
    }
    MPI_Datatype t;
    const int lengths[] = {3, 1}, places[] = {4, 0}, sizes[] = {10, 20}, subsizes[] = {2, 3}, starts[] = {1, 4};
    const int how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    const MPI_Aint far[] = {64, 8};
    const MPI_Count wide[] = {64, 8}, ones[] = {1, 2};
    const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Type_contiguous(3, MPI_INT, &t), tell("contiguous", t);
    MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &t), tell("contiguous_c", t);
    MPI_Type_vector(2, 3, -5, MPI_INT, &t), tell("vector", t);
    MPI_Type_create_hvector(2, 3, 40, MPI_INT, &t), tell("hvector", t);
    MPI_Type_create_hvector_c(2, 3, 40, MPI_INT, &t), tell("hvector_c", t);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &t), tell("indexed", t);
    MPI_Type_create_hindexed(2, lengths, far, MPI_INT, &t), tell("hindexed", t);
    MPI_Type_create_hindexed_c(2, ones, wide, MPI_INT, &t), tell("hindexed_c", t);
    MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &t), tell("indexed_block", t);
    MPI_Type_create_hindexed_block(2, 2, far, MPI_INT, &t), tell("hindexed_block", t);
    MPI_Type_create_struct(2, lengths, far, parts, &t), tell("struct", t);
    MPI_Type_create_struct_c(2, ones, wide, parts, &t), tell("struct_c", t);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &t), tell("subarray", t);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &t), tell("subarray", t);
    MPI_Type_create_darray(6, 4, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_INT, &t), tell("darray", t);
    MPI_Type_create_resized(MPI_INT, -3, 9, &t), tell("resized", t);
    MPI_Type_dup(MPI_INT, &t), tell("dup", t);

    for (int i = 0; i < 12; ++i)
        ints[i] = i;
    MPI_Type_vector(3, 1, 4, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Pack(ints + 1, 1, t, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Pack(ints, 2, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    printf("packed %d", position);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, back, 5, MPI_INT, MPI_COMM_WORLD);
    printf(" %d, %d %d %d %d %d\n", position, back[0], back[1], back[2], back[3], back[4]);
    MPI_Pack_external("external32", ints, 1, t, packed, sizeof packed, &at);
    printf("external32 %ld: %d %d %d %d\n", (long)at, packed[0], packed[3], packed[7], packed[11]);
    MPI_Status s = {0};
    MPI_Status_set_elements(&s, MPI_INT, 7);
    MPI_Get_count(&s, t, &count);
    MPI_Get_elements(&s, t, &n);
    printf("status %d %d", count == MPI_UNDEFINED, n);
    MPI_Status_set_elements(&s, MPI_INT, 6);
    MPI_Get_count(&s, t, &count);
    printf(", %d\n", count);
    MPI_Type_free(&t);
    printf("no type: %d\n", error_class(MPI_Type_size(MPI_DATATYPE_NULL, &n)));
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
    datatypes();
    attributes();
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    printf("tools %d\n", MPI_T_cvar_get_num(&n) == MPI_SUCCESS);
    MPI_T_finalize();
    MPI_Finalize();
    MPI_Finalized(&flag);
    printf("finalized %d\n", flag);
    return 0;
}
