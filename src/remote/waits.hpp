#pragma once
// What this process waits for in remote calls and teams, and which calls it runs, for the watchdog (engine/watchdog.hpp).

#include "engine/watchdog.hpp"
#include "matching/matcher.hpp"

#include <towline/detail/state.hpp>

#include <optional>

namespace towline::remoting {

class runtime;

/// The purpose of a wait of this face, as far as it is known.
struct waiting : engine::wait_detail {
    explicit waiting(detail::state_base const* state = nullptr) noexcept;

    detail::state_base const* future;             ///< only compared, never looked into
    int rank = -1;                                ///< of the world, for which it waits; -1: none in particular
    std::optional<matching::context_id> context;  ///< of a team whose messages are awaited
};

class wait_watch final : public engine::wait_teller {
public:
    /// For the runtime's engine, which has not waited yet. Throws usage_error for settings of the watchdog.
    wait_watch(runtime&, job::membership&);

    void tell(std::span<engine::long_wait const>, job::wait_report&) override;
    [[nodiscard]] std::uint64_t moved() override;
    [[nodiscard]] bool has_calls() noexcept override;

private:
    runtime& runtime_;
    engine::watchdog dog_;
};

/// The name of a function without its arguments and what else makes it long: "count" of "count(std::vector<int> const&)".
[[nodiscard]] std::string short_name(std::string_view readable);

} // namespace towline::remoting
