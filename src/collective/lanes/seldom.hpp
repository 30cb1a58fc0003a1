#pragma once
// When a rank that waits over lanes looks whether others died, or finished without it.

#include "collective/lanes/lanes.hpp"

#include <cstdint>
#include <utility>

namespace towline::collective {

/// The look costs a cache line that its owner writes: it is due after so many looks for what is waited for. These come quickly while the
/// thread spins, and about twice in a fifth of a second while it sleeps: it is due before each sleep as well.
class seldom {
public:
    seldom() = default;
    explicit seldom(lanes const& l) noexcept : sleeps_(l.sleeps()) {}

    /// Called with each look for what is waited for.
    [[nodiscard]] bool is_due(lanes const& l, std::uint32_t every) noexcept
    {
        std::uint64_t const now = l.sleeps();
        return std::exchange(sleeps_, now) != now || ++looks_ % every == 0;
    }

private:
    std::uint64_t sleeps_ = 0;
    std::uint32_t looks_ = 0;
};

} // namespace towline::collective
