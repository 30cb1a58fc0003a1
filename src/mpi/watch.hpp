#pragma once
// Reports what MPI calls wait for to the watchdog (engine/watchdog.hpp).

#include "engine/watchdog.hpp"
#include "matching/matcher.hpp"

#include <vector>

namespace towline::mpi {

class wait_teller final : public engine::wait_teller {
public:
    explicit wait_teller(matching::matcher& m) noexcept : matcher_(m) {}
    void tell(std::span<engine::long_wait const>, job::wait_report&) override;

private:
    matching::matcher& matcher_;
};

/// The operations in flight that a call waits for: of a collective operation its messages, else all.
[[nodiscard]] job::wait_report report_of(char const* call, matching::waited const* detail,
                                         std::vector<matching::pending_operation> const& pending);

} // namespace towline::mpi
