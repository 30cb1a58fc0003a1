#pragma once
// The error of an MPI call as an exception, from where it is found to the entry point, which calls the error handler.

#include "mpi/object.hpp"

#include <exception>
#include <string>

namespace towline::mpi {

class communicator;

class failure : public std::exception {
public:
    /// `code` is a standard class or a code of the program; `what` is the text for the user: "count is -3, and ...".
    failure(int code, std::string what);
    failure(failure const&) noexcept;
    ~failure() override;

    /// The same failure with the communicator that it is raised on, for calls whose arguments do not name one (those on requests).
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
