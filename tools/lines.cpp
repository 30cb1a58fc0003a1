// Cuts the output of ranks into lines, and writes them whole.

#include "lines.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::tools {

namespace {

constexpr std::size_t longest_line = 16 << 20;

} // namespace

sink::sink(int fd) : fd_(fd)
{
    struct stat about {};
    regular_ = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

bool sink::flush()
{
    while (waiting() > 0 && !broken()) {
        if (!regular_) {
            pollfd ready{fd_, POLLOUT, 0};
            if (poll(&ready, 1, 0) <= 0)
                break;
        }
        // A pipe that is ready has room for PIPE_BUF bytes; setting O_NONBLOCK would change it for everybody who shares it.
        std::size_t const piece = regular_ ? waiting() : std::min<std::size_t>(waiting(), PIPE_BUF);
        ssize_t const done = ::write(fd_, text_.data() + written_, piece);
        if (done > 0)
            written_ += static_cast<std::size_t>(done);
        else if (done < 0 && errno == EAGAIN)
            break;
        else if (done == 0 || errno != EINTR)
            error_ = done == 0 ? EIO : errno;
    }
    if (written_ == text_.size() || broken()) {
        text_.clear();
        written_ = 0;
    } else if (written_ > (1 << 20)) {
        text_.erase(0, written_);
        written_ = 0;
    }
    return !broken();
}

bool sink::finish()
{
    if (broken() || !regular_)
        return !broken();
    int const same = dup(fd_);  // closing any descriptor of a file flushes it to its server
    if (same >= 0 && ::close(same) != 0 && errno != EINTR)
        error_ = errno;
    return !broken();
}

bool stream::pump()
{
    static std::array<char, 64 << 10> buffer;  // not on the stack, which may be smaller; the keeper has one thread
    ssize_t const got = ::read(from_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0) {
        close();
        return false;
    }
    std::string_view const text(buffer.data(), static_cast<std::size_t>(got));
    auto const last = text.rfind('\n');
    if (last == text.npos) {
        rest_.append(text);
    } else {
        rest_.append(text.substr(0, last + 1));
        emit(rest_);
        rest_.assign(text.substr(last + 1));
    }
    if (rest_.size() > longest_line) {
        emit(rest_);
        rest_.clear();
    }
    return true;
}

void stream::close()
{
    if (!rest_.empty())
        emit(rest_);
    rest_.clear();
    from_.reset();
}

void stream::emit(std::string_view lines)
{
    bool begun = to_->open_line == this;
    if (!begun && to_->open_line != nullptr)
        to_->append("\n");
    while (!lines.empty()) {
        auto const end = tag_.empty() ? lines.rfind('\n') : lines.find('\n');
        std::size_t const length = end == lines.npos ? lines.size() : end + 1;
        if (!begun)
            to_->append(tag_);
        to_->append(lines.substr(0, length));
        begun = end == lines.npos;
        lines.remove_prefix(length);
    }
    to_->open_line = begun ? this : nullptr;
}

} // namespace towline::tools
