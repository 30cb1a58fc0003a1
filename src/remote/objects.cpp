#include "remote/objects.hpp"

#include "remote/runtime.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>
#include <utility>

namespace towline::remoting {

object_id object_table::insert(std::shared_ptr<void> object, std::uint64_t type, std::uint64_t weight)
{
    std::scoped_lock lock(mutex_);
    std::uint32_t i = 0;
    if (free_.empty()) {
        i = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        i = free_.back();
        free_.pop_back();
    }
    slot& s = slots_[i];
    s.object = std::move(object);
    s.type = type;
    s.weight = weight;
    return std::uint64_t{s.generation} << 32 | i;
}

object_table::slot* object_table::find_slot(object_id id) noexcept
{
    auto const i = static_cast<std::uint32_t>(id);
    if (i >= slots_.size() || slots_[i].generation != id >> 32 || !slots_[i].object)
        return nullptr;
    return &slots_[i];
}

std::shared_ptr<void> object_table::find(object_id id, std::uint64_t type) const
{
    std::scoped_lock lock(mutex_);
    slot const* const s = const_cast<object_table*>(this)->find_slot(id);
    return s != nullptr && s->type == type ? s->object : nullptr;
}

std::shared_ptr<void> object_table::release(object_id id, std::uint64_t weight) noexcept
{
    std::scoped_lock lock(mutex_);
    slot* const s = find_slot(id);
    if (s == nullptr || weight > s->weight)
        return nullptr;
    s->weight -= weight;
    if (s->weight != 0)
        return nullptr;
    ++s->generation;
    free_.push_back(static_cast<std::uint32_t>(id));
    return std::move(s->object);
}

bool object_table::add_weight(object_id id, std::uint64_t weight) noexcept
{
    std::scoped_lock lock(mutex_);
    slot* const s = find_slot(id);
    if (s == nullptr || s->weight + weight < s->weight)
        return false;
    s->weight += weight;
    return true;
}

std::size_t object_table::size() const
{
    std::scoped_lock lock(mutex_);
    return slots_.size() - free_.size();
}

void object_table::clear() noexcept
{
    std::vector<slot> old;
    std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].object) {
            old.push_back(std::exchange(slots_[i], {nullptr, 0, 0, slots_[i].generation + 1}));
            free_.push_back(static_cast<std::uint32_t>(i));
        }
}

} // namespace towline::remoting
