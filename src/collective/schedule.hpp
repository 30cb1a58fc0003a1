#pragma once
// A collective operation as one rank sees it: a list of steps that is built once and run from polls (runner.hpp), as in Hoefler,
// Lumsdaine, Rehm: "Implementation and performance analysis of non-blocking collective operations for MPI", SC 2007.
//
// Messages begin in the order of the steps and go on by themselves; `wait` is a step that ends when all messages begun so far have ended.
// Copies and combinations happen at their place. Between two ranks, messages are received in the order in which they are sent; a message
// has exactly the size that its receiver expects, or the operation fails (ending.hpp).
//
// If the team has lanes (lanes.hpp) and the builder allows it, the operation may be steps over those instead (lane_steps.hpp). Where the
// team is on several nodes it may have parts, one after the other: over the lanes of this rank's node, or messages (levels/composition.cpp).
//
// Pure: knows ranks, not peers; buffers are read only when it runs. One thread builds; a schedule may run again when it has ended.

#include "collective/laid_rows.hpp"
#include "collective/lanes/lane_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace towline::collective {

/// How elements are combined: inout[i] = in[i] op inout[i], where `in` comes from lower ranks. Must not throw, wait or communicate: runs
/// on a thread that polls, or inside the call that starts the operation. Buffers are packed elements in the caller's buffers or in memory
/// that is aligned to 64, at multiples of the element's size.
struct combination {
    void (*apply)(void const* in, void* inout, std::uint64_t count, void* context) = nullptr;
    void* context = nullptr;
    std::uint64_t element = 1;  ///< bytes
    bool commutative = true;    ///< the order of operands may be changed; they may be grouped differently in any case
    /// out[i] = in[i] op other[i]; null: only `apply` is there.
    void (*join)(void const* in, void const* other, void* out, std::uint64_t count, void* context) = nullptr;
};

/// Where this process stands in a group.
struct position {
    int rank = 0;
    int size = 1;
    /// The rank that is `distance` further (or nearer, if negative) around the ring; |distance| <= size.
    [[nodiscard]] int around(int distance) const noexcept
    {
        int const r = rank + distance;
        return r < 0 ? r + size : r >= size ? r - size : r;
    }
};

/// Which group of an intercommunicator a rank belongs to.
enum class side : std::uint8_t { local, remote };

struct step {
    enum class kind : std::uint8_t {
        send,     ///< size bytes at `from` to a rank
        receive,  ///< size bytes to `to` from a rank
        wait,
        copy,     ///< size bytes
        combine,  ///< size elements: to = from op to
    };
    kind what = kind::wait;
    side where = side::local;
    int rank = 0;
    void const* from = nullptr;
    void* to = nullptr;
    std::uint64_t size = 0;
};

class levels;
class schedule;

/// How to add an operation, or its part, as messages, should a rank have no shared memory left for it (lane_step::retreat).
class way_by_messages {
public:
    /// make() returns the function object, which must be small and trivial. It is made in place.
    template <class Make>
    void set(Make const& make)
    {
        using Build = decltype(make());
        static_assert(sizeof(Build) <= sizeof kept_ && std::is_trivially_copyable_v<Build>);
        ::new (static_cast<void*>(kept_)) Build(make());
        add_ = [](schedule& s, void const* at) { (*static_cast<Build const*>(at))(s); };
    }
    void clear() noexcept { add_ = nullptr; }
    /// False: there is none.
    [[nodiscard]] bool add(schedule& to) const
    {
        if (add_ != nullptr)
            add_(to, kept_);
        return add_ != nullptr;
    }

private:
    void (*add_)(schedule&, void const*) = nullptr;
    alignas(16) std::byte kept_[320];
};

class schedule {
public:
    schedule() = default;
    schedule(schedule const&) = delete;
    schedule& operator=(schedule const&) = delete;

    /// Empties it; keeps memory for the next, up to 1 MiB of scratch.
    void clear() noexcept;

    void send(int to, void const* data, std::uint64_t bytes, side = side::local);
    void receive(int from, void* data, std::uint64_t bytes, side = side::local);
    /// Adds nothing if no message was begun since the last.
    void wait();
    /// Adds nothing if there is nothing to copy. The ranges are disjoint or the same.
    void copy(void* to, void const* from, std::uint64_t bytes);
    /// to = from op to.
    void combine(combination const&, void const* from, void* to, std::uint64_t count);

    /// As send and receive, but no message for 0 bytes: where the program gives the size of each block. Elsewhere messages may be empty:
    /// which messages there are does not depend on sizes then, so that ranks which disagree about those notice it.
    void send_any(int to, void const* data, std::uint64_t bytes, side where = side::local)
    {
        if (bytes != 0)
            send(to, data, bytes, where);
    }
    void receive_any(int from, void* data, std::uint64_t bytes, side where = side::local)
    {
        if (bytes != 0)
            receive(from, data, bytes, where);
    }

