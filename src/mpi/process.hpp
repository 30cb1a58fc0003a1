#pragma once
// This process while MPI runs: what MPI_Init makes and MPI_Finalize ends.

#include "collective/lanes/lane_queue.hpp"
#include "collective/lanes/node_memory.hpp"
#include "engine/engine.hpp"
#include "matching/matcher.hpp"
#include "mpi/communicator.hpp"
#include "mpi/communicator_numbers.hpp"
#include "mpi/phase.hpp"
#include "mpi/watch.hpp"

#include <atomic>
#include <memory>
#include <pthread.h>

namespace towline::mpi {

class process {
public:
    /// Joins the job; returns when all ranks have called it. Throws what joining throws. One thread at a time.
    static void start(int argc, char* const* argv, int thread_level);
    /// Completes pending operations, waits for all ranks and leaves the job. One thread at a time.
    static void finish();

    /// The process, between start and finish.
    [[nodiscard]] static process& instance() noexcept { return *instance_.load(std::memory_order_acquire); }
    [[nodiscard]] static process* instance_or_null() noexcept { return instance_.load(std::memory_order_acquire); }

    [[nodiscard]] communicator& world() noexcept { return *world_; }
    [[nodiscard]] communicator& self() noexcept { return *self_; }
    [[nodiscard]] engine::engine& engine() noexcept { return *engine_; }
    [[nodiscard]] matching::matcher& matcher() noexcept { return *matcher_; }
    /// The memory of collective operations over lanes.
    [[nodiscard]] collective::node_memory& node_memory() noexcept { return *node_memory_; }
    [[nodiscard]] collective::lane_queue& lane_queue() noexcept { return lane_queue_; }
    [[nodiscard]] communicator_numbers& numbers() noexcept { return *numbers_; }
    /// The buffer attached for buffered sends of any communicator.
    [[nodiscard]] bsend_space& buffer() noexcept { return buffer_; }

    /// The level that MPI_Init_thread gave, and whether this is the thread that called it. Both are valid after MPI_Finalize, too.
    [[nodiscard]] static int thread_level() noexcept;
    [[nodiscard]] static bool is_main_thread() noexcept;

private:
    process();
    /// Returns when all ranks have called it and no rank needs anything more of this one.
    void part();
    /// Barrier of all ranks; if deaths do not end the job, of all living ranks.
    void meet();
    /// Exchanges an empty message with another rank for that; false if it has ended.
    bool tell(int rank, int tag);
    bool hear(int rank, int tag);
    /// Warns in one line about receives that got no message and messages that were not received.
    void report_leftovers();

    static inline std::atomic<process*> instance_{nullptr};
    std::unique_ptr<engine::engine> engine_;
    std::unique_ptr<matching::matcher> matcher_;
    std::unique_ptr<communicator_numbers> numbers_;
    std::unique_ptr<wait_teller> wait_teller_;
    std::unique_ptr<engine::watchdog> watchdog_;
    std::unique_ptr<collective::node_memory> node_memory_;
    collective::lane_queue lane_queue_;
    bsend_space buffer_;
    ref<communicator> world_;
    ref<communicator> self_;
};

} // namespace towline::mpi
