#include "fuzz/layouts.hpp"

#include "layout/copy_plan.hpp"
#include "layout/serial.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace towline::test {
namespace {

void require(bool condition, char const* what)
{
    if (!condition) {
        std::fprintf(stderr, "layouts: %s\n", what);
        std::abort();
    }
}

[[nodiscard]] std::int64_t bounded(std::uint64_t word)
{
    return static_cast<std::int64_t>(word % (static_cast<std::uint64_t>(most_layout_bytes) + 1));
}

} // namespace

bool feed_layout(std::span<std::uint8_t const> input)
{
    std::vector<std::uint64_t> words(input.size() / sizeof(std::uint64_t));
    if (words.size() < 2)
        return false;
    std::memcpy(words.data(), input.data(), words.size() * sizeof(std::uint64_t));
    std::int64_t const size = bounded(words[0]), room = bounded(words[1]);
    std::span<std::uint64_t const> const form = std::span(words).subspan(2);
    layout::placed tree;
    try {
        tree = layout::deserialize(form, size, {0, room});
    } catch (layout::bad_layout const& e) {
        require(*e.what() != '\0', "a layout is refused without a word");
        return false;
    }
    require(tree.size() == size, "a layout has another size than it was read for");

    // Its bytes are in its segment: around that nothing changes.
    constexpr std::size_t guard = 4096;
    constexpr std::byte untouched{0x5a}, moved{0xa5};
    std::vector<std::byte> memory(static_cast<std::size_t>(room) + 2 * guard, untouched);
    std::vector<std::byte> row(static_cast<std::size_t>(size), moved);
    layout::placed const block = layout::make_block(layout::kind::byte, size);
    layout::copy_plan(tree, block).copy(memory.data() + guard, row.data());
    auto const is_untouched = [](std::byte b) { return b == untouched; };
    require(std::all_of(memory.begin(), memory.begin() + guard, is_untouched) && std::all_of(memory.end() - guard, memory.end(), is_untouched),
            "a layout reaches out of its segment");
    std::ranges::fill(row, untouched);
    layout::copy_plan(block, tree).copy(row.data(), memory.data() + guard);
    require(std::ranges::all_of(row, [](std::byte b) { return b == moved; }), "what was put by a layout is not found by it");

    auto const again = layout::serialize(tree);
    require(layout::meaning_of(layout::deserialize(again, size, {0, room})) == layout::meaning_of(tree),
            "a layout means something else when it was written down");
    return true;
}

} // namespace towline::test
