#define BLAST_SWEEP sweep_baseline
#include "sweep.inl"

namespace blast {

sweep_function* best_sweep() noexcept
{
#ifdef BLAST_AVX2
    if (__builtin_cpu_supports("avx2"))
        return sweep_avx2;
#endif
    return sweep_baseline;
}

} // namespace blast
