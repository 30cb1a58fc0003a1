#pragma once
// Lines brought to this core before they are needed.

namespace towline::base {

/// So that it can be written without asking whoever has it, if nobody reads it until then. Costs no wait, and any address will do.
inline void prefetch_to_write(void const* line) noexcept
{
#if defined(__x86_64__)
    // The compiler's own way reads the line only, unless it is told of a newer processor.
    asm volatile("prefetchw %0" : : "m"(*static_cast<char const*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

} // namespace towline::base
