#pragma once
// The output files of ranks, by mpiexec's patterns.

#include "base/unique_fd.hpp"

#include <set>
#include <string>
#include <string_view>

namespace towline::tools {

/// With %r the rank, %h the host, %t seconds since 1970, %g and %p 0: jobs have one group, on one machine. Other letters stay.
[[nodiscard]] std::string expanded(std::string_view pattern, int rank, std::string_view host);

/// Files that ranks write into themselves: several may share one.
class pattern_files {
public:
    /// What it holds goes when the job begins. Throws system_error with `option` and the name.
    [[nodiscard]] base::unique_fd open(char const* option, std::string const& name);

private:
    std::set<std::string> begun_;
};

} // namespace towline::tools
