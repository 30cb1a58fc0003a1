#pragma once
// The command line.

#include <optional>
#include <string>

namespace blast {

struct options {
    std::string deck;
    std::string output = "blast";
    int blocks = 0; ///< 0: one for each process
    bool checksum = false;
    bool quiet = false;
};

/// Nothing if the program is to end at once, with `exit_code`; the reason (or the help) was printed if `talk`.
std::optional<options> parse_options(int argc, char** argv, bool talk, int& exit_code);

} // namespace blast
