#pragma once
// What people write behind mpiexec and mpirun: the options of the MPI standard (11.5), and those of MPICH and Open MPI that mean something
// on one machine.

#include "run.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace towline::tools {

/// A command of mpiexec, understood.
struct mpiexec_words {
    run_options options;
    bool help = false;     ///< nothing else counts then
    bool version = false;  ///< the same
    std::vector<std::string> meaningless;  ///< options that were accepted, and that nothing here does
};

/// Throws usage_error with what is wrong. Looks at hostfiles and config files.
[[nodiscard]] mpiexec_words read_mpiexec(std::string name, std::vector<std::string> const& arguments);

/// Every option that read_mpiexec takes, without dashes, and how many values stand behind it.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> mpiexec_options();

/// The lines of a file for -configfile as one command: a line is a program with its options, # begins a comment, \ at its end continues it;
/// words may be quoted. Throws usage_error.
[[nodiscard]] std::vector<std::string> words_of_configuration(std::string_view text);

} // namespace towline::tools