    /// This rank's arguments do not fit together, which it alone knows. It takes part, so that the others end; all ranks that need
    /// something of it fail as it does (ending::mismatch).
    void spoil() noexcept { is_spoiled_ = true; }
    [[nodiscard]] bool is_spoiled() const noexcept { return is_spoiled_; }

    /// Memory that lives as long as the schedule, aligned to 64. With lanes, big memory is shared with the others, unless there is none
    /// left.
    [[nodiscard]] std::byte* scratch(std::uint64_t bytes);
    /// Shared memory in any case; null: there is none left.
    [[nodiscard]] std::byte* shared_scratch(std::uint64_t bytes);
    /// Private memory.
    [[nodiscard]] std::byte* own_scratch(std::uint64_t bytes);

    /// Allows the operation to go over these lanes, or, where the team is on several nodes, by these levels. After clear, before it is
    /// built; they must stay until it has ended.
    void allow(collective::lanes* l, collective::levels const* nodes = nullptr) noexcept
    {
        lanes_ = l;
        levels_ = nodes;
    }
    /// Null: none may be used.
    [[nodiscard]] collective::levels const* levels() const noexcept { return levels_; }
    /// Of a team on several nodes, while parts are built: those of this rank's node.
    /// Null: none may be used.
    [[nodiscard]] collective::lanes* lanes() const noexcept { return lanes_; }
    /// The next step over lanes, to be filled in its place: a copy that loads wider than was just stored would stall.
    [[nodiscard]] lane_step& over_lanes(lane_step::kind what, int stage, int rank)
    {
        lane_step& s = lane_steps_.emplace_back();
        s.what = what;
        s.stage = static_cast<std::uint8_t>(stage);
        s.rank = rank;
        return s;
    }
    /// The same operation, should it leave its lanes: make() returns what adds its messages, as of way_by_messages.
    template <class Make>
    void otherwise(Make const& make)
    {
        otherwise_.set(make);
    }
    /// False: there are none. A schedule that runs again has them already.
    [[nodiscard]] bool add_messages()
    {
        if (!has_messages_)
            has_messages_ = otherwise_.add(*this);
        return has_messages_;
    }

    /// A part of the operation: all steps since the last.
    struct part {
        std::vector<step> steps;
        std::vector<lane_step> lane_steps;  ///< not empty: it goes over lanes
        called operation;                   ///< what ranks compare there
        way_by_messages otherwise;
        [[nodiscard]] bool is_over_lanes() const noexcept { return !lane_steps.empty(); }
    };
    /// Adds nothing if there were no steps.
    void end_part();
    /// Empty: it has none.
    [[nodiscard]] std::span<part const> parts() const noexcept { return {parts_.data(), parts_begun_}; }
    /// As add_messages, of a part that leaves the lanes.
    [[nodiscard]] bool add_messages_of(std::size_t nth);
    /// From now on ranks of steps by messages are indexes in this list, which stays until the schedule is built; empty: they are ranks.
    void among(std::span<int const> ranks) noexcept { among_ = ranks; }

    /// Results that are not in a row, while the operation goes over lanes; filled anew before each start.
    [[nodiscard]] laid_rows& rows() noexcept { return rows_; }
    /// What the ranks of an operation over lanes compare.
    void is_called(called operation) noexcept { lane_operation_ = operation; }
    [[nodiscard]] called lane_operation() const noexcept { return lane_operation_; }
    /// What the steps over lanes combine with.
    void combine_with(combination const& r) noexcept { operation_ = r; }
    [[nodiscard]] std::vector<lane_step> const& lane_steps() const noexcept { return lane_steps_; }

    [[nodiscard]] std::vector<step> const& steps() const noexcept { return steps_; }
    [[nodiscard]] combination const& operation() const noexcept { return operation_; }
    /// The most messages that are under way at a time.
    [[nodiscard]] std::size_t width() const noexcept { return width_; }

private:
    struct release {
        release() noexcept = default;
        explicit release(node_memory* from) noexcept : shared(from) {}
        node_memory* shared = nullptr;  ///< to which it goes back; null: private memory
        void operator()(std::byte* p) const noexcept;
    };
    struct block {
        std::unique_ptr<std::byte[], release> memory;
        std::uint64_t size = 0;
        std::uint64_t used = 0;
    };
    void count_message() noexcept;
    [[nodiscard]] std::byte* scratch(std::uint64_t bytes, bool shared);
    [[nodiscard]] int rank_of(int index) const noexcept { return among_.empty() ? index : among_[static_cast<std::size_t>(index)]; }

    std::vector<step> steps_;
    std::span<int const> among_;
    std::vector<part> parts_;  ///< as many as were ever needed
    std::size_t parts_begun_ = 0;
    collective::lanes* lanes_ = nullptr;
    collective::levels const* levels_ = nullptr;
    std::vector<lane_step> lane_steps_;
    laid_rows rows_;
    called lane_operation_;
    combination operation_;
    std::vector<block> blocks_;
    std::size_t begun_ = 0;
    std::size_t width_ = 0;
    bool is_spoiled_ = false;
    bool has_messages_ = false;  ///< besides steps over lanes
    way_by_messages otherwise_;
};

} // namespace towline::collective
