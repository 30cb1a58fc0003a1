// Pins docs/wire.md, "Remote calls": a change here is a change of the format, and needs a new format_version.
#include "remote/registry.hpp"
#include "remote/wire.hpp"

#include <cstddef>
#include <gtest/gtest.h>

namespace {

namespace wire = towline::remoting::wire;

static_assert(wire::format_version == 3);
static_assert(wire::request == 0 && wire::reply == 1 && wire::tree_request == 2 && wire::control == 3 && wire::handlers == 4);
static_assert(wire::packed == 1 && wire::all_given == 2);

static_assert(sizeof(wire::request_footer) == 16 && offsetof(wire::request_footer, action) == 0 && offsetof(wire::request_footer, slot) == 4 &&
              offsetof(wire::request_footer, generation) == 8 && offsetof(wire::request_footer, flags) == 12);
static_assert(sizeof(wire::reply_footer) == 16 && offsetof(wire::reply_footer, slot) == 0 && offsetof(wire::reply_footer, generation) == 4 &&
              offsetof(wire::reply_footer, outcome) == 8 && offsetof(wire::reply_footer, flags) == 10 &&
              offsetof(wire::reply_footer, entries) == 12);
static_assert(sizeof(wire::error_header) == 16 && offsetof(wire::error_header, rank) == 0 && offsetof(wire::error_header, type_bytes) == 4 &&
              offsetof(wire::error_header, text_bytes) == 8);
static_assert(sizeof(wire::tree_footer) == 32 && offsetof(wire::tree_footer, action_id) == 0 &&
              offsetof(wire::tree_footer, argument_bytes) == 8 && offsetof(wire::tree_footer, slot) == 16 &&
              offsetof(wire::tree_footer, generation) == 20 && offsetof(wire::tree_footer, ranks) == 24 &&
              offsetof(wire::tree_footer, flags) == 28);
static_assert(sizeof(wire::tree_entry) == 32 && offsetof(wire::tree_entry, rank) == 0 && offsetof(wire::tree_entry, outcome) == 4 &&
              offsetof(wire::tree_entry, flags) == 6 && offsetof(wire::tree_entry, blocks) == 8 && offsetof(wire::tree_entry, bytes) == 16);
static_assert(sizeof(wire::control_message) == 32 && offsetof(wire::control_message, a) == 4 && offsetof(wire::control_message, b) == 8 &&
              offsetof(wire::control_message, c) == 16 && offsetof(wire::control_message, d) == 24);

TEST(remote_wire, numbers_are_pinned)
{
    using wire::control_kind, wire::status;
    status const statuses[] = {status::ok,      status::exception, status::unknown_action, status::limit,
                               status::archive, status::version,   status::usage,          status::peer,
                               status::cancelled};
    for (std::size_t i = 0; i < std::size(statuses); ++i)
        EXPECT_EQ(static_cast<std::size_t>(statuses[i]), i);
    EXPECT_EQ(static_cast<std::size_t>(status::count_), std::size(statuses));
    control_kind const kinds[] = {control_kind::barrier, control_kind::end_report, control_kind::end_verdict,
                                  control_kind::goodbye, control_kind::stop,       control_kind::table,
                                  control_kind::cancel};
    for (std::size_t i = 0; i < std::size(kinds); ++i)
        EXPECT_EQ(static_cast<std::size_t>(kinds[i]), i);
    EXPECT_EQ(static_cast<std::size_t>(control_kind::count_), std::size(kinds));
}

TEST(remote_wire, ids_are_fnv_1a)
{
    EXPECT_EQ(towline::remoting::hash_name(""), 0xcbf29ce484222325u);
    EXPECT_EQ(towline::remoting::hash_name("a"), 0xaf63dc4c8601ec8cu);
    EXPECT_EQ(towline::remoting::hash_name("foobar"), 0x85944171f73967e8u);
}

} // namespace
