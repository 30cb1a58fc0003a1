// Pins docs/wire.md, "Matching": a change here is a change of the format.
#include "matching/relay.hpp"
#include "matching/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>

namespace {

namespace wire = towline::matching::wire;

static_assert(wire::eager == 0 && wire::ready == 1 && wire::synchronous == 2 && wire::lent == 3 && wire::matched == 4 &&
              wire::throttle == 5 && wire::withdraw == 6 && wire::withdrawn == 7 && wire::here == 8 && wire::relayed == 9 &&
              wire::laid == 10 && wire::help == 11 && wire::kinds == 12);
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
static_assert(sizeof(wire::laid_header) == 72 && offsetof(wire::laid_header, source) == 4 && offsetof(wire::laid_header, tag) == 8 &&
              offsetof(wire::laid_header, words) == 12 && offsetof(wire::laid_header, token) == 16 &&
              offsetof(wire::laid_header, bytes) == 24 && offsetof(wire::laid_header, where) == 32 &&
              offsetof(wire::laid_header, span) == 40 && offsetof(wire::laid_header, form) == 48 &&
              offsetof(wire::laid_header, meaning) == 56);
static_assert(sizeof(wire::help_header) == 72 && offsetof(wire::help_header, task) == 8 && offsetof(wire::help_header, number) == 16 &&
              offsetof(wire::help_header, words) == 20 && offsetof(wire::help_header, bytes) == 24 &&
              offsetof(wire::help_header, where) == 32 && offsetof(wire::help_header, span) == 40 &&
              offsetof(wire::help_header, form) == 48 && offsetof(wire::help_header, meaning) == 56);
static_assert(sizeof(wire::relayed_header) == 32 && offsetof(wire::relayed_header, source) == 4 && offsetof(wire::relayed_header, tag) == 8 &&
              offsetof(wire::relayed_header, bytes) == 12 && offsetof(wire::relayed_header, number) == 16 &&
              offsetof(wire::relayed_header, ready) == 20 && offsetof(wire::relayed_header, where) == 24);
static_assert(wire::past_caches == std::uint32_t{1} << 31);
using towline::matching::relay_block;
namespace thresholds = towline::matching::thresholds;
static_assert(sizeof(relay_block) == 128 && offsetof(relay_block, filled) == 0 && offsetof(relay_block, freed) == 64 &&
              relay_block::word(3, 4096) == 0x3'0000'1000 && thresholds::relay_most == 1 << 20);
static_assert(sizeof(wire::matched_message) == 8);
static_assert(sizeof(wire::throttle_message) == 8 && offsetof(wire::throttle_message, on) == 4);

TEST(matching_wire, is_pinned_above) {}

} // namespace
