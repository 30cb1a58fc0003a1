#pragma once
// The error of a call of MPI, while it travels as an exception from where it was found to the entry point, which calls the error handler.

#include "mpi/object.hpp"

#include <exception>
#include <string>

namespace towline::mpi {

class communicator;

class failure : public std::exception {
public:
    /// `code` is a class of the standard, or a code of the program; `what` says what was wrong, for a person: "count is -3, and ...".
    failure(int code, std::string what);
    failure(failure const&) noexcept;
    ~failure() override;

    /// Raises the error on this communicator, where the call's arguments do not say it (a request does not).
    [[nodiscard]] failure on(communicator&) const;

    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] char const* what() const noexcept override { return what_.c_str(); }
    [[nodiscard]] communicator* raised_on() const noexcept { return raised_on_.get(); }

private:
    int code_;
    std::string what_;
    ref<communicator> raised_on_;
};

} // namespace towline::mpi
