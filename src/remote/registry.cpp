// The table of functions: computes ids from names, and sorts by id.

#include "remote/registry.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <memory>

namespace towline {
namespace detail {
namespace {
std::atomic<action_entry*> all_entries{nullptr};  // constant-initialised, because entries of any source file may register first
}

action_entry::action_entry(char const* mangled_name, void const* identity_address, void (*run_function)(invocation&),
                           bool runs_inline) noexcept
    : mangled(mangled_name), identity(identity_address), run(run_function), small(runs_inline), id(remoting::hash_name(mangled_name)),
      next(all_entries.load(std::memory_order_relaxed))
{
    while (!all_entries.compare_exchange_weak(next, this, std::memory_order_release, std::memory_order_relaxed))
        ;
}
} // namespace detail

namespace remoting {
namespace {

constexpr std::uint64_t fnv_offset = 0xcbf29ce484222325, fnv_prime = 0x100000001b3;

std::string demangle(char const* mangled)
{
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
    return status == 0 && text ? text.get() : mangled;
}

} // namespace

std::uint64_t hash_name(char const* mangled) noexcept
{
    std::uint64_t h = fnv_offset;
    for (char const* p = mangled; *p != '\0'; ++p)
        h = (h ^ static_cast<unsigned char>(*p)) * fnv_prime;
    return h;
}

std::string readable_name(char const* mangled)
{
    std::string text = demangle(mangled);
    // Keep the text between the outermost < and >, which drops the action's own template.
    std::size_t const begin = text.find('<');
    if (text.starts_with("towline::detail::") && begin != std::string::npos && text.ends_with('>'))
        text = text.substr(begin + 1, text.size() - begin - 2);
    if (text.starts_with('&'))
        text.erase(0, 1);
    if (text.starts_with('(') && text.ends_with(')'))
        text = text.substr(1, text.size() - 2);
    while (text.starts_with('&'))
        text.erase(0, 1);
    return text;
}

action_table::action_table(std::span<action_entry* const> entries) : entries_(entries.begin(), entries.end())
{
    std::stable_sort(entries_.begin(), entries_.end(), [](auto const* a, auto const* b) { return a->id < b->id; });
    std::vector<action_entry*> unique;
    unique.reserve(entries_.size());
    for (action_entry* e : entries_) {
        if (e->name == nullptr)
            e->name = ::strdup(readable_name(e->mangled).c_str());  // never freed: errors show it at any time
        if (!unique.empty() && unique.back()->id == e->id) {
            action_entry const& other = *unique.back();
            if (std::strcmp(other.mangled, e->mangled) != 0)
                throw usage_error(std::string("two callable functions have the same id: ") + other.name + " and " + e->name +
                                  "; rename one of them");
            if (other.identity != e->identity)
                throw usage_error(std::string("two different callable functions have the same name: ") + other.name + " and " + e->name +
                                  " (static or in unnamed namespaces of two source files?); rename one of them or give it a namespace");
            e->index = other.index;
            continue;
        }
        e->index = static_cast<std::uint32_t>(unique.size());
        unique.push_back(e);
    }
    entries_ = std::move(unique);
    digest_ = fnv_offset;
    for (action_entry const* e : entries_)
        for (unsigned shift = 0; shift < 64; shift += 8)
            digest_ = (digest_ ^ (e->id >> shift & 0xff)) * fnv_prime;
}

action_table const& action_table::process()
{
    static action_table const table = [] {
        std::vector<action_entry*> entries;
        for (action_entry* e = detail::all_entries.load(std::memory_order_acquire); e != nullptr; e = e->next)
            entries.push_back(e);
        return action_table(entries);
    }();
    return table;
}

action_entry const* action_table::find(std::uint64_t id) const noexcept
{
    auto const at =
        std::lower_bound(entries_.begin(), entries_.end(), id, [](action_entry const* e, std::uint64_t i) { return e->id < i; });
    return at != entries_.end() && (*at)->id == id ? *at : nullptr;
}

std::vector<std::uint64_t> action_table::ids() const
{
    std::vector<std::uint64_t> result;
    result.reserve(entries_.size());
    for (action_entry const* e : entries_)
        result.push_back(e->id);
    return result;
}

} // namespace remoting
} // namespace towline
