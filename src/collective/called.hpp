#pragma once
// Which operation a rank runs. It says so with what it offers over lanes, so that ranks which call different operations at the same place
// in their order find out (docs/wire.md, "Lanes").

#include "collective/choice.hpp"

#include <cstdint>
#include <string>

namespace towline::collective {

/// A routine and its root, in 16 bits. The default: none.
class called {
public:
    constexpr called() noexcept = default;
    /// allgather and allgatherv are one operation here: ranks that give equal blocks may call either. Root -1: it has none. Roots that
    /// differ by a multiple of 2048 are not told apart.
    constexpr called(routine what, int root) noexcept
        : word_(static_cast<std::uint16_t>(static_cast<unsigned>(what == routine::allgatherv ? routine::allgather : what) |
                                           static_cast<unsigned>(root + 1) << routine_bits))
    {
    }
    [[nodiscard]] static constexpr called from_word(std::uint16_t w) noexcept
    {
        called c;
        c.word_ = w;
        return c;
    }
    [[nodiscard]] constexpr std::uint16_t word() const noexcept { return word_; }
    /// Without the root.
    [[nodiscard]] constexpr unsigned what() const noexcept { return word_ & ((1U << routine_bits) - 1); }
    /// "bcast with root 3", "barrier", "another operation".
    [[nodiscard]] std::string text() const;
    friend constexpr bool operator==(called, called) = default;

private:
    static constexpr int routine_bits = 5;
    static_assert(static_cast<int>(routine::exchange) < 1 << routine_bits);
    std::uint16_t word_ = 0;
};

/// Two ranks that call different operations.
struct different_calls {
    int rank;  ///< of the other one, in the team
    called theirs;  ///< none: it offered nothing, so that its call is not known
    called ours;
};
[[nodiscard]] std::string text_of(different_calls const&);

} // namespace towline::collective
