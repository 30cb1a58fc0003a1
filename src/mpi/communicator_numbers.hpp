#pragma once
// The numbers of communicators, which make their contexts. One process of the communicator chooses: no agreement of all is needed
// (number_pool.hpp). Members tell it when they have no use for the number any more.

#include "engine/engine.hpp"
#include "mpi/number_pool.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace towline::mpi {

/// What a member says to the process that gave out the number (docs/wire.md, "Communicators").
struct returned_number {
    std::uint32_t number;
};

/// One per process; all processes make theirs at the same place in the order of add_handler. Thread-safe.
class communicator_numbers {
public:
    static constexpr std::uint32_t none = number_pool::none;

    /// Registers a handler.
    explicit communicator_numbers(engine::engine&);
    communicator_numbers(communicator_numbers const&) = delete;
    communicator_numbers& operator=(communicator_numbers const&) = delete;

    /// For the process that chooses.
    [[nodiscard]] number_pool& pool() noexcept { return pool_; }

    /// This process, a member, is done with the number. Sends nothing: may be called anywhere, under any lock.
    void give_back(std::uint32_t number) noexcept;
    /// Tells those whom it concerns what was given back. Where communicators are made and freed.
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
