#pragma once
// Teams: processes with collective operations. On one machine they load and store in each other's memory.

#include <towline/collectives.hpp>
#include <towline/future.hpp>
#include <towline/locality.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace towline {

class world;

/// The operations of a team as futures; a temporary: t.start().all_reduce(v).
class started_operations : public team_operations<started_operations> {
private:
    friend class team;
    friend class team_operations<started_operations>;
    explicit started_operations(std::shared_ptr<detail::team_core> const& core) noexcept : core_(core) {}

    future<void> submit(detail::team_call const& c, std::shared_ptr<void> kept = {})
    {
        return detail::access::make(detail::start(core_, c, std::move(kept)));
    }
    template <class T, class Op>
    future<void> submit(detail::team_call& c, Op combine)
    {
        auto kept = std::make_shared<Op>(std::move(combine));
        c.combine = detail::combining_of<T>(*kept);
        return submit(c, std::move(kept));
    }

    std::shared_ptr<detail::team_core> const& core_;
};

/// Some processes of the world, with ranks in the team. Movable. Each rank may destroy it at any time, when no operation that it started is
/// in flight, and before the world.
class team : public team_operations<team> {
public:
    /// The color of ranks that join no team.
    static constexpr int none = -1;

    /// A team of all processes of the world. All ranks make their common teams, also those of `split`, in the same order, and one thread of
    /// a process at a time (usage_error).
    explicit team(world const&);
    /// No team: rank -1 of 0.
    team() noexcept = default;
    ~team() = default;
    team(team&&) noexcept = default;
    team& operator=(team&&) noexcept = default;

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    /// The process of a rank of the team. Throws usage_error for a rank out of range.
    [[nodiscard]] locality at(int rank) const;

    /// A collective operation: ranks with the same color form a team, in the order of `key`, and of ranks if keys are equal. `none`: no
    /// team.
    [[nodiscard]] team split(int color, int key = 0);

    /// The operations of this team that return futures.
    [[nodiscard]] started_operations start() { return started_operations(core()); }

    using team_operations::all_gather;
    using team_operations::all_reduce;
    using team_operations::broadcast;
    // Of one element.
    template <detail::single T>
    [[nodiscard]] T broadcast(T value, int root = 0)
    {
        broadcast(std::span(&value, 1), root);
        return value;
    }
    template <detail::single T>
    [[nodiscard]] std::vector<T> all_gather(T const& value)
    {
        std::vector<T> all(static_cast<std::size_t>(size()));
        all_gather(std::span(&value, 1), all);
        return all;
    }
    template <detail::single T, detail::single Op = std::plus<>>
    [[nodiscard]] T all_reduce(T value, Op combine = {})
    {
        all_reduce(std::span(&value, 1), std::move(combine));
        return value;
    }

private:
    friend class team_operations<team>;
    explicit team(std::shared_ptr<detail::team_core> core) noexcept : core_(std::move(core)) {}
    /// Throws usage_error if this is no team.
    [[nodiscard]] std::shared_ptr<detail::team_core> const& core() const;

    void submit(detail::team_call const& c) { detail::run(*core(), c); }
    template <class T, class Op>
    void submit(detail::team_call& c, Op combine)
    {
        c.combine = detail::combining_of<T>(combine);
        submit(c);
    }

    std::shared_ptr<detail::team_core> core_;
};

} // namespace towline
