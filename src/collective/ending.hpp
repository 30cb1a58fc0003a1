#pragma once
// How an operation ended, and how a rank tells others that it has failed.
//
// A failed operation goes on to its end: it takes every message that is still to come and sends every message that others wait for, as a
// word of failure in place of the data. So whoever is alive ends, the messages of later operations find their receives, and no buffer is
// in use after the end. The word is told from data by its size, which is never what the receiver expects, and by its bytes.

#include "matching/envelope.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace towline::collective {

enum class ending : std::uint8_t {
    ok,
    mismatch,   ///< a message was longer or shorter than its receiver expected: the ranks gave arguments that do not fit together
    peer_died,  ///< of a rank that takes part; not necessarily noticed by this rank first
    lost,       ///< a message could not be brought, or there was no memory for it
};

namespace word_of_failure {

inline constexpr std::byte filling{0xa7};
inline constexpr std::size_t most = 61 + 64;

/// In bytes, where `expected` are expected.
[[nodiscard]] constexpr std::uint64_t size(ending why, std::uint64_t expected) noexcept
{
    std::uint64_t const bytes = why == ending::mismatch ? 53 : why == ending::peer_died ? 59 : 61;
    return bytes == expected ? bytes + 64 : bytes;
}

[[nodiscard]] std::span<std::byte const> bytes(ending why, std::uint64_t expected) noexcept;

/// What a message means that was not as long as expected. Of what came, `seen` is what its receiver had room for.
[[nodiscard]] ending read(std::span<std::byte const> seen, std::uint64_t came, std::uint64_t expected) noexcept;

} // namespace word_of_failure
} // namespace towline::collective
