#pragma once
// Programs that bring an allocator of their own, or a tool that replaces it: libtowline-malloc.so is not preloaded for them.

#include "run.hpp"

#include <string>

namespace towline::tools {

/// What was found in the command of one part, readable ("./solver is built with the address sanitizer"); both empty: nothing.
struct instrumentation {
    std::string no_preload;     ///< why nothing may be preloaded
    std::string small_segments; ///< why the address space of a process is small
};

/// Looks at the program that was found, at the interpreters of a script, and at every word of the command that names a program (as in
/// `numactl -N 0 ./solver`); at `preloaded`, the LD_PRELOAD that the ranks get besides. What a script starts is not known here.
[[nodiscard]] instrumentation instrumentation_of(program_part const&, std::string const& program, std::string const& preloaded);

} // namespace towline::tools
