// The front of a job on several hosts: an agent on each (by ssh, or here by itself), and what they tell each other goes through this process.

#include "base/clock.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "description.hpp"
#include "frames.hpp"
#include "hosts.hpp"
#include "job/file.hpp"
#include "lines.hpp"
#include "processes.hpp"
#include "run.hpp"
#include "settings.hpp"
#include "stats.hpp"
#include "timing.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline::tools {

namespace {

using nlohmann::json;

/// A word for the shell of another host.
std::string quoted(std::string const& word)
{
    std::string text = "'";
    for (char const c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::vector<std::string> words_of(std::string const& text)
{
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != text.npos;) {
        auto const end = std::min(text.find_first_of(" \t", at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

/// Variables that say something of this host or of this login, which is not so on another one.
bool belongs_here(std::string_view variable)
{
    auto const name = variable.substr(0, variable.find('='));
    return name.starts_with("SSH_") || name.starts_with("DBUS_") || name.starts_with("XDG_RUNTIME") || name == "HOSTNAME" || name == "_";
}

/// The `towline` beside this program.
std::string own_tool()
{
    std::error_code failed;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::string("towline") : (self.parent_path() / "towline").string();
}

/// The stream of one host's lines; whole lines go on.
class host_lines {
public:
    explicit host_lines(sink& to) : to_(&to) {}
    void add(std::string_view text)
    {
        rest_ += text;
        auto const end = rest_.rfind('\n');
        constexpr std::size_t longest = std::size_t{16} << 20;
        std::size_t const whole = end != rest_.npos ? end + 1 : rest_.size() > longest ? rest_.size() : 0;
        to_->append(std::string_view(rest_).substr(0, whole));
        rest_.erase(0, whole);
    }
    void close()
    {
        to_->append(rest_);
        rest_.clear();
    }

private:
    sink* to_;
    std::string rest_;
};

struct host {
    std::string name;
    pid_t pid = -1;                    ///< of the agent, or of what brings us to it
    std::unique_ptr<channel> link;
    std::optional<host_facts> facts;
    std::optional<host_lines> out, errors;
    std::size_t typed = 0;             ///< bytes of input that it has not passed on
    std::size_t written = 0;           ///< bytes of output of which it is not told yet that they were passed on
    bool over = false;
    std::optional<int> code;
};

class front {
public:
    explicit front(run_options const& options) : options_(options), timeout_(std::chrono::nanoseconds::max()) {}

    int run()
    {
        surroundings around;
        signals_ = become_front(around);
        try {
            for (auto const& h : options_.hosts)
                start(h.name);
            gather();
            place();
            tell_job();
        } catch (...) {
            end_agents();
            throw;
        }
        timeout_ = base::deadline(options_.timeout);
        while (living() > 0)
            look();
        return conclude();
    }

private:
    void start(std::string const& name)
    {
        std::string const self = own_tool();
        std::vector<std::string> command;
        if (options_.remote_shell.empty() && is_this_machine(name)) {
            command = {self, "agent"};
        } else {
            command = words_of(options_.remote_shell.empty() ? "ssh -x -T -o BatchMode=yes" : options_.remote_shell);
            auto const program = std::filesystem::path(command[0]).filename();
            bool const shell = program == "ssh" || program == "rsh";  // they give one line to a shell; others pass words on
            command.insert(command.end(), {name, shell ? quoted(self) : self, "agent"});
        }
        int to[2];
        int from[2];
        if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
            throw system_error(fmt::format("pipes to host {} (ulimit -n)", name), errno);
        pid_t const own = getpid();
        pid_t const pid = fork();
        if (pid < 0)
            throw system_error(fmt::format("starting what leads to host {}", name), errno);
        if (pid == 0) {
            setsid();  // ^C is for the ranks; the front passes it on
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != own)
                _exit(exit_failed);
            dup2(to[0], 0);
            dup2(from[1], 1);
            restore_signals();
            std::vector<char*> words;
            for (auto& word : command)
                words.push_back(word.data());
            words.push_back(nullptr);
            execvp(words[0], words.data());
            fmt::print(stderr, "{}: {}: {}\n", options_.name, words[0], std::strerror(errno));
            _exit(errno == ENOENT ? exit_not_found : exit_not_executable);
        }
        close(to[0]);
        close(from[1]);
        auto& h = hosts_.emplace_back();
        h.name = name;
        h.pid = pid;
        h.link = std::make_unique<channel>(base::unique_fd(from[0]), base::unique_fd(to[1]));
        h.out.emplace(out_);
        h.errors.emplace(same_output() ? out_ : errors_);
    }

    [[nodiscard]] static bool same_output()
    {
        struct stat a {};
        struct stat b {};
        return fstat(1, &a) == 0 && fstat(2, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
    }

    /// Waits for the first word of every agent.
    void gather()
    {
        base::deadline const until(timing::hello);
        while (!std::ranges::all_of(hosts_, [](host const& h) { return h.facts.has_value(); })) {
            wait_for_links(200);
            for (auto& h : hosts_) {
                if (h.facts)
                    continue;
                bool const more = h.link->receive();
                if (auto const m = h.link->next(); m && m->kind == frame::hello)
                    h.facts = facts_in(m->payload);
                else if (!more)
                    throw error(fmt::format("host {}: no agent could be started there: '{}' ended{}", h.name, how_started(h.name),
                                            options_.remote_shell.empty() ? "; it has to work without a password" : ""));
            }
            if (asked_to_end())
                throw error("ended before all hosts had answered");
            if (until.passed()) {
                std::vector<std::string> silent;
                for (auto const& h : hosts_)
                    if (!h.facts)
                        silent.push_back(h.name);
                throw error(fmt::format("no answer within {} s from {} {}", timing::hello.count(), silent.size() == 1 ? "host" : "hosts",
                                        fmt::join(silent, ", ")));
            }
        }
        auto const own = facts_of_host();
        for (auto const& h : hosts_)
            if (h.facts->version != own.version)
                throw version_error(fmt::format("host {} has Towline {}, this one {}: install the same", h.name, h.facts->version, own.version));
    }

    [[nodiscard]] std::string how_started(std::string const& name) const
    {
        return options_.remote_shell.empty() ? (is_this_machine(name) ? "towline agent" : "ssh " + name) : options_.remote_shell + " " + name;
    }

    [[nodiscard]] bool asked_to_end()
    {
        pollfd ready{signals_.get(), POLLIN, 0};
        signalfd_siginfo info{};
        if (poll(&ready, 1, 0) <= 0 || ::read(signals_.get(), &info, sizeof info) != sizeof info)
            return false;
        return info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
    }

    void wait_for_links(int ms)
    {
        std::vector<pollfd> watched;
        for (auto const& h : hosts_)
            if (!h.over)
                watched.push_back({h.link->in(), POLLIN, 0});
        poll(watched.data(), watched.size(), ms);
    }

    /// Gives each rank its host: hosts are filled one after the other.
    void place()
    {
        auto const ranks = static_cast<std::size_t>(options_.ranks());
        std::vector<std::size_t> slots;
        bool told = true;
        for (std::size_t h = 0; h < hosts_.size(); ++h) {
            told = told && options_.hosts[h].slots > 0;
            slots.push_back(options_.hosts[h].slots > 0 ? static_cast<std::size_t>(options_.hosts[h].slots) : hosts_[h].facts->cores);
        }
        std::size_t const room = std::accumulate(slots.begin(), slots.end(), std::size_t{0});
        if (ranks > room && told)
            throw usage_error(fmt::format("{} ranks, but the hosts take {}: write more behind their names, as in {}:{}", ranks, room,
                                          hosts_[0].name, slots[0] + (ranks - room + hosts_.size() - 1) / hosts_.size()));
        for (std::size_t h = 0; ranks > room && h < slots.size(); ++h)
            slots[h] = (ranks + h) / slots.size();  // as many each, as cores are too few anyway
        for (std::size_t h = 0; h < slots.size(); ++h)
            node_of_.insert(node_of_.end(), std::min(slots[h], ranks - node_of_.size()), static_cast<std::uint32_t>(h));
        // Hosts behind the last rank are not needed.
        std::size_t const used = node_of_.back() + std::size_t{1};
        for (std::size_t h = used; h < hosts_.size(); ++h)
            hosts_[h].over = true;
        while (hosts_.size() > used) {
            reap(hosts_.back());
            hosts_.pop_back();
        }
    }

    void tell_job()
    {
        std::vector<host_facts> facts;
        std::vector<std::string> names;
        for (auto const& h : hosts_) {
            facts.push_back(*h.facts);
            names.push_back(h.name);
        }
        auto const addresses = choose_addresses(facts, names, std::string(base::setting("TOWLINE_INTERFACES").value_or("")));
        description job;
        job.options = options_;
        job.options.hosts.clear();
        job.node.node_of = node_of_;
        job.node.id = job::new_id();
        job.node.key = job::new_key();
        for (char** variable = environ; *variable != nullptr; ++variable)
            if (!belongs_here(*variable))
                job.environment.emplace_back(*variable);
        job.folder = std::filesystem::current_path();
        job.mask = umask(022);
        umask(static_cast<mode_t>(job.mask));
        job.joined = same_output();
        for (std::size_t h = 0; h < hosts_.size(); ++h) {
            job.node.node = static_cast<std::uint32_t>(h);
            job.node.address = addresses[h];
            job.node.host = names[h];
            hosts_[h].link->send(frame::job, packed(job));
            if (options_.verbose)
                say(fmt::format("{}: host {} is node {}, at {}, and runs {} of {} ranks", options_.name, names[h], h, addresses[h],
                                std::ranges::count(node_of_, static_cast<std::uint32_t>(h)), node_of_.size()));
        }
        reader_ = options_.stdin_rank < 0 ? hosts_.size() : node_of_[static_cast<std::size_t>(options_.stdin_rank)];
        if (options_.stats) {
            job::job_options mirror;
            mirror.segment_bytes = job::min_segment_bytes;
            mirror.id = job.node.id;
            file_ = job::create_job_file(static_cast<std::uint32_t>(node_of_.size()), mirror);
            view_ = std::make_unique<job::control_view>(file_.get());
        }
    }

    void look()
    {
        constexpr std::size_t enough = 1 << 20;
        bool const types = typing_ && reader_ < hosts_.size() && !hosts_[reader_].over && hosts_[reader_].typed < stream_credit &&
                           (tcgetpgrp(0) < 0 || tcgetpgrp(0) == getpgrp());
        std::vector<pollfd> watched{{signals_.get(), POLLIN, 0},
                                    {types ? 0 : -1, POLLIN, 0},
                                    {out_.waiting() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                    {errors_.waiting() > 0 ? errors_.fd() : -1, POLLOUT, 0}};
        for (auto const& h : hosts_) {
            watched.push_back({h.over ? -1 : h.link->in(), POLLIN, 0});
            watched.push_back({h.over || h.link->waiting() == 0 ? -1 : h.link->out(), POLLOUT, 0});
        }
        poll(watched.data(), watched.size(), static_cast<int>(timing::alive.count()));
        for (auto& h : hosts_)
            if (!h.over)
                look_at(h);
        if (watched[1].revents != 0)
            type();
        if (watched[0].revents != 0)
            on_signal();
        out_.flush();
        errors_.flush();
        // A slow reader of our output slows the ranks down, as on one machine.
        for (auto& h : hosts_)
            if (!h.over && h.written > 0 && out_.waiting() < enough && errors_.waiting() < enough)
                h.link->send(frame::taken, text_of(static_cast<std::uint32_t>(std::exchange(h.written, 0))));
        on_timers();
    }

    void look_at(host& h)
    {
        h.link->flush();
        bool more = true;
        try {
            more = h.link->receive();
            while (auto const m = h.link->next())
                take(h, *m);
        } catch (error const& e) {
            say(fmt::format("{}: host {}: {}", options_.name, h.name, e.what()));
            more = false;
        }
        if (!more)
            ended(h);
    }

    void take(host& h, message const& m)
    {
        switch (m.kind) {
        case frame::output:
        case frame::errors:
            (m.kind == frame::output ? h.out : h.errors)->add(m.payload);
            h.written += m.payload.size();
            break;
        case frame::news:
            on_news(h, m.payload);
            break;
        case frame::taken:
            h.typed -= std::min<std::size_t>(h.typed, number_in(m.payload));
            break;
        case frame::exit:
            h.code = m.payload.empty() ? int{exit_failed} : int{static_cast<unsigned char>(m.payload[0])};
            break;
        default:
            break;
        }
    }

    void on_news(host const& from, std::string const& text)
    {
        json const j = json::from_cbor(text);
        if (j.contains("code"))
            note_code(j["code"].get<int>());
        if (j.contains("counters") && view_)
            take_counters(*view_, text);
        if (j.contains("slots") || j.contains("end"))
            tell_others(&from, text);
    }

    void tell_others(host const* from, std::string const& text)
    {
        for (auto& h : hosts_)
            if (&h != from && !h.over)
                h.link->send(frame::news, text);
    }

    static std::string packed_news(json const& j)
    {
        std::string text;
        json::to_cbor(j, nlohmann::detail::output_adapter<char>(text));
        return text;
    }

    void ended(host& h)
    {
        if (h.over)
            return;
        h.over = true;
        h.out->close();
        h.errors->close();
        if (h.code) {
            note_code(*h.code);
            return;
        }
        lost(h, "its agent ended, or the way to it");
    }

    /// The host does not answer, or its agent is gone without a word: its ranks count as dead.
    void lost(host& h, std::string const& why)
    {
        auto const number = static_cast<std::uint32_t>(&h - hosts_.data());
        std::vector<std::size_t> ranks;
        json slots = json::array();
        for (std::size_t r = 0; r < node_of_.size(); ++r)
            if (node_of_[r] == number) {
                ranks.push_back(r);
                slots.push_back({{"rank", r}, {"state", static_cast<std::uint32_t>(job::rank_state::dead)}, {"fences", 0}, {"marks", 0},
                                 {"status", SIGKILL}});
            }
        if (!ending_)
            say(fmt::format("towline: host {} is lost ({}), and with it {} {}; {}", h.name, why, ranks.size() == 1 ? "rank" : "ranks",
                            fmt::join(ranks, ", "), options_.keep_going ? "the others go on" : "the job is ended"));
        note_code(exit_failed);
        json news{{"slots", std::move(slots)}};
        if (!options_.keep_going) {
            news["end"] = true;
            ending_ = true;
        }
        tell_others(&h, packed_news(news));
    }

    void type()
    {
        std::array<char, 65536> buffer;
        ssize_t const got = ::read(0, buffer.data(), buffer.size());
        if (got < 0 && (errno == EINTR || errno == EIO))
            return;
        std::size_t const size = got > 0 ? static_cast<std::size_t>(got) : 0;
        hosts_[reader_].link->send(frame::input, {buffer.data(), size});
        hosts_[reader_].typed += size;
        typing_ = size > 0;
    }

    void on_signal()
    {
        signalfd_siginfo info{};
        if (::read(signals_.get(), &info, sizeof info) != sizeof info)
            return;
        auto const number = static_cast<int>(info.ssi_signo);
        if (number == SIGCHLD)
            return;  // the end of its link tells more
        for (auto& h : hosts_)
            if (!h.over)
                h.link->send(frame::signal, std::string(1, static_cast<char>(number)));
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
            ending_ = true;
        if (number == SIGTSTP) {
            raise(SIGSTOP);
            for (auto& h : hosts_)
                h.link->send(frame::signal, std::string(1, static_cast<char>(SIGCONT)));
        }
    }

    void on_timers()
    {
        std::int64_t const now = base::monotonic_ns();
        if (now - told_ns_ > std::chrono::nanoseconds(timing::alive).count()) {
            bool const slept = now - told_ns_ > std::chrono::nanoseconds(timing::silence).count() / 2;  // we were stopped, not they
            told_ns_ = now;
            for (auto& h : hosts_) {
                if (h.over)
                    continue;
                h.link->send(frame::alive, {});
                if (!slept && now - h.link->heard_ns() > std::chrono::nanoseconds(timing::silence).count()) {
                    h.over = true;
                    lost(h, fmt::format("no answer for {} s", timing::silence.count()));
                    kill(-h.pid, SIGKILL);
                }
            }
        }
        if (timeout_.passed()) {
            timeout_ = base::deadline(std::chrono::nanoseconds::max());
            if (ending_)
                return;
            ending_ = true;
            say(fmt::format("towline: the job did not end within {:.6g} s (--timeout) and is ended",
                            static_cast<double>(options_.timeout.count()) / 1e9));
            code_ = exit_timeout;
            tell_others(nullptr, packed_news({{"timeout", true}}));
        }
    }

    [[nodiscard]] std::ptrdiff_t living() const
    {
        return std::ranges::count_if(hosts_, [](host const& h) { return !h.over; });
    }

    void say(std::string const& line)
    {
        auto& to = same_output() ? out_ : errors_;
        to.append(line + "\n");
        to.flush();
    }

    void note_code(int code)
    {
        if (code_ == 0)
            code_ = code;
    }

    /// Without its link an agent ends everything that it started.
    static void reap(host& h)
    {
        h.link.reset();
        base::deadline const until(std::chrono::seconds(3));
        while (waitpid(h.pid, nullptr, WNOHANG) == 0) {
            if (until.passed()) {
                kill(-h.pid, SIGKILL);
                waitpid(h.pid, nullptr, 0);
                return;
            }
            usleep(2000);
        }
    }

    void end_agents()
    {
        for (auto& h : hosts_)
            reap(h);
    }

    int conclude()
    {
        double const seconds = static_cast<double>(base::monotonic_ns() - started_ns_) / 1e9;
        end_agents();
        kill_descendants(1000);
        if (view_) {
            if (options_.stats_file.empty()) {
                auto const table = stats_table(*view_, seconds);
                say(table.substr(0, table.size() - 1));
            } else if (auto const text = stats_json(*view_, seconds); !write_file(options_.stats_file, text)) {
                say(fmt::format("{}: {}: {}", options_.name, options_.stats_file, std::strerror(errno)));
                note_code(exit_failed);
            }
        }
        while ((out_.waiting() > 0 || errors_.waiting() > 0) && out_.flush() && errors_.flush()) {
            std::array<pollfd, 2> writable{pollfd{out_.waiting() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                           pollfd{errors_.waiting() > 0 ? errors_.fd() : -1, POLLOUT, 0}};
            poll(writable.data(), writable.size(), 1000);
            if (asked_to_end())
                break;
        }
        if (!out_.finish() || out_.broken()) {
            if (out_.error() != EPIPE)
                fmt::print(stderr, "{}: the standard output cannot be written: {}\n", options_.name, std::strerror(out_.error()));
            note_code(out_.error() == EPIPE ? 128 + SIGPIPE : exit_failed);
        }
        return code_;
    }

    run_options const& options_;
    base::unique_fd signals_;
    std::vector<host> hosts_;
    std::vector<std::uint32_t> node_of_;
    std::size_t reader_ = 0;   ///< the host of the rank that reads standard input
    bool typing_ = true;
    sink out_{1};
    sink errors_{2};
    base::unique_fd file_;
    std::unique_ptr<job::control_view> view_;  ///< for the counters
    int code_ = 0;
    bool ending_ = false;
    std::int64_t started_ns_ = base::monotonic_ns();
    std::int64_t told_ns_ = base::monotonic_ns();
    base::deadline timeout_;
};

} // namespace

int run_on_hosts(run_options const& options)
{
    check_settings(options);
    return front(options).run();
}

} // namespace towline::tools
