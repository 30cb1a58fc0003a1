#include "collective/lane_steps.hpp"

#include "base/copy.hpp"
#include "collective/schedule.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cstring>

namespace towline::collective {
namespace {

/// Looks for a stage between two looks for the dead.
constexpr std::uint32_t looks = 256;

void move_bytes(void* to, void const* from, std::uint64_t bytes) noexcept
{
    if (bytes >= 4096)
        base::copy_block(to, from, bytes);
    else if (bytes != 0)
        std::memcpy(to, from, bytes);
}

/// What another rank lent, and this rank alone reads.
void receive_bytes(void* to, void const* from, std::uint64_t bytes) noexcept
{
    if (base::is_rewritten(from, bytes))
        base::copy_taking(to, from, bytes);
    else
        move_bytes(to, from, bytes);
}

} // namespace

lane_run::state lane_run::advance(std::vector<lane_step> const& steps, combination const& r) noexcept
{
    if (!lanes_->is_turn_of(number_))
        return state::waits;
    try {
        while (failure_ == state::ended && at_ < steps.size()) {
            if (!run(steps[at_], r))
                return state::waits;
            ++at_;
        }
    } catch (state why) {
        failure_ = why;
    } catch (...) {
        failure_ = state::failed_lost;
    }
    if (failure_ != state::ended && !end())
        return state::waits;
    lanes_->finish(number_);
    return failure_;
}

int lane_run::waits_for(std::vector<lane_step> const& steps) const noexcept
{
    if (at_ >= steps.size() || steps[at_].what != lane_step::kind::meet)
        return all_ranks;
    return steps[at_].rank != all_ranks ? steps[at_].rank : met_ < lanes_->size() ? met_ : all_ranks;
}

/// A failed rank says why, and who needs it fails for the same reason.
lane_run::state lane_run::failure_of(lanes::slot::terms const& t) noexcept
{
    if (t.what != lanes::offer::failed)
        return state::failed_mismatch;
    for (state const why : {state::failed_mismatch, state::failed_dead})
        if (t.bytes == static_cast<std::uint64_t>(why))
            return why;
    return state::failed_lost;
}

/// False: it cannot be told yet.
bool lane_run::end()
{
    if (!lanes_->may_write(number_, false) && !lanes_->is_anybody_gone())
        return false;
    lanes_->fail(number_, static_cast<std::uint64_t>(failure_));
    return true;
}

bool lane_run::may_write(bool payload)
{
    if (lanes_->may_write(number_, payload))
        return true;
    if (++idle_ % looks == 0 && lanes_->is_anybody_gone())
        throw state::failed_dead;
    return false;
}

bool lane_run::meet_one(int rank, int stage)
{
    if (lanes_->has_reached(rank, number_, stage))
        return true;
    if (++idle_ % looks == 0 && lanes_->is_gone(rank) && !lanes_->has_reached(rank, number_, stage))
        throw state::failed_dead;
    return false;
}

bool lane_run::meet(lane_step const& s)
{
    if (s.rank != all_ranks)
        return meet_one(s.rank, s.stage);
    for (; met_ < lanes_->size(); ++met_)
        if (met_ != lanes_->rank() && !meet_one(met_, s.stage))
            return false;
    met_ = 0;
    lanes_->all_are_at(number_);
    return true;
}

bool lane_run::has_one_reader(int rank) const noexcept
{
    return lanes_->size() == 2 && rank != lanes_->rank() && lanes_->of(rank, number_).offers().what == lanes::offer::lent;
}

std::byte const* lane_run::source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    lanes::slot& s = lanes_->of(rank, number_);
    auto const there = s.offers();
    if (there.what == lanes::offer::failed)
        throw failure_of(there);
    if (there.bytes != expected || offset > expected || size > expected - offset)
        throw state::failed_mismatch;
    switch (there.what) {
    case lanes::offer::in_line: return s.line() + offset;
    case lanes::offer::behind: return lanes_->payload_of(rank, number_) + offset;
    case lanes::offer::lent:
        if (rank != lanes_->rank())
            lanes_->count_moved(size);
        return lanes_->memory().attach(s.send + offset, size);
    default: throw state::failed_mismatch;
    }
}

