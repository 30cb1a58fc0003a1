// The text of a system_error.

#include "towline/error.hpp"

#include <fmt/format.h>
#include <system_error>

namespace towline {

system_error::system_error(std::string const& what, int errnum)
    : error(fmt::format("{}: {}", what, std::generic_category().message(errnum))), code_(errnum)
{
}

} // namespace towline
