#include "fuzz/rich.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    towline::test::decode_file({data, size});
    return 0;
}
