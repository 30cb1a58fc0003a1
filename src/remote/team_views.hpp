#pragma once
// Rows with gaps in a team's operation: packed before it, unpacked after it.

#include "remote/thresholds.hpp"

#include <towline/detail/team_api.hpp>
#include <towline/error.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace towline::remoting {

/// The operation on packed rows, in shared memory if some is free. Rows without gaps are used in place.
class staged_rows {
public:
    /// Packs this rank's contribution. Throws std::bad_alloc.
    staged_rows(detail::team_call const&, int rank);
    staged_rows(staged_rows const&) = delete;
    staged_rows& operator=(staged_rows const&) = delete;

    [[nodiscard]] detail::team_call const& call() const noexcept { return call_; }
    /// The error if the result cannot be written to the program's row.
    [[nodiscard]] std::optional<usage_error> const& unfit() const noexcept { return unfit_; }
    /// After a successful operation: unpacks this rank's result into the program's row. Not if unfit().
    void unpack() const noexcept;
    /// True if unpacking takes longer than passing it to another thread.
    [[nodiscard]] bool unpacks_long() const noexcept
    {
        return target_ != nullptr && call_.receive_size * call_.element >= thresholds::unpacks_long;
    }

    [[nodiscard]] static bool wanted(detail::team_call const& c) noexcept { return (c.send_shape.rank | c.receive_shape.rank) != 0; }

private:
    struct give_back {
        bool shared;
        void operator()(std::byte* block) const noexcept;
    };
    using block = std::unique_ptr<std::byte, give_back>;
    [[nodiscard]] static block make(std::size_t bytes);

    detail::team_call call_;
    block send_, receive_;
    void* target_ = nullptr;  ///< null: this rank has no result
    std::vector<std::size_t> extents_;
    std::vector<std::ptrdiff_t> strides_;
    std::optional<usage_error> unfit_;
};

} // namespace towline::remoting
