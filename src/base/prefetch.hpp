#pragma once
// Cache lines fetched before they are needed.

#include <atomic>
#include <cstddef>

namespace towline::base {

/// Fetches the line for ownership, so that a later store need not wait for it. Never waits; any address is allowed.
inline void prefetch_to_write(void const* line) noexcept
{
#if defined(__x86_64__)
    // __builtin_prefetch(line, 1) compiles to a read prefetch, unless the compiler targets a newer processor.
    asm volatile("prefetchw %0" : : "m"(*static_cast<char const*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

/// Takes ownership of the line of a byte that was just read: writes the byte back unchanged. Why: copy.hpp.
inline void take_line(std::byte& in_it) noexcept
{
    std::atomic_ref const byte(in_it);
    byte.store(byte.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

} // namespace towline::base
