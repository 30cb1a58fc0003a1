// What TOWLINE_LOG=debug prints of an engine.

#include "engine/telling.hpp"

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "engine/engine.hpp"
#include "engine/tuning.hpp"
#include "heap/heap.hpp"
#include "job/job.hpp"

#include <towline/version.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <string>
#include <sys/utsname.h>
#include <unistd.h>

namespace towline::engine {

namespace {

using base::log_level;

std::string size_of(std::uint64_t bytes)
{
    unsigned const shift = bytes == 0 ? 0 : bytes % (1u << 30) == 0 ? 30 : bytes % (1u << 20) == 0 ? 20 : bytes % 1024 == 0 ? 10 : 0;
    char const* const unit = shift == 30 ? "GiB" : shift == 20 ? "MiB" : shift == 10 ? "KiB" : "bytes";
    return fmt::format("{} {}", bytes >> shift, unit);
}

std::string memory_of(job::membership const& job, setup const& s)
{
    bool const serves = dlsym(RTLD_DEFAULT, "towline_malloc_serves") != nullptr;
    return fmt::format("memory: {} of address space a rank, in one file of the job; {}; cross-memory attach {}; XPMEM {}",
                       size_of(job.header().segment_bytes),
                       serves ? "malloc takes from it from " + size_of(base::setting_bytes("TOWLINE_HEAP_THRESHOLD", 64 << 10)) + " on"
                              : "malloc takes nothing from it",
                       s.cross_memory_attach ? "works" : "is refused", s.xpmem != nullptr ? "works" : "is not used");
}

std::string sizes_of(job::membership const& job, setup const& s)
{
    std::string text;
    thresholds::sizes const shipped{};
    bool other = false;
    for (auto const& t : tuning::table()) {
        bool const is_shipped = s.sizes.*t.value == shipped.*t.value;
        other = other || !is_shipped;
        text += fmt::format("{} {} {}{}", text.empty() ? "" : ",", t.name, s.sizes.*t.value, is_shipped ? "" : "*");
    }
    char const* const from = !other                    ? "as shipped"
                             : job.header().tuned != 0 ? "* measured, from the launcher"
                                                       : "* measured, from this machine's file";
    return fmt::format("thresholds in bytes ({}):{}", from, text);
}

constexpr std::string_view name_of(wire::how how) noexcept
{
    switch (how) {
    case wire::how::inside: return "inside the message";
    case wire::how::given: return "handed over";
    case wire::how::staged: return "by way of a copy in this rank's shared memory";
    case wire::how::mapped: return "lent where it is, in this rank's shared memory";
    case wire::how::attached: return "lent where it is, outside of shared memory";
    case wire::how::exposed: return "as a region that the peer reads by the transport";
    case wire::how::pulled: return "in pieces that the peer asks for";
    default: return "to itself, where it is";
    }
}

static_assert(static_cast<std::size_t>(arrival::taken) == job::block_ways.size());
constexpr std::array<std::string_view, static_cast<std::size_t>(arrival::count_)> names{
    "copied by this thread from the peer's shared memory", "copied by both sides, from shared memory to shared memory",
    "read from the peer's address space (process_vm_readv)", "pushed by the peer while this rank takes it", "read by an XPMEM attachment",
    "copied by the helper thread", "in pieces, in messages", "read by the transport", "handed over"};

} // namespace

void tell_setup(job::membership const& job, setup const& s)
{
    if (!base::logs(log_level::debug))
        return;
    auto const [major, minor, patch] = library_version();
    utsname name{};
    uname(&name);
    base::log(log_level::debug, "Towline {}.{}.{}, job file {}; rank {} of {} of job {}, pid {}; {} {}", major, minor, patch,
              job::control_version, job.rank(), job.size(), job.id(), getpid(), name.sysname, name.release);
    std::string set;
    for (auto const& one : base::settings_table())
        if (auto const value = base::setting(one.name))
            set += fmt::format("{} {}={}", set.empty() ? "" : ",", one.name, *value);
    base::log(log_level::debug, "settings:{}", set.empty() ? " none is set" : set);
    std::uint32_t const ranks = job.ranks_on_cores();
    base::log(log_level::debug, "{} {} for {} {}: waits {}; {} pays for waking; helper thread: {}", job.header().cores,
              job.header().cores == 1 ? "core" : "cores", ranks, ranks == 1 ? "rank" : "ranks",
              s.oversubscribed ? "give their core away soon" : "spin first",
              s.fences == base::fence_side::sleeper_fences ? "who sleeps (membarrier)" : "who wakes (a fence)",
              s.onload.on ? s.onload.why : "none");
    base::log(log_level::debug, "{}", memory_of(job, s));
    base::log(log_level::debug, "{}", sizes_of(job, s));
}

told_ways::told_ways(std::uint32_t peers)
    : words_(base::logs(log_level::debug) ? new std::atomic<std::uint32_t>[peers]() : nullptr)
{
}

bool told_ways::is_first(std::uint32_t to, unsigned bit) const noexcept
{
    return (words_[to].fetch_or(1u << bit, std::memory_order_relaxed) >> bit & 1) == 0;
}

void told_ways::leaves(std::uint32_t to, wire::how how, std::uint64_t bytes) const
{
    static_assert(static_cast<unsigned>(wire::how::count_) + static_cast<unsigned>(arrival::count_) <= 32);
    if (how < wire::how::count_ && is_first(to, static_cast<unsigned>(how)))
        base::log(log_level::debug, "to rank {}, first block that goes {}: {} bytes", to, name_of(how), bytes);
}

void told_ways::arrives(std::uint32_t from, arrival way, std::uint64_t bytes) const
{
    if (is_first(from, static_cast<unsigned>(wire::how::count_) + static_cast<unsigned>(way)))
        base::log(log_level::debug, "from rank {}, first block that is {}: {} bytes", from, names[static_cast<std::size_t>(way)], bytes);
}

} // namespace towline::engine
