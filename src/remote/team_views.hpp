#pragma once
// Rows of a team's operation that do not lie in a row: packed before it, unpacked after it.

#include <towline/detail/team_api.hpp>
#include <towline/error.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace towline::remoting {

/// The operation as it is done, on rows in shared memory where there is some. Rows that lie as they should are left alone.
class staged_rows {
public:
    /// Packs what this rank brings. Throws std::bad_alloc.
    staged_rows(detail::team_call const&, int rank);
    staged_rows(staged_rows const&) = delete;
    staged_rows& operator=(staged_rows const&) = delete;

    [[nodiscard]] detail::team_call const& call() const noexcept { return call_; }
    /// What keeps the result from being written where the program wants it, if anything does.
    [[nodiscard]] std::optional<usage_error> const& unfit() const noexcept { return unfit_; }
    /// When the operation has ended well: what it gave this rank goes where the program wants it. Nothing is unfit.
    void unpack() const noexcept;
    /// That takes longer than handing it to another thread.
    [[nodiscard]] bool unpacks_long() const noexcept
    {
        return target_ != nullptr && call_.receive_size * call_.element >= (std::size_t{64} << 10);
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
    void* target_ = nullptr;  ///< null: nothing comes to this rank
    std::vector<std::size_t> extents_;
    std::vector<std::ptrdiff_t> strides_;
    std::optional<usage_error> unfit_;
};

} // namespace towline::remoting
