// Begin and end of towline::world, and its queries.

#include <towline/world.hpp>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "engine/process_engine.hpp"
#include "job/job.hpp"
#include "remote/runtime.hpp"

#include <towline/error.hpp>
#include <towline/version.hpp>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace towline {
namespace {

using job::membership;
using remoting::runtime;
using remoting::wait_watch;

std::atomic<bool> world_exists{false};
std::atomic<world*> current_world{nullptr};  // set before calls are answered

// The engine's handlers cannot be removed, so a process's runtime stays for the next world.
runtime& process_runtime()
{
    static engine::engine* const engine = engine::process_engine().release();
    static runtime* const instance = new runtime(*engine);
    [[maybe_unused]] static wait_watch* const watch = new wait_watch(*instance, membership::instance());
    return *instance;
}

std::string describe_death(int rank)
{
    int const status = membership::instance().slot(rank).status.load(std::memory_order_acquire);
    if (status == job::status_unknown)
        return fmt::format("pid {}", membership::instance().slot(rank).pid.load());
    if (WIFSIGNALED(status))
        return fmt::format("pid {}, signal {}", membership::instance().slot(rank).pid.load(), WTERMSIG(status));
    return fmt::format("pid {}, exit code {}", membership::instance().slot(rank).pid.load(), WEXITSTATUS(status));
}

void leave() noexcept
{
    runtime::set_process(nullptr);
    current_world.store(nullptr, std::memory_order_release);
    world_exists.store(false);
}

constexpr char const* card_key = "remote";

std::pair<std::uint32_t, std::uint64_t> parse_card(std::string_view text)
{
    std::uint32_t version = 0;
    std::uint64_t digest = 0;
    char const* const end = text.data() + text.size();
    auto const [after, error] = std::from_chars(text.data(), end, version);
    if (error != std::errc() || after == end || *after != ':' || std::from_chars(after + 1, end, digest, 16).ptr != end)
        return {0, 0};
    return {version, digest};
}

} // namespace

struct world::impl {
    membership& members = membership::instance();
    runtime& r = process_runtime();
    int exceptions = std::uncaught_exceptions();
    pid_t owner = ::getpid();
};

world::world()
{
    if (world_exists.exchange(true))
        throw usage_error("there is a towline::world in this process already: one at a time");
    try {
        base::check_settings();
        impl_ = std::make_unique<impl>();
        membership& m = impl_->members;
        runtime& r = impl_->r;
        unsigned const cores = std::max(1u, m.header().cores);
        unsigned const ranks = static_cast<unsigned>(m.size());
        remoting::runtime_setup setup;
        setup.oversubscribed = m.is_oversubscribed();
        setup.threads = static_cast<unsigned>(base::setting_number("TOWLINE_WORKERS", std::max(1u, cores / m.ranks_on_cores()), 1, 1024));
        setup.max_message = base::setting_bytes("TOWLINE_MAX_MESSAGE", setup.max_message);
        setup.describe_death = describe_death;
        setup.counters = m.self().counters;
        current_world.store(this, std::memory_order_release);
        runtime::set_process(&r);  // also before calls are answered
        r.begin(std::move(setup));
        m.put(card_key, fmt::format("{}:{:x}", remoting::wire::format_version, r.actions().digest()));
        m.fence(std::chrono::minutes(5), "towline::world");
        std::vector<std::uint64_t> digests(ranks);
        std::vector<std::uint32_t> versions(ranks);
        bool strangers = false;
        for (unsigned i = 0; i < ranks; ++i) {
            std::tie(versions[i], digests[i]) = parse_card(m.get(static_cast<int>(i), card_key).value_or(""));
            strangers = strangers || versions[i] != remoting::wire::format_version || digests[i] != r.actions().digest();
        }
        // If all ranks run one program, calls may arrive from here on. Otherwise no rank calls before all have exchanged tables.
        if (strangers) {
            r.meet(digests, versions);
            m.fence();
        }
    } catch (...) {
        if (impl_)
            impl_->r.abandon();
        leave();
        throw;
    }
}

world::world(int&, char**&) : world() {}

world::~world()
{
    if (::getpid() != impl_->owner) {
        // In a forked child the world is the parent's, whose threads do not exist here. Kept, so that it is no leak.
        [[maybe_unused]] static impl* kept = nullptr;
        kept = impl_.release();
        return;
    }
    try {
        if (std::uncaught_exceptions() > impl_->exceptions)
            impl_->r.abandon();
        else
            impl_->r.end();
    } catch (std::exception const& e) {
        base::log(base::log_level::error, "at the end of the world: {}", e.what());
        impl_->r.abandon();
    }
    impl_->r.objects().clear();
    leave();
}

int world::rank() const noexcept
{
    return impl_->r.rank();
}
int world::size() const noexcept
{
    return impl_->r.size();
}
std::string_view world::id() const noexcept
{
    return impl_->members.id();
}

localities world::all() const
{
    std::vector<int> ranks;
    for (int i = 0; i < size(); ++i)
        ranks.push_back(i);
    return localities(std::move(ranks));
}

localities world::others() const
{
    std::vector<int> ranks;
    for (int i = 0; i < size(); ++i)
        if (i != rank())
            ranks.push_back(i);
    return localities(std::move(ranks));
}

bool world::alive(locality l) const
{
    impl_->r.check_rank(l.rank());
    return impl_->r.alive(l.rank());
}

void world::barrier()
{
    impl_->r.barrier();
}
bool world::serve()
{
    return impl_->r.serve();
}
void world::stop()
{
    impl_->r.stop_all();
}

locality here()
{
    return locality(runtime::current().rank());
}
int size()
{
    return runtime::current().size();
}
world& this_world()
{
    if (world* const w = current_world.load(std::memory_order_acquire))
        return *w;
    throw usage_error("there is no towline::world in this process: make one in main, and ask before its end");
}

version_number library_version() noexcept { return header_version; }

} // namespace towline
