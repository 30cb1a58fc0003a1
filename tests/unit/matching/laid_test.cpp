// Messages whose data do not lie in a row: what is remembered is right whatever was remembered before, and what a peer says of a layout is
// believed in nothing.

#include "../layout/random_types.hpp"
#include "layout/stream.hpp"
#include "matching/laid.hpp"
#include "matching/wire.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <towline/error.hpp>
#include <vector>

namespace {

using namespace towline;
using namespace random_types;
using matching::copy_laid;
using matching::laid_message;
using matching::laid_sink;
namespace wire = matching::wire;

// With all that is remembered. Before anything asks for it.
bool const wished = ::setenv("TOWLINE_LAYOUT", "optimized", 1) == 0;

TEST(laid_headers, are_refused_where_they_cannot_be_one)
{
    wire::laid_header const good{1, 0, 0, 3, 7, 64, 64, 128, 64, {0, 0}};
    EXPECT_TRUE(wire::is_possible(good));
    auto const with = [&](auto change) {
        auto h = good;
        change(h);
        return wire::is_possible(h);
    };
    constexpr auto most = ~std::uint64_t{0};
    EXPECT_FALSE(with([](auto& h) { h.token = 0; }));
    EXPECT_FALSE(with([](auto& h) { h.where = 0; }));
    EXPECT_FALSE(with([](auto& h) { h.form = 0; }));
    EXPECT_FALSE(with([](auto& h) { h.words = 0; }));
    EXPECT_FALSE(with([](auto& h) { h.bytes = 0; }));
    EXPECT_FALSE(with([&](auto& h) { h.bytes = most; }));
    EXPECT_FALSE(with([](auto& h) { h.span = 0; }));
    EXPECT_FALSE(with([&](auto& h) { h.span = most; }));
}

/// What a sender shows of `count` elements, as matching/laid.cpp makes it; the memory is that of the span.
struct shown {
    std::vector<std::uint64_t> form;
    layout::meaning meaning;
    i64 low = 0, span = 0, bytes = 0;

