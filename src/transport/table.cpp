#include "transport/table.hpp"

#include "job/job.hpp"
#include "transport/self/self.hpp"
#include "transport/shm/environment.hpp"

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
};

} // namespace

std::span<table_entry const> table() noexcept
{
    return transports;
}

std::vector<std::unique_ptr<component>> open_all()
{
    std::vector<std::unique_ptr<component>> all;
    for (table_entry const& t : transports)
        all.push_back(t.open());
    return all;
}

} // namespace towline::transport
