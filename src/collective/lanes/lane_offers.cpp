// What a rank offers in an operation over lanes, and how others reach it.

#include "collective/lanes/lane_offers.hpp"

#include "base/prefetch.hpp"
#include "collective/lanes/lane_tables.hpp"
#include "collective/thresholds.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cstring>

namespace towline::collective {

using state = lane_run::state;

void move_bytes(void* to, void const* from, std::uint64_t bytes) noexcept
{
    if (bytes >= thresholds::block_copy)
        base::copy_block(to, from, bytes);
    else if (bytes != 0)
        std::memcpy(to, from, bytes);
}

bool takes_copy(std::uint64_t bytes) noexcept
{
    return bytes >= thresholds::taken_least && bytes <= thresholds::taken_most && base::takes_lines();
}

void lane_offers::post(void const* data, std::uint64_t bytes, unread_part unread, int stage, int whom) noexcept
{
    bool const fits = bytes <= lanes::slot_bytes;
    lanes::slot& mine = lanes_.mine(number_);
    std::byte* const to = fits ? mine.contents() : lanes_.my_payload(number_);
    std::uint64_t const rest = unread.offset + unread.size;
    move_bytes(to, data, unread.offset);
    move_bytes(to + rest, static_cast<std::byte const*>(data) + rest, bytes - rest);
    lanes_.count_posted(bytes - unread.size);
    mine.set(terms(fits ? lanes::offer::in_slot : lanes::offer::behind, bytes));
    lanes_.publish(number_, stage, whom);
    if (!fits)
        prepare_payload(bytes);
}

/// Prefetches the next payload for writing: the next operation is likely to write as much.
void lane_offers::prepare_payload(std::uint64_t bytes) noexcept
{
    for (std::uint64_t at = 0; at < std::min(bytes, thresholds::payload_ahead); at += thresholds::line)
        base::prefetch_to_write(lanes_.my_payload(number_ + 1) + at);
}

namespace {

/// Field by field: a load that covers several stores waits until they have left for the cache.
void write(std::byte* to, lane_entry const& e) noexcept
{
    std::uint64_t const first = static_cast<std::uint32_t>(e.rank) | std::uint64_t{e.how} << 32;
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + 8, &e.where, sizeof e.where);
    std::memcpy(to + 16, &e.bytes, sizeof e.bytes);
}
static_assert(offsetof(lane_entry, how) == 4 && offsetof(lane_entry, where) == 8 && offsetof(lane_entry, bytes) == 16);

} // namespace

void lane_offers::offer_table(std::span<lane_block const> blocks, std::uint64_t end, std::byte* shared, int stage, int whom)
{
    lanes::slot& mine = lanes_.mine(number_);
    bool const fits = end <= lanes::slot_bytes;
    std::byte* const at = shared != nullptr ? shared : fits ? mine.contents() : lanes_.my_payload(number_);
    std::byte* to = at;
    for (lane_block const& b : blocks) {
        lane_entry const& e = b.entry;
        if (e.how != lane_entry::copied && e.where == 0)
            throw state::failed_lost;
        write(to, e);
        to += sizeof e;
        if (e.how == lane_entry::copied && b.from != nullptr) {
            move_bytes(at + e.where, b.from, e.bytes);
            lanes_.count_posted(e.bytes);
        }
    }
    if (shared != nullptr)
        mine.send = lanes_.memory().find(shared, end);
    auto const how = shared != nullptr ? lanes::offer::table_lent : fits ? lanes::offer::table_in_slot : lanes::offer::table_behind;
    mine.set(terms(how, blocks.size()));
    lanes_.publish(number_, stage, whom);
    if (shared == nullptr && !fits)
        prepare_payload(end);
}

void lane_offers::tell(std::uint64_t number, int stage, int whom) noexcept
{
    lanes_.mine(number_).set(terms(lanes::offer::nothing, number));
    lanes_.publish(number_, stage, whom);
}

void lane_offers::lend(std::uint64_t send, std::uint64_t send_bytes, bool is_copy, std::uint64_t receive, std::uint64_t receive_bytes,
                       int stage, int whom) noexcept
{
    lanes::slot& mine = lanes_.mine(number_);
    mine.send = send;
    mine.is_copy = is_copy ? 1 : 0;
    mine.receive = receive;
    mine.receive_size = receive_bytes;
    mine.claims.store(0, std::memory_order_relaxed);
    mine.set(terms(lanes::offer::lent, send_bytes));
    lanes_.publish(number_, stage, whom);
}

bool lane_offers::takes_lines_of(found there, std::uint64_t size) const noexcept
{
    if (lanes_.size() != 2)
        return false;
    if (there.is_copy)
        return takes_copy(size);
    return there.is_theirs && base::is_rewritten(there.at, size);
}

