#pragma once
// The data that benchmarks move: 64-bit words whose sum is known, so that reading all of them is also the check.

#include <cstddef>
#include <cstdint>
#include <span>

namespace bench {

using word = std::uint64_t;

/// Words of a buffer of so many bytes.
[[nodiscard]] constexpr std::size_t words(std::uint64_t bytes) noexcept
{
    return static_cast<std::size_t>(bytes / sizeof(word));
}

/// Writes every word: seed, seed + 1, seed + 2, ...
inline void rewrite(std::span<word> data, word seed) noexcept
{
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = seed + i;
}

/// Reads every word.
[[nodiscard]] inline word sum(std::span<word const> data) noexcept
{
    word total = 0;
    for (word const w : data)
        total += w;
    return total;
}

/// The sum of what `rewrite` wrote.
[[nodiscard]] constexpr word expected(std::size_t count, word seed) noexcept
{
    auto const n = static_cast<word>(count);
    return n * seed + (n % 2 == 0 ? (n / 2) * (n - 1) : n * ((n - 1) / 2));
}

/// Sizes of one argument, and of what is handed over.
inline constexpr std::uint64_t argument_sizes[] = {std::uint64_t{64} << 10, std::uint64_t{1} << 20, std::uint64_t{16} << 20,
                                                   std::uint64_t{256} << 20};
inline constexpr std::uint64_t handover_sizes[] = {std::uint64_t{64} << 10, std::uint64_t{1} << 20, std::uint64_t{16} << 20,
                                                   std::uint64_t{256} << 20, std::uint64_t{1} << 30};
inline constexpr char const* modes[] = {"untouched", "rewritten"};

/// Operations to time one by one in a sample of a size: the short ones need several.
[[nodiscard]] constexpr int repeats(std::uint64_t bytes) noexcept
{
    return bytes <= (std::uint64_t{64} << 10) ? 16 : bytes <= (std::uint64_t{1} << 20) ? 4 : 1;
}

} // namespace bench
