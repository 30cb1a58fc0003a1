// Chooses the loops of reductions that suit the processor.

#include "base/processor.hpp"
#include "collective/reductions/reduce_tables.hpp"

namespace towline::collective {

#if defined(__x86_64__)
bool runs_avx2_reductions() noexcept
{
    static bool const runs = base::has(base::instructions::avx2) && base::has(base::instructions::f16c);
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
