// Distributes the number of a new communicator to its members, and collects returned numbers.

#include "mpi/communicator_numbers.hpp"

#include "base/log.hpp"

#include <towline/error.hpp>

#include <cstring>
#include <new>
#include <span>

namespace towline::mpi {

communicator_numbers::communicator_numbers(engine::engine& e)
    : engine_(e), pool_(static_cast<process_id>(e.rank()), static_cast<int>(e.size())), handler_(e.add_handler(&on_returned, this))
{
}

void communicator_numbers::give_back(std::uint32_t number) noexcept
{
    if (pool_.owner(number) == static_cast<process_id>(engine_.rank())) {
        (void)pool_.give_back(number);
        return;
    }
    try {
        std::scoped_lock const lock(mutex_);
        untold_.push_back(number);
    } catch (std::bad_alloc const&) {
        // The number is never reused.
    }
}

void communicator_numbers::tell() noexcept
{
    std::vector<std::uint32_t> numbers;
    {
        std::scoped_lock const lock(mutex_);
        numbers.swap(untold_);
    }
    for (std::uint32_t const n : numbers) {
        returned_number const message{n};
        try {
            engine_.send_small(static_cast<engine::peer>(pool_.owner(n)), handler_, std::as_bytes(std::span(&message, 1)));
        } catch (std::exception const&) {
            // That process gives out no more numbers, or never reuses this one.
        }
    }
}

void communicator_numbers::on_returned(void* self, engine::engine&, engine::incoming& message)
{
    returned_number m{};
    bool const whole = message.head().size() == sizeof m;
    if (whole)
        std::memcpy(&m, message.head().data(), sizeof m);
    if (!whole || !static_cast<communicator_numbers*>(self)->pool_.give_back(m.number))
        base::log(base::log_level::warning, "rank {} gave back the number of a communicator that it is no member of: ignored",
                  message.source());
}

} // namespace towline::mpi
