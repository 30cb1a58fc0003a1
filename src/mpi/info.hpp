#pragma once
// Info objects (10): keys with values, in the order in which they were set. Thread-safe.

#include "mpi/object.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace towline::mpi {

class info final : public object {
public:
    info() = default;

    /// The information about the start of the program (10.2.5, MPI_INFO_ENV).
    [[nodiscard]] static ref<info> of_environment(int argc, char* const* argv);

    void set(std::string_view key, std::string_view value);
    [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
    /// False if there is no such key.
    bool erase(std::string_view key);
    [[nodiscard]] int size() const;
    [[nodiscard]] std::optional<std::string> key(int n) const;
    [[nodiscard]] ref<info> copy() const;
    /// Copies all keys of the other; its values replace existing ones.
    void merge(info const&);

private:
    using entries = std::vector<std::pair<std::string, std::string>>;
    [[nodiscard]] entries snapshot() const;

    mutable std::mutex mutex_;
    entries entries_;
};

} // namespace towline::mpi
