#pragma once
// Whether a rank has a copy engine of its own, and on which core: TOWLINE_ONLOAD=off|on|auto|CORE.
//
//   auto (default)  a helper where cores are spare: the job's cores outnumber its ranks, and there is more than one rank
//   on              a helper anyway; without a spare core it takes turns with the ranks
//   CORE            a helper, on that core (as the kernel numbers them: 0 and 1 are cores here)
//   off             none
// A helper runs on a core that no rank is bound to. Where ranks are not bound the system places both.

#include "onload/copy_engine.hpp"
#include "onload/helper_engine.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::onload {

enum class wish : std::uint8_t { off, on, automatic, core };

struct request {
    wish what = wish::automatic;
    int core = -1;
};

/// From TOWLINE_ONLOAD. Throws usage_error for a value that is none of the above, and for a core that this process may not use.
[[nodiscard]] request requested();
[[nodiscard]] std::optional<request> parse_request(std::string_view) noexcept;

/// What is known of the job and its machine.
struct surroundings {
    unsigned rank = 0;
    unsigned ranks = 1;
    unsigned cores = 1;           ///< that the ranks share, after the cgroup's quota, less one for each rank of another node on them
    std::vector<int> allowed{};   ///< their numbers, as far as this process knows
    std::vector<int> bound{};     ///< cores that ranks are bound to; empty: ranks are not bound
};

struct placement {
    bool on = false;
    std::vector<int> cores{};     ///< for helper_options
    bool spare = false;           ///< no rank is expected where it runs; else ranks and helpers outnumber the cores
    bool own_core = false;        ///< no rank and no other helper is to be expected there: it may spin
    std::string why{};            ///< in words, for people: "2 cores for 2 ranks: none is spare"
};

[[nodiscard]] placement place(request, surroundings const&);

/// The same in words, for jobs on a machine with so many cores whatever their ranks; false: no job has a helper.
[[nodiscard]] bool explain(request, unsigned cores, std::string& text);

/// The copy engine of a placement: a helper, or where that is off, or cannot be (logged at level info), the inline engine.
[[nodiscard]] std::unique_ptr<copy_engine> open(placement const&, helper_options);

/// Numbers as "0-3,8" (as in TOWLINE_CORES, which the launcher sets for its ranks); nothing for anything else.
[[nodiscard]] std::optional<std::vector<int>> parse_cores(std::string_view);

} // namespace towline::onload
