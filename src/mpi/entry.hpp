#pragma once
// Support for the generated entry points, which convert between C and towline::mpi::calls.

#include "mpi/abi.hpp"
#include "mpi/calls.hpp"
#include "mpi/phase.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>

namespace towline::mpi {

enum class direction : std::uint8_t { in, out, inout };

struct parameter {
    char const* name;
    mpi::kind kind;
    mpi::direction direction;
    bool array;
};

struct function {
    char const* name;
    std::span<parameter const> parameters;
};

/// An argument of any type, for error texts.
class word {
public:
    template <std::integral T>
    word(T value) noexcept : bits_(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))) {}  // NOLINT: meant to convert
    template <class T>
        requires std::is_enum_v<T>
    word(T value) noexcept : bits_(static_cast<std::uint64_t>(value)) {}  // NOLINT
    template <class T>
    word(T* value) noexcept : bits_(reinterpret_cast<std::uintptr_t>(value)) {}  // NOLINT

    [[nodiscard]] std::int64_t number() const noexcept { return static_cast<std::int64_t>(bits_); }
    [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
    template <class T>
    [[nodiscard]] T* pointer() const noexcept
    {
        return reinterpret_cast<T*>(bits_);
    }

private:
    std::uint64_t bits_;
};

/// Inside `catch (...)`: calls the error handler for the current exception. Returns the result of the MPI call.
[[gnu::cold]] int failed(function const&, std::initializer_list<word>);
/// The same for functions that are not implemented.
[[gnu::cold]] int unsupported(function const&, std::initializer_list<word>);

[[noreturn, gnu::cold]] void throw_null(char const* parameter);

inline void require(void const* pointer, char const* parameter)
{
    if (pointer == nullptr) [[unlikely]]
        throw_null(parameter);
}

/// A count as an int; MPI_UNDEFINED if it does not fit (2.5.8).
template <class To>
[[nodiscard]] constexpr To narrowed(std::int64_t value) noexcept
{
    return value > std::numeric_limits<To>::max() || value < std::numeric_limits<To>::min() ? To{MPI_UNDEFINED} : static_cast<To>(value);
}

template <class T>
void set_null(T* output, std::type_identity_t<T> null) noexcept
{
    if (output != nullptr)
        *output = null;
}

/// An empty status (3.7.3).
void set_empty(MPI_Status*) noexcept;

} // namespace towline::mpi
