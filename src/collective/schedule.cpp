// Adds steps to a schedule, and keeps its scratch memory.

#include "collective/schedule.hpp"

#include <algorithm>
#include <new>

namespace towline::collective {
namespace {

constexpr std::align_val_t line{64};

} // namespace

void schedule::release::operator()(std::byte* p) const noexcept
{
    if (shared != nullptr)
        shared->deallocate(p);
    else
        ::operator delete(p, line);
}

void schedule::clear() noexcept
{
    constexpr std::uint64_t most_kept = std::uint64_t{1} << 20;
    steps_.clear();
    among_ = {};
    parts_begun_ = 0;
    lanes_ = nullptr;
    levels_ = nullptr;
    lane_steps_.clear();
    rows_.clear();
    lane_operation_ = {};
    operation_ = {};
    begun_ = 0;
    width_ = 0;
    is_spoiled_ = false;
    has_messages_ = false;
    otherwise_.clear();
    std::uint64_t kept = 0;
    std::erase_if(blocks_, [&](block& b) {
        b.used = 0;
        kept += b.size;
        return kept > most_kept || b.memory.get_deleter().shared != nullptr;
    });
}

void schedule::count_message() noexcept
{
    width_ = std::max(width_, ++begun_);
}

void schedule::send(int to, void const* data, std::uint64_t bytes, side where)
{
    steps_.push_back({step::kind::send, where, rank_of(to), data, nullptr, bytes});
    count_message();
}

void schedule::receive(int from, void* data, std::uint64_t bytes, side where)
{
    steps_.push_back({step::kind::receive, where, rank_of(from), nullptr, data, bytes});
    count_message();
}

void schedule::wait()
{
    if (begun_ == 0)
        return;
    begun_ = 0;
    steps_.push_back({});
}

void schedule::copy(void* to, void const* from, std::uint64_t bytes)
{
    if (bytes != 0 && to != from)
        steps_.push_back({step::kind::copy, side::local, 0, from, to, bytes});
}

void schedule::combine(combination const& r, void const* from, void* to, std::uint64_t count)
{
    if (count == 0)
        return;
    operation_ = r;
    steps_.push_back({step::kind::combine, side::local, 0, from, to, count});
}

void schedule::end_part()
{
    wait();
    if (steps_.empty() && lane_steps_.empty())
        return;
    if (parts_begun_ == parts_.size())
        parts_.emplace_back();
    part& p = parts_[parts_begun_++];
    p.steps.clear();
    p.lane_steps.clear();
    p.steps.swap(steps_);
    p.lane_steps.swap(lane_steps_);
    p.operation = lane_operation_;
    p.otherwise = otherwise_;
    otherwise_.clear();
}

bool schedule::add_messages_of(std::size_t nth)
{
    part& p = parts_[nth];
    if (!p.steps.empty())
        return true;
    bool const is_added = p.otherwise.add(*this);
    p.steps.swap(steps_);
    return is_added;
}

std::byte* schedule::scratch(std::uint64_t bytes)
{
    if (lanes_ != nullptr && !lanes_->are_shown(bytes))
        if (std::byte* const shared = scratch(bytes, true))
            return shared;
    return scratch(bytes, false);
}

std::byte* schedule::shared_scratch(std::uint64_t bytes)
{
    return scratch(bytes, true);
}

std::byte* schedule::own_scratch(std::uint64_t bytes)
{
    return scratch(bytes, false);
}

std::byte* schedule::scratch(std::uint64_t bytes, bool shared)
{
    std::uint64_t const room = (bytes + 63) & ~std::uint64_t{63};
    for (block& b : blocks_) {
        if (b.size - b.used >= room && (b.memory.get_deleter().shared != nullptr) == shared) {
            std::byte* const at = b.memory.get() + b.used;
            b.used += room;
            return at;
        }
    }
    constexpr std::uint64_t least = 4096;
    block b;
    b.size = std::max(room, least);
    b.used = room;
    if (shared) {
        node_memory& from = lanes_->memory();
        b.memory = {static_cast<std::byte*>(from.allocate(b.size)), release(&from)};
        if (b.memory == nullptr)
            return nullptr;
    } else {
        b.memory = {static_cast<std::byte*>(::operator new(b.size, line)), release()};
    }
    blocks_.push_back(std::move(b));
    return blocks_.back().memory.get();
}

} // namespace towline::collective
