#pragma once
// The archive of durations, time points and dates, as the numbers they consist of.

#include <towline/archive.hpp>

#include <chrono>

namespace towline {

template <class Rep, class Period> inline constexpr bool bitwise<std::chrono::duration<Rep, Period>> = bitwise<Rep>;
template <class Clock, class Duration> inline constexpr bool bitwise<std::chrono::time_point<Clock, Duration>> = bitwise<Duration>;
template <> inline constexpr bool bitwise<std::chrono::day> = true;
template <> inline constexpr bool bitwise<std::chrono::month> = true;
template <> inline constexpr bool bitwise<std::chrono::year> = true;
template <> inline constexpr bool bitwise<std::chrono::weekday> = true;
template <> inline constexpr bool bitwise<std::chrono::year_month_day> = true;

} // namespace towline
