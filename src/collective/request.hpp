#pragma once
// Collective operations over the matcher. Build with operations.hpp, start, and wait with matcher::wait_until on `done()`.

#include "collective/runner.hpp"
#include "matching/matcher.hpp"

namespace towline::collective {

using collective_request = basic_request<matching::matcher, matching::request>;

} // namespace towline::collective
