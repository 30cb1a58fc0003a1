// The texts of errors, and the codes that the program adds.

#include "mpi/error_codes.hpp"

#include "mpi/abi.hpp"
#include "mpi/failure.hpp"
#include "mpi/handles.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

// Texts by class, for MPI_Error_string. The text of a failure says what to do.
constexpr std::array<char const*, 63> texts{
    "no error",
    "invalid buffer",
    "invalid count",
    "invalid datatype",
    "invalid tag",
    "invalid communicator",
    "invalid rank",
    "invalid request",
    "invalid root",
    "invalid group",
    "invalid operation",
    "invalid topology",
    "invalid dimension",
    "invalid argument",
    "unknown error",
    "message truncated: it is longer than the receive buffer",
    "another error",
    "internal error of the MPI library",
    "request is pending: it neither failed nor completed",
    "error code is in status",
    "permission denied",
    "invalid access mode of a file",
    "invalid assertion",
    "invalid file name",
    "invalid base of memory",
    "error in a data conversion function",
    "invalid displacement",
    "data representation is defined already",
    "file exists",
    "file is in use",
    "invalid file",
    "invalid info key",
    "no such info key",
    "invalid info value",
    "invalid info object",
    "error of input or output",
    "invalid attribute key",
    "invalid lock type",
    "service name is not published",
    "out of memory",
    "collective argument is not the same on all processes",
    "no space on the device",
    "no such file",
    "invalid port",
    "quota exceeded",
    "file or file system is read-only",
    "memory cannot be attached to the window",
    "conflicting accesses to a window",
    "target memory is not part of the window",
    "memory cannot be shared",
    "wrong synchronization of one-sided calls",
    "service name cannot be published",
    "invalid size",
    "processes cannot be spawned",
    "data representation is not supported",
    "operation is not supported",
    "invalid window",
    "wrong flavor of window",
    "a peer process has ended",
    "value is too large for its argument",
    "invalid session",
    "invalid error handler",
    "ABI information is not available, or set already",
};

constexpr std::array<char const*, 18> tool_texts{
    "tools interface cannot be initialized",
    "variable is not accessible",
    "tools interface is not initialized",
    "not supported by the tools interface",
    "out of memory in the tools interface",
    "invalid use of the tools interface",
    "invalid index of a variable, category or event",
    "invalid item",
    "invalid session of the tools interface",
    "invalid handle of the tools interface",
    "no such name in the tools interface",
    "out of handles",
    "out of sessions",
    "control variable cannot be set now",
    "control variable cannot be set",
    "performance variable cannot be written or reset",
    "performance variable cannot be started or stopped",
    "performance variable cannot be read and reset in one step",
};

bool is_predefined(int code) noexcept
{
    return (code >= 0 && code < static_cast<int>(texts.size())) || code == MPI_ERR_LASTCODE ||
           (code >= MPI_T_ERR_CANNOT_INIT && code <= MPI_T_ERR_PVAR_NO_ATOMIC);
}

} // namespace

error_codes::error_codes() : next_(MPI_ERR_LASTCODE + 1), last_used_(MPI_ERR_LASTCODE) {}

error_codes& error_codes::instance()
{
    static error_codes& codes = *new error_codes;  // never destroyed: programs call MPI from destructors
    return codes;
}

int error_codes::add(int error_class)
{
    int const code = next_++;
    added_.emplace(code, entry{error_class != 0 ? error_class : code, {}});
    last_used_ = code;
    return code;
}

int error_codes::add_class()
{
    std::scoped_lock const lock(mutex_);
    return add(0);
}

int error_codes::add_code(int error_class)
{
    std::scoped_lock const lock(mutex_);
    auto const found = added_.find(error_class);
    if (!is_predefined(error_class) && (found == added_.end() || found->second.error_class != error_class))
        throw failure(MPI_ERR_ARG, fmt::format("errorclass is {}, which is no error class", error_class));
    return add(error_class);
}

error_codes::entry& error_codes::added(int code, char const* parameter)
{
    auto const found = added_.find(code);
    if (found == added_.end())
        throw failure(MPI_ERR_ARG, fmt::format("{} is {}, which {}", parameter, code,
                                               is_predefined(code) ? "is the standard's and cannot be changed" : "nobody added"));
    return found->second;
}

void error_codes::add_string(int code, std::string text)
{
    std::scoped_lock const lock(mutex_);
    entry& e = added(code, "errorcode");
    if (text.size() >= MPI_MAX_ERROR_STRING)
        throw failure(MPI_ERR_ARG, fmt::format("string has {} characters; at most {} are possible", text.size(), MPI_MAX_ERROR_STRING - 1));
    e.text = std::move(text);
}

