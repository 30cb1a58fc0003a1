// Error texts for handles.

#include "mpi/handles.hpp"

#include <array>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

constexpr std::array<char const*, 13> nouns{"object",       "communicator",  "group",   "datatype", "operation", "request",     "message",
                                            "info object", "error handler", "session", "window",   "file",      "attribute key"};

/// The ranges of predefined handles in the ABI (20.3), by kind.
struct range {
    std::uint64_t first, last;
    object_kind kind;
};
constexpr range ranges[] = {
    {0x020, 0x03f, object_kind::op},      {0x100, 0x107, object_kind::comm},    {0x108, 0x10f, object_kind::group},
    {0x110, 0x117, object_kind::win},     {0x118, 0x11f, object_kind::file},    {0x120, 0x127, object_kind::session},
    {0x128, 0x12f, object_kind::message}, {0x130, 0x137, object_kind::info},    {0x140, 0x147, object_kind::errhandler},
    {0x180, 0x187, object_kind::request}, {0x200, 0x3ff, object_kind::datatype}};

std::string with_article(char const* word)
{
    return fmt::format("{} {}", std::string_view("aeiou").find(word[0]) != std::string_view::npos ? "an" : "a", word);
}

} // namespace

char const* noun(object_kind kind) noexcept
{
    auto const i = static_cast<std::size_t>(kind);
    return nouns[i < nouns.size() ? i : 0];
}

std::optional<object_kind> predefined_kind(std::uint64_t handle) noexcept
{
    for (range const& r : ranges)
        if (handle >= r.first && handle <= r.last)
            return r.kind;
    return std::nullopt;
}

void throw_bad_handle(object_kind wanted, int error, std::uint64_t handle, bool freed, char const* parameter)
{
    char const* const name = predefined_name(handle);
    std::string const want = with_article(noun(wanted));
    if (name != nullptr) {
        if (auto const kind = predefined_kind(handle); kind && *kind != wanted)
            throw failure(error, fmt::format("{} is {}, {}, where {} is wanted", parameter, name, with_article(noun(*kind)), want));
        throw failure(error, std::string_view(name).ends_with("_NULL")
                                 ? fmt::format("{} is {}", parameter, name)
                                 : fmt::format("{} is {}, which is valid only while MPI runs", parameter, name));
    }
    if (freed)
        throw failure(error, fmt::format("{} is {} that was freed", parameter, want));
    if (handle < 0x100000000 && claimed_kind(handle) > 0 && claimed_kind(handle) < nouns.size() &&
        claimed_kind(handle) != static_cast<std::uint32_t>(wanted))
        throw failure(error, fmt::format("{} is {}, where {} is wanted", parameter, with_article(nouns[claimed_kind(handle)]), want));
    throw failure(error, fmt::format("{} is {:#x}, which is no handle of {}: never assigned, or overwritten", parameter, handle, want));
}

void throw_predefined(int error, std::uint64_t handle, char const* parameter)
{
    throw failure(error, fmt::format("{} is {}, which is predefined and cannot be freed", parameter, predefined_name(handle)));
}

} // namespace towline::mpi
