// towline::stats: reads this rank's counters in the job file.

#include <towline/stats.hpp>

#include "job/counters.hpp"
#include "job/job.hpp"
#include "remote/runtime.hpp"

namespace towline {

// Every counter is a field of the same name (else this file does not compile), and there is no other field.
static_assert(sizeof(statistics) == job::counter_table.size() * sizeof(std::uint64_t));

statistics stats()
{
    if (remoting::runtime* const r = remoting::runtime::current_or_null())
        r->flush_counters();
    auto const& counters = job::membership::instance().self().counters;
    auto const get = [&](job::counter c) { return counters[static_cast<std::size_t>(c)].load(std::memory_order_relaxed); };
    statistics now;
#define TOWLINE_GET(name, unit, meaning) now.name = get(job::counter::name);
    TOWLINE_COUNTERS(TOWLINE_GET)
#undef TOWLINE_GET
    return now;
}

statistics statistics::since(statistics const& before) const noexcept
{
    statistics passed;
#define TOWLINE_SUBTRACT(name, unit, meaning) passed.name = name - before.name;
    TOWLINE_COUNTERS(TOWLINE_SUBTRACT)
#undef TOWLINE_SUBTRACT
    return passed;
}

} // namespace towline
