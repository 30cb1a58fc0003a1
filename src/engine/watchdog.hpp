#pragma once
// The watchdog: what this process waits for, and which calls it runs, is told in its slot of the job once it lasts, for `towline where` and
// for the lowest rank of the job, which says so where nobody goes on (TOWLINE_WATCHDOG, TOWLINE_WATCHDOG_ABORT). Each face says what its
// waits are for; times, threads and the search are here.

#include "engine/engine.hpp"
#include "job/job.hpp"
#include "job/waits.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace towline::engine {

/// What a face knows of its waits. Its functions are called by the watchdog, one at a time, on threads that wait or on the background
/// thread; they may look at anything, and must not wait, send, poll or throw anything but std::exception.
class wait_teller {
public:
    /// Fills in all but times and threads. `waits`: of the threads that wait, the oldest first; none: calls run while no thread waits.
    virtual void tell(std::span<long_wait const> waits, job::wait_report&) = 0;
    /// A number that changes when something has moved that no wait has seen.
    [[nodiscard]] virtual std::uint64_t moved() { return 0; }
    /// Calls of other ranks are under way here, so that the process is worth a look while none of its threads waits.
    [[nodiscard]] virtual bool has_calls() noexcept { return false; }

protected:
    ~wait_teller() = default;
};

class watchdog {
public:
    /// Reads the settings; throws usage_error. Before the first wait of the engine, which lives longer, as does the teller. `many_threads`:
    /// threads that do not wait may do what others wait for.
    watchdog(job::membership&, engine&, wait_teller&, bool many_threads);
    ~watchdog();
    watchdog(watchdog const&) = delete;
    watchdog& operator=(watchdog const&) = delete;

private:
    void look(long_wait const&) noexcept;
    [[nodiscard]] bool look_from_outside(bool in_time) noexcept;
    void tell();
    void search();
    /// Whether a fresh answer of the other nodes is there; asks them otherwise.
    [[nodiscard]] bool know_other_nodes(std::int64_t now);
    [[nodiscard]] bool computes();

    job::membership& job_;
    engine& engine_;
    wait_teller& teller_;
    std::chrono::nanoseconds patience_;  ///< max(): off
    bool aborts_;
    bool many_threads_;

    std::mutex mutex_;
    std::vector<void const*> threads_;  ///< that wait, the oldest first
    std::vector<long_wait> waits_;      ///< theirs
    bool told_ = false;                 ///< of this standstill
    bool published_ = false;
    std::uint32_t question_ = 0;        ///< to other nodes, the last; 0: none so far
    std::int64_t asked_ns_ = 0;
    std::uint64_t moved_ = 0;
    std::int64_t moved_ns_ = 0;
    std::int64_t measured_ns_ = 0;      ///< when the use of processors was read last, and what it was
    std::int64_t processor_ns_ = 0;
    std::int64_t interruptions_ = 0;
    bool computes_ = false;
};

} // namespace towline::engine
