// Pins docs/wire.md, "Matching": a change here is a change of the format.
#include "matching/wire.hpp"

#include <cstddef>
#include <gtest/gtest.h>

namespace {

namespace wire = towline::matching::wire;

static_assert(wire::eager == 0 && wire::ready == 1 && wire::synchronous == 2 && wire::lent == 3 && wire::matched == 4 &&
              wire::throttle == 5 && wire::withdraw == 6 && wire::withdrawn == 7 && wire::here == 8 && wire::kinds == 9);
static_assert(wire::is_ready == 1 && wire::wants_match == 2);
static_assert(sizeof(wire::eager_header) == 12 && offsetof(wire::eager_header, context) == 0 && offsetof(wire::eager_header, source) == 4 &&
              offsetof(wire::eager_header, tag) == 8);
static_assert(sizeof(wire::synchronous_header) == 24 && offsetof(wire::synchronous_header, source) == 4 &&
              offsetof(wire::synchronous_header, tag) == 8 && offsetof(wire::synchronous_header, token) == 16);
static_assert(sizeof(wire::lent_header) == 24 && offsetof(wire::lent_header, source) == 4 && offsetof(wire::lent_header, tag) == 8 &&
              offsetof(wire::lent_header, flags) == 12 && offsetof(wire::lent_header, token) == 16);
static_assert(sizeof(wire::here_header) == 32 && offsetof(wire::here_header, source) == 4 && offsetof(wire::here_header, tag) == 8 &&
              offsetof(wire::here_header, bytes) == 12 && offsetof(wire::here_header, token) == 16 &&
              offsetof(wire::here_header, where) == 24);
static_assert(sizeof(wire::matched_message) == 8);
static_assert(sizeof(wire::throttle_message) == 8 && offsetof(wire::throttle_message, on) == 4);

TEST(matching_wire, is_pinned_above) {}

} // namespace
