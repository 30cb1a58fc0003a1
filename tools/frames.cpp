// Frames on a stream of bytes.

#include "frames.hpp"

#include "base/clock.hpp"
#include "towline/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace towline::tools {

namespace {

constexpr std::size_t head_bytes = 5;

} // namespace

channel::channel(base::unique_fd in, base::unique_fd out) : in_(std::move(in)), out_(std::move(out)), heard_ns_(base::monotonic_ns())
{
    for (int const fd : {in_.get(), out_.get()})
        if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
            throw system_error("a stream to another host", errno);
}

void channel::send(frame kind, std::string_view payload)
{
    if (gone_)
        return;
    std::array<char, head_bytes> head{};
    auto const length = static_cast<std::uint32_t>(payload.size());
    std::memcpy(head.data(), &length, sizeof length);
    head[4] = static_cast<char>(kind);
    sending_.append(head.data(), head.size()).append(payload);
    flush();
}

bool channel::flush()
{
    while (!gone_ && sent_ < sending_.size()) {
        ssize_t const wrote = ::write(out_.get(), sending_.data() + sent_, sending_.size() - sent_);
        if (wrote > 0)
            sent_ += static_cast<std::size_t>(wrote);
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            gone_ = true;
    }
    if (sent_ == sending_.size() || gone_) {
        sending_.clear();
        sent_ = 0;
    } else if (sent_ > (std::size_t{1} << 16)) {
        sending_.erase(0, sent_);
        sent_ = 0;
    }
    return !gone_;
}

bool channel::receive()
{
    received_.erase(0, used_);
    used_ = 0;
    std::array<char, 65536> piece;
    for (;;) {
        ssize_t const got = ::read(in_.get(), piece.data(), piece.size());
        if (got == 0)
            return false;
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        heard_ns_ = base::monotonic_ns();
        received_.append(piece.data(), static_cast<std::size_t>(got));
        if (static_cast<std::size_t>(got) < piece.size())
            return true;
    }
}

std::optional<message> channel::next()
{
    std::string_view const rest = std::string_view(received_).substr(used_);
    if (rest.size() < head_bytes)
        return std::nullopt;
    std::size_t const length = number_in(rest);
    auto const kind = static_cast<frame>(rest[4]);
    if (length > most_frame_bytes || kind < frame::hello || kind >= frame::gone)
        throw error("what came from another host is no message: does a login script there write to standard output?");
    if (rest.size() < head_bytes + length)
        return std::nullopt;
    used_ += head_bytes + length;
    return message{kind, std::string(rest.substr(head_bytes, length))};
}

std::string text_of(std::uint32_t number)
{
    std::string text(sizeof number, '\0');
    std::memcpy(text.data(), &number, sizeof number);
    return text;
}

std::uint32_t number_in(std::string_view text) noexcept
{
    std::uint32_t number = 0;
    std::memcpy(&number, text.data(), std::min(sizeof number, text.size()));
    return number;
}

} // namespace towline::tools
