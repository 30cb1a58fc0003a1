#pragma once
// Text that another process wrote, made safe to show on a terminal.

#include <span>
#include <string>
#include <string_view>

namespace towline::base {

/// Replaces by '?' what could steer a terminal, and what is no UTF-8: control characters (C0, DEL, C1, also as UTF-8), bytes outside of
/// well-formed sequences. The length stays. Does not allocate.
void make_printable(std::span<char> text) noexcept;

/// A copy, made printable.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace towline::base
