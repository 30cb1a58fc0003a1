#pragma once
// When a rank that waits over lanes looks whether others died, or finished without it.

#include "collective/lanes/lanes.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace towline::collective {

/// The look costs a cache line that its owner writes: it is due after so many looks for what is waited for. These come quickly while the
/// thread spins, and about twice in a fifth of a second while it sleeps: it is due before each sleep as well.
class seldom {
public:
    seldom() = default;
    explicit seldom(lanes const& l) noexcept : sleeps_(&l.sleeps()), seen_(sleeps_->load(std::memory_order_relaxed)) {}

    /// Called with each look for what is waited for.
    [[nodiscard]] bool is_due(std::uint32_t every) noexcept
    {
        std::uint64_t const now = sleeps_->load(std::memory_order_relaxed);
        return std::exchange(seen_, now) != now || ++looks_ % every == 0;
    }

private:
    std::atomic<std::uint64_t> const* sleeps_ = nullptr;  ///< a pointer, as the question comes with every look
    std::uint64_t seen_ = 0;
    std::uint32_t looks_ = 0;
};

} // namespace towline::collective
