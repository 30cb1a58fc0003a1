#include "fuzz/packets.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    towline::test::feed_packets({data, size});
    return 0;
}
