// Flushes standard output at the end of a command.

#include "output.hpp"

#include "run.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace towline::tools {

int output_failed(std::string_view command, int error) noexcept
{
    std::fprintf(stderr, "%.*s: the standard output cannot be written: %s\n", static_cast<int>(command.size()), command.data(),
                 error != 0 ? std::strerror(error) : "something was lost");
    return exit_failed;
}

int finish_output(std::string_view command, int code) noexcept
{
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        return output_failed(command, errno);
    // Some file systems tell an error only when a descriptor is closed.
    if (int const same = dup(STDOUT_FILENO); same >= 0 && close(same) != 0 && errno != EINTR)
        return output_failed(command, errno);
    return code;
}

} // namespace towline::tools
