// Chooses the loops of reductions that suit the processor.

#include "collective/reductions/reduce_tables.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace towline::collective {

#if defined(__x86_64__)
bool runs_avx2_reductions() noexcept
{
    static bool const runs = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;  // asked for F16C itself: Clang 16 does not know it by name
        return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    }();
    return runs;
}
#endif

reduction find_reduction(operation op, layout::kind k) noexcept
{
    auto const o = static_cast<std::size_t>(op), i = static_cast<std::size_t>(k);
#if defined(__x86_64__)
    if (runs_avx2_reductions())
        return avx2_reductions.of[o][i];
#endif
    return baseline_reductions.of[o][i];
}

} // namespace towline::collective
