#pragma once
// Errors of remote calls besides peer_error, limit_error, version_error and archive_error (towline/error.hpp).

#include <towline/error.hpp>

#include <string>

namespace towline {

/// The called function threw. `what()` names the rank, the type and the text, which are also available separately.
class remote_error : public error {
public:
    remote_error(int rank, std::string type, std::string text);
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// The exception's type as the callee's compiler names it ("std::runtime_error"); "unknown" if it does not derive from std::exception.
    [[nodiscard]] std::string const& type() const noexcept { return type_; }
    /// The exception's own what().
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

private:
    int rank_;
    std::string type_;
    std::string text_;
};

/// The called rank runs another program, without the function. The text names both.
class unknown_action_error : public error {
public:
    using error::error;
};

/// The call was cancelled (future::cancel) before it ran, and will not run.
class cancelled_error : public error {
public:
    using error::error;
};

} // namespace towline
