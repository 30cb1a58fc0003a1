// Makes and recognizes words of failure.

#include "collective/ending.hpp"

#include <algorithm>
#include <array>

namespace towline::collective::word_of_failure {

std::span<std::byte const> bytes(ending why, std::uint64_t expected) noexcept
{
    static auto const all = [] {
        std::array<std::byte, most> a;
        a.fill(filling);
        return a;
    }();
    return {all.data(), size(why, expected)};
}

ending read(std::span<std::byte const> seen, std::uint64_t came, std::uint64_t expected) noexcept
{
    for (ending const why : {ending::peer_died, ending::lost}) {
        if (came == size(why, expected) && std::all_of(seen.begin(), seen.end(), [](std::byte b) { return b == filling; }))
            return why;
    }
    return ending::mismatch;
}

} // namespace towline::collective::word_of_failure
