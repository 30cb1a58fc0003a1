#pragma once
// The version of the headers that a program was built with, and of the library that it runs on.

#define TOWLINE_VERSION_MAJOR 0
#define TOWLINE_VERSION_MINOR 1
#define TOWLINE_VERSION_PATCH 0

#include <towline/detail/language.hpp>

namespace towline {

struct version_number {
    int major, minor, patch;
    friend constexpr bool operator==(version_number const&, version_number const&) = default;
};

inline constexpr version_number header_version{TOWLINE_VERSION_MAJOR, TOWLINE_VERSION_MINOR, TOWLINE_VERSION_PATCH};

/// The version of the loaded library.
[[nodiscard]] version_number library_version() noexcept;

} // namespace towline
