#pragma once
// Error classes, codes and strings (9.4, 9.5): those of the standard, those of single errors (error_instances.hpp), and those that the
// program adds.

#include <map>
#include <mutex>
#include <string>

namespace towline::mpi {

/// Thread-safe. What is asked for wrongly throws a failure.
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
    /// The text of a class or a code; empty where the program added it without one.
    [[nodiscard]] std::string text_of(int code) const;
    /// For error texts: "MPI_ERR_TAG", or "error code 16385: text"; of any number.
    [[nodiscard]] std::string name_of(int code) const;
    /// Where the largest value in use is kept: the attribute MPI_LASTUSEDCODE.
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

} // namespace towline::mpi
