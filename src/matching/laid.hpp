#pragma once
// Messages of data with gaps. The sender writes its layout into shared memory, once for a datatype and a count; the receiver copies the
// data from where they are to where its own layout puts them, each byte once. It remembers layouts that it has read, and the copy plans
// that it made of them, by what they mean: neither a freed datatype nor a reused handle or address can mislead it.
//
// Or the sender packs into a relay block (relay.hpp) while the receiver unpacks from it: two copies, but at the same time, and no cache
// line of either buffer moves to the other core. That is faster for data that are rewritten for each message, and works from any memory.

#include "layout/copy_plan.hpp"
#include "layout/datatype.hpp"
#include "layout/serial.hpp"
#include "matching/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace towline::matching {

/// As TOWLINE_LAYOUT has it: how messages of derived datatypes travel where the receiver can read the sender's memory.
enum class layout_design : std::uint8_t {
    pack,       ///< the sender packs, then the receiver unpacks
    pipelined,  ///< both at the same time, by way of a relay block
    basic,      ///< straight; layouts are written, read and joined for each message
    memo,       ///< the sender keeps the layouts that it wrote, the receiver those that it read
    optimized,  ///< and the copy plans; or pipelined, where that is measured to be faster
};
[[nodiscard]] layout_design wished_design();

/// The layout of a datatype and a count, written down in shared memory, where peers read it. Immutable. Any thread.
class shown_layout {
public:
    /// Null if there is no shared memory for it, or it is nested too deep.
    [[nodiscard]] static std::shared_ptr<shown_layout const> make(layout::datatype const&, std::int64_t count) noexcept;
    ~shown_layout();
    shown_layout(shown_layout const&) = delete;
    shown_layout& operator=(shown_layout const&) = delete;

    /// The bytes that it touches: [low, low + span) from the buffer.
    [[nodiscard]] std::int64_t low() const noexcept { return low_; }
    [[nodiscard]] std::uint64_t span() const noexcept { return span_; }
    /// Its form (layout/serial.hpp); displacement 0 is the first byte of the span.
    [[nodiscard]] std::span<std::uint64_t const> form() const noexcept { return form_; }
    [[nodiscard]] layout::meaning const& meaning() const noexcept { return meaning_; }

private:
    shown_layout() = default;
    std::int64_t low_ = 0;
    std::uint64_t span_ = 0;
    std::span<std::uint64_t> form_;
    layout::meaning meaning_;
};

/// The data of a message: `count` elements at `buffer`, of `bytes` bytes. `shown` is null where the receiver cannot, or shall not, copy
/// them from there.
struct laid_source {
    layout::datatype const* type = nullptr;
    std::int64_t count = 0;
    void const* buffer = nullptr;
    std::uint64_t bytes = 0;
    shown_layout const* shown = nullptr;
};

/// Where a message goes: `count` elements at `buffer`; without a type, as many bytes in a row.
struct laid_sink {
    layout::datatype const* type = nullptr;
    std::int64_t count = 0;
    void* buffer = nullptr;
    /// What a sender that is to copy with the receiver has to know of it; null, or returns null, where that cannot be. Called with `owner`.
    std::shared_ptr<shown_layout const> (*show)(void* owner) = nullptr;
    void* owner = nullptr;
};

/// A message as the receiver sees it: `bytes` bytes of data in a span of memory, laid out as the form says; without a form they lie in a
/// row. Or the receiver's memory, as the sender sees it.
struct laid_message {
    std::span<std::byte const> memory;
    std::span<std::uint64_t const> form;
    layout::meaning meaning;
    std::uint64_t bytes = 0;
};

/// Copies as many of the bytes as there is room for. Throws layout::bad_layout, std::bad_alloc. Any thread.
void copy_laid(laid_sink const&, laid_message const&);

using shared_plan = std::shared_ptr<layout::copy_plan const>;
/// How a message is copied, remembered or made: from its memory to the sink's buffer. Null where the sink is nested too deep. Throws as
/// copy_laid.
[[nodiscard]] shared_plan plan_to(laid_sink const&, laid_message const&);
/// The same at the sender, from `count` elements of its own to the receiver's memory.
[[nodiscard]] shared_plan plan_from(layout::datatype const&, std::int64_t count, laid_message const& to);

} // namespace towline::matching
