// Info objects, and the calls on them.

#include "mpi/info.hpp"

#include "job/job.hpp"
#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/strings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace towline::mpi {
namespace {

auto found(auto& entries, std::string_view key)
{
    return std::find_if(entries.begin(), entries.end(), [&](auto const& e) { return e.first == key; });
}

} // namespace

void info::set(std::string_view key, std::string_view value)
{
    std::scoped_lock const lock(mutex_);
    if (auto const at = found(entries_, key); at != entries_.end())
        at->second = value;
    else
        entries_.emplace_back(key, value);
}

std::optional<std::string> info::get(std::string_view key) const
{
    std::scoped_lock const lock(mutex_);
    auto const at = found(entries_, key);
    return at == entries_.end() ? std::nullopt : std::optional(at->second);
}

bool info::erase(std::string_view key)
{
    std::scoped_lock const lock(mutex_);
    auto const at = found(entries_, key);
    if (at == entries_.end())
        return false;
    entries_.erase(at);
    return true;
}

int info::size() const
{
    std::scoped_lock const lock(mutex_);
    return static_cast<int>(entries_.size());
}

std::optional<std::string> info::key(int n) const
{
    std::scoped_lock const lock(mutex_);
    if (n < 0 || n >= static_cast<int>(entries_.size()))
        return std::nullopt;
    return entries_[static_cast<std::size_t>(n)].first;
}

info::entries info::snapshot() const
{
    std::scoped_lock const lock(mutex_);
    return entries_;
}

ref<info> info::copy() const
{
    ref<info> other = make<info>();
    other->entries_ = snapshot();
    return other;
}

void info::merge(info const& other)
{
    for (auto const& [key, value] : other.snapshot())
        set(key, value);
}

ref<info> info::of_environment(int argc, char* const* argv)
{
    ref<info> env = make<info>();
    auto const add = [&](char const* key, std::string_view value) { env->set(key, value.substr(0, MPI_MAX_INFO_VAL - 1)); };
    if (argc > 0 && argv != nullptr && argv[0] != nullptr) {
        add("command", argv[0]);
        std::string rest;
        for (int i = 1; i < argc && argv[i] != nullptr; ++i)
            rest += fmt::format("{}{}", rest.empty() ? "" : " ", argv[i]);
        add("argv", rest);
    } else {
        std::array<char, MPI_MAX_INFO_VAL> path{};
        if (ssize_t const n = ::readlink("/proc/self/exe", path.data(), path.size()); n > 0)
            add("command", {path.data(), static_cast<std::size_t>(n)});
    }
    job::membership const* const job = job::membership::instance_if_launched();
    add("maxprocs", std::to_string(job != nullptr ? job->size() : 1));
    utsname machine{};
    if (::uname(&machine) == 0) {
        add("host", machine.nodename);
        add("arch", machine.machine);
    }
    std::array<char, 4096> folder{};
    if (::getcwd(folder.data(), folder.size()) != nullptr)
        add("wdir", folder.data());
    return env;
}

// ---- the chapter's calls ----

namespace {

std::string_view checked_key(char const* key)
{
    std::size_t const length = ::strnlen(key, MPI_MAX_INFO_KEY);
    if (length == 0)
        throw failure(MPI_ERR_INFO_KEY, "key is empty");
    if (length >= MPI_MAX_INFO_KEY)
        throw failure(MPI_ERR_INFO_KEY, fmt::format("key has more than {} characters (it begins with {:.20})", MPI_MAX_INFO_KEY - 1, key));
    return {key, length};
}

info& changeable(MPI_Info handle, char const* parameter)
{
    info& i = get(handle, parameter);
    if (is_predefined(handle))
        throw failure(MPI_ERR_INFO, fmt::format("{} is MPI_INFO_ENV, which cannot be changed", parameter));
    return i;
}

} // namespace

namespace calls {

void info_create(MPI_Info* info)
{
    *info = give<MPI_Info>(make<mpi::info>());
}

void info_create_env(int argc, char* argv[], MPI_Info* info)
{
    *info = give<MPI_Info>(mpi::info::of_environment(argc, argv));
}

void info_set(MPI_Info info, char const* key, char const* value)
{
    mpi::info& i = changeable(info, "info");
    std::string_view const name = checked_key(key);
    std::size_t const length = ::strnlen(value, MPI_MAX_INFO_VAL);
    if (length >= MPI_MAX_INFO_VAL)
        throw failure(MPI_ERR_INFO_VALUE, fmt::format("value of {} has more than {} characters", name, MPI_MAX_INFO_VAL - 1));
    i.set(name, {value, length});
}

void info_delete(MPI_Info info, char const* key)
{
    mpi::info& i = changeable(info, "info");
    if (!i.erase(checked_key(key)))
        throw failure(MPI_ERR_INFO_NOKEY, fmt::format("key {} is not in the info object", key));
}

void info_dup(MPI_Info info, MPI_Info* newinfo)
{
    *newinfo = give<MPI_Info>(get(info, "info").copy());
}

void info_free(MPI_Info* info)
{
    (void)changeable(*info, "info");
    (void)take(*info, "info");
    *info = MPI_INFO_NULL;
}

void info_get_nkeys(MPI_Info info, int* nkeys)
{
    *nkeys = get(info, "info").size();
}

void info_get_nthkey(MPI_Info info, int n, char* key)
{
    mpi::info const& i = get(info, "info");
    auto const name = i.key(n);
    if (!name)
        throw failure(MPI_ERR_ARG, fmt::format("n is {}, and the info object has {} keys, from 0", n, i.size()));
    copy_string(*name, key, MPI_MAX_INFO_KEY);
}

void info_get_string(MPI_Info info, char const* key, int* buflen, char* value, int* flag)
{
    auto const found = get(info, "info").get(checked_key(key));
    if (*buflen < 0)
        throw failure(MPI_ERR_ARG, fmt::format("*buflen is {}, and a length cannot be negative", *buflen));
    if (*buflen > 0 && value == nullptr)
        throw failure(MPI_ERR_ARG, fmt::format("value is a null pointer, and *buflen is {}", *buflen));
    *flag = found ? 1 : 0;
    if (!found)
        return;
    if (*buflen > 0)
        copy_string(*found, value, static_cast<std::size_t>(*buflen));
    *buflen = static_cast<int>(found->size()) + 1;
}

// Unlike in MPI_Info_get_string, valuelen does not include the terminating zero.
void info_get(MPI_Info info, char const* key, int valuelen, char* value, int* flag)
{
    auto const found = get(info, "info").get(checked_key(key));
    if (valuelen < 0)
        throw failure(MPI_ERR_ARG, fmt::format("valuelen is {}, and a length cannot be negative", valuelen));
    *flag = found ? 1 : 0;
    if (found)
        copy_string(*found, value, static_cast<std::size_t>(valuelen) + 1);
}

void info_get_valuelen(MPI_Info info, char const* key, int* valuelen, int* flag)
{
    auto const found = get(info, "info").get(checked_key(key));
    *flag = found ? 1 : 0;
    if (found)
        *valuelen = static_cast<int>(found->size());
}

} // namespace calls
} // namespace towline::mpi
