#pragma once
// The same loops, compiled for different processors.

#include "collective/reductions/reduce.hpp"

namespace towline::collective {

struct reduction_table {
    reduction of[operations][layout::kinds];
};

/// For any processor of the architecture.
extern reduction_table const baseline_reductions;
#if defined(__x86_64__)
/// For those with AVX2 and F16C.
extern reduction_table const avx2_reductions;
/// True if this processor is one of them.
[[nodiscard]] bool runs_avx2_reductions() noexcept;
#endif

} // namespace towline::collective
