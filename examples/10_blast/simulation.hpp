#pragma once
// A whole run: from the deck to the pictures and the report.

#include "deck.hpp"
#include "exchange.hpp"
#include "layout.hpp"
#include "options.hpp"

#include <string>
#include <vector>

namespace blast {

/// The files that a run of this deck writes into the output folder.
std::vector<std::string> picture_paths(deck const& d, options const& o);

/// Makes the folder and throws std::runtime_error if it, or a file that is there already, is in the way.
void prepare_output(deck const& d, options const& o);

/// All processes of the exchange call it; process 0 prints.
void simulate(deck const& d, options const& o, layout const& cut, exchange& others);

} // namespace blast