/// A code or class that still has a string cannot be removed (9.5).
void error_codes::remove(int code, char const* parameter)
{
    if (!added(code, parameter).text.empty())
        throw failure(MPI_ERR_OTHER, fmt::format("{} {} has a string yet: remove that first", parameter, code));
    added_.erase(code);
    last_used_ = added_.empty() ? MPI_ERR_LASTCODE : added_.rbegin()->first;
}

void error_codes::remove_class(int error_class)
{
    std::scoped_lock const lock(mutex_);
    if (added(error_class, "errorclass").error_class != error_class)
        throw failure(MPI_ERR_ARG, fmt::format("errorclass is {}, which is an error code, not a class", error_class));
    auto const used = std::find_if(added_.begin(), added_.end(),
                                   [&](auto const& e) { return e.second.error_class == error_class && e.first != error_class; });
    if (used != added_.end())
        throw failure(MPI_ERR_OTHER, fmt::format("errorclass {} has codes yet ({}): remove those first", error_class, used->first));
    remove(error_class, "errorclass");
}

void error_codes::remove_code(int code)
{
    std::scoped_lock const lock(mutex_);
    if (added(code, "errorcode").error_class == code)
        throw failure(MPI_ERR_ARG, fmt::format("errorcode is {}, which is an error class: MPI_Remove_error_class removes it", code));
    remove(code, "errorcode");
}

void error_codes::remove_string(int code)
{
    std::scoped_lock const lock(mutex_);
    entry& e = added(code, "errorcode");
    if (e.text.empty())
        throw failure(MPI_ERR_ARG, fmt::format("errorcode {} has no string", code));
    e.text.clear();
}

int error_codes::class_of(int code) const
{
    code = error_instances::without_instance(code);
    if (is_predefined(code))
        return code;
    std::scoped_lock const lock(mutex_);
    auto const found = added_.find(code);
    if (found == added_.end())
        throw failure(MPI_ERR_ARG, fmt::format("errorcode is {}, which is neither a code of the standard nor one that was added", code));
    return found->second.error_class;
}

std::string error_codes::text_of(int code) const
{
    if (error_instances::is_one(code)) {
        if (auto text = error_instances::instance().text_of(code))
            return *std::move(text);
        code = error_instances::class_of(code);
    }
    if (is_predefined(code)) {
        char const* const text = code == MPI_ERR_LASTCODE          ? "last code of the standard"
                                 : code >= MPI_T_ERR_CANNOT_INIT ? tool_texts[static_cast<std::size_t>(code - MPI_T_ERR_CANNOT_INIT)]
                                                                 : texts[static_cast<std::size_t>(code)];
        return fmt::format("{}: {}", error_class_name(code), text);
    }
    std::scoped_lock const lock(mutex_);
    auto const found = added_.find(code);
    if (found == added_.end())
        throw failure(MPI_ERR_ARG, fmt::format("errorcode is {}, which is neither a code of the standard nor one that was added", code));
    return found->second.text;
}

std::string error_codes::name_of(int code) const
{
    code = error_instances::without_instance(code);
    if (char const* const name = error_class_name(code))
        return name;
    std::scoped_lock const lock(mutex_);
    auto const found = added_.find(code);
    return found == added_.end() || found->second.text.empty() ? fmt::format("error code {}", code)
                                                               : fmt::format("error code {}: {}", code, found->second.text);
}

// Errors whose text is kept.

error_instances& error_instances::instance()
{
    static error_instances& all = *new error_instances;  // never destroyed: programs call MPI from destructors
    return all;
}

int error_instances::add(int error_class, std::string text) noexcept
{
    if (error_class <= MPI_SUCCESS || error_class >= classes || error_class == MPI_ERR_IN_STATUS || error_class == MPI_ERR_PENDING)
        return error_class;
    if (text.size() >= MPI_MAX_ERROR_STRING)
        text.replace(MPI_MAX_ERROR_STRING - 4, std::string::npos, "...");
    std::scoped_lock const lock(mutex_);
    std::uint32_t const number = next_++ % numbers;
    entry& e = newest_[number % kept];
    e.code = mark | static_cast<int>(number) * classes | error_class;
    e.text = std::move(text);
    return e.code;
}

std::optional<std::string> error_instances::text_of(int code) const
{
    std::scoped_lock const lock(mutex_);
    entry const& e = newest_[static_cast<std::uint32_t>(code & (mark - 1)) / classes % kept];
    return e.code == code ? std::optional(e.text) : std::nullopt;
}

} // namespace towline::mpi
