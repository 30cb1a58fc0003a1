// The steps of an operation over lanes, run as far as the other ranks have come.

#include "collective/lanes/lane_steps.hpp"

#include "collective/laid_rows.hpp"
#include "collective/lanes/lane_offers.hpp"
#include "collective/lanes/lane_tables.hpp"
#include "collective/schedule.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <span>

namespace towline::collective {

lane_run::state lane_run::advance(std::vector<lane_step> const& steps, combination const& r) noexcept
{
    if (!lanes_->is_turn_of(number_))
        return state::waits;
    try {
        while (failure_ == state::ended && at_ < steps.size()) {
            if (!run(steps[at_], r)) {
                lanes_->end_use(number_);
                return state::waits;
            }
            ++at_;
        }
    } catch (state why) {
        failure_ = why;
    } catch (...) {
        failure_ = state::failed_lost;
    }
    lanes_->end_use(number_);
    if (failure_ != state::ended && !end())
        return state::waits;
    lanes_->finish(number_);
    return failure_;
}

int lane_run::waits_for(std::vector<lane_step> const& steps) const noexcept
{
    if (has_told_)
        return met_ < lanes_->size() ? met_ : all_ranks;
    if (at_ < steps.size() && steps[at_].what == lane_step::kind::stay)
        return steps[at_].rank;
    if (at_ >= steps.size() || steps[at_].what != lane_step::kind::meet)
        return all_ranks;
    return steps[at_].rank != all_ranks ? steps[at_].rank : met_ < lanes_->size() ? met_ : all_ranks;
}

/// A failed rank says why, and ranks that need it fail for the same reason.
lane_run::state lane_run::failure_of(lanes::slot::terms const& t) noexcept
{
    if (t.what != lanes::offer::failed)
        return state::failed_mismatch;
    for (state const why : {state::failed_mismatch, state::failed_dead, state::retreats})
        if (t.bytes == static_cast<std::uint64_t>(why))
            return why;
    return state::failed_lost;
}

/// After a failure. False: it cannot be told yet, or another rank is in the middle of using what this rank lent.
bool lane_run::end()
{
    if (!has_told_) {
        if (!lanes_->may_write(number_, false) && !lanes_->is_anybody_gone())
            return false;
        lanes_->fail(number_, static_cast<std::uint64_t>(failure_), operation_);
        has_told_ = true;
        met_ = 0;
    }
    for (; met_ < lanes_->size(); ++met_) {
        if (met_ == lanes_->rank())
            continue;
        bool const is_gone = others_.is_due(thresholds::polls_at_others) && lanes_->is_gone(met_);
        if (!is_gone && lanes_->is_used_by(met_, number_))
            return false;
        if (failure_ == state::retreats && !has_retreated(met_, is_gone))
            return false;
    }
    if (failure_ == state::retreats)
        failure_ = outcome_;
    return true;
}

/// Every rank looks at all others, so that all decide the same. False: that rank has not come so far.
bool lane_run::has_retreated(int rank, bool is_gone)
{
    bool const has_finished = lanes_->has_finished(rank, number_);
    if (lanes_->has_reached(rank, number_, 3)) {
        if (state const why = failure_of(lanes_->of(rank, number_).offers()); why != state::retreats)
            outcome_ = why;
        return true;
    }
    if (has_finished)
        outcome_ = state::failed_mismatch;  // it did something else
    else if (is_gone)
        outcome_ = state::failed_dead;
    return has_finished || is_gone;
}

bool lane_run::stay(lane_step const& s)
{
    if (!lanes_->has_left(s.rank, number_)) {
        if (others_.is_due(thresholds::polls_at_others) && lanes_->is_gone(s.rank) && !lanes_->has_left(s.rank, number_))
            throw state::failed_dead;
        return false;
    }
    // A rank that takes and lends nothing finishes without an offer.
    auto const there = lanes_->has_reached(s.rank, number_, 1) ? lanes_->of(s.rank, number_).offers() : lanes::slot::terms{};
    if (there.what == lanes::offer::failed && lanes_->has_reached(s.rank, number_, 3))
        throw failure_of(there);
    if (s.expected != 0 && there.word() != offers().terms(lanes::offer::nothing, s.expected).word())
        offers().refuse_unfit(s.rank);
    return true;
}

bool lane_run::may_write(bool payload)
{
    if (lanes_->may_write(number_, payload))
        return true;
    if (others_.is_due(thresholds::polls_at_others) && lanes_->is_anybody_gone())
        throw state::failed_dead;
    return false;
}

bool lane_run::meet_one(int rank, int stage)
{
    if (lanes_->has_reached(rank, number_, stage)) {
        // It failed: it has not done what this stage stands for.
        if (lanes_->has_reached(rank, number_, 3) && lanes_->of(rank, number_).offers().what == lanes::offer::failed)
            offers().require_same(rank, lanes_->of(rank, number_).offers());
        return true;
    }
    if (!others_.is_due(thresholds::polls_at_others))
        return false;
    if (lanes_->is_gone(rank) && !lanes_->has_reached(rank, number_, stage))
        throw state::failed_dead;
    if (lanes_->has_finished(rank, number_) && !lanes_->has_reached(rank, number_, stage))
        offers().refuse_finished(rank);
    return false;
}

bool lane_run::meet(lane_step const& s)
{
    if (s.rank != all_ranks)
        return meet_one(s.rank, s.stage);
    for (; met_ < lanes_->size(); ++met_) {
        if (met_ == lanes_->rank())
            continue;
        if (!meet_one(met_, s.stage))
            return false;
        if (s.stage == 1)
            offers().require_same(met_, lanes_->of(met_, number_).offers());
    }
    met_ = 0;
    lanes_->all_are_at(number_);
    return true;
}

lane_offers lane_run::offers() const noexcept
{
    return {*lanes_, number_, operation_};
}

namespace {

/// The combination over ranks 0 to `last` of `size` bytes at `offset` of the `expected` that each offers. The sources are found once: an
/// operation that reads in pieces reads the same places all the time.
class lane_fold {
public:
    /// `own`, not null: where this rank's part lies. Throws as lane_offers::source.
    lane_fold(lane_offers&, int last, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, combination const&,
              void const* own = nullptr);

