#pragma once
// How an operation ended, and how a rank tells others that it has failed.
//
// A failed operation goes on to its end: it receives every message that is still to come, and sends every message for which others wait, as
// a word of failure in place of the data. So all living ranks end, the messages of later operations find their receives, and no buffer is
// in use after the end. The word differs from data in its size, which is never what the receiver expects, and in its bytes.

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
    lost,       ///< the bytes of a message could not be copied, or there was no memory for it
};

namespace word_of_failure {

inline constexpr std::byte filling{0xa7};
/// Bytes of the word: primes, so that data seldom have so many; longer where they have.
inline constexpr std::uint64_t mismatch = 53, peer_died = 59, lost = 61, longer = 64;
inline constexpr std::size_t most = lost + longer;

/// In bytes, where `expected` are expected.
[[nodiscard]] constexpr std::uint64_t size(ending why, std::uint64_t expected) noexcept
{
    std::uint64_t const bytes = why == ending::mismatch ? mismatch : why == ending::peer_died ? peer_died : lost;
    return bytes == expected ? bytes + longer : bytes;
}

[[nodiscard]] std::span<std::byte const> bytes(ending why, std::uint64_t expected) noexcept;

/// The meaning of a message that was not as long as expected. `seen`: its bytes, as far as the receiver had room.
[[nodiscard]] ending read(std::span<std::byte const> seen, std::uint64_t came, std::uint64_t expected) noexcept;

} // namespace word_of_failure
} // namespace towline::collective
