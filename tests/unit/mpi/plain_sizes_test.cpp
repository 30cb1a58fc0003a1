// What is recognized by its handle alone is what the datatypes themselves say.
#include "mpi/plain_sizes.hpp"

#include "mpi/datatype.hpp"
#include "running.hpp"

using namespace towline;

struct plain_sizes : running {};

TEST_F(plain_sizes, are_those_of_the_datatypes)
{
    int plain = 0;
    for (std::uint64_t bits = 0x1f0; bits < 0x310; ++bits) {
        auto const h = handle<MPI_Datatype>(bits);
        mpi::datatype const* const type = bits >= 0x200 ? mpi::find(h) : nullptr;
        bool const in_a_row = type != nullptr && type->layout().is_contiguous() && type->layout().true_lb() == 0;
        EXPECT_EQ(mpi::plain_size(h), in_a_row ? type->layout().size() : 0) << std::hex << bits;
        plain += mpi::plain_size(h) != 0;
    }
    EXPECT_GT(plain, 60);
}
