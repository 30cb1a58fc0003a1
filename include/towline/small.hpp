#pragma once
// Functions that run on the polling thread.

#include <towline/detail/language.hpp>

namespace towline {

/// Specialise it before the first call of f:
///     template <> inline constexpr bool towline::small<&f> = true;
/// A small function runs to completion inside the message handler of the thread that polls: no switch, no wake-up, and no other message is
/// handled meanwhile. It should take less than a few microseconds and must not wait (get() throws usage_error there). Calls whose blocks
/// must be fetched first run on the worker pool nevertheless.
template <auto F>
inline constexpr bool small = false;

/// The same for a lambda, or at the call: `async<towline::as_small<[](int x) { return x + 1; }>>(peer, 1)`.
template <auto F>
struct small_function {};
template <auto F>
inline constexpr small_function<F> as_small{};

} // namespace towline
