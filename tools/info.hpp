#pragma once
// `towline info`: the features of this machine, which of them Towline uses, and why not the others.

namespace towline::tools {

/// Prints to standard output; the exit code.
int info(bool json);

} // namespace towline::tools
