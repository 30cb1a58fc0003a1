#pragma once
// Memory that the program has at addresses of its own, and whose pages are the arena's: its static data (.data and .bss). To peers it is a
// block of the heap, which they read and write in place; the program sees no difference.
//
// The pages of a range move into the arena once, before main, while the process has one thread: what they hold is copied to an extent, and
// the extent's part of the job's file is mapped over them. Pages that nobody has touched stay holes. The extent is never given back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::heap {

/// Ranges that were adopted. They are added before main, and read by any thread afterwards.
class adopted_memory {
public:
    struct range {
        std::byte* begin = nullptr;   ///< where the program has it; a page's begin
        std::size_t bytes = 0;        ///< whole pages
        std::byte* shared = nullptr;  ///< the same bytes in the own segment
    };
    static constexpr std::size_t most = 64;

    constexpr adopted_memory() = default;

    /// The byte's other address, in the own segment; null where the range of `size` bytes is not wholly inside one adopted range.
    [[nodiscard]] std::byte* find(void const* pointer, std::size_t size) const noexcept
    {
        if (reinterpret_cast<std::uintptr_t>(pointer) - begin_ >= bytes_)
            return nullptr;
        return find_range(static_cast<std::byte const*>(pointer), size);
    }
    [[nodiscard]] std::span<range const> all() const noexcept { return {ranges_.data(), count_}; }

    /// False where there is no place for another.
    [[nodiscard]] bool add(range const&) noexcept;

private:
    [[nodiscard]] std::byte* find_range(std::byte const* pointer, std::size_t size) const noexcept;

    std::uintptr_t begin_ = 0;  ///< of the hull
    std::size_t bytes_ = 0;
    std::size_t count_ = 0;
    std::array<range, most> ranges_{};
};

/// Whose static data is adopted.
enum class adoption { none, program, libraries };

/// Adopts static data: of the program, and of the libraries that are loaded with it, but those that fork itself works with (libc, the
/// loader, Towline's). Before main; leaves all as it is where the process has several threads, where it is no rank that a launcher
/// started, where memory is committed when it is handed out, or where the kernel refuses. What was adopted is in stats().
void adopt_static_data(adoption whose) noexcept;

} // namespace towline::heap
