// Looks up, evicts and invalidates registrations.

#include "heap/registration_cache.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

namespace towline::heap {

namespace {

constexpr std::size_t page = 4096;
constexpr std::uintptr_t last_address = std::numeric_limits<std::uintptr_t>::max();

std::uintptr_t down(std::uintptr_t a, std::size_t granule) noexcept
{
    return a & ~(std::uintptr_t{granule} - 1);
}

/// Rounds up, but not beyond the last address.
std::uintptr_t up(std::uintptr_t a, std::size_t granule) noexcept
{
    std::uintptr_t const last = down(last_address, granule);
    return a > last ? last_address : down(a + (granule - 1), granule);
}

} // namespace

registration_cache::registration_cache(back_end& b, limits l) noexcept : back_end_(b), limits_(l) {}

registration_cache::~registration_cache()
{
    for (auto const& r : all_) {
        assert(r.users == 0 && "a lease outlives its cache");
        back_end_.drop(r.of, r.begin, r.bytes, r.made);
    }
}

registration_cache::index::iterator registration_cache::first_overlap(space of, std::uintptr_t begin, std::uintptr_t end)
{
    auto at = index_.lower_bound({of, begin});
    if (at != index_.begin()) {
        auto const before = std::prev(at);
        if (before->first.first == of && before->second->end() > begin)
            return before;
    }
    return at != index_.end() && at->first.first == of && at->first.second < end ? at : index_.end();
}

void registration_cache::drop(place at) noexcept
{
    bytes_ -= at->bytes;
    back_end_.drop(at->of, at->begin, at->bytes, at->made);
    all_.erase(at);
}

void registration_cache::retire(index::iterator i)
{
    place const at = i->second;
    at->found = false;
    index_.erase(i);
    kept_.store(index_.size(), std::memory_order_relaxed);
    if (at->users == 0)
        drop(at);
}

bool registration_cache::make_room(std::size_t bytes)
{
    if (bytes > limits_.bytes)
        return false;
    auto const fits = [&] { return all_.size() < limits_.ranges && bytes_ <= limits_.bytes - bytes; };
    for (auto at = all_.begin(); !fits() && at != all_.end();) {
        place const old = at++;
        if (old->users != 0)
            continue;
        ++counts_.evicted;
        index_.erase({old->of, old->begin});
        kept_.store(index_.size(), std::memory_order_relaxed);
        drop(old);
    }
    return fits();
}

std::optional<registration_cache::place> registration_cache::try_make(space of, std::uintptr_t begin, std::uintptr_t end)
{
    // Overlapping ranges retire first: a back-end need not hold the same bytes twice, unless they are in use.
    for (auto i = first_overlap(of, begin, end); i != index_.end(); i = first_overlap(of, begin, end)) {
        ++counts_.merged;
        retire(i);
    }
    if (!make_room(end - begin))
        return std::nullopt;
    auto const made = back_end_.make(of, begin, end - begin);
    if (!made)
        return std::nullopt;
    place at;
    try {
        at = all_.insert(all_.end(), {of, begin, end - begin, *made, 0, true});
    } catch (std::bad_alloc const&) {
        back_end_.drop(of, begin, end - begin, *made);
        return std::nullopt;
    }
    bytes_ += end - begin;
    try {
        index_.emplace(key{of, begin}, at);
    } catch (std::bad_alloc const&) {
        drop(at);
        return std::nullopt;
    }
    kept_.store(index_.size(), std::memory_order_relaxed);
    ++counts_.made;
    return at;
}

registration_cache::lease registration_cache::acquire(space of, std::uintptr_t begin, std::size_t bytes) noexcept
{
    std::lock_guard const lock(mutex_);
    if (bytes == 0 || bytes > last_address - begin) {
        ++counts_.refused;
        return {};
    }
    std::uintptr_t const end = begin + bytes;
    if (auto const i = first_overlap(of, begin, end); i != index_.end() && i->second->begin <= begin && i->second->end() >= end) {
        ++counts_.hits;
        ++i->second->users;
        return {*this, i->second};
    }
    // One range covers this request and all ranges that it overlaps.
    std::uintptr_t from = down(begin, limits_.granule);
    std::uintptr_t to = up(end, limits_.granule);
    for (auto i = first_overlap(of, from, to); i != index_.end() && i->first.first == of && i->first.second < to; ++i) {
        from = std::min(from, i->second->begin);
        to = std::max(to, i->second->end());
    }
    auto at = to - from <= limits_.bytes ? try_make(of, from, to) : std::nullopt;
    if (!at)
        at = try_make(of, down(begin, page), up(end, page));
    if (!at) {
        ++counts_.refused;
        return {};
    }
    (*at)->users = 1;
    return {*this, *at};
}

void registration_cache::release(place at) noexcept
{
    std::lock_guard const lock(mutex_);
    if (--at->users == 0 && !at->found)
        drop(at);
}

std::size_t registration_cache::invalidate(space of, std::uintptr_t begin, std::size_t bytes) noexcept
{
    if (bytes == 0 || kept_.load(std::memory_order_relaxed) == 0)
        return 0;
    std::lock_guard const lock(mutex_);
    std::uintptr_t const end = bytes > last_address - begin ? last_address : begin + bytes;
    std::size_t number = 0;
    for (auto i = first_overlap(of, begin, end); i != index_.end(); i = first_overlap(of, begin, end)) {
        retire(i);
        ++number;
    }
    counts_.invalidated += number;
    return number;
}

std::size_t registration_cache::invalidate_space(space of) noexcept
{
    return invalidate(of, 0, last_address);
}

registration_cache::statistics registration_cache::stats() const
{
    std::lock_guard const lock(mutex_);
    statistics s = counts_;
    s.ranges = all_.size();
    s.bytes = bytes_;
    return s;
}

char const* registration_cache::check() const
{
    std::lock_guard const lock(mutex_);
    std::size_t bytes = 0;
    std::size_t found = 0;
    for (auto at = all_.begin(); at != all_.end(); ++at) {
        bytes += at->bytes;
        found += at->found ? 1 : 0;
        if (!at->found && at->users == 0)
            return "a range that is neither found nor in use";
        auto const i = index_.find({at->of, at->begin});
        if (at->found && (i == index_.end() || &*i->second != &*at))
            return "a range that is found is not in the index";
    }
    if (bytes != bytes_ || found != index_.size() || kept_.load() != index_.size())
        return "sums are wrong";
    if (bytes_ > limits_.bytes || all_.size() > limits_.ranges)
        return "beyond the bounds";
    for (auto i = index_.begin(); i != index_.end(); ++i) {
        auto const next = std::next(i);
        if (next != index_.end() && next->first.first == i->first.first && i->second->end() > next->first.second)
            return "ranges overlap";
    }
    return nullptr;
}

} // namespace towline::heap
