#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <termios.h>
#include <unistd.h>

namespace blast {
namespace {

/// The controlling terminal, if a background process may write to it; else -1.
int open_terminal()
{
    char const* name = std::getenv("TERM");
    if (name == nullptr || std::string_view(name) == "dumb")
        return -1;
    int terminal = ::open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    termios settings{};
    if (terminal >= 0 && (::tcgetattr(terminal, &settings) != 0 || (settings.c_lflag & TOSTOP) != 0)) {
        ::close(terminal);
        return -1;
    }
    return terminal;
}

} // namespace

progress::mode progress::best_mode()
{
    int terminal = open_terminal();
    if (terminal < 0)
        return mode::lines;
    ::close(terminal);
    return mode::bar;
}

progress::progress(mode m) : mode_(m)
{
    if (mode_ == mode::bar && (terminal_ = open_terminal()) < 0)
        mode_ = mode::lines;
}

progress::~progress()
{
    clear();
    if (terminal_ >= 0)
        ::close(terminal_);
}

void progress::show(double part, std::string const& text)
{
    clock::time_point const now = clock::now();
    if (mode_ == mode::lines && part >= next_line_) {
        fmt::print("{:3.0f} %  {}\n", 100 * part, text);
        std::fflush(stdout);
        next_line_ = part + 0.1;
    }
    if (mode_ != mode::bar || now < next_bar_)
        return;
    next_bar_ = now + std::chrono::milliseconds(100);
    int const width = 30;
    int const full = std::clamp(static_cast<int>(part * width + 0.5), 0, width);
    double const spent = std::chrono::duration<double>(now - start_).count();
    std::string left = part > 0.02 ? fmt::format("{:.0f} s left", spent / part * (1 - part)) : "";
    std::string line = "\r[";
    for (int i = 0; i < width; ++i)
        line += i < full ? '#' : '.';
    line += fmt::format("] {:3.0f} %  {}  {}\033[K", 100 * part, text, left);
    drawn_ = ::write(terminal_, line.data(), line.size()) > 0 || drawn_; // a terminal that does not take it misses a picture of a bar
}

void progress::clear()
{
    constexpr std::string_view blank = "\r\033[K";
    if (drawn_ && ::write(terminal_, blank.data(), blank.size()) > 0)
        drawn_ = false;
}

} // namespace blast
