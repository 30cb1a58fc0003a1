#pragma once
// What a remote call may end with besides peer_error, limit_error, version_error and archive_error (towline/error.hpp).

#include <towline/error.hpp>

#include <string>

namespace towline {

/// The called function threw. `what()` names the rank, the type and the text; the parts are there as well.
class remote_error : public error {
public:
    remote_error(int rank, std::string type, std::string text);
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// The exception's type as the callee's compiler names it ("std::runtime_error"); "unknown" if it is no class of std::exception's.
    [[nodiscard]] std::string const& type() const noexcept { return type_; }
    /// The exception's own what().
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

private:
    int rank_;
    std::string type_;
    std::string text_;
};

/// The called rank runs another program, which does not have the function. The text names both.
class unknown_action_error : public error {
public:
    using error::error;
};

/// The call was cancelled (future::cancel) before it ran, and never will.
class cancelled_error : public error {
public:
    using error::error;
};

} // namespace towline
