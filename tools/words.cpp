// Parses the words behind mpiexec and mpirun.

#include "words.hpp"

#include "base/settings.hpp"
#include "hosts.hpp"
#include "job/file.hpp"
#include "spelling.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace towline::tools {

namespace {

int number(std::string_view option, std::string const& text, int least, int most)
{
    int value = 0;
    auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size() || value < least || value > most)
        throw usage_error(fmt::format("{} {}: a number from {} to {} is expected", option, text, least, most));
    return value;
}

std::string content_of(std::string_view option, std::string const& path)
{
    std::ifstream file(path);
    if (!file)
        throw usage_error(fmt::format("{} {}: the file cannot be read", option, path));
    return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<unit> unit_of(std::string_view word)
{
    word = word.substr(0, word.find(':'));
    if (word == "none" || word == "machine" || word == "board")
        return unit::none;
    // Caches also by kind, as l1dcache. What has an L4 or L5 shares it with a socket's cores.
    auto const is_cache = [&](std::string_view level) {
        if (!word.starts_with(level) || !word.ends_with("cache") || word.size() < level.size() + 5)
            return false;
        auto const kind = word.substr(level.size(), word.size() - level.size() - 5);
        return kind.empty() || kind == "d" || kind == "i" || kind == "u";
    };
    if (word == "core" || is_cache("l1") || is_cache("l2") || word == "L1" || word == "L2")
        return unit::core;
    if (word == "rr" || word == "hwthread" || word == "hw-thread" || word == "thread" || word == "pu")
        return unit::hwthread;
    if (word == "numa" || is_cache("l3") || word == "L3")
        return unit::numa;
    if (word == "socket" || word == "package" || is_cache("l4") || is_cache("l5"))
        return unit::socket;
    return std::nullopt;
}

class reader {
public:
    explicit reader(std::string name)
    {
        words_.options.name = std::move(name);
        add_options();
    }

    mpiexec_words read(std::span<std::string const> rest)
    {
        if (auto const limit = base::setting("MPIEXEC_TIMEOUT"))
            set_timeout("MPIEXEC_TIMEOUT", std::string(*limit));
        read_parts(rest);
        if (words_.help || words_.version)
            return std::move(words_);
        run_options& o = words_.options;
        if (o.parts.empty())
            throw usage_error("no program is named: write it behind the options");
        if (o.ranks() > static_cast<int>(job::max_ranks))
            throw usage_error(fmt::format("{} ranks: a job has at most {}", o.ranks(), job::max_ranks));
        if (o.stdin_rank >= o.ranks())
            throw usage_error(fmt::format("-stdin {}: the job has {} ranks", o.stdin_rank, o.ranks()));
        if (o.output_from >= o.ranks())
            throw usage_error(fmt::format("-output-from {}: the job has {} ranks", o.output_from, o.ranks()));
        for (auto& host : o.hosts)
            if (host.slots == 0)
                host.slots = per_host_;
        for (auto& part : o.parts) {
            if (part.folder.empty())
                part.folder = folder_;
            if (part.search.empty())
                part.search = search_;
        }
        return std::move(words_);
    }

    std::vector<std::pair<std::string, std::size_t>> all() const
    {
        std::vector<std::pair<std::string, std::size_t>> names;
        for (auto const& [name, option] : options_)
            names.emplace_back(name, option.values);
        return names;
    }

private:
    using values = std::span<std::string const>;
    struct entry {
        std::size_t values = 0;
        bool optional = false;  ///< one value, behind '=' alone
        std::function<void(std::string const& name, reader::values)> does;
    };

    void read_parts(std::span<std::string const> rest)
    {
        while (!rest.empty() && !words_.help && !words_.version) {
            auto const end = std::find(rest.begin(), rest.end(), ":");
            read_part(rest.first(static_cast<std::size_t>(end - rest.begin())), end != rest.end());
            if (end == rest.end())
                break;
            rest = rest.subspan(static_cast<std::size_t>(end - rest.begin()) + 1);
            if (rest.empty())
                throw usage_error("a program is expected behind the last ':'");
        }
    }

    void read_part(std::span<std::string const> rest, bool is_followed)
    {
        part_ = {};
        part_.ranks = 0;
        while (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-') {
            std::string word = rest[0];
            rest = rest.subspan(1);
            if (word == "--")
                break;
            // One dash and two are the same; the value may follow behind '='.
            std::string name = word.substr(word[1] == '-' ? 2 : 1);
            std::optional<std::string> attached;
            if (auto const equals = name.find('='); equals != name.npos) {
                attached = name.substr(equals + 1);
                name.resize(equals);
            }
            auto const found = options_.find(name);
            if (found == options_.end())
                throw usage_error(unknown(word, name));
            entry const& o = found->second;
            std::string const shown = word.substr(0, word.find('='));
            if (attached) {
                if (o.values != 1 && !o.optional)
                    throw usage_error(fmt::format("{}: {} takes {}", word, shown, o.values == 0 ? "no value" : "several values"));
                o.does(shown, values(&*attached, 1));
                continue;
            }
            if (rest.size() < o.values)
                throw usage_error(fmt::format("{}: a value is missing", shown));
            o.does(shown, rest.first(o.values));
            rest = rest.subspan(o.values);
            if (words_.help || words_.version)
                return;
        }
        if (rest.empty()) {
            if (std::exchange(configured_, false) && !is_followed && part_.ranks == 0)
                return;
            throw usage_error(words_.options.parts.empty() && !is_followed ? "no program is named: write it behind the options"
                                                                         : "a program is missing beside a ':'");
        }
        if (configured_)
            throw usage_error("-configfile: the file names the programs, so nothing may follow the option's file");
        part_.command.assign(rest.begin(), rest.end());
        if (part_.ranks == 0)
            part_.ranks = 1;
        words_.options.parts.push_back(std::move(part_));
    }

    void set_timeout(std::string const& name, std::string const& text)
    {
        auto const time = base::parse_time(text);
        if (!time || time->count() < 0)
            throw usage_error(fmt::format("{} {}: seconds are expected, or a number with ms, s, m or h behind it", name, text));
        if (time->count() > 0)
            words_.options.timeout = *time;
    }

    static std::pair<std::string, std::string> assignment(std::string const& name, std::string const& text)
    {
        auto const equals = text.find('=');
        if (equals == 0 || text.empty())
            throw usage_error(fmt::format("{} {}: NAME or NAME=VALUE is expected", name, text));
        if (equals != text.npos)
            return {text.substr(0, equals), text.substr(equals + 1)};
        char const* const value = std::getenv(text.c_str());
        if (value == nullptr)
            throw usage_error(fmt::format("{} {}: the environment has no such variable", name, text));
        return {text, value};
    }

    static void check_variable(std::string const& option, std::string const& name)
    {
        if (name.empty() || name.find('=') != name.npos)
            throw usage_error(fmt::format("{} {}: this is no name of a variable", option, name));
    }

    void add(std::initializer_list<char const*> names, std::size_t count, std::function<void(std::string const&, values)> does)
    {
        for (char const* const name : names)
            options_[name] = {count, false, does};
    }
    /// Options of other launchers without effect here: one line lists all of a command.
    void add_meaningless(std::initializer_list<char const*> names, std::size_t count)
    {
        add(names, count, [this](std::string const& option, values v) {
            bool const named = option.ends_with("mca") && !v.empty();
            auto text = named ? fmt::format("{} {}", option, v[0]) : option;
            if (std::find(words_.meaningless.begin(), words_.meaningless.end(), text) == words_.meaningless.end())
                words_.meaningless.push_back(std::move(text));
        });
    }
    [[nodiscard]] std::string unknown(std::string const& word, std::string const& name) const;
    void add_flag(std::initializer_list<char const*> names, std::function<void()> does)
    {
        add(names, 0, [does = std::move(does)](std::string const&, values) { does(); });
    }

    void add_options();
    void add_environment(char const* prefix, std::function<environment_change&()> which);

    mpiexec_words words_;
    program_part part_;
    std::string folder_;  ///< of parts that name none
    std::string search_;
    bool configured_ = false;  ///< -configfile was the last
    int per_host_ = 0;         ///< ranks that a host takes which has no number; 0: not told
    std::map<std::string, entry, std::less<>> options_;
};

std::string reader::unknown(std::string const& word, std::string const& name) const
{
    std::string const* nearest = nullptr;
    std::size_t least = std::min<std::size_t>(name.size() / 3 + 1, 4);  // farther away is another word
    for (auto const& [known, does] : options_)
        if (auto const d = distance(name, known); d < least) {
            least = d;
            nearest = &known;
        }
    auto const dashes = word.starts_with("--") ? "--" : "-";
    return nearest == nullptr ? fmt::format("there is no option {}", word)
                              : fmt::format("there is no option {}; did you mean {}{}?", word, dashes, *nearest);
}

void reader::add_environment(char const* prefix, std::function<environment_change&()> which)
{
    std::string const p(prefix);
    auto const name = [&](char const* rest) { return p + rest; };
    options_[name("env")] = {2, false, [which](std::string const& option, values v) {
                                 check_variable(option, v[0]);
                                 which().set.emplace_back(v[0], v[1]);
                             }};
    options_[name("envall")] = {0, false, [which](std::string const&, values) { which().inherit = true; }};
    options_[name("envnone")] = {0, false, [which](std::string const&, values) { which().inherit = false; }};
    options_[name("envlist")] = {1, false, [which](std::string const&, values v) {
                                     which().inherit = false;
                                     for (auto& word : base::parse_list(v[0]))
                                         which().kept.push_back(std::move(word));
                                 }};
}

void reader::add_options()
{
    run_options& o = words_.options;
    // How many, and what.
    add({"n", "np", "c"}, 1, [this](std::string const& option, values v) {
        part_.ranks = number(option, v[0], 1, static_cast<int>(job::max_ranks));
    });
    add({"N", "npernode"}, 1, [this](std::string const& option, values v) {  // there is one node
        int const n = number(option, v[0], 1, static_cast<int>(job::max_ranks));
        if (part_.ranks == 0)
            part_.ranks = n;
    });
    add({"ppn", "perhost"}, 1, [this](std::string const& option, values v) { per_host_ = number(option, v[0], 1, 1 << 20); });
    add({"wdir", "wd"}, 1, [this](std::string const&, values v) { part_.folder = v[0]; });
    add({"gwdir"}, 1, [this](std::string const&, values v) { folder_ = v[0]; });
    add({"path"}, 1, [this](std::string const&, values v) { part_.search = v[0]; });
    add({"gpath"}, 1, [this](std::string const&, values v) { search_ = v[0]; });
    add({"configfile"}, 1, [this](std::string const& option, values v) {
        if (part_.ranks != 0)
            throw usage_error(fmt::format("{}: the file sets the number of ranks", option));
        auto const all = words_of_configuration(content_of(option, v[0]));
        if (all.empty())
            throw usage_error(fmt::format("{} {}: the file names no program", option, v[0]));
        read_parts(all);
        configured_ = true;
        part_ = {};
    });

    // Where.
    // Where all of them are this machine, the job is an ordinary one.
    auto const take = [&o](std::string const& option, std::function<std::vector<host_slots>()> const& read) {
        try {
            auto hosts = read();
            if (!std::ranges::all_of(hosts, [](host_slots const& h) { return is_this_machine(h.name); }))
                o.hosts = std::move(hosts);
        } catch (usage_error const& e) {
            throw usage_error(fmt::format("{}: {}", option, e.what()));
        }
    };
    add({"host", "hosts", "H", "hostlist", "machine", "machines", "machinelist"}, 1, [take](std::string const& option, values v) {
        take(option, [&] { return hosts_in(v[0]); });
    });
    add({"localhost"}, 1, [take](std::string const& option, values v) { take(option, [&] { return hosts_in(v[0]); }); });
    add({"f", "hostfile", "machinefile"}, 1, [take](std::string const& option, values v) {
        std::string const text = content_of(option, v[0]);
        take(option + ' ' + v[0], [&] { return slots_of_file(text); });
    });
    add({"launcher-exec", "bootstrap-exec"}, 1, [&o](std::string const&, values v) { o.remote_shell = v[0]; });

    // Environment.
    add_environment("", [this]() -> environment_change& { return part_.environment; });
    add_environment("g", [this]() -> environment_change& { return words_.options.environment; });
    add({"x"}, 1, [&o](std::string const& option, values v) { o.environment.set.push_back(assignment(option, v[0])); });

    // Input, output, end.
    add_flag({"l", "prepend-rank", "tag-output", "tag"}, [&o] { o.tag = true; });
    add({"prepend-pattern"}, 1, [&o](std::string const&, values v) {
        o.tag = true;
        o.tag_pattern = v[0];
    });
    add({"outfile-pattern", "outfile"}, 1, [&o](std::string const&, values v) { o.out_pattern = v[0]; });
    add({"errfile-pattern", "errfile"}, 1, [&o](std::string const&, values v) { o.err_pattern = v[0]; });
    add({"output-from"}, 1, [&o](std::string const& option, values v) {
        o.output_from = number(option, v[0], 0, static_cast<int>(job::max_ranks) - 1);
    });
    add({"stdin", "s"}, 1, [&o](std::string const& option, values v) {
        if (v[0] == "all")
            throw usage_error(fmt::format("{} all: one rank can read the standard input, or none", option));
        o.stdin_rank = v[0] == "none" ? -1 : number(option, v[0], 0, static_cast<int>(job::max_ranks) - 1);
    });
    add({"timeout"}, 1, [this](std::string const& option, values v) { set_timeout(option, v[0]); });
    add_flag({"q", "quiet"}, [&o] { o.quiet = true; });
    add_flag({"v", "verbose", "debug"}, [&o] { o.verbose = true; });
    add_flag({"disable-auto-cleanup", "dac", "keep-going"}, [&o] { o.keep_going = true; });
    add_flag({"enable-auto-cleanup"}, [&o] { o.keep_going = false; });
    add_flag({"h", "help"}, [this] { words_.help = true; });
    add_flag({"V", "version", "info"}, [this] { words_.version = true; });

    options_["stats"] = {0, true, [&o](std::string const&, values v) {
                             o.stats = true;
                             o.stats_file = v.empty() ? "" : v[0];
                         }};

    // Cores.
    add({"bind-to", "bind", "binding"}, 1, [&o](std::string const& option, values v) {
        auto const what = unit_of(v[0]);
        if (!what)
            throw usage_error(fmt::format("{} {}: core, hwthread, numa, socket or none is expected", option, v[0]));
        o.bind = *what;
    });
    add({"map-by"}, 1, [this, &o](std::string const& option, values v) {
        std::string const what = v[0].substr(0, v[0].find(':'));
        if (auto const known = unit_of(what); known && *known != unit::none)
            o.map = *known;
        else if (what != "slot" && what != "node" && what != "board" && what != "machine" && what != "user" && !what.empty()) {
            if (what != "ppr" && what != "dist" && what != "seq" && what != "rankfile" && !what.starts_with("pe-list"))
                throw usage_error(fmt::format("{} {}: slot, core, hwthread, numa, socket or node is expected", option, v[0]));
            words_.meaningless.push_back(fmt::format("{} {}", option, v[0]));
        }
    });
    add({"rank-by"}, 1, [this](std::string const& option, values v) {
        std::string const what = v[0].substr(0, v[0].find(':'));
        if (what != "slot" && what != "core" && what != "fill")  // ranks are numbered in the order in which they are mapped
            words_.meaningless.push_back(fmt::format("{} {}", option, v[0]));
    });
    for (auto const& [name, what] : {std::pair{"bind-to-core", unit::core}, {"bind-to-socket", unit::socket}, {"bind-to-none", unit::none}})
        add_flag({name}, [&o, what = what] { o.bind = what; });
    for (auto const& [name, what] : {std::pair{"bycore", unit::core}, {"bysocket", unit::socket}, {"byslot", unit::none},
                                     {"bynode", unit::none}})
        add_flag({name}, [&o, what = what] { o.map = what; });
    add_flag({"report-bindings"}, [&o] { o.report_bindings = true; });
    add({"heap"}, 1, [&o](std::string const& option, values v) {
        if (v[0] != "on" && v[0] != "off")
            throw usage_error(fmt::format("{} {}: on or off is expected", option, v[0]));
        o.heap = v[0] == "on";
    });

    // So it is in any case.
    add_flag({"oversubscribe", "allow-run-as-root", "forward-signals", "disable-hostname-propagation", "enable-hostname-propagation",
              "no-cache"}, [] {});
    // About something that is not here.
    add_meaningless({"mca", "gmca", "prtemca", "pmixmca", "omca"}, 2);
    add_meaningless({"nooversubscribe", "nolocal", "use-hwthread-cpus", "display-map", "display-allocation", "display-devel-map",
                     "display-topo", "enable-recovery", "disable-recovery", "continuous", "hetero-nodes", "preload-binary", "novm",
                     "do-not-launch", "report-state-on-timeout", "get-stack-traces", "print-all-exitcodes", "enable-x",
                     "disable-x", "profile", "pmi-port", "skip-launch-node"}, 0);
    add_meaningless({"prefix", "personality", "tune", "am", "display", "output", "iface", "rmk", "usize", "order-nodes",
                     "cpu-set", "cpu-list", "cpus-per-proc", "cpus-per-rank", "npersocket", "nameserver", "demux", "membind", "topolib",
                     "preload-files", "report-pid", "report-uri", "leave-session-attached", "rankfile", "rf",
                     "gpus-per-proc", "g", "gpu-subdevs-per-proc"}, 1);
    add({"launcher", "bootstrap"}, 1, [](std::string const& option, values v) {
        if (v[0] != "fork" && v[0] != "ssh")
            throw usage_error(fmt::format("{} {}: ranks are forked on this machine, and started on others by ssh; fork or ssh is expected",
                                          option, v[0]));
    });
}

} // namespace

mpiexec_words read_mpiexec(std::string name, std::vector<std::string> const& arguments)
{
    return reader(std::move(name)).read(arguments);
}

std::vector<std::pair<std::string, std::size_t>> mpiexec_options()
{
    return reader("mpiexec").all();
}

} // namespace towline::tools
