// Writes many lines in small pieces, with write(2), to standard output and standard error in turn. chatter LINES
// Each line: "RANK STREAM NUMBER LENGTH xxxxx", with LENGTH x.

#include <cstdlib>
#include <fmt/format.h>
#include <random>
#include <string>
#include <unistd.h>

int main(int argc, char** argv)
{
    int const lines = argc > 1 ? std::atoi(argv[1]) : 10;
    char const* rank = std::getenv("TOWLINE_RANK");
    std::minstd_rand random(static_cast<unsigned>(std::atoi(rank != nullptr ? rank : "0") + 1));
    for (int i = 0; i < lines; ++i)
        for (int fd : {1, 2}) {
            std::size_t const length = random() % 300;
            auto const line = fmt::format("{} {} {} {} {}\n", rank, fd, i, length, std::string(length, 'x'));
            for (std::size_t at = 0; at < line.size();) {
                ssize_t const done = write(fd, line.data() + at, std::min<std::size_t>(line.size() - at, 1 + random() % 120));
                if (done < 0)
                    return 1;
                at += static_cast<std::size_t>(done);
            }
        }
}
