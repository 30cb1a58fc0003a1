#pragma once
// Arithmetic that says no instead of wrapping.

#include <towline/error.hpp>

#include <cstdint>
#include <string>

namespace towline::layout {

[[noreturn]] inline void overflow(char const* constructor, char const* what)
{
    throw limit_error(std::string(constructor) + ": the " + what +
                      " of the new datatype does not fit 64 bits; use smaller counts or displacements");
}

/// For one constructor: names it in errors.
class checked {
public:
    explicit checked(char const* constructor) noexcept : constructor_(constructor) {}

    [[nodiscard]] std::int64_t add(std::int64_t a, std::int64_t b, char const* what) const
    {
        std::int64_t r = 0;
        if (__builtin_add_overflow(a, b, &r))
            overflow(constructor_, what);
        return r;
    }
    [[nodiscard]] std::int64_t sub(std::int64_t a, std::int64_t b, char const* what) const
    {
        std::int64_t r = 0;
        if (__builtin_sub_overflow(a, b, &r))
            overflow(constructor_, what);
        return r;
    }
    [[nodiscard]] std::int64_t mul(std::int64_t a, std::int64_t b, char const* what) const
    {
        std::int64_t r = 0;
        if (__builtin_mul_overflow(a, b, &r))
            overflow(constructor_, what);
        return r;
    }

    [[noreturn]] void refuse(std::string const& what) const { throw usage_error(std::string(constructor_) + ": " + what); }
    /// A count or a length: 0 or more.
    void not_negative(std::int64_t value, char const* argument, std::int64_t index = -1) const
    {
        if (value < 0)
            refuse(std::string(argument) + (index < 0 ? "" : "[" + std::to_string(index) + "]") + " is " + std::to_string(value) +
                   "; it must be 0 or more");
    }
    [[nodiscard]] char const* constructor() const noexcept { return constructor_; }

private:
    char const* constructor_;
};

} // namespace towline::layout