    shown(layout::datatype const& t, i64 count)
    {
        i64 const last = (count - 1) * t.extent();
        low = t.true_lb() + std::min<i64>(0, last);
        span = t.true_ub() + std::max<i64>(0, last) - low;
        layout::placed whole = layout::elements_of(t, count);
        whole.displacement -= low;
        form = layout::serialize(whole);
        meaning = layout::meaning_of(whole);
        bytes = whole.size();
    }
    [[nodiscard]] laid_message message(std::vector<std::byte> const& memory) const
    {
        return {memory, form, meaning, static_cast<std::uint64_t>(bytes)};
    }
};

constexpr i64 room = 1 << 16;

std::optional<shown> shown_of(layout::datatype const& t, i64 count)
{
    if (t.size() == 0)
        return std::nullopt;
    shown s(t, count);
    return s.span <= room ? std::optional(s) : std::nullopt;
}

std::vector<std::byte> some_bytes(i64 n, unsigned seed)
{
    std::vector<std::byte> b(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<std::byte>(i * 31 + (i >> 8) * 7 + seed);
    return b;
}

// A few types meet again and again, so that most copies are by what was remembered, of other sides and other lengths, too.
TEST(laid_messages, arrive_as_packing_would_bring_them)
{
    ASSERT_TRUE(wished && matching::wished_design() == matching::layout_design::optimized);
    int copies = 0;
    with_seeds(30, [&](maker& random) {
        std::vector<both> types;
        for (int i = 0; i < 5; ++i)
            types.push_back(random.make(static_cast<int>(random.pick(0, 3))));
        for (int turn = 0; turn < 150; ++turn) {
            layout::datatype const& out = types[static_cast<std::size_t>(random.pick(0, 4))].real;
            layout::datatype const& in = types[static_cast<std::size_t>(random.pick(0, 4))].real;
            i64 const sent = random.pick(1, 4), taken = random.pick(1, 4);
            auto const s = shown_of(out, sent);
            auto const place = shown_of(in, taken);
            if (!s || !place)
                continue;
            auto const memory = some_bytes(s->span, static_cast<unsigned>(turn));
            layout::stream const from(out, sent), to(in, taken);
            i64 const bytes = std::min(from.size(), to.size());
            std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
            from.pack(memory.data() - s->low, 0, bytes, packed.data());

            auto expected = some_bytes(place->span, 99), got = expected;
            to.unpack(expected.data() - place->low, 0, bytes, packed.data());
            copy_laid({&in, taken, got.data() - place->low}, s->message(memory));
            ASSERT_EQ(got, expected);

            std::vector<std::byte> row(packed.size());
            copy_laid({nullptr, bytes, row.data()}, s->message(memory));
            ASSERT_EQ(row, packed);
            ++copies;
        }
    });
    EXPECT_GT(copies, 0);
}

TEST(laid_messages, that_lie_are_refused)
{
    auto const t = layout::vector(16, 8, 24, layout::datatype::of(layout::kind::byte));
    shown const s(t, 1);
    auto const memory = some_bytes(s.span, 1);
    std::vector<std::byte> row(128);
    laid_sink const to{nullptr, 128, row.data()};
    auto const refuses = [&](laid_message const& m) {
        row.assign(row.size(), std::byte{7});
        EXPECT_THROW(copy_laid(to, m), layout::bad_layout);
        EXPECT_EQ(row, std::vector<std::byte>(row.size(), std::byte{7}));
    };
    for (bool const known : {false, true}) {
        if (known)
            copy_laid(to, s.message(memory));
        laid_message m = s.message(memory);
        m.memory = m.memory.first(m.memory.size() - 1);  // reaches beyond what it has
        refuses(m);
        m = s.message(memory);
        m.bytes = 127;
        refuses(m);
        m.bytes = 129;
        refuses(m);
        m = s.message(memory);
        m.form = m.form.first(m.form.size() - 1);
        m.meaning.first ^= 1;
        refuses(m);
        m = s.message(memory);
        m.meaning.second ^= 1;  // means something else than it says
        refuses(m);
        m.meaning = {};         // nothing is remembered
        EXPECT_NO_THROW(copy_laid(to, m));
        m.memory = m.memory.first(m.memory.size() - 1);
        refuses(m);
    }
}

// Copies nothing that lies elsewhere, whatever the words are.
TEST(laid_messages, of_broken_words_stay_within_their_memory)
{
    with_seeds(2000, [](maker& random) {
        both const type = random.make(static_cast<int>(random.pick(0, 3)));
        auto s = shown_of(type.real, random.pick(1, 4));
        if (!s)
            return;
        for (i64 i = random.pick(1, 3); i > 0; --i) {
            auto& word = s->form[static_cast<std::size_t>(random.pick(0, static_cast<i64>(s->form.size()) - 1))];
            word = random.pick(0, 1) != 0 ? word ^ std::uint64_t{1} << random.pick(0, 63)
                                          : word + static_cast<std::uint64_t>(random.pick(-64, 64));
        }
        // Its own block of memory, so that a sanitizer sees what is read behind it.
        auto const memory = some_bytes(s->span, 5);
        std::vector<std::byte> row(static_cast<std::size_t>(s->bytes));
        s->meaning = {};
        try {
            copy_laid({nullptr, s->bytes, row.data()}, s->message(memory));
        } catch (layout::bad_layout const&) {
        }
    });
}

TEST(laid_messages, go_into_types_that_are_nested_too_deep_for_a_plan)
{
    // Each level holds the one below and more pieces than are made one list.
    layout::datatype const byte = layout::datatype::of(layout::kind::byte);
    layout::datatype t = byte;
    std::vector<i64> const ones(300, 1);
    int levels = 0;
    for (; levels < 1000; ++levels) {
        std::vector<i64> at(ones.size());
        std::vector<layout::datatype> parts(ones.size(), byte);
        parts[0] = t;
        for (std::size_t i = 1; i < at.size(); ++i)
            at[i] = t.extent() + static_cast<i64>(i * i);
        try {
            t = layout::structure(ones, at, parts);
        } catch (limit_error const&) {
            break;
        }
    }
    ASSERT_LT(levels, 1000);
    EXPECT_THROW((void)layout::elements_of(t, 2), limit_error);

    shown const s(layout::vector(t.size() * 2, 1, 2, byte), 1);
    auto const memory = some_bytes(s.span, 3);
    std::vector<std::byte> packed(static_cast<std::size_t>(s.bytes));
    for (std::size_t i = 0; i < packed.size(); ++i)
        packed[i] = memory[2 * i];
    auto expected = some_bytes(2 * t.extent(), 9), got = expected;
    layout::stream(t, 2).unpack(expected.data(), 0, s.bytes, packed.data());
    copy_laid({&t, 2, got.data()}, s.message(memory));
    EXPECT_EQ(got, expected);
}

} // namespace
