#define BLAST_SWEEP sweep_baseline
#include "sweep.inl"

namespace blast {

std::vector<sweep_function*> possible_sweeps()
{
    std::vector<sweep_function*> all;
#ifdef BLAST_AVX512F
    if (__builtin_cpu_supports("avx512f"))
        all.push_back(sweep_avx512f);
#endif
#ifdef BLAST_AVX2
    if (__builtin_cpu_supports("avx2"))
        all.push_back(sweep_avx2);
#endif
    all.push_back(sweep_baseline);
    return all;
}

} // namespace blast
