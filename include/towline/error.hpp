#pragma once
// The exceptions that Towline throws. All derive from towline::error.

#include <towline/detail/language.hpp>

#include <stdexcept>
#include <string>

namespace towline {

/// Base of every exception thrown by Towline. `what()` says what was wrong and what to do.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The program used the library in a way that can never work (for example a call from a forked child).
class usage_error : public error {
public:
    using error::error;
};

/// The operating system refused a request (memory, descriptors, a system call). Names the call and errno's text.
class system_error : public error {
public:
    system_error(std::string const& what, int errnum);
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

/// A configured bound would be exceeded (message size, outstanding calls, arena size).
class limit_error : public error {
public:
    using error::error;
};

/// The peer uses another version of a wire format.
class version_error : public error {
public:
    using error::error;
};

/// A peer ended before it answered. `rank()` is the peer.
class peer_error : public error {
public:
    peer_error(std::string const& what, int rank) : error(what), rank_(rank) {}
    [[nodiscard]] int rank() const noexcept { return rank_; }

private:
    int rank_;
};

/// An archive that cannot be decoded: truncated, out of range, or over a limit. Nothing of it is kept.
class archive_error : public error {
public:
    using error::error;
};

} // namespace towline
