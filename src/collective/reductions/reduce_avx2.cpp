// Compiled with -mavx2 -mf16c: nothing here may run, or be merged by the linker with what runs, on other processors.
#include "collective/reductions/reduce_kernels.hpp"

#if defined(__x86_64__)
namespace towline::collective {

constinit reduction_table const avx2_reductions = make_table();

} // namespace towline::collective
#endif
