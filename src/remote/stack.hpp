#pragma once
// Stacks for fibers: mapped memory with an inaccessible page below, committed by use, recycled.

#include <cstddef>

namespace towline::remoting {

struct stack {
    std::byte* bottom = nullptr;  ///< lowest usable byte; the guard page is below
    std::size_t size = 0;
    [[nodiscard]] std::byte* top() const noexcept { return bottom + size; }
};

/// Bytes of a fiber's stack: TOWLINE_STACK (KiB), 256 KiB by default (1 MiB under sanitizers).
[[nodiscard]] std::size_t stack_size();

/// Throws limit_error when the kernel refuses another mapping.
[[nodiscard]] stack map_stack();
void unmap_stack(stack const&) noexcept;

/// Sets the running fiber for the overflow report of this thread; null: none.
void set_running(stack const* s, char const* name) noexcept;

/// Installs, once per process, a handler that reports a fault on a guard page with the function's name and the setting, and gives this
/// thread a signal stack. Other faults go to the previous handler. No effect under sanitizers.
void watch_overflow_on_this_thread();

} // namespace towline::remoting
