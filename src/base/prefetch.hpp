#pragma once
// Lines brought to this core before they are needed.

#include <atomic>
#include <cstddef>

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

/// Makes the line of a byte that was just read this core's own: writes it back as it is. Why: copy.hpp.
inline void take_line(std::byte& in_it) noexcept
{
    std::atomic_ref const byte(in_it);
    byte.store(byte.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

} // namespace towline::base
