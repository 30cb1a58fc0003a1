// A rank that does what its arguments say, one after the other, for the launcher's tests:
//   join | leave | fence | say TEXT | err TEXT | sleep MS | spin | exit N | _exit N | signal NUMBER (die by it) | ignore NUMBER
//   put KEY VALUE | show RANK KEY | count N | survive (print the peer_error of a fence, and go on) | daemon SECONDS
// "@R WORD..." does the one thing on rank R only.

#include "job/job.hpp"
#include "towline/error.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>

namespace job = towline::job;

namespace {

struct arguments {
    std::span<char*> rest;
    std::string next()
    {
        if (rest.empty())
            throw towline::usage_error("a word is missing");
        std::string const word = rest.front();
        rest = rest.subspan(1);
        return word;
    }
    int number() { return std::stoi(next()); }
};

void print(int fd, std::string const& text)
{
    if (write(fd, text.data(), text.size()) < 0)
        std::_Exit(1);
}

/// A process that leaves its session and its parents behind.
void daemonize(int seconds)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            sleep(static_cast<unsigned>(seconds));
        }
        std::_Exit(0);
    }
}

void act(std::string const& word, arguments& in, bool mine)
{
    auto member = []() -> job::membership& { return job::membership::instance(); };
    if (word == "join") {
        if (mine)
            (void)member();
    } else if (word == "leave") {
        if (mine)
            member().leave();
    } else if (word == "fence") {
        if (mine)
            member().fence();
    } else if (word == "survive") {
        try {
            if (mine)
                member().fence();
        } catch (towline::peer_error const& e) {
            print(1, fmt::format("{}\n", e.what()));
        }
    } else if (word == "say" || word == "err") {
        auto const text = in.next();
        if (mine)
            print(word == "say" ? 1 : 2, text + "\n");
    } else if (word == "sleep") {
        int const ms = in.number();
        if (mine)
            usleep(static_cast<useconds_t>(ms) * 1000);
    } else if (word == "spin") {
        for (int volatile forever = 1; mine && forever != 0;) {
        }
    } else if (word == "exit") {
        int const code = in.number();
        if (mine)
            std::exit(code);
    } else if (word == "_exit") {
        int const code = in.number();
        if (mine)
            std::_Exit(code);
    } else if (word == "signal") {
        int const number = in.number();
        if (mine) {
            signal(number, SIG_DFL);  // sanitizers turn some signals into an exit code
            raise(number);
        }
    } else if (word == "ignore") {
        int const number = in.number();
        if (mine)
            signal(number, SIG_IGN);
    } else if (word == "daemon") {
        int const seconds = in.number();
        if (mine)
            daemonize(seconds);
    } else if (word == "put") {
        auto const key = in.next();
        auto const value = in.next();
        if (mine)
            member().put(key, value);
    } else if (word == "show") {
        int const rank = in.number();
        auto const key = in.next();
        if (mine)
            print(1, fmt::format("{}\n", member().get(rank, key).value_or("(none)")));
    } else if (word == "count") {
        int const number = in.number();
        if (mine)
            member().count(job::counter::calls_sent, static_cast<std::uint64_t>(number));
    } else {
        throw towline::usage_error("unknown word " + word);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    char const* rank_text = std::getenv("TOWLINE_RANK");
    int const rank = rank_text != nullptr ? std::atoi(rank_text) : 0;
    arguments in{{argv + 1, static_cast<std::size_t>(argc - 1)}};
    while (!in.rest.empty()) {
        auto word = in.next();
        bool mine = true;
        if (word[0] == '@') {
            mine = std::stoi(word.substr(1)) == rank;
            word = in.next();
        }
        act(word, in, mine);
    }
    return 0;
} catch (std::exception const& e) {
    fmt::print(stderr, "member: {}\n", e.what());
    return 3;
}
