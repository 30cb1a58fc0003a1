// What components have in common: regions that they do not support, and the check of sizes.

#include "transport/transport.hpp"

#include "towline/error.hpp"
#include "transport/handlers.hpp"

#include <fmt/format.h>

namespace towline::transport {

namespace {

[[noreturn]] void no_regions(component const& who, char const* call)
{
    throw usage_error(fmt::format("{}: the {} transport moves no regions; look at capabilities::can_get first", call, who.name()));
}

} // namespace

void throw_too_long(component const& who, std::size_t head, std::size_t body)
{
    throw limit_error(fmt::format("try_send: a message of {} + {} bytes is more than the {} bytes that the {} transport takes at once",
                                  head, body, who.caps().max_eager, who.name()));
}

region component::expose(void*, std::size_t)
{
    no_regions(*this, "expose");
}

void component::conceal(region const&)
{
    no_regions(*this, "conceal");
}

send_status component::get(peer, region const&, std::uint64_t, void*, std::size_t, completion, void*)
{
    no_regions(*this, "get");
}

send_status component::put(peer, region const&, std::uint64_t, void const*, std::size_t, completion, void*)
{
    no_regions(*this, "put");
}

} // namespace towline::transport
