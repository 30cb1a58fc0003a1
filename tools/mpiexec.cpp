// `mpiexec`, also called `mpirun`: the launcher of `towline run`, for hands that know MPI.

#include "base/settings.hpp"
#include "run.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"
#include "words.hpp"

#include <exception>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace tools = towline::tools;

namespace {

constexpr std::string_view help = R"(Usage: mpiexec [options] [-n N] PROGRAM [arguments...] [: [options] [-n N] PROGRAM [arguments...]]...

Starts ranks on this machine; more than it has cores is fine. Options may have one dash or two.

Of one program, and of the next only where they are given again:
  -n, -np, -c N          number of ranks (1); -N, -npernode N where none of these is given
  -wdir, -wd FOLDER      working directory
  -path FOLDERS          where PROGRAM is looked for before PATH, with colons between
  -env NAME VALUE        sets a variable; -envlist A,B passes these alone, -envnone nothing, -envall (default) everything
Of the whole job:
  -genv NAME VALUE       the same for all programs; also -genvlist, -genvnone, -genvall, -gwdir, -gpath
  -x NAME[=VALUE]        the same as -genv
  -configfile FILE       the programs, each a line of FILE with its options; # begins a comment
  -l, -prepend-rank, -tag-output   the rank in front of each line of output: [3] text
  -stdin, -s RANK|none   who reads the standard input (0)
  -timeout TIME          ends the job after so many seconds (or 500ms, 2m, 1h), exit code 124; also MPIEXEC_TIMEOUT
  -bind-to core|none     core: rank r is bound to core r modulo the cores allowed (none: the system places ranks)
  -keep-going, -disable-auto-cleanup   a rank that ends does not end the job
  -heap on|off           off: no shared heap for big allocations of malloc
  -q, -quiet             does not tell how ranks ended
  -v, -verbose           tells what is started
  -h, -help; -V, -version, -info
Where they mean this machine: -host, -hosts, -H NAMES, -f, -hostfile, -machinefile FILE, -ppn, -perhost N.
Accepted, with nothing to do: -oversubscribe, -map-by and -rank-by core|slot|node, -allow-run-as-root, -use-hwthread-cpus,
-report-bindings, -launcher fork, -mca NAME VALUE.

The exit code is the first that is not 0 (128 + the signal of a killed rank); 124 timeout, 125 the job could not be started, 126 PROGRAM
not executable, 127 not found, 2 wrong usage. Output comes in whole lines. The first ^C goes to the ranks, the second kills them.
Ranks find MPI_LOCALRANKID and MPI_LOCALNRANKS, TOWLINE_RANK and TOWLINE_SIZE in their environment.
)";

} // namespace

int main(int argc, char** argv)
{
    std::string_view const path = argc > 0 ? argv[0] : "mpiexec";
    std::string const name(path.substr(path.rfind('/') + 1));
    try {
        tools::mpiexec_words words = tools::read_mpiexec(name, {argv + 1, argv + argc});
        if (words.help) {
            fmt::print("{}", help);
            return 0;
        }
        if (words.version) {
            auto const [major, minor, patch] = towline::library_version();
            fmt::print("{} (Towline) {}.{}.{}\n", name, major, minor, patch);
            return 0;
        }
        words.options.heap = words.options.heap && towline::base::setting_switch("TOWLINE_HEAP", true);
        return tools::run(words.options);
    } catch (towline::usage_error const& e) {
        fmt::print(stderr, "{}: {}\nTry '{} --help'.\n", name, e.what(), name);
        return tools::exit_usage;
    } catch (std::exception const& e) {
        fmt::print(stderr, "{}: {}\n", name, e.what());
        return tools::exit_failed;
    }
}
