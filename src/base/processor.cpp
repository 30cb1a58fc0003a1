// Asks glibc, whose loader has asked the processor: a virtual machine takes some 5 us for each CPUID, and __builtin_cpu_supports of GCC
// makes every library that calls it execute a dozen of them when it is loaded.

#include "base/processor.hpp"

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define TOWLINE_ASKS_GLIBC
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace towline::base {

#if defined(TOWLINE_ASKS_GLIBC)

bool has(instructions what) noexcept
{
    switch (what) {
    case instructions::sse4_2: return CPU_FEATURE_ACTIVE(SSE4_2);
    case instructions::f16c: return CPU_FEATURE_ACTIVE(F16C);
    case instructions::avx2: return CPU_FEATURE_ACTIVE(AVX2);
    case instructions::avx512f: return CPU_FEATURE_ACTIVE(AVX512F);
    }
    return false;
}

bool has_invariant_tsc() noexcept
{
    return CPU_FEATURE_PRESENT(INVARIANT_TSC);
}

#elif defined(__x86_64__)

bool has(instructions what) noexcept
{
    __builtin_cpu_init();
    switch (what) {
    case instructions::sse4_2: return __builtin_cpu_supports("sse4.2") != 0;
    case instructions::f16c: {
        unsigned a = 0, b = 0, c = 0, d = 0;  // Clang 16 does not know it by name
        return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    }
    case instructions::avx2: return __builtin_cpu_supports("avx2") != 0;
    case instructions::avx512f: return __builtin_cpu_supports("avx512f") != 0;
    }
    return false;
}

bool has_invariant_tsc() noexcept
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
}

#else

bool has(instructions) noexcept
{
    return false;
}

bool has_invariant_tsc() noexcept
{
    return false;
}

#endif

} // namespace towline::base
