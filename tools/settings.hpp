#pragma once

#include "run.hpp"

namespace towline::tools {

/// Throws usage_error where a setting has a value that cannot be used, for any program of the job; warns of unknown settings.
void check_settings(run_options const&);

} // namespace towline::tools
