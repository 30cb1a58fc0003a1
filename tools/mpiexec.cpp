// `mpiexec`, also called `mpirun`: the launcher of `towline run` with the options of MPI launchers.

#include "base/settings.hpp"
#include "output.hpp"
#include "run.hpp"
#include "stats.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"
#include "words.hpp"

#include <exception>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>
#include <vector>

namespace tools = towline::tools;

namespace {

constexpr std::string_view help = R"(Usage: mpiexec [options] [-n N] PROGRAM [arguments...] [: [options] [-n N] PROGRAM [arguments...]]...

Starts ranks on this machine; more than it has cores is fine. Options may have one dash or two.

Of one program; repeat them for the next one:
  -n, -np, -c N          number of ranks (1); -N, -npernode N if none of these is given
  -wdir, -wd FOLDER      working directory
  -path FOLDERS          folders, separated by colons, that are searched for PROGRAM before PATH
  -env NAME VALUE        sets a variable; -envlist A,B passes only these, -envnone none, -envall (default) everything
Of the whole job:
  -genv NAME VALUE       the same for all programs; also -genvlist, -genvnone, -genvall, -gwdir, -gpath
  -x NAME[=VALUE]        the same as -genv
  -configfile FILE       the programs, each a line of FILE with its options; # begins a comment
  -l, -prepend-rank, -tag-output   the rank in front of each line of output: [3] text; -prepend-pattern TEXT puts TEXT there
  -outfile-pattern, -errfile-pattern FILE   where ranks write standard output and standard error; -output-from RANK: of RANK alone. In
                         FILE and TEXT %r is the rank, %h the host, %t seconds since 1970; -outfile, -errfile are the same
  -stdin, -s RANK|none   the rank that reads standard input (0)
  -timeout TIME          ends the job after this time (seconds, or 500ms, 2m, 1h) with exit code 124; also MPIEXEC_TIMEOUT
  -bind-to, -binding core|hwthread|numa|socket|none   binds rank r to the r-th allowed unit, cyclically; none (default): the
                         system places ranks. -map-by UNIT: distributes ranks over these instead. -report-bindings prints the result
  -stats, -stats=FILE    when the job has ended, a table of calls and bytes by the way they moved, on standard error; or JSON in FILE
  -keep-going, -disable-auto-cleanup, -dac   a rank that ends does not end the job; -enable-auto-cleanup cancels this
  -heap on|off           off: no shared heap for big allocations of malloc
  -q, -quiet             does not report how ranks ended
  -v, -verbose, -debug   reports what is started
  -h, -help; -V, -version, -info
  -host, -hosts, -hostlist, -machines, -H a:4,b:4, -f, -hostfile, -machinefile FILE   the machines that run the job, and how many
                         ranks each takes (without a number -ppn, -perhost N, else as many as it has cores); Towline must be installed in
                         the same folder there. -launcher-exec, -bootstrap-exec COMMAND: starts a program there, instead of ssh
Accepted, because they are always in effect: -oversubscribe, -map-by and -rank-by slot, -map-by node, -allow-run-as-root, -launcher and
-bootstrap fork or ssh. Other options of other launchers (-mca NAME VALUE, -display-map, -cpus-per-proc N, ...) are accepted
without effect; one line lists them.

The exit code is the first that is not 0 (128 + the signal of a killed rank); 124 timeout, 125 the job could not be started, 126 PROGRAM
not executable, 127 not found, 2 wrong usage. Output comes in whole lines. The first ^C goes to the ranks, the second kills
them, as do two SIGTERM.
Ranks find MPI_LOCALRANKID and MPI_LOCALNRANKS, TOWLINE_RANK and TOWLINE_SIZE in their environment.
)";

} // namespace

int main(int argc, char** argv)
{
    std::string_view const path = argc > 0 ? argv[0] : "mpiexec";
    std::string const name(path.substr(path.rfind('/') + 1));
    if (argc == 2 && argv[1] == std::string_view("--list-options")) {  // for the completion of shells, and for tests of the help
        for (auto const& [option, values] : tools::mpiexec_options())
            fmt::print("{} {}\n", option, values);
        return 0;
    }
    try {
        tools::mpiexec_words words = tools::read_mpiexec(name, {argv + 1, argv + argc});
        if (words.help) {
            std::fwrite(help.data(), 1, help.size(), stdout);
            return tools::finish_output(name, 0);
        }
        if (words.version) {
            auto const [major, minor, patch] = towline::library_version();
            std::printf("%s (Towline) %d.%d.%d\n", name.c_str(), major, minor, patch);
            return tools::finish_output(name, 0);
        }
        if (!words.meaningless.empty() && !words.options.quiet)
            fmt::print(stderr, "{}: accepted, and means nothing here: {}\n", name, fmt::join(words.meaningless, ", "));
        if (auto const& file = words.options.stats_file; !file.empty())
            if (auto const why = tools::unwritable(file); !why.empty()) {
                fmt::print(stderr, "{}: --stats={}: {}; nothing was started\n", name, file, why);
                return tools::exit_failed;
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
