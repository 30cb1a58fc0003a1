#pragma once
// `towline info`: what this machine offers, what will be used of it, and why the rest is not.

namespace towline::tools {

/// Prints to standard output; the exit code.
int info(bool json);

} // namespace towline::tools
