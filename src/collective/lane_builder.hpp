#pragma once
// Writes steps over lanes (lane_steps.hpp) into a schedule.

#include "collective/schedule.hpp"

#include <cstddef>
#include <cstdint>

namespace towline::collective {

class lane_builder {
public:
    explicit lane_builder(schedule& s) noexcept : s_(s), l_(*s.lanes()) {}

    [[nodiscard]] int rank() const noexcept { return l_.rank(); }
    [[nodiscard]] int size() const noexcept { return l_.size(); }
    /// So many bytes are offered by copy.
    [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept { return l_.are_posted(bytes); }

    void post(void const* data, std::uint64_t bytes, int whom = all_ranks, int stage = 1)
    {
        s_.over_lanes({.what = kind::post, .stage = to_stage(stage), .rank = whom, .from = data, .size = bytes});
    }
    void mark(int stage, int whom = all_ranks) { s_.over_lanes({.what = kind::mark, .stage = to_stage(stage), .rank = whom}); }
    void meet(int rank, int stage = 1) { s_.over_lanes({.what = kind::meet, .stage = to_stage(stage), .rank = rank}); }
    void meet_all(int stage = 1) { meet(all_ranks, stage); }
    /// Of what `rank` offers, which are `all` bytes.
    void take(int rank, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        s_.over_lanes({.what = kind::take, .rank = rank, .to = to, .offset = offset, .size = bytes, .expected = all});
    }
    void push(int rank, void const* from, std::uint64_t offset, std::uint64_t bytes)
    {
        if (bytes != 0)
            s_.over_lanes({.what = kind::push, .rank = rank, .from = from, .offset = offset, .size = bytes});
    }
    /// Over the ranks 0 to `last`.
    void fold(combination const& r, int last, void* to, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        s_.combine_with(r);
        s_.over_lanes({.what = kind::fold, .rank = last, .to = to, .offset = offset, .size = bytes, .expected = all});
    }
    /// Into the same place of what `whom` lent to be written.
    void fold_push(combination const& r, int whom, std::uint64_t offset, std::uint64_t bytes, std::uint64_t all)
    {
        if (bytes == 0)
            return;
        s_.combine_with(r);
        s_.over_lanes({.what = kind::fold_push, .rank = whom, .to = s_.scratch(piece_room(r)), .offset = offset, .size = bytes,
                       .expected = all});
    }
    void copy(void* to, void const* from, std::uint64_t bytes)
    {
        if (bytes != 0 && to != from)
            s_.over_lanes({.what = kind::copy, .from = from, .to = to, .size = bytes});
    }

    /// Lends buffers of ours, or memory in their place that others reach.
    void lend(void const* send, std::uint64_t send_bytes, void* receive, std::uint64_t receive_bytes, int whom = all_ranks);
    /// Where to write, instead of the receive buffer, while it is lent.
    [[nodiscard]] std::byte* landing() const noexcept { return static_cast<std::byte*>(in_place_of_it_); }
    /// Says that this rank needs nobody's buffers any more, and stays until nobody needs its own; the result is in `receive` then.
    void finish();
    /// The same where this rank needs the buffers of `whom` only, and lent none.
    void finish_with(int whom) { mark(2, whom); }

private:
    using kind = lane_step::kind;
    [[nodiscard]] static std::uint8_t to_stage(int n) noexcept { return static_cast<std::uint8_t>(n); }
    [[nodiscard]] static std::uint64_t piece_room(combination const& r) noexcept;

    schedule& s_;
    lanes& l_;
    void* receive_ = nullptr;
    void* in_place_of_it_ = nullptr;
    std::uint64_t receive_bytes_ = 0;
};

} // namespace towline::collective
