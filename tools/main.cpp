// The `towline` command.

#include "base/settings.hpp"
#include "hosts.hpp"
#include "info.hpp"
#include "job/file.hpp"
#include "layout.hpp"
#include "output.hpp"
#include "run.hpp"
#include "stats.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"
#include "tune.hpp"
#include "where.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tools = towline::tools;

namespace {

struct run_words {
    std::string ranks;
    std::string stats;
    std::string bind = "none";
    std::string heap = "on";
    std::string timeout;
    std::string hosts;
    std::string hostfile;
};

/// Says in the first line of the help where PROGRAM stands, and that a flag may have a value as people write it.
class run_help : public CLI::Formatter {
public:
    run_help() { column_width(28); }
    std::string make_usage(CLI::App const*, std::string) const override
    {
        return "\nUsage: towline run -n N [options] PROGRAM [arguments...]\n";
    }
    std::string make_option_name(CLI::Option const* option, bool is_positional) const override
    {
        std::string const name = CLI::Formatter::make_option_name(option, is_positional);
        return name.substr(0, name.find('{')) + (name.ends_with("{table}") ? "[=FILE]" : "");
    }
};

/// Where PROGRAM stands in the arguments behind `run`: the first that is neither an option nor an option's value.
std::size_t program_at(CLI::App& run, std::vector<std::string> const& arguments)
{
    std::size_t i = 0;
    while (i < arguments.size() && arguments[i].size() > 1 && arguments[i][0] == '-' && arguments[i] != "--") {
        auto const* option = run.get_option_no_throw(arguments[i]);
        i += option != nullptr && option->get_expected_min() > 0 ? 2 : 1;
    }
    return std::min(i, arguments.size());
}

/// For options that take one of a few words.
auto one_of(std::string first, std::string second)
{
    return CLI::Validator(
        [first, second](std::string const& word) {
            return word == first || word == second ? std::string() : fmt::format("'{}' is neither {} nor {}", word, first, second);
        },
        "");
}

/// An empty word is a variable of a script that was not set, not an option that was left out.
CLI::Validator not_empty()
{
    return {[](std::string const& word) { return std::string(word.empty() ? "the value is empty" : ""); }, ""};
}

void add_hosts(CLI::App& command, tools::run_options& options, run_words& words)
{
    auto* const hosts = command.add_option("--hosts", words.hosts,
                    "the machines that run the job, and how many processes each takes: a:4,b:4. Without numbers, as many as it has\n"
                    "cores. Towline must be installed in the same folder there, and ssh must work without a password")
        ->check(not_empty())
        ->type_name("HOSTS");
    command.add_option("--hostfile", words.hostfile, "the same in a file: a line for each, `a:4` or `a slots=4`; # begins a comment")
        ->check(not_empty())
        ->type_name("FILE")
        ->excludes(hosts);
    command.add_option("--ssh", options.remote_shell,
                    "starts a program on another machine: called with the machine's name, then the command. Used for all machines,\n"
                    "this one, too; without it, `ssh -x -T -o BatchMode=yes` for others. Of more than 16 machines some are\n"
                    "reached from others")
        ->check(not_empty())
        ->type_name("COMMAND");
}

CLI::App* add_run(CLI::App& app, tools::run_options& options, run_words& words)
{
    auto* run = app.add_subcommand("run", "starts a job of N processes on this machine, or on several");
    run->add_option("-n,--ranks", words.ranks, "number of processes, needed; more than cores is fine")->type_name("N");
    add_hosts(*run, options, words);
    run->add_option("--bind", words.bind,
                    "core: rank r is bound to core r modulo the cores allowed, in the order of the topology;\n"
                    "none (default): the system places ranks, which is better if other jobs share the machine")
        ->check(one_of("core", "none"))
        ->type_name("core|none");
    run->add_flag("--stats{table}", words.stats,
                  "when the job has ended, a table of what each rank did and of bytes by the way they moved, on standard error;\n"
                  "--stats=FILE writes JSON there instead. docs/stats.md, or the manual page, explains each column");
    run->add_flag("--tag", options.tag, "puts the rank in front of each line: [3] text");
    run->add_flag("--keep-going", options.keep_going, "a dead rank does not end the job: calls of the others that need it return errors");
    run->add_option("--timeout", words.timeout, "ends the job after this time (seconds, or 500ms, 2m, 1h); exit code 124")
        ->check(not_empty())
        ->type_name("TIME");
    run->add_option("--heap", words.heap, "off: no shared heap for big allocations of malloc (as TOWLINE_HEAP=off)")
        ->check(one_of("on", "off"))
        ->type_name("on|off");
    run->formatter(std::make_shared<run_help>());
    run->footer("Everything from PROGRAM on belongs to the program. Standard input goes to rank 0; output comes in whole lines.\n"
                "The exit code is the first that is not 0 (128 + the signal of a killed rank); 124 timeout, 125 the job could not be\n"
                "started, 126 PROGRAM not executable, 127 not found, 2 wrong usage. A rank that dies ends the job. The first ^C goes to\n"
                "the ranks, the second kills them, as do two SIGTERM. Ranks find TOWLINE_RANK and TOWLINE_SIZE in their environment.");
    return run;
}

CLI::App* add_tune(CLI::App& app, tools::tune_options& options)
{
    auto* tune = app.add_subcommand("tune", "measures this machine, and writes from which sizes on each way of moving data pays");
    tune->add_option("--output", options.output,
                     "the file to write; without it the file that programs read: TOWLINE_TUNING, else towline/machine.toml in\n"
                     "$XDG_CONFIG_HOME (~/.config)")
        ->type_name("FILE");
    tune->add_flag("--quick", options.quick, "under 8 s instead of 30; fewer turns, so that fewer differences are clear");
    tune->add_flag("--show", options.show, "measures nothing: prints the file that is used");
    tune->add_flag("--as-rank", options.as_rank)->group("");
    tune->footer("Two processes on separate cores exchange blocks by every way in turns. If the difference is not clear, the shipped\n"
                 "value stays. Programs that start afterwards use the file, all ranks of a job the same; `towline info`\n"
                 "explains it.");
    return tune;
}

CLI::App* add_layout(CLI::App& app, tools::layout_options& options)
{
    auto* layout = app.add_subcommand("layout", "the tree of an MPI datatype, the plan that copies it to another, and the time of that");
    layout->add_option("LAYOUT", options.from, "a datatype, with a count and '*' before it for several: '4*vector(512,1,4,double)'")
        ->type_name("");
    layout->add_option("TO", options.to, "the datatype of the destination; without it, the same")->type_name("");
    layout->add_flag("--no-measure", [&options](std::int64_t) { options.measure = false; }, "leaves out the times");
    layout->add_flag("--json", options.json, "as JSON");
    layout->footer(
        "A datatype is the name of a predefined one (double, MPI_INT, int32_t) or a constructor of MPI: contiguous(count, T),\n"
        "vector(count, blocklength, stride, T), hvector(count, blocklength, bytes, T), indexed([blocklengths], [displacements], T),\n"
        "hindexed([blocklengths], [bytes], T), indexed_block(blocklength, [displacements], T), hindexed_block(blocklength, [bytes], T),\n"
        "struct([blocklengths], [bytes], [T, ...]), subarray([sizes], [subsizes], [starts], T), darray(processes, rank,\n"
        "[sizes], [none, block or cyclic], [a number or dflt], [grid], T), both also with c or fortran before T, and\n"
        "resized(T, lb, extent). Numbers may be products: 128*8.\n\n"
        "The times are of one process: a plain copy of the same bytes, the steps, and the designs of TOWLINE_LAYOUT as sums of steps.");
    return layout;
}

int refuse(std::string_view command, std::string_view text)
{
    fmt::print(stderr, "towline{}{}: {}\nTry 'towline {}{}--help'.\n", command.empty() ? "" : " ", command, text, command,
               command.empty() ? "" : " ");
    return tools::exit_usage;
}

/// The hosts of --hosts or --hostfile; 0, or the exit code. `command`: whose options they are.
int read_hosts(char const* command, tools::run_options& options, run_words const& words)
{
    try {
        if (!words.hosts.empty()) {
            options.hosts = tools::hosts_in(words.hosts);
        } else if (!words.hostfile.empty()) {
            std::ifstream file(words.hostfile);
            std::stringstream text;
            text << file.rdbuf();
            if (!file)
                return refuse(command, fmt::format("--hostfile {}: {}", words.hostfile, std::strerror(errno)));
            options.hosts = tools::slots_of_file(text.str());
        } else if (!options.remote_shell.empty()) {
            return refuse(command, "--ssh says how other machines are reached: name them with --hosts");
        }
    } catch (towline::usage_error const& e) {
        return refuse(command, fmt::format("{}: {}", words.hosts.empty() ? "--hostfile " + words.hostfile : "--hosts", e.what()));
    }
    return 0;
}

int start(tools::run_options& options, run_words const& words, std::vector<std::string> command)
{
    if (words.ranks.empty())
        return refuse("run", "how many processes? Write -n N before PROGRAM");
    char const* const end = words.ranks.data() + words.ranks.size();
    tools::program_part part;
    auto const [rest, wrong] = std::from_chars(words.ranks.data(), end, part.ranks);
    if (wrong != std::errc() || rest != end || part.ranks < 1 || part.ranks > static_cast<int>(towline::job::max_ranks))
        return refuse("run", words.ranks == "p" ? "-np is a word of mpiexec; here it is -n N"
                                                : fmt::format("-n {}: a job has 1 to {} processes", words.ranks, towline::job::max_ranks));
    if (command.empty())
        return refuse("run", "which PROGRAM? Write it behind the options");
    if (!words.timeout.empty()) {
        auto const time = towline::base::parse_time(words.timeout);
        if (!time || time->count() == 0)
            return refuse("run",
                          fmt::format("--timeout {}: write seconds, or a number with ms, s, m or h behind it; not 0", words.timeout));
        options.timeout = *time;
    }
    if (int const refused = read_hosts("run", options, words); refused != 0)
        return refused;
    options.bind = words.bind == "core" ? tools::unit::core : tools::unit::none;
    options.heap = words.heap == "on" && towline::base::setting_switch("TOWLINE_HEAP", true);
    options.stats = !words.stats.empty();
    if (words.stats == "table") {
        if (command.front().ends_with(".json"))
            return refuse("run",
                          fmt::format("{} is in the place of PROGRAM; did you mean --stats={}?", command.front(), command.front()));
    } else if (options.stats) {
        options.stats_file = words.stats;
        if (auto const why = tools::unwritable(words.stats); !why.empty()) {
            fmt::print(stderr, "towline run: --stats={}: {}; nothing was started\n", words.stats, why);
            return tools::exit_failed;
        }
    }
    part.command = std::move(command);
    options.parts.push_back(std::move(part));
    return tools::run(options);
}

constexpr char const* commands = "run, where, info, tune, layout and help";

CLI::App* command_named(CLI::App& app, std::string_view name)
{
    auto const found = app.get_subcommands([&](CLI::App const* one) { return one->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

/// What the first word must be.
int check_command(CLI::App& app, std::vector<std::string> const& ours)
{
    if (ours.empty())
        return refuse("", fmt::format("which command? There are {}", commands));
    std::string const& first = ours.front();
    if (command_named(app, first) != nullptr || first == "-h" || first == "--help" || first == "--version")
        return 0;
    if (first.starts_with('-'))
        return refuse("", fmt::format("{} is an option of a command; did you mean 'towline run {} ...'?", first, first));
    return refuse("", fmt::format("there is no command '{}'; there are {}", first, commands));
}

/// `towline help [COMMAND]`: what `towline [COMMAND] --help` prints.
int help(CLI::App& app, std::string const& topic)
{
    CLI::App const* const about = topic.empty() ? &app : command_named(app, topic);
    if (about == nullptr)
        return refuse("help", fmt::format("there is no command '{}'; there are {}", topic, commands));
    std::string const name = topic.empty() ? app.get_name() : app.get_name() + " " + topic;
    fmt::print("{}", about->get_formatter()->make_help(about, name, CLI::AppFormatMode::Normal));
    return 0;
}

int tell(CLI::App const& app, CLI::ParseError const& e)
{
    std::ostringstream text;
    int const code = app.exit(e, text, text);
    fmt::print("{}", text.str());
    return code;
}

int run_command(int argc, char** argv)
{
    CLI::App app("Communication between processes where data moves once, or not at all.");
    app.name("towline");
    app.require_subcommand(1);
    auto const [major, minor, patch] = towline::library_version();
    app.set_version_flag("--version", fmt::format("towline {}.{}.{}", major, minor, patch));
    app.get_formatter()->column_width(28);
    tools::run_options options;
    run_words words;
    auto* run = add_run(app, options, words);
    auto* info = app.add_subcommand("info", "the features of this machine, which of them Towline uses, and why not the others");
    auto* where = app.add_subcommand("where", "what the ranks of a running job wait for, and which ranks wait for each other");
    std::string which;
    where->add_option("JOB", which, "the launcher's pid, a rank's pid, or the name of the job; without it, lists the jobs that run here")
        ->type_name("");
    bool json = false;
    info->add_flag("--json", json, "as JSON; of this machine");
    run_words elsewhere;
    add_hosts(*info, options, elsewhere);
    info->footer("With --hosts or --hostfile: whether these machines can be reached, what they have, and how ranks on them would reach\n"
                 "each other.");
    tools::tune_options tuning;
    auto* tune = add_tune(app, tuning);
    tools::layout_options laid;
    auto* layout = add_layout(app, laid);
    auto* const agent = app.add_subcommand("agent", "for the front of a job of several machines, which starts it")->group("");
    auto* const helps = app.add_subcommand("help", "prints the help of the tool, or of one of its commands");
    std::string topic;
    helps->add_option("COMMAND", topic, "run, where, info, tune or layout; without it, an overview")->type_name("");
    app.footer("towline COMMAND --help, towline help COMMAND and the manual pages (man towline-run) say more of each.");
    try {
        std::vector<std::string> ours(argv + 1, argv + argc);
        std::vector<std::string> command;
        if (int const wrong = check_command(app, ours); wrong != 0)
            return wrong;
        if (!ours.empty() && ours[0] == "run") {
            // All from PROGRAM on belongs to the program, whatever it looks like.
            std::vector<std::string> const rest(ours.begin() + 1, ours.end());
            auto const at = program_at(*run, rest);
            ours.resize(1 + at);
            command.assign(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end());
            if (!command.empty() && command.front() == "--")
                command.erase(command.begin());
        }
        std::reverse(ours.begin(), ours.end());  // as CLI11 wants it
        app.parse(ours);
        if (run->parsed())
            return start(options, words, std::move(command));
        if (where->parsed())
            return tools::where(which);
        if (info->parsed()) {
            if (int const refused = read_hosts("info", options, elsewhere); refused != 0)
                return refused;
            if (json && !options.hosts.empty())
                return refuse("info", "--json is of this machine; leave it out, or the hosts");
            return options.hosts.empty() ? tools::info(json) : tools::info_of_hosts(options);
        }
        if (tune->parsed())
            return tools::tune(tuning);
        if (layout->parsed())
            return laid.from.empty() ? refuse("layout", "which LAYOUT? As in 'vector(512,1,4,double)'") : tools::show_layout(laid);
        if (agent->parsed())
            return tools::agent();
        if (helps->parsed())
            return help(app, topic);
    } catch (CLI::ParseError const& e) {
        if (e.get_exit_code() == 0)
            return tell(app, e);  // help or version
        return refuse(argc > 1 ? argv[1] : "", e.what());
    }
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    std::string const name = argc > 1 && argv[1][0] != '-' ? fmt::format("towline {}", argv[1]) : "towline";
    try {
        return tools::finish_output(name, run_command(argc, argv));
    } catch (towline::usage_error const& e) {
        fmt::print(stderr, "towline: {}\n", e.what());
        return tools::exit_usage;
    } catch (std::system_error const& e) {
        if (std::ferror(stdout) != 0)
            return tools::output_failed(name, e.code().value());
        fmt::print(stderr, "towline: {}\n", e.what());
        return tools::exit_failed;
    } catch (std::exception const& e) {
        fmt::print(stderr, "towline: {}\n", e.what());
        return tools::exit_failed;
    }
}
