// Packing, unpacking and external32 as programs call them. What moves where is tested with the layouts; here: positions, room, errors.

#include "running.hpp"

#include <array>
#include <cstring>
#include <limits>

namespace {

struct packing : running {
    MPI_Datatype column = MPI_DATATYPE_NULL;  // 3 ints, every fourth
    void SetUp() override
    {
        running::SetUp();
        ASSERT_EQ(MPI_Type_vector(3, 1, 4, MPI_INT, &column), MPI_SUCCESS);
        ASSERT_EQ(MPI_Type_commit(&column), MPI_SUCCESS);
        for (int i = 0; i < 12; ++i)
            matrix[static_cast<std::size_t>(i)] = i;
    }
    void TearDown() override { EXPECT_EQ(MPI_Type_free(&column), MPI_SUCCESS); }
    std::array<int, 12> matrix{};
};

} // namespace

TEST_F(packing, goes_on_where_the_last_call_ended)
{
    std::array<int, 4> packed{};
    double const pi = 3.25;
    std::array<char, 20> all{};
    int position = 0, size = -1;
    ASSERT_EQ(MPI_Pack_size(1, column, MPI_COMM_WORLD, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 12);
    ASSERT_EQ(MPI_Pack(matrix.data() + 1, 1, column, all.data(), 20, &position, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(position, 12);
    ASSERT_EQ(MPI_Pack(&pi, 1, MPI_DOUBLE, all.data(), 20, &position, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(position, 20);
    std::memcpy(packed.data(), all.data(), 12);
    EXPECT_EQ(packed, (std::array{1, 5, 9, 0}));

    std::array<int, 12> back{};
    double pi_back = 0;
    MPI_Count at = 0;
    ASSERT_EQ(MPI_Unpack_c(all.data(), 20, &at, back.data(), 1, column, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(at, 12);
    ASSERT_EQ(MPI_Unpack_c(all.data(), 20, &at, &pi_back, 1, MPI_DOUBLE, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(at, 20);
    EXPECT_EQ(back, (std::array{1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0}));
    EXPECT_EQ(pi_back, pi);
}

TEST_F(packing, absolute_displacements_need_no_buffer)
{
    int const one[] = {1};
    MPI_Aint address = 0;
    int value = 77, position = 0, packed = 0;
    ASSERT_EQ(MPI_Get_address(&value, &address), MPI_SUCCESS);
    MPI_Datatype t = MPI_DATATYPE_NULL, type = MPI_INT;
    ASSERT_EQ(MPI_Type_create_struct(1, one, &address, &type, &t), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Pack(MPI_BOTTOM, 1, t, &packed, 4, &position, MPI_COMM_WORLD)), MPI_ERR_TYPE);  // not committed
    ASSERT_EQ(MPI_Type_commit(&t), MPI_SUCCESS);
    ASSERT_EQ(MPI_Pack(MPI_BOTTOM, 1, t, &packed, 4, &position, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(packed, 77);
    EXPECT_EQ(MPI_Type_free(&t), MPI_SUCCESS);
}

TEST_F(packing, what_cannot_be_is_refused_and_nothing_moves)
{
    std::array<char, 12> out{};
    int position = 1;
    auto const pack = [&](void const* in, int count, MPI_Datatype type, void* to, int size, MPI_Comm comm = MPI_COMM_WORLD) {
        return MPI_Pack(in, count, type, to, size, &position, comm);
    };
    EXPECT_EQ(class_of(pack(matrix.data(), 1, column, out.data(), 12)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(pack(matrix.data(), -1, column, out.data(), 12)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(pack(matrix.data(), 1, MPI_DATATYPE_NULL, out.data(), 12)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(pack(matrix.data(), 1, MPI_INT, out.data(), -1)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(pack(nullptr, 1, MPI_INT, out.data(), 12)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(pack(MPI_IN_PLACE, 1, MPI_INT, out.data(), 12)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(pack(matrix.data(), 1, MPI_INT, nullptr, 12)), MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(pack(matrix.data(), 1, MPI_INT, out.data(), 12, MPI_COMM_NULL)), MPI_ERR_COMM);
    EXPECT_EQ(pack(nullptr, 0, MPI_INT, nullptr, 12), MPI_SUCCESS);
    EXPECT_EQ(position, 1);
    for (int const wrong : {-1, 13}) {
        position = wrong;
        EXPECT_EQ(class_of(pack(matrix.data(), 0, MPI_INT, out.data(), 12)), MPI_ERR_ARG);
        EXPECT_EQ(class_of(MPI_Unpack(out.data(), 12, &position, matrix.data(), 1, MPI_INT, MPI_COMM_WORLD)), MPI_ERR_ARG);
    }
    position = 9;
    EXPECT_EQ(class_of(MPI_Unpack(out.data(), 12, &position, matrix.data(), 1, MPI_INT, MPI_COMM_WORLD)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(MPI_Unpack(out.data(), 12, &position, nullptr, 1, MPI_CHAR, MPI_COMM_WORLD)), MPI_ERR_BUFFER);
    EXPECT_EQ(position, 9);
    EXPECT_EQ(out, (std::array<char, 12>{}));
    MPI_Count size = -1;
    EXPECT_EQ(class_of(MPI_Pack_size_c(std::numeric_limits<MPI_Count>::max(), MPI_INT, MPI_COMM_WORLD, &size)), MPI_ERR_COUNT);
    int small = -1;
    EXPECT_EQ(MPI_Pack_size(1 << 30, MPI_INT, MPI_COMM_WORLD, &small), MPI_SUCCESS);
    EXPECT_EQ(small, MPI_UNDEFINED);
}

TEST_F(packing, external32_is_big_endian_and_of_its_own_sizes)
{
    long const values[] = {1, -2};
    std::array<unsigned char, 12> out{};
    MPI_Aint size = -1, position = 0;
    ASSERT_EQ(MPI_Pack_external_size("external32", 2, MPI_LONG, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    ASSERT_EQ(MPI_Pack_external("external32", values, 2, MPI_LONG, out.data(), 12, &position), MPI_SUCCESS);
    EXPECT_EQ(position, 8);
    EXPECT_EQ(out, (std::array<unsigned char, 12>{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe}));
    long back[] = {0, 0};
    position = 0;
    ASSERT_EQ(MPI_Unpack_external("external32", out.data(), 12, &position, back, 2, MPI_LONG), MPI_SUCCESS);
    EXPECT_EQ(position, 8);
    EXPECT_TRUE(back[0] == 1 && back[1] == -2);

    long const large = 1L << 40;
    EXPECT_EQ(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, out.data(), 12, &position)), MPI_ERR_CONVERSION);
    EXPECT_EQ(class_of(MPI_Pack_external("native", values, 1, MPI_LONG, out.data(), 12, &position)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Pack_external("external32", values, 2, MPI_LONG, out.data(), 12, &position)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(class_of(MPI_Unpack_external("external32", out.data(), 12, &position, back, 2, MPI_LONG)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(position, 8);
    EXPECT_EQ(class_of(MPI_Pack_external_size("external32", -1, MPI_LONG, &size)), MPI_ERR_COUNT);
}
