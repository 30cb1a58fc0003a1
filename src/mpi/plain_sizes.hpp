#pragma once
// Sizes of the datatypes of most messages, looked up by the handle alone.

#include "mpi/abi.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace towline::mpi {

/// Sizes of the predefined datatypes without gaps, indexed by the last 8 bits of their handles; 0: none.
inline constexpr std::array<std::uint8_t, 256> plain_sizes = [] {
    std::array<std::uint8_t, 256> s{};
    auto const set = [&s](std::size_t size, std::initializer_list<unsigned> places) {
        for (unsigned const p : places)
            s[p] = static_cast<std::uint8_t>(size);
    };
    set(8, {0x01, 0x02, 0x03});                                     // AINT, COUNT, OFFSET
    set(1, {0x07});                                                 // PACKED
    set(sizeof(short), {0x08, 0x0c});
    set(sizeof(int), {0x09, 0x0d, 0x18, 0x19});                     // and LOGICAL, INTEGER
    set(sizeof(long), {0x0a, 0x0e});
    set(sizeof(long long), {0x0b, 0x0f});
    set(sizeof(float), {0x10, 0x1a});
    set(2 * sizeof(float), {0x12, 0x13, 0x1b, 0x30});               // complex, 2REAL
    set(sizeof(double), {0x14, 0x1c});
    set(2 * sizeof(double), {0x16, 0x17, 0x1d, 0x31});
    set(sizeof(long double), {0x20});
    set(2 * sizeof(long double), {0x24, 0x25});
    set(1, {0x1e, 0x38, 0x39});                                     // CHARACTER, C_BOOL, CXX_BOOL
    set(sizeof(wchar_t), {0x3c});
    set(8, {0x28, 0x2b, 0x32});                                     // FLOAT_INT, 2INT, 2INTEGER
    for (unsigned const p : {0x40, 0x41, 0x43, 0x44, 0x45, 0x47, 0x48, 0x49, 0x50, 0x51, 0x58, 0x59, 0xc0, 0xc1, 0xc8, 0xc9, 0xca, 0xd0,
                             0xd1, 0xd2, 0xd3, 0xd8, 0xd9, 0xda, 0xdb, 0xe0, 0xe1, 0xe2, 0xe3, 0xeb})
        s[p] = static_cast<std::uint8_t>(1u << (p >> 3 & 7));       // the size is in the handle
    return s;
}();

/// The size of a predefined datatype without gaps; 0 for any other.
[[nodiscard]] inline std::int64_t plain_size(MPI_Datatype datatype) noexcept
{
    std::uintptr_t const place = reinterpret_cast<std::uintptr_t>(datatype) - 0x200;
    return place < plain_sizes.size() ? plain_sizes[place] : 0;
}

} // namespace towline::mpi
