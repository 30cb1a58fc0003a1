#pragma once
// The body of a spin loop.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace towline::base {

/// Tells the processor that this is a spin loop: about 40 ns, in which the core's other hardware thread runs.
inline void cpu_relax() noexcept
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace towline::base
