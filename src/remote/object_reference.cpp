// Handles of remote objects: split and return weights, and ask the object's home for more.

#include <towline/object.hpp>

#include "base/log.hpp"
#include "remote/registry.hpp"
#include "remote/runtime.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::detail {
namespace {

// Requests to the object's home. The object is destroyed in a task, where its destructor may wait.
void release_weight(object_id id, std::uint64_t weight)
{
    std::shared_ptr<void> const last = remoting::runtime::current().objects().release(id, weight);
}
bool add_weight(object_id id, std::uint64_t weight)
{
    return remoting::runtime::current().objects().add_weight(id, weight);
}

// A part of this size can be split often, and a whole has many such parts.
constexpr std::uint64_t part(std::uint64_t weight) noexcept
{
    return std::max<std::uint64_t>(1, weight >> 10);
}

} // namespace

object_reference::~object_reference()
{
    std::uint64_t const rest = weight_.load(std::memory_order_relaxed);
    remoting::runtime* const r = remoting::runtime::current_or_null();
    if (rest == 0 || r == nullptr || !r->active() || !r->alive(home_))
        return;
    try {
        post<&release_weight>(locality(home_), id_, rest);
    } catch (std::exception const& e) {
        base::log(base::log_level::debug, "a reference to an object at rank {} could not be given back: {}", home_, e.what());
    }
}

std::uint64_t object_reference::split()
{
    std::uint64_t whole = weight_.load(std::memory_order_relaxed);
    while (true) {
        if (whole <= 1) {
            std::uint64_t const more = full_weight >> 10;
            if (!async<&add_weight>(locality(home_), id_, more).get())
                throw limit_error("a remote object's references cannot be passed on any more");
            weight_.fetch_add(more, std::memory_order_relaxed);
            whole = weight_.load(std::memory_order_relaxed);
            continue;
        }
        if (weight_.compare_exchange_weak(whole, whole - part(whole), std::memory_order_relaxed))
            return part(whole);
    }
}

object_id adopt_object(std::shared_ptr<void> object, std::uint64_t type)
{
    return remoting::runtime::current().objects().insert(std::move(object), type, full_weight);
}

std::shared_ptr<void> find_object(object_id id, std::uint64_t type, char const* type_name)
{
    remoting::runtime& r = remoting::runtime::current();
    if (std::shared_ptr<void> object = r.objects().find(id, type))
        return object;
    throw usage_error(
        fmt::format("rank {} has no {} with id {:#x}: its last handle ended", r.rank(), remoting::readable_name(type_name), id));
}

std::uint64_t hash_of_name(char const* mangled) noexcept
{
    return remoting::hash_name(mangled);
}

void throw_empty_handle()
{
    throw usage_error("a call on an empty towline::remote handle");
}

} // namespace towline::detail
