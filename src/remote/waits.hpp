#pragma once
// Reports the waits and running calls of this process to the watchdog (engine/watchdog.hpp).

#include "engine/watchdog.hpp"
#include "matching/matcher.hpp"

#include <towline/detail/state.hpp>

#include <optional>

namespace towline::remoting {

class runtime;

/// What a wait of this face is for, as far as known.
struct waiting : engine::wait_detail {
    explicit waiting(detail::state_base const* state = nullptr) noexcept;

    detail::state_base const* future;             ///< only compared, never dereferenced
    int rank = -1;                                ///< the awaited world rank; -1: none in particular
    std::optional<matching::context_id> context;  ///< the context of a team whose messages are awaited
};

class wait_watch final : public engine::wait_teller {
public:
    /// Registers with the runtime's engine, before its first wait. Throws usage_error for wrong settings of the watchdog.
    wait_watch(runtime&, job::membership&);

    void tell(std::span<engine::long_wait const>, job::wait_report&) override;
    [[nodiscard]] std::uint64_t moved() override;
    [[nodiscard]] bool has_calls() noexcept override;

private:
    runtime& runtime_;
    engine::watchdog dog_;
};

/// The name of a function without its arguments: "count" of "count(std::vector<int> const&)".
[[nodiscard]] std::string short_name(std::string_view readable);

} // namespace towline::remoting
