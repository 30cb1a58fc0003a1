#pragma once
// Codes of single errors: what a failing call returns. Such a code has an error class, to which MPI_Error_class leads, and stands for the
// text of this one error (which value was wrong, what its limits are, on which rank), which MPI_Error_string gives. The newest texts are
// kept; the string of an older code is that of its class.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace towline::mpi {

/// Thread-safe.
class error_instances {
public:
    [[nodiscard]] static error_instances& instance();

    /// A new code of that class, one of the standard's. MPI_ERR_IN_STATUS and MPI_ERR_PENDING stay what they are: programs compare
    /// them with what a call returned. Never throws: without memory the code is the class.
    [[nodiscard]] int add(int error_class, std::string text) noexcept;

    /// Whether `add` may have given it.
    [[nodiscard]] static constexpr bool is_one(int code) noexcept { return code >= mark && code < mark << 1; }
    [[nodiscard]] static constexpr int class_of(int code) noexcept { return code & (classes - 1); }
    /// The class of such a code; any other code as it is.
    [[nodiscard]] static constexpr int without_instance(int code) noexcept { return is_one(code) ? class_of(code) : code; }
    /// Nothing: it was too long ago.
    [[nodiscard]] std::optional<std::string> text_of(int code) const;

private:
    // mark | number << 7 | class: a positive int, above all that MPI_Add_error_code gives.
    static constexpr int classes = 1 << 7;
    static constexpr int mark = 1 << 29;
    static constexpr std::uint32_t numbers = mark / classes;
    static constexpr std::size_t kept = 256;

    struct entry {
        int code = 0;
        std::string text;
    };
    mutable std::mutex mutex_;
    std::uint32_t next_ = 0;
    std::array<entry, kept> newest_;
};

} // namespace towline::mpi
