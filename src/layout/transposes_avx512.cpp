// Compiled for processors with AVX-512: nothing here may run, or be merged by the linker with what runs, on others.
#if defined(__x86_64__)
#include "layout/transposes_kernels.hpp"

namespace towline::layout {

constinit transposers const avx512_transposers = make_transposers();

} // namespace towline::layout
#endif
