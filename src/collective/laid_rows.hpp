#pragma once
// Results that do not lie in a row. Over lanes, what a rank takes from another goes straight to where it belongs, by a function of whoever
// has the layout. The schedule knows such a result by the row in its scratch memory that stands for it. What other ranks write there, or
// what is read from there again, or combined, is in that memory as in any other case, and the owner of the result unpacks it at the end.
//
// One thread at a time.

#include "collective/lanes/lane_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace towline::collective {

class laid_rows {
public:
    /// Puts `bytes` bytes at `from` where those from byte `first` of the row on belong. Must not throw, wait or communicate.
    using unpack_function = void (*)(void const* context, std::uint64_t first, std::uint64_t bytes, void const* from);

    struct row {
        std::byte const* at;
        std::uint64_t bytes;
        unpack_function unpack;
        void const* context;
        bool is_straight = true;  ///< what is taken into it, and copied, goes to where it belongs
        bool is_written = false;  ///< other ranks write some of it

        [[nodiscard]] std::uint64_t offset_of(void const* memory) const noexcept
        {
            return static_cast<std::uint64_t>(static_cast<std::byte const*>(memory) - at);
        }
        void put(void const* to, std::uint64_t size, void const* from) const
        {
            if (size != 0)
                unpack(context, offset_of(to), size, from);
        }
    };

    void clear() noexcept { rows_.clear(); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    void add(std::byte const* at, std::uint64_t bytes, unpack_function unpack, void const* context)
    {
        if (bytes != 0)
            rows_.push_back({at, bytes, unpack, context});
    }
    /// All have been added: finds out what the steps do with them.
    void settle(std::vector<lane_step> const& steps);
    /// The straight row with this memory, or null.
    [[nodiscard]] row const* find(void const* memory) const noexcept
    {
        row const* const found = around(memory);
        return found != nullptr && found->is_straight ? found : nullptr;
    }
    /// All steps have been run. Unpacks of this row what is in its memory; all of it, unless it is a straight one.
    void finish(std::byte const* at, std::vector<lane_step> const& steps) const;

private:
    [[nodiscard]] row const* around(void const* memory) const noexcept;
    /// To be changed.
    [[nodiscard]] row* find_any(void const* memory) noexcept { return const_cast<row*>(around(memory)); }
    void keep(void const* memory) noexcept;

    std::vector<row> rows_;
};

} // namespace towline::collective
