#pragma once
// The cursors of writer and reader. They are passed by value, each in one register: as members, every stored byte might alias them, and
// together with the end GCC keeps the pair in memory. The ends are members: they are only compared, so that their loads delay nothing.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace towline::detail {

struct out_cursor {
    std::byte* p;
};

struct in_cursor {
    std::byte const* p;
};

template <class T> [[gnu::always_inline]] inline void store_raw(std::byte* p, T value)
{
    std::memcpy(p, &value, sizeof value);
}

template <class T> [[gnu::always_inline]] inline T load_raw(std::byte const* p)
{
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

/// memcpy without a call for the sizes of names and short arrays: moves of one width, the last of which overlaps the one before.
[[gnu::always_inline]] inline void copy_bytes(void* to, void const* from, std::size_t n)
{
    auto* d = static_cast<std::byte*>(to);
    auto const* s = static_cast<std::byte const*>(from);
    auto const ends = [&]<std::size_t Width>(std::integral_constant<std::size_t, Width>) __attribute__((always_inline)) {
        std::memcpy(d, s, Width);
        std::memcpy(d + n - Width, s + n - Width, Width);
    };
    if (n <= 32) {
        if (n >= 16) {
            ends(std::integral_constant<std::size_t, 16>{});
        } else if (n >= 8) {
            ends(std::integral_constant<std::size_t, 8>{});
        } else if (n >= 4) {
            ends(std::integral_constant<std::size_t, 4>{});
        } else if (n >= 2) {
            ends(std::integral_constant<std::size_t, 2>{});
        } else if (n == 1) {
            *d = *s;
        }
    } else if (n <= 64) {
        ends(std::integral_constant<std::size_t, 32>{});
    } else if (n <= 128) { // as few stores as possible: stores limit this
        std::memcpy(d, s, 32);
        std::memcpy(d + 32, s + 32, 32);
        if (n > 96) {
            std::memcpy(d + 64, s + 64, 32);
        }
        std::memcpy(d + n - 32, s + n - 32, 32);
    } else {
        std::memcpy(d, s, n);
    }
}

// Counts: a first byte of 0x00 to 0xFB is the count itself; 0xFC, 0xFD, 0xFE announce 2, 4, 8 bytes (the shortest form is the only one
// that is accepted); 0xFF announces 8 bytes of count of a range whose elements are the next chunk. First byte and rest may lie apart.
inline constexpr std::uint8_t count_u16 = 0xFC;
inline constexpr std::uint8_t count_u32 = 0xFD;
inline constexpr std::uint8_t count_u64 = 0xFE;
inline constexpr std::uint8_t count_chunk = 0xFF;
inline constexpr std::size_t max_count_size = 9;

[[gnu::always_inline]] inline std::byte first_of_count(std::uint64_t n)
{
    if (n < count_u16) [[likely]] {
        return static_cast<std::byte>(n);
    }
    return std::byte{n <= 0xFFFF ? count_u16 : n <= 0xFFFF'FFFF ? count_u32 : count_u64};
}

/// What follows the first byte. Needs max_count_size - 1 bytes of room.
[[gnu::always_inline]] inline std::byte* put_rest_of_count(std::byte* p, std::uint64_t n)
{
    if (n < count_u16) [[likely]] {
        return p;
    }
    store_raw(p, n);
    return p + (n <= 0xFFFF ? 2 : n <= 0xFFFF'FFFF ? 4 : 8);
}

/// Needs max_count_size bytes of room.
[[gnu::always_inline]] inline std::byte* put_count(std::byte* p, std::uint64_t n)
{
    *p = first_of_count(n);
    return put_rest_of_count(p + 1, n);
}

/// Bytes from p to the next multiple of Align. The index starts at a multiple of 16 on both sides, so addresses serve as offsets.
template <std::size_t Align> [[gnu::always_inline]] inline std::size_t padding_at(void const* p)
{
    constexpr std::size_t align = Align < 16 ? Align : 16;
    return -reinterpret_cast<std::uintptr_t>(p) & (align - 1);
}

} // namespace towline::detail
