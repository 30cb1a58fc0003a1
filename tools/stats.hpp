#pragma once
// What a job did, from the counters in its control block (job/counters.hpp names them).

#include "job/file.hpp"

#include <string>

namespace towline::tools {

/// A table for people: a line per rank and a total, a line for each other counter that is not 0, and the ways of messages and blocks
/// (ways.hpp).
[[nodiscard]] std::string stats_table(job::control_view const&, double seconds);
/// {"job", "seconds", "ranks": [{"rank", every counter by name, "ways"}], "total": {...}}
[[nodiscard]] std::string stats_json(job::control_view const&, double seconds);

/// Writes the text to a new file; false, with errno, where that fails.
[[nodiscard]] bool write_file(std::string const& path, std::string const& text);
/// Why a file cannot be written there; empty if it can. Makes nothing.
[[nodiscard]] std::string unwritable(std::string const& path);

/// "1.5 GiB", "17 B"; "-" for none.
[[nodiscard]] std::string human_bytes(std::uint64_t);
/// "12.3 M", "17"; "-" for none.
[[nodiscard]] std::string human_count(std::uint64_t);

} // namespace towline::tools