    /// `to` = the combination of `bytes` of them, whole elements, from `at` on.
    void combine(std::byte* to, std::uint64_t at, std::uint64_t bytes) const;

private:
    combination const& how_;
    boost::container::small_vector<lane_offers::readable, 8> sources_;
};

lane_fold::lane_fold(lane_offers& all, int last, std::uint64_t offset, std::uint64_t size, std::uint64_t expected, combination const& how,
                     void const* own)
    : how_(how)
{
    for (int rank = 0; rank <= last; ++rank) {
        if (rank == all.rank() && own != nullptr)
            sources_.push_back({static_cast<std::byte const*>(own), false});
        else
            sources_.push_back(all.find_readable(rank, offset, size, expected));
    }
}

void lane_fold::combine(std::byte* to, std::uint64_t at, std::uint64_t bytes) const
{
    std::uint64_t const count = bytes / how_.element;
    std::span<lane_offers::readable const> rest(sources_.data(), sources_.size());
    auto const next = [&rest] {
        lane_offers::readable const r = rest.back();
        rest = rest.first(rest.size() - 1);
        return r;
    };
    lane_offers::readable const last = next();
    if (how_.join != nullptr && !rest.empty()) {
        lane_offers::readable const before = next();
        how_.join(before.at + at, last.at + at, to, count, how_.context);
        before.has_read(at, bytes);
        last.has_read(at, bytes);
    } else {
        last.copy_to(to, at, bytes);
    }
    while (!rest.empty()) {
        lane_offers::readable const in = next();
        how_.apply(in.at + at, to, count, how_.context);
        in.has_read(at, bytes);
    }
}

/// Calls each(at, bytes) for the parts of `size` bytes: whole elements, about `piece` bytes.
template <class Each>
void in_pieces(std::uint64_t size, std::uint64_t element, std::uint64_t piece, Each&& each)
{
    std::uint64_t const step = std::max<std::uint64_t>(piece / element, 1) * element;
    for (std::uint64_t at = 0; at < size; at += step)
        each(at, std::min(step, size - at));
}

} // namespace

void lane_run::fold(lane_step const& s, combination const& r)
{
    lane_offers all = offers();
    lane_fold const sum(all, s.rank, s.offset, s.size, s.expected, r, s.from);
    in_pieces(s.size, r.element, thresholds::piece, [&](std::uint64_t at, std::uint64_t bytes) {
        sum.combine(static_cast<std::byte*>(s.to) + at, at, bytes);
    });
}

void lane_run::fold_push(lane_step const& s, combination const& r)
{
    lane_offers all = offers();
    lane_fold const sum(all, lanes_->size() - 1, s.offset, s.size, s.expected, r, s.from);
    // The pieces are combined in one of the results, unless that rank's contribution is in the same place, and copied from there.
    int const home = s.rank == all_ranks ? lanes_->rank() : s.rank;
    lanes::slot const& there = lanes_->of(home, number_);
    bool const is_free = there.offers().what == lanes::offer::lent && there.send != there.receive;
    std::byte* const first = is_free ? all.target(home, s.offset, s.size) : nullptr;
    boost::container::small_vector<std::byte*, 8> copies;
    for (int rank = s.rank == all_ranks ? 0 : s.rank, behind = s.rank == all_ranks ? lanes_->size() : s.rank + 1; rank < behind; ++rank)
        if (!is_free || rank != home)
            copies.push_back(all.target(rank, s.offset, s.size));
    std::uint64_t const piece = copies.size() == 0 ? thresholds::piece : thresholds::copied_piece;
    in_pieces(s.size, r.element, piece, [&](std::uint64_t at, std::uint64_t bytes) {
        std::byte* const to = is_free ? first + at : static_cast<std::byte*>(s.to);
        sum.combine(to, at, bytes);
        for (std::byte* const copy : copies)
            move_bytes(copy + at, to, bytes);
    });
}

void lane_run::lend(lane_step const& s)
{
    node_memory const& memory = lanes_->memory();
    std::uint64_t const send = s.size == 0 ? 0 : memory.find(s.from, s.size);
    if (s.size != 0 && send == 0)
        throw state::failed_lost;
    offers().lend(send, s.size, s.offset != 0, s.expected == 0 ? 0 : memory.find(s.to, s.expected), s.expected, s.stage, s.rank);
}

/// A take, take_block or copy to a result that is not in a row: straight to where it belongs. False: it is none.
bool lane_run::put(lane_step const& s)
{
    laid_rows::row const* const row = rows_->find(s.to);
    if (row == nullptr)
        return false;
    if (s.what == lane_step::kind::copy) {
        row->put(s.to, s.size, s.from);
        return true;
    }
    lane_offers all = offers();
    lane_offers::readable const from = s.what == lane_step::kind::take ? all.find_readable(s.rank, s.offset, s.size, s.expected)
                                                                       : all.find_block(s.rank, s.offset, s.size);
    row->put(s.to, s.size, from.at);
    from.has_read(0, s.size);
    return true;
}

bool lane_run::run(lane_step const& s, combination const& r)
{
    using kind = lane_step::kind;
    if (rows_ != nullptr && (s.what == kind::take || s.what == kind::take_block || s.what == kind::copy) && put(s)) [[unlikely]]
        return true;
    switch (s.what) {
    case kind::post:
        if (!may_write(s.size > lanes::slot_bytes))
            return false;
        offers().post(s.from, s.size, {s.offset, s.expected}, s.stage, s.rank);
        return true;
    case kind::lend:
        if (!may_write(false))
            return false;
        lend(s);
        return true;
    case kind::mark:
        lanes_->publish(number_, s.stage, s.rank);
        return true;
    case kind::meet: return meet(s);
    case kind::take:
        offers().bring(s.rank, s.to, s.offset, s.size, s.expected);
        return true;
    case kind::push:
        move_bytes(offers().target(s.rank, s.offset, s.size), s.from, s.size);
        return true;
    case kind::take_shared:
        offers().bring_share(s.rank, s.to, s.offset, s.size, s.expected);
        return true;
    case kind::push_shared:
        offers().push_share(s.rank, s.from, s.offset, s.size);
        return true;
    case kind::fold:
        fold(s, r);
        return true;
    case kind::fold_push:
        fold_push(s, r);
        return true;
    case kind::copy:
        if (s.offset != 0 && takes_copy(s.size))
            base::copy_taking(s.to, s.from, s.size);
        else
            move_bytes(s.to, s.from, s.size);
        return true;
    case kind::table:
        if (!may_write(s.to == nullptr && s.expected > lanes::slot_bytes))
            return false;
        offers().offer_table({static_cast<lane_block const*>(s.from), s.size}, s.expected, static_cast<std::byte*>(s.to), s.stage, s.rank);
        return true;
    case kind::tell:
        if (!may_write(false))
            return false;
        offers().tell(s.size, s.stage, s.rank);
        return true;
    case kind::take_block:
        offers().bring_block(s.rank, s.offset, s.to, s.size);
        return true;
    case kind::push_block:
        offers().push_block(s.rank, s.from, s.size);
        return true;
    case kind::stay: return stay(s);
    case kind::retreat: throw state::retreats;
    case kind::give_up: throw state::failed_lost;
    }
    return true;
}

} // namespace towline::collective
