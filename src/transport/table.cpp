// The table of transports.

#include "transport/table.hpp"

#include "job/job.hpp"
#include "transport/self/self.hpp"
#include "transport/datagram/job_environment.hpp"
#include "transport/shm/environment.hpp"

#include "base/settings.hpp"

#include <algorithm>
#include <optional>

namespace towline::transport {

namespace {

std::unique_ptr<component> open_self()
{
    job::membership& job = job::membership::instance();
    return self::make(static_cast<peer>(job.rank()), &job.self().event, job.header().fences);
}

std::unique_ptr<component> open_shm()
{
    return shm::make(shm::job_environment());
}

constexpr table_entry transports[] = {
    {"self", "a rank to itself", open_self},
    {"shm", "rings in memory shared by the ranks of one machine", open_shm},
    {"datagram", "UDP packets between machines, made reliable", datagram::open_in_job},
};

/// Whether a list names it; nothing where there is no list.
std::optional<bool> named(std::string_view name)
{
    auto const text = base::setting("TOWLINE_TRANSPORT");
    if (!text)
        return std::nullopt;
    bool const leaves_out = text->starts_with('^');
    bool found = false;
    for (auto rest = text->substr(leaves_out ? 1 : 0); !rest.empty();) {
        auto const word = rest.substr(0, rest.find(','));
        found = found || word == name;
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    return found != leaves_out;
}

/// In a job of one node nothing is opened that others could reach, unless it takes the place of shared memory.
bool is_used(std::string_view name)
{
    if (name == "self")
        return true;
    bool const wished = named(name).value_or(true);
    return wished && (name != "datagram" || job::membership::instance().header().nodes > 1 || named("shm") == false ||
                      (named(name) == true && !base::setting("TOWLINE_TRANSPORT")->starts_with('^')));
}

} // namespace

bool is_wished(std::string_view name)
{
    return named(name).value_or(true);
}

bool uses_network()
{
    return is_used("datagram");
}

std::span<table_entry const> table() noexcept
{
    return transports;
}

std::vector<std::unique_ptr<component>> open_all()
{
    std::vector<std::unique_ptr<component>> all;
    for (table_entry const& t : transports)
        if (is_used(t.name))
            all.push_back(t.open());
    return all;
}

} // namespace towline::transport
