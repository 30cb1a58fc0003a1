#pragma once
// Finding what a rank should run, before anything is started.

#include "run.hpp"

#include <string>

namespace towline::tools {

/// The path that exec should get in the part's folder, searched as a shell does, in its `search` folders first. 0, or the exit code where
/// there is none; the reason was printed then.
int find_program(std::string const& command, program_part const&, std::string& path);

/// Whether ranks can work in that folder (empty: they can). 0, or the exit code; the reason was printed then.
int check_folder(std::string const& command, std::string const& folder);

} // namespace towline::tools
