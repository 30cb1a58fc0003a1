#pragma once
// Standard output and standard error of many ranks, joined without tearing lines.

#include "base/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace towline::tools {

/// The destination of lines: a descriptor that is written without blocking long on a slow reader.
class sink {
public:
    explicit sink(int fd);

    void append(std::string_view text) { text_.append(text); }
    /// Writes what the reader takes now. False once a write has failed; then everything is dropped.
    bool flush();

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return text_.size() - written_; }
    [[nodiscard]] bool broken() const noexcept { return error_ != 0; }
    /// The errno of the failed write: EPIPE if the reader has ended.
    [[nodiscard]] int error() const noexcept { return error_; }
    /// After the last flush: what a file system tells only at the end (a quota, a server). False where that was an error.
    bool finish();

    void const* open_line = nullptr;  ///< the stream that has written the begin of a line, and not its end

private:
    int fd_;
    bool regular_;
    int error_ = 0;
    std::string text_;
    std::size_t written_ = 0;
};

/// One output stream of one rank.
class stream {
public:
    /// `tag` stands in front of each line ("[3] ", or nothing).
    stream(base::unique_fd from, sink& to, std::string tag) : from_(std::move(from)), to_(&to), tag_(std::move(tag)) {}

    [[nodiscard]] int fd() const noexcept { return from_.get(); }
    /// Reads once, and passes whole lines on. A line of more than 16 MiB is passed in pieces. False at the end of the stream.
    bool pump();
    [[nodiscard]] bool goes_to(sink const& s) const noexcept { return to_ == &s; }
    /// Passes an unfinished last line on and closes the stream: the writer, if it still writes, gets SIGPIPE.
    void close();

private:
    void emit(std::string_view lines);

    base::unique_fd from_;
    sink* to_;
    std::string tag_;
    std::string rest_;
};

} // namespace towline::tools
