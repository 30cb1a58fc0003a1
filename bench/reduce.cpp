// The loops of the predefined reductions, in one process: inout[i] = in[i] op inout[i] on two warm arrays of `size` bytes each. The limit
// is memcpy of as many bytes, which reads one array and writes one; a reduction reads two.

#include "collective/reductions/reduce.hpp"
#include "harness.hpp"

#include <cstring>
#include <string>
#include <vector>

int main(int argc, char** argv)
{
    using namespace towline;
    using collective::operation;
    using layout::kind;

    bench::program program(argc, argv, "reduce", "The loops of the predefined reductions in one process.");
    constexpr std::size_t sizes[] = {8, 4 << 10, 64 << 10, 1 << 20};
    alignas(64) static std::byte in[sizes[3]], inout[sizes[3]];  // zeros: nothing overflows or slows down
    struct entry {
        char const* name;
        operation op;
        kind k;
    };
    static constexpr entry entries[] = {
        {"sum_double", operation::sum, kind::double_c},        {"sum_int", operation::sum, kind::int_c},
        {"max_double", operation::max, kind::double_c},        {"max_int8", operation::max, kind::int8},
        {"prod_long", operation::prod, kind::long_c},          {"prod_complex", operation::prod, kind::double_complex_c},
        {"land_int", operation::land, kind::int_c},            {"bxor_byte", operation::bxor, kind::byte},
        {"sum_real2", operation::sum, kind::real2},            {"sum_long_double", operation::sum, kind::long_double_c},
        {"maxloc_two_int", operation::maxloc, kind::two_int},  {"maxloc_double_int", operation::maxloc, kind::double_int},
    };
    for (std::size_t const size : sizes) {
        int const batch = size > 4096 ? 16 : 256;
        for (entry const& e : entries)
            program.add({.name = e.name, .size = size, .subject = "towline"}, [=](bench::sampler& s) {
                auto const f = collective::find_reduction(e.op, e.k);
                std::size_t const n = size / layout::info(e.k).extent;
                s.batch(batch, [=] { f(in, inout, inout, n); });
            });
        program.add({.name = "copy", .size = size, .subject = "memcpy"}, [=](bench::sampler& s) {
            s.batch(batch, [=] {
                std::memcpy(inout, in, size);
                asm volatile("" ::: "memory");
            });
        });
    }
    return program.run();
}
