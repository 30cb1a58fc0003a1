#pragma once
// TOWLINE_CHECK=collectives: before an operation the ranks of a team compare their calls.

#include "collective/schedule.hpp"
#include "collective/team.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::collective {

/// Whether they do: of all ranks the same.
[[nodiscard]] bool checks_calls();

/// The call of one rank. Fields that keep their value from here are not compared.
struct call_card {
    static constexpr std::uint64_t any = ~std::uint64_t{0};
    std::array<char, 40> name{};
    std::int32_t root = -1;
    std::uint32_t reserved = 0;
    std::uint64_t bytes = any;  ///< that this rank and another have to agree on
    std::uint64_t type = any;   ///< the kind of element
    std::uint64_t operation = any;

    void set_name(std::string_view) noexcept;
};
static_assert(sizeof(call_card) == 72);

class call_check {
public:
    call_check(team const&, call_card const& mine);

    /// An operation under team::check_sequence, to be run to its end.
    void build(schedule&);

    enum class part : std::uint8_t { call, root, bytes, type, operation };
    struct difference {
        part what;
        std::string text;  ///< names two ranks and their calls
    };
    /// After it was successful; the same on all ranks. Nothing: all call the same.
    [[nodiscard]] std::optional<difference> find() const;

private:
    team const& team_;
    call_card mine_;
    std::vector<call_card> cards_;
};

} // namespace towline::collective
