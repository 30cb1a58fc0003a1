#pragma once
// Error classes, codes and strings (9.4, 9.5): those of the standard, those of single errors, and those that the program adds.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace towline::mpi {

/// Classes and codes with one text each. Thread-safe. Invalid arguments throw a failure.
class error_codes {
public:
    error_codes();

    [[nodiscard]] static error_codes& instance();

    int add_class();
    int add_code(int error_class);
    void add_string(int code, std::string text);
    void remove_class(int error_class);
    void remove_code(int code);
    void remove_string(int code);

    [[nodiscard]] int class_of(int code) const;
    /// The text of a class or code; empty if the program added it without one.
    [[nodiscard]] std::string text_of(int code) const;
    /// For error texts: "MPI_ERR_TAG", or "error code 16385: text"; of any number.
    [[nodiscard]] std::string name_of(int code) const;
    /// The address of the largest code in use, for the attribute MPI_LASTUSEDCODE.
    [[nodiscard]] int* last_used() noexcept { return &last_used_; }

private:
    struct entry {
        int error_class;
        std::string text;
    };
    entry& added(int code, char const* parameter);
    int add(int error_class);
    void remove(int code, char const* parameter);

    mutable std::mutex mutex_;
    std::map<int, entry> added_;
    int next_;
    int last_used_;
};

/// Codes of single errors, which failing calls return. Such a code has an error class (MPI_Error_class) and a text about this one error,
/// with the wrong value, its limits and the rank (MPI_Error_string). The newest texts are kept; an older code has the string of its class.
/// Thread-safe.
class error_instances {
public:
    [[nodiscard]] static error_instances& instance();

    /// Adds a code of a standard class. MPI_ERR_IN_STATUS and MPI_ERR_PENDING stay unchanged, because programs compare them with return
    /// values. Never throws: without memory the code is the class.
    [[nodiscard]] int add(int error_class, std::string text) noexcept;

    /// True if `add` may have returned this code.
    [[nodiscard]] static constexpr bool is_one(int code) noexcept { return code >= mark && code < mark << 1; }
    [[nodiscard]] static constexpr int class_of(int code) noexcept { return code & (classes - 1); }
    /// The class of such a code; any other code unchanged.
    [[nodiscard]] static constexpr int without_instance(int code) noexcept { return is_one(code) ? class_of(code) : code; }
    /// Nothing if the text was discarded.
    [[nodiscard]] std::optional<std::string> text_of(int code) const;

private:
    // mark | number << 7 | class: a positive int, larger than every code of MPI_Add_error_code.
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