std::byte* lane_offers::reach(std::uint64_t word, std::uint64_t bytes)
{
    try {
        return lanes_.memory().attach(word, bytes);
    } catch (error const&) {
        throw state::failed_lost;
    }
}

lanes::slot::terms lane_offers::terms_of(int rank)
{
    lanes::slot const& s = lanes_.of(rank, number_);
    auto there = s.offers();
    bool const is_lent = there.what == lanes::offer::lent || there.what == lanes::offer::table_lent;
    if (is_lent && rank != lanes_.rank() && lanes_.begin_use(rank, number_))
        there = s.offers();
    require_same(rank, there);
    return there;
}

void lane_offers::refuse_finished(int rank) const
{
    lanes_.note({rank, {}, operation_});
    lanes_.complain(rank, number_, {}, operation_);
    throw state::failed_mismatch;
}

void lane_offers::refuse_unfit(int rank) const
{
    lanes_.complain(rank, number_, operation_, operation_);
    throw state::failed_mismatch;
}

void lane_offers::refuse(int rank, lanes::slot::terms const& there) const
{
    if (there.operation == operation_ || there.operation == called{})
        throw lane_run::failure_of(there);
    lanes_.note({rank, there.operation, operation_});
    lanes_.complain(rank, number_, there.operation, operation_);
    throw state::failed_mismatch;
}

lane_offers::found lane_offers::find_source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    lanes::slot& s = lanes_.of(rank, number_);
    auto const there = terms_of(rank);
    if (there.bytes != expected || offset > expected || size > expected - offset)
        refuse_unfit(rank);
    switch (there.what) {
    case lanes::offer::in_slot: return {s.contents() + offset, false, false};
    case lanes::offer::behind: return {lanes_.payload_of(rank, number_) + offset, false, rank != lanes_.rank()};
    case lanes::offer::lent: {
        bool const is_theirs = rank != lanes_.rank();
        return {reach(s.send + offset, size), is_theirs, is_theirs && s.is_copy == 1};
    }
    default: refuse_unfit(rank);
    }
}

lane_offers::found lane_offers::count_source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    found const there = find_source(rank, offset, size, expected);
    if (there.is_theirs)
        lanes_.count_moved(size);
    return there;
}

std::byte const* lane_offers::source(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    return count_source(rank, offset, size, expected).at;
}

std::byte* lane_offers::find_target(int rank, std::uint64_t offset, std::uint64_t size)
{
    lanes::slot const& s = lanes_.of(rank, number_);
    auto const there = terms_of(rank);
    if (there.what != lanes::offer::lent || s.receive == 0 || offset > s.receive_size || size > s.receive_size - offset)
        refuse_unfit(rank);
    return reach(s.receive + offset, size);
}

std::byte* lane_offers::target(int rank, std::uint64_t offset, std::uint64_t size)
{
    std::byte* const to = find_target(rank, offset, size);
    if (rank != lanes_.rank())
        lanes_.count_moved(size);
    return to;
}

lane_offers::readable lane_offers::find_readable(int rank, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    found const there = count_source(rank, offset, size, expected);
    return {there.at, takes_lines_of(there, size)};
}

void lane_offers::readable::copy_to(void* to, std::uint64_t from, std::uint64_t bytes) const noexcept
{
    if (takes)
        base::copy_taking(to, at + from, bytes);
    else
        move_bytes(to, at + from, bytes);
}

void lane_offers::bring(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    find_readable(rank, offset, size, expected).copy_to(to, 0, size);
}

template <class Move>
void lane_offers::claim_units(std::uint64_t size, Move&& move)
{
    // Each side counts its claims in a half of the word. It stops at the first claim that finds no unit left.
    constexpr unsigned half = 32;
    constexpr std::uint64_t page = thresholds::page;
    std::uint64_t const unit = std::max(thresholds::claimed_least, (size / thresholds::claimed_units + page - 1) / page * page);
    std::uint64_t const units = (size + unit - 1) / unit;
    bool const from_front = lanes_.rank() == 1;
    std::atomic<std::uint64_t>& claims = lanes_.of(1, number_).claims;
    std::uint64_t moved = 0;
    for (;;) {
        std::uint64_t const before = claims.fetch_add(from_front ? 1 : std::uint64_t{1} << half, std::memory_order_relaxed);
        std::uint64_t const front = static_cast<std::uint32_t>(before), back = before >> half;
        if (front + back >= units)
            break;
        std::uint64_t const at = (from_front ? front : units - 1 - back) * unit;
        std::uint64_t const bytes = std::min(unit, size - at);
        move(at, bytes);
        moved += bytes;
    }
    lanes_.count_moved(moved);
}

