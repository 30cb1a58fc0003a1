// Pins docs/wire.md, "Engine messages": a change here is a change of the format.
#include "engine/copy_task.hpp"
#include "engine/push_window.hpp"
#include "engine/wire.hpp"
#include "heap/heap.hpp"

#include <cstddef>
#include <gtest/gtest.h>

namespace {

namespace heap = towline::heap;
namespace wire = towline::engine::wire;
using wire::how;

static_assert(wire::message == 0 && wire::fragment == 1 && wire::done == 2 && wire::pull == 3 && wire::piece == 4 &&
              wire::help == 5 && wire::helped == 6 && wire::push == 7 && wire::pushed == 8 &&
              wire::first_direct == 16 &&
              wire::direct_handlers == 240);
static_assert(wire::wants_delivered == 1 && wire::wants_released == 2 && wire::was_refused == 4 && wire::flag_bits == 3);
static_assert(wire::refused == ~std::uint64_t{0} && wire::least_eager == 64);

static_assert(sizeof(wire::message_header) == 16 && offsetof(wire::message_header, head_bytes) == 0 &&
              offsetof(wire::message_header, handler) == 4 && offsetof(wire::message_header, blocks) == 6 &&
              offsetof(wire::message_header, id_flags) == 8);
static_assert(sizeof(wire::descriptor) == 16 && offsetof(wire::descriptor, size_how) == 0 && offsetof(wire::descriptor, where) == 8);
static_assert(sizeof(wire::fragment_header) == 24 && offsetof(wire::fragment_header, total) == 8 && offsetof(wire::fragment_header, offset) == 16);
static_assert(sizeof(wire::done_message) == 8);
static_assert(sizeof(wire::pull_message) == 40 && offsetof(wire::pull_message, fetch) == 8 && offsetof(wire::pull_message, offset) == 16 &&
              offsetof(wire::pull_message, bytes) == 24 && offsetof(wire::pull_message, block) == 32);
static_assert(sizeof(wire::help_message) == 40 && offsetof(wire::help_message, number) == 8 && offsetof(wire::help_message, task) == 16 &&
              offsetof(wire::help_message, destination) == 24 && offsetof(wire::help_message, block) == 32);
static_assert(sizeof(wire::helped_message) == 8);
static_assert(sizeof(wire::push_message) == 32 && offsetof(wire::push_message, number) == 8 && offsetof(wire::push_message, window) == 16 &&
              offsetof(wire::push_message, block) == 24);
static_assert(sizeof(wire::pushed_message) == 8);
static_assert(sizeof(towline::engine::push_window) == 16576 && offsetof(towline::engine::push_window, filled) == 64 &&
              offsetof(towline::engine::push_window, emptied) == 128 && offsetof(towline::engine::push_window, piece) == 192);
static_assert(towline::engine::push_window::closed == 0 && towline::engine::push_window::open == 1 &&
              towline::engine::push_window::entered == 2);
static_assert(sizeof(towline::engine::copy_task) == 128 && offsetof(towline::engine::copy_task, copied) == 64 &&
              offsetof(towline::engine::copy_task, tell) == 68 &&
              offsetof(towline::engine::copy_task, past_caches) == 72);
static_assert(sizeof(wire::piece_header) == 16 && offsetof(wire::piece_header, offset) == 8);

TEST(engine_wire, numbers_are_pinned)
{
    how const all[] = {how::inside,  how::given,  how::staged,     how::mapped,      how::attached,
                       how::exposed, how::pulled, how::given_here, how::staged_here, how::mapped_here};
    for (std::size_t i = 0; i < std::size(all); ++i)
        EXPECT_EQ(static_cast<std::size_t>(all[i]), i);
    EXPECT_EQ(static_cast<std::size_t>(how::count_), std::size(all));

    auto const d = wire::descriptor::make(how::mapped, 0x1234, 7);
    EXPECT_EQ(d.size_how, 0x123403u);
    EXPECT_EQ(d.where, 7u);
    EXPECT_EQ(wire::descriptor::make(how::inside, 9, 0).inside_bytes(), 9u);
    EXPECT_EQ(wire::descriptor::make(how::attached, 9, 0).inside_bytes(), 0u);
    EXPECT_EQ(wire::descriptor::make(how::exposed, 9, 0).inside_bytes(), 32u);
    EXPECT_EQ(wire::descriptor::make(how::pulled, 9, 0).inside_bytes(), 0u);
}

TEST(engine_wire, a_shared_address_is_one_word)
{
    std::uint64_t const word = heap::pack({.arena = 5, .reserved = 0, .offset = 0x123456789ab});
    EXPECT_EQ(word, std::uint64_t{5} << 44 | 0x123456789ab);
    EXPECT_EQ(heap::unpack(word).arena, 5u);
    EXPECT_EQ(heap::unpack(word).offset, 0x123456789abu);
    EXPECT_EQ(heap::pack({.arena = 1u << 20, .reserved = 0, .offset = 0}), 0u);
    EXPECT_EQ(heap::pack({.arena = 0, .reserved = 0, .offset = std::uint64_t{1} << 44}), 0u);
}

} // namespace
