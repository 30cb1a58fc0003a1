#pragma once
// A line of text in shared memory that threads and processes write and read without a lock: a reader may see a torn line, but always text.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace towline::base {

/// Writes the text, cut to what fits, and a NUL behind it.
inline void write_note(std::span<char> to, std::string_view text) noexcept
{
    if (to.empty())
        return;
    std::size_t const n = std::min(text.size(), to.size() - 1);
    for (std::size_t i = 0; i < n; ++i)
        __atomic_store_n(&to[i], text[i], __ATOMIC_RELAXED);
    __atomic_store_n(&to[n], '\0', __ATOMIC_RELAXED);
}

} // namespace towline::base
