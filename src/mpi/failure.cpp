// The members of failure that need a communicator.

#include "mpi/failure.hpp"

#include "mpi/communicator.hpp"

namespace towline::mpi {

failure::failure(int code, std::string what) : code_(code), what_(std::move(what)) {}
failure::failure(failure const&) noexcept = default;
failure::~failure() = default;

failure failure::on(communicator& comm) const
{
    failure f = *this;
    f.raised_on_ = ref<communicator>(comm);
    return f;
}

} // namespace towline::mpi
