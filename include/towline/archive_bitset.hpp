#pragma once
// The archive of std::bitset: bytes, the first bit in the lowest place; unused bits of the last byte are zero.

#include <towline/archive.hpp>

#include <bitset>

namespace towline::detail {

template <std::size_t N> struct codec<std::bitset<N>> : fixed_codec<(N + 7) / 8> {
    static void store(std::byte* p, std::bitset<N> const& v)
    {
        std::memset(p, 0, (N + 7) / 8);
        for (std::size_t i = 0; i < N; ++i) {
            p[i / 8] |= static_cast<std::byte>(v[i] ? 1U << i % 8 : 0U);
        }
    }
    static void load(archive_reader& r, std::byte const* p, std::bitset<N>& v)
    {
        if constexpr (N % 8 != 0) {
            if (std::to_integer<unsigned>(p[N / 8]) >> N % 8 != 0) {
                r.fail_value(p + N / 8, "bits beyond the last", "zeros there", typeid(v));
            }
        }
        for (std::size_t i = 0; i < N; ++i) {
            v[i] = (std::to_integer<unsigned>(p[i / 8]) >> i % 8 & 1U) != 0;
        }
    }
};
template <> struct codec<std::bitset<0>> : empty_codec<std::bitset<0>> {};

} // namespace towline::detail
