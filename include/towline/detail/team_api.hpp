#pragma once
// Functions of the library that the templates of team.hpp call. Internal.

#include <towline/detail/state.hpp>
#include <towline/detail/strided_api.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace towline::detail {

enum class team_operation : std::uint8_t {
    barrier, broadcast, gather, scatter, all_gather, all_to_all,
    reduce, all_reduce, reduce_scatter, inclusive_scan, exclusive_scan, exchange,
};

/// Combines rows: out[i] = in[i] op other[i], where `in` comes from lower ranks; `inout` is both other and out.
struct combining {
    void (*apply)(void const* in, void* inout, std::uint64_t count, void* context) = nullptr;
    void (*join)(void const* in, void const* other, void* out, std::uint64_t count, void* context) = nullptr;
    void* context = nullptr;
    bool commutative = false;
};

/// One rank's arguments of an operation, without their types. Sizes and counts are in elements.
struct team_call {
    team_operation what{};
    std::size_t element = 1;  ///< bytes
    void const* send = nullptr;
    std::size_t send_size = 0;
    void* receive = nullptr;
    std::size_t receive_size = 0;
    bool in_place = false;  ///< the data to send are in `receive`
    bool by_counts = false; ///< contiguous blocks of different sizes: `send_counts`, `receive_counts`
    std::span<std::size_t const> send_counts{};
    std::span<std::size_t const> receive_counts{};
    int root = 0;
    std::span<int const> sources{}, destinations{};
    combining combine{};
    strided_shape send_shape{}, receive_shape{};  ///< of rank 0: contiguous; else `send` and `receive` point to the first elements
};

class team_core;
/// Blocks until this rank's part is done.
void run(team_core&, team_call const&);
/// `kept` is held until the operation ends.
[[nodiscard]] state_ref<state<void>> start(std::shared_ptr<team_core> const&, team_call const&, std::shared_ptr<void> kept);

// The library's vectorized loops for this processor.
enum class ready_operation : std::uint8_t { minimum, maximum, plus, multiplies, logical_and, bit_and, logical_or, bit_or, bit_xor };
enum class ready_number : std::uint8_t {
    int8, uint8, int16, uint16, int32, uint32, int64, uint64, float_, double_, long_double, bool_, float_complex, double_complex,
};
using ready_loop = void (*)(void const* in, void const* other, void* out, std::size_t count) noexcept;
/// Null if there is none.
[[nodiscard]] ready_loop find_ready_loop(ready_operation, ready_number) noexcept;

} // namespace towline::detail
