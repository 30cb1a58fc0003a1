#include "mpi/error_instances.hpp"

#include "mpi/abi.hpp"

namespace towline::mpi {

error_instances& error_instances::instance()
{
    static error_instances& all = *new error_instances;  // never destroyed: programs call MPI from destructors
    return all;
}

int error_instances::add(int error_class, std::string text) noexcept
{
    if (error_class <= MPI_SUCCESS || error_class >= classes || error_class == MPI_ERR_IN_STATUS || error_class == MPI_ERR_PENDING)
        return error_class;
    if (text.size() >= MPI_MAX_ERROR_STRING)
        text.replace(MPI_MAX_ERROR_STRING - 4, std::string::npos, "...");
    std::scoped_lock const lock(mutex_);
    std::uint32_t const number = next_++ % numbers;
    entry& e = newest_[number % kept];
    e.code = mark | static_cast<int>(number) * classes | error_class;
    e.text = std::move(text);
    return e.code;
}

std::optional<std::string> error_instances::text_of(int code) const
{
    std::scoped_lock const lock(mutex_);
    entry const& e = newest_[static_cast<std::uint32_t>(code & (mark - 1)) / classes % kept];
    return e.code == code ? std::optional(e.text) : std::nullopt;
}

} // namespace towline::mpi
