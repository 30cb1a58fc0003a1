#pragma once
// The watchdog: what this process waits for is told in its slot of the job once a wait lasts, for `towline where` and for the lowest rank of
// the job, which says so where nobody goes on (TOWLINE_WATCHDOG, TOWLINE_WATCHDOG_ABORT).

#include "engine/engine.hpp"
#include "job/job.hpp"
#include "job/waits.hpp"
#include "matching/matcher.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace towline::mpi {

class watchdog {
public:
    /// Reads the settings; throws usage_error.
    watchdog(job::membership&, matching::matcher&, int thread_level);
    ~watchdog();
    watchdog(watchdog const&) = delete;
    watchdog& operator=(watchdog const&) = delete;

private:
    /// A thread that waits.
    struct waiting {
        void const* thread;
        engine::long_wait about;
    };

    void look(engine::long_wait const&) noexcept;
    void tell();
    void search();
    [[nodiscard]] bool computes();

    job::membership& job_;
    matching::matcher& matcher_;
    std::chrono::nanoseconds patience_;  ///< max(): off
    bool aborts_;
    bool many_threads_;

    std::mutex mutex_;
    std::vector<waiting> waiting_;  ///< oldest first
    bool told_ = false;             ///< of this standstill
    std::int64_t measured_ns_ = 0;  ///< when the use of processors was read last, and what it was
    std::int64_t processor_ns_ = 0;
    std::int64_t interruptions_ = 0;
    bool computes_ = false;
};

/// What a call waits for among the operations under way: of a collective operation its messages, else all.
[[nodiscard]] job::wait_report report_of(char const* call, matching::waited const* detail,
                                         std::vector<matching::pending_operation> const& pending);

} // namespace towline::mpi
