#pragma once
// `towline tune`: measures the ways of the engine on this machine and writes the sizes from which on each pays.

#include <string>

namespace towline::tools {

struct tune_options {
    std::string output;   ///< empty: where engine::tuning looks for it
    bool quick = false;
    bool show = false;    ///< print the file that is used, measure nothing
    bool as_rank = false; ///< this process is one of the two that measure
};

/// The command; the exit code. Throws towline::error where nothing could be started.
int tune(tune_options const&);

/// One of the two processes that measure; rank 0 decides, and writes `options.output`.
int tune_as_rank(tune_options const&);

} // namespace towline::tools
