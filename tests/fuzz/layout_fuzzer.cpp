#include "fuzz/layouts.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    towline::test::feed_layout({data, size});
    return 0;
}
