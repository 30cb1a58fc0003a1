#pragma once
// Numbers of communicators, from which contexts derive. One process of the communicator chooses the number, so that not all members have to
// agree (number_pool.hpp). Each member returns it to that process when it no longer uses it.

#include "engine/engine.hpp"
#include "mpi/number_pool.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace towline::mpi {

/// The message that returns a number to the process that gave it out (docs/wire.md, "Communicators").
struct returned_number {
    std::uint32_t number;
};

/// One per process. All processes construct it at the same place in the order of add_handler. Thread-safe.
class communicator_numbers {
public:
    static constexpr std::uint32_t none = number_pool::none;

    /// Registers a handler.
    explicit communicator_numbers(engine::engine&);
    communicator_numbers(communicator_numbers const&) = delete;
    communicator_numbers& operator=(communicator_numbers const&) = delete;

    /// For the process that chooses.
    [[nodiscard]] number_pool& pool() noexcept { return pool_; }

    /// This member no longer uses the number. Sends nothing, so it may be called anywhere, under any lock.
    void give_back(std::uint32_t number) noexcept;
    /// Sends the returned numbers to their owners. Called where communicators are made and freed.
    void tell() noexcept;

private:
    static void on_returned(void*, engine::engine&, engine::incoming&);

    engine::engine& engine_;
    number_pool pool_;
    engine::handler_id handler_ = 0;
    std::mutex mutex_;
    std::vector<std::uint32_t> untold_;
};

} // namespace towline::mpi
