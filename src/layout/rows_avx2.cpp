// Compiled with -mavx2: nothing here may run, or be merged by the linker with what runs, on other processors.
#include "layout/rows_kernels.hpp"

#if defined(__x86_64__)
namespace towline::layout {

constinit row_tables const avx2_rows = make_row_tables();

} // namespace towline::layout
#endif