std::byte* lane_run::target(int rank, std::uint64_t offset, std::uint64_t size)
{
    lanes::slot const& s = lanes_->of(rank, number_);
    auto const there = s.offers();
    if (there.what == lanes::offer::failed)
        throw failure_of(there);
    if (there.what != lanes::offer::lent || s.receive == 0 || offset > s.receive_size || size > s.receive_size - offset)
        throw state::failed_mismatch;
    if (rank != lanes_->rank())
        lanes_->count_moved(size);
    return lanes_->memory().attach(s.receive + offset, size);
}

void lane_run::bring(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    std::byte const* const from = source(rank, offset, size, expected);
    if (has_one_reader(rank))
        receive_bytes(to, from, size);
    else
        move_bytes(to, from, size);
}

void lane_run::fold_piece(int last, std::byte* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, combination const& r)
{
    bring(last, to, offset, size, expected);
    for (int rank = last - 1; rank >= 0; --rank) {
        auto const* const from = source(rank, offset, size, expected);
        bool const takes = has_one_reader(rank) && base::is_rewritten(from, size);
        r.apply(from, to, size / r.element, r.context);
        if (takes)
            base::take_lines(from, size);
    }
}

void lane_run::fold(lane_step const& s, combination const& r)
{
    std::uint64_t const step = std::max<std::uint64_t>(lane_step::piece / r.element, 1) * r.element;
    for (std::uint64_t done = 0; done < s.size; done += step)
        fold_piece(s.rank, static_cast<std::byte*>(s.to) + done, s.offset + done, std::min(step, s.size - done), s.expected, r);
}

void lane_run::fold_push(lane_step const& s, combination const& r)
{
    std::uint64_t const step = std::max<std::uint64_t>(lane_step::piece / r.element, 1) * r.element;
    int const first = s.rank == all_ranks ? 0 : s.rank;
    int const behind = s.rank == all_ranks ? lanes_->size() : s.rank + 1;
    // Combined where a result is to be, unless that rank's contribution is there.
    int const home = s.rank == all_ranks ? lanes_->rank() : s.rank;
    lanes::slot const& there = lanes_->of(home, number_);
    bool const is_free = there.offers().what == lanes::offer::lent && there.send != there.receive;
    for (std::uint64_t done = 0; done < s.size; done += step) {
        std::uint64_t const offset = s.offset + done;
        std::uint64_t const size = std::min(step, s.size - done);
        std::byte* const sum = is_free ? target(home, offset, size) : static_cast<std::byte*>(s.to);
        fold_piece(lanes_->size() - 1, sum, offset, size, s.expected, r);
        for (int rank = first; rank < behind; ++rank)
            if (!is_free || rank != home)
                move_bytes(target(rank, offset, size), sum, size);
    }
}

bool lane_run::run(lane_step const& s, combination const& r)
{
    using kind = lane_step::kind;
    switch (s.what) {
    case kind::post: {
        bool const fits = s.size <= lanes::inline_bytes;
        if (!may_write(!fits))
            return false;
        lanes::slot& mine = lanes_->mine(number_);
        move_bytes(fits ? mine.line() : lanes_->my_payload(number_), s.from, s.size);
        lanes_->count_posted(s.size);
        mine.set(fits ? lanes::offer::in_line : lanes::offer::behind, s.size);
        lanes_->publish(number_, s.stage, s.rank);
        return true;
    }
    case kind::lend: {
        if (!may_write(false))
            return false;
        lanes::slot& mine = lanes_->mine(number_);
        mine.send = s.size == 0 ? 0 : lanes_->memory().find(s.from, s.size);
        mine.receive = s.expected == 0 ? 0 : lanes_->memory().find(s.to, s.expected);
        mine.receive_size = s.expected;
        if (s.size != 0 && mine.send == 0)
            throw state::failed_lost;
        mine.set(lanes::offer::lent, s.size);
        lanes_->publish(number_, s.stage, s.rank);
        return true;
    }
    case kind::mark:
        lanes_->publish(number_, s.stage, s.rank);
        return true;
    case kind::meet: return meet(s);
    case kind::take:
        bring(s.rank, s.to, s.offset, s.size, s.expected);
        return true;
    case kind::push:
        move_bytes(target(s.rank, s.offset, s.size), s.from, s.size);
        return true;
    case kind::fold:
        fold(s, r);
        return true;
    case kind::fold_push:
        fold_push(s, r);
        return true;
    case kind::copy:
        move_bytes(s.to, s.from, s.size);
        return true;
    }
    return true;
}

} // namespace towline::collective
