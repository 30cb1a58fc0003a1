// The table of objects, and the weight of their references.

#include "remote/objects.hpp"

#include "remote/runtime.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>
#include <utility>
#include <vector>

namespace towline::remoting {

object_id object_table::insert(std::shared_ptr<void> object, std::uint64_t type, std::uint64_t weight)
{
    std::scoped_lock lock(mutex_);
    slot& s = slots_.claim();
    s = {std::move(object), type, weight};
    ++objects_;
    return slots_.number_of(s);
}

std::shared_ptr<void> object_table::find(object_id id, std::uint64_t type) const
{
    std::scoped_lock lock(mutex_);
    slot const* const s = slots_.find(id);
    return s != nullptr && s->type == type ? s->object : nullptr;
}

std::shared_ptr<void> object_table::release(object_id id, std::uint64_t weight) noexcept
{
    std::scoped_lock lock(mutex_);
    slot* const s = slots_.find(id);
    if (s == nullptr || weight > s->weight)
        return nullptr;
    s->weight -= weight;
    if (s->weight != 0)
        return nullptr;
    slots_.free(*s);
    --objects_;
    return std::move(s->object);
}

bool object_table::add_weight(object_id id, std::uint64_t weight) noexcept
{
    std::scoped_lock lock(mutex_);
    slot* const s = slots_.find(id);
    if (s == nullptr || s->weight + weight < s->weight)
        return false;
    s->weight += weight;
    return true;
}

std::size_t object_table::size() const
{
    std::scoped_lock lock(mutex_);
    return objects_;
}

void object_table::clear() noexcept
{
    std::vector<std::shared_ptr<void>> ended;  // destroyed outside the lock
    std::scoped_lock lock(mutex_);
    slots_.for_each([&](slot& s) {
        ended.push_back(std::move(s.object));
        slots_.free(s);
    });
    objects_ = 0;
}

} // namespace towline::remoting
