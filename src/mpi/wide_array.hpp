#pragma once
// A view of the program's array of counts or displacements: of int, or of 64 bits in a _c function. It reads the array in place, so the int
// forms convert and allocate nothing. The standard asks programs not to change such arrays until the operation has ended.

#include <cstddef>
#include <cstdint>

namespace towline::mpi {

class wide_array {
public:
    wide_array(int const* values) noexcept : values_(values), wide_(false) {}           // NOLINT: meant to convert
    wide_array(std::int64_t const* values) noexcept : values_(values), wide_(true) {}  // NOLINT

    [[nodiscard]] std::int64_t operator[](std::size_t i) const noexcept
    {
        return wide_ ? static_cast<std::int64_t const*>(values_)[i] : static_cast<int const*>(values_)[i];
    }
    [[nodiscard]] bool is_null() const noexcept { return values_ == nullptr; }

private:
    void const* values_;
    bool wide_;
};

} // namespace towline::mpi
