#pragma once
// What an agent gets to know of the job: the options and the surroundings of its front, as CBOR.

#include "hub.hpp"
#include "run.hpp"

#include <string>
#include <vector>

namespace towline::tools {

struct description {
    run_options options;
    node_part node;                        ///< but for `link`
    std::vector<std::string> environment;  ///< NAME=VALUE
    std::string folder;                    ///< working directory
    unsigned mask = 022;                   ///< of new files
    bool joined = false;                   ///< standard output and error are one
};

[[nodiscard]] std::string packed(description const&);
/// Throws error where the text is no description.
[[nodiscard]] description description_in(std::string const& text);

} // namespace towline::tools