void lane_offers::bring_share(int rank, void* to, std::uint64_t offset, std::uint64_t size, std::uint64_t expected)
{
    found const there = find_source(rank, offset, size, expected);
    std::byte const* const from = there.at;
    bool const takes = takes_lines_of(there, size);
    auto* const into = static_cast<std::byte*>(to);
    claim_units(size, [&](std::uint64_t at, std::uint64_t bytes) {
        if (takes)
            base::copy_taking(into + at, from + at, bytes);
        else
            base::copy_part(into + at, from + at, bytes, base::way_of_copy(into, size, at, bytes));
    });
}

void lane_offers::push_share(int rank, void const* from, std::uint64_t offset, std::uint64_t size)
{
    std::byte* const to = find_target(rank, offset, size);
    claim_units(size, [&](std::uint64_t at, std::uint64_t bytes) {
        base::copy_part(to + at, static_cast<std::byte const*>(from) + at, bytes, base::way_of_copy(to, size, at, bytes));
    });
}

lane_table lane_offers::table_of(int rank)
{
    lanes::slot& s = lanes_.of(rank, number_);
    auto const there = terms_of(rank);
    std::uint64_t const entries = there.bytes;
    auto const with_room = [&](std::byte const* at, std::uint64_t room) {
        if (entries > room / sizeof(lane_entry))
            throw state::failed_lost;
        return lane_table(at, entries, room);
    };
    switch (there.what) {
    case lanes::offer::table_in_slot: return with_room(s.contents(), lanes::slot_bytes);
    case lanes::offer::table_behind: return with_room(lanes_.payload_of(rank, number_), lanes::payload_bytes);
    case lanes::offer::table_lent:
        if (s.send == 0 || entries > thresholds::table_most)
            throw state::failed_lost;
        return {reach(s.send, entries * sizeof(lane_entry)), entries, entries * sizeof(lane_entry)};
    default: refuse_unfit(rank);
    }
}

lane_entry lane_offers::entry_for_us(int rank, lane_table const& table, std::uint64_t nth, std::uint64_t bytes) const
{
    auto const e = table.find(lanes_.rank(), nth);
    if (!e || e->bytes != bytes)
        refuse_unfit(rank);
    return *e;
}

std::byte* lane_offers::lent_by(int rank, lane_entry const& e)
{
    if (e.where == 0)
        throw state::failed_lost;
    if (rank != lanes_.rank()) {
        if (lanes_.begin_use(rank, number_))
            require_same(rank, lanes_.of(rank, number_).offers());
        lanes_.count_moved(e.bytes);
    }
    return reach(e.where, e.bytes);
}

lane_offers::readable lane_offers::find_block(int rank, std::uint64_t nth, std::uint64_t bytes)
{
    lane_table const table = table_of(rank);
    lane_entry const e = entry_for_us(rank, table, nth, bytes);
    if (e.how == lane_entry::read) {
        std::byte const* const lent = lent_by(rank, e);
        bool const is_only_reader = lanes_.size() == 2 && rank != lanes_.rank();
        return {lent, is_only_reader && base::is_rewritten(lent, bytes)};
    }
    if (e.how != lane_entry::copied)
        refuse_unfit(rank);
    std::byte const* const from = table.copy_of(e);
    if (from == nullptr)
        throw state::failed_lost;
    return {from, false};
}

void lane_offers::push_block(int rank, void const* from, std::uint64_t bytes)
{
    lane_entry const e = entry_for_us(rank, table_of(rank), 0, bytes);
    if (e.how != lane_entry::written)
        refuse_unfit(rank);
    move_bytes(lent_by(rank, e), from, bytes);
}

// Tables of other ranks.

lane_entry lane_table::entry(std::uint64_t i) const noexcept
{
    lane_entry e;
    std::memcpy(&e, at_ + i * sizeof e, sizeof e);
    return e;
}

std::optional<lane_entry> lane_table::find(int rank, std::uint64_t nth) const noexcept
{
    std::uint64_t first = 0;
    for (std::uint64_t last = entries_; first < last;) {
        std::uint64_t const middle = first + (last - first) / 2;
        if (entry(middle).rank < rank)
            first = middle + 1;
        else
            last = middle;
    }
    if (nth >= entries_ - first)
        return std::nullopt;
    lane_entry const found = entry(first + nth);
    return found.rank == rank ? std::optional(found) : std::nullopt;
}

std::byte const* lane_table::copy_of(lane_entry const& e) const noexcept
{
    bool const is_inside = e.where >= entries_ * sizeof(lane_entry) && e.where <= room_ && e.bytes <= room_ - e.where;
    return is_inside ? at_ + e.where : nullptr;
}

} // namespace towline::collective
