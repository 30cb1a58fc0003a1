#include "options.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>

namespace blast {

std::optional<options> parse_options(int argc, char** argv, bool talk, int& exit_code)
{
    options o;
    CLI::App app("The Sedov-Taylor blast wave: 3-D Euler equations on blocks that are spread over the processes of a job.\n"
                 "Example: towline run -n 4 10_blast sedov64.toml --output pictures");
    app.add_option("deck", o.deck, "input deck, a TOML file")->required()->type_name("DECKFILE");
    app.add_option("--output", o.output, "folder for the pictures; made if absent")->type_name("DIR")->capture_default_str();
    app.add_option("--blocks", o.blocks, "into how many blocks the grid is cut (default: one for each process)")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20));
    app.add_flag("--checksum", o.checksum, "print a hash of all bits of the final state; it is the same on any number of processes");
    app.add_flag("--quiet", o.quiet, "no progress");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        std::ostringstream out;
        std::ostringstream err;
        exit_code = app.exit(e, out, err) == 0 ? 0 : 2;
        if (talk) {
            std::cout << out.str() << std::flush;
            std::cerr << err.str() << std::flush;
        }
        return std::nullopt;
    }
    return o;
}

} // namespace blast
