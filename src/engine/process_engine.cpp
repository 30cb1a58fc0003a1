// The engine of a process that is a rank of a job: its setup, from settings and the job file.

#include "engine/process_engine.hpp"

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "engine/telling.hpp"
#include "engine/tuning.hpp"
#include "heap/xpmem.hpp"
#include "job/job.hpp"
#include "transport/table.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include <sys/prctl.h>
#include <unistd.h>

namespace towline::engine {
namespace {

/// A rank that left in good order answers no more than a dead one.
bool is_dead(void* context, peer p)
{
    auto const& job = *static_cast<job::membership*>(context);
    auto const state = static_cast<job::rank_state>(job.slot(static_cast<int>(p)).state.load(std::memory_order_acquire));
    return state == job::rank_state::dead || state == job::rank_state::left;
}

/// Whether neighbours' memory can be read. A neighbour that has not joined yet cannot be asked; then this process stands for it, and
/// should reading be refused later, the data travel another way.
bool attach_works(job::membership& job)
{
    // Where Yama restricts ptrace to descendants: the launcher's descendants, our fellow ranks, may read this process.
    (void)::prctl(PR_SET_PTRACER, ::getppid(), 0, 0, 0);
    for (int r = 0; r < job.size(); ++r) {
        auto const& slot = job.slot(r);
        if (r != job.rank() && job.is_here(r) && slot.state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(job::rank_state::joined) &&
            slot.pid_namespace.load(std::memory_order_relaxed) == job.self().pid_namespace.load(std::memory_order_relaxed))
            return engine::may_read_memory_of(slot.pid.load(std::memory_order_relaxed));
    }
    int const here = 1;
    return engine::probe_cross_memory_attach(::getpid(), &here, sizeof here);
}

constexpr char const* word_key = "word";

/// What the peers read of this process's card.
void tell_of_process(job::membership& job)
{
    static std::once_flag told;
    std::call_once(told, [&job] { job.put(word_key, text_of_word(own_process())); });
}

std::optional<process_card> process_of(void* context, peer p)
{
    auto const& job = *static_cast<job::membership*>(context);
    if (!job.is_here(static_cast<int>(p)))
        return std::nullopt;
    auto const& slot = job.slot(static_cast<int>(p));
    auto const text = job.get(static_cast<int>(p), word_key);  // it is written after pid and namespace
    process_card card;
    if (!text || !read_word(*text, card))
        return std::nullopt;
    card.pid = slot.pid.load(std::memory_order_relaxed);
    card.pid_namespace = slot.pid_namespace.load(std::memory_order_relaxed);
    return card;
}

/// What XPMEM shows of the peers; null where the device is not there, or not wanted. Not in jobs that outlive their ranks: a rank that
/// reads the memory of one that dies dies, too.
std::shared_ptr<heap::xpmem> attachments(job::membership& job)
{
    if (!base::setting_switch("TOWLINE_XPMEM", true) || job.size() == 1 || job.header().keep_going != 0)
        return nullptr;
    int failed = 0;
    auto device = heap::open_xpmem(failed);
    if (device == nullptr)
        return nullptr;
    try {
        auto all = std::make_shared<heap::xpmem>(std::move(device), [&job](std::uint32_t r) {
            bool const there = r < static_cast<std::uint32_t>(job.size());
            return there ? job.slot(static_cast<int>(r)).xpmem_segment.load(std::memory_order_acquire) : 0;
        });
        job.self().xpmem_segment.store(all->segment(), std::memory_order_release);
        return all;
    } catch (system_error const& e) {
        base::log(base::log_level::info, "XPMEM is there, and not used: {}", e.what());
        return nullptr;
    }
}

} // namespace

bool process_uses_network()
{
    return transport::uses_network();
}

onload::placement process_onload()
{
    auto& job = job::membership::instance();
    onload::surroundings s;
    for (int r = 0; r < job.rank(); ++r)
        s.rank += job.is_here(r) ? 1 : 0;
    s.ranks = job.header().here;
    s.cores = job.header().cores > job.header().beside ? job.header().cores - job.header().beside : 1;
    // A rank that is bound sees its own core only: the launcher tells of the others.
    auto const told = base::setting("TOWLINE_CORES");
    auto const listed = told ? onload::parse_cores(*told) : std::nullopt;
    if (told && !listed)
        throw usage_error(fmt::format("TOWLINE_CORES='{}' is not a list of cores, such as 0-3,8", *told));
    s.allowed = listed ? *listed : base::allowed_cpus();
    if (job.header().bound != 0) {
        for (int r = 0; r < job.size(); ++r) {
            if (std::uint32_t const cpu = job.slot(r).cpu.load(std::memory_order_relaxed); cpu != 0)
                s.bound.push_back(static_cast<int>(cpu) - 1);
        }
    }
    return onload::place(onload::requested(), s);
}

std::unique_ptr<engine> process_engine(bool background, bool one_thread)
{
    base::check_settings();
    if (std::getenv("TOWLINE_JOB") == nullptr)  // the launcher has told
        base::tell_unknown_settings();
    auto& job = job::membership::instance();
    setup s;
    s.rank = static_cast<peer>(job.rank());
    s.size = static_cast<peer>(job.size());
    s.transports = transport::open_all();
    s.event = &job.self().event;
    s.fences = job.header().fences;
    s.waiting_for = job.self().waiting_for;
    s.counters = job.self().counters;
    s.ways = &job.ways();
    s.active_ns = &job.self().waits.active_ns;
    s.oversubscribed = job.is_oversubscribed();
    std::uint32_t const cores = std::max(1U, job.header().cores);
    s.ranks_per_core = (job.ranks_on_cores() + cores - 1) / cores;
    // A rank that is bound has what it is bound to; the others share the node's.
    s.cores = std::max(1u, std::min(base::usable_cores(), job.header().cores / job.ranks_on_cores()));
    bool const network = process_uses_network();
    s.background = background || network;
    s.one_thread = one_thread && !network;
    if (!s.one_thread)
        s.onload = process_onload();
    // Without a spare core the helper threads oversubscribe the machine: a rank that spins keeps one from copying.
    s.oversubscribed = s.oversubscribed || (s.onload.on && !s.onload.spare);
    s.cross_memory_attach = attach_works(job);
    s.pid_namespace = job.self().pid_namespace.load(std::memory_order_relaxed);
    s.process_of = &process_of;
    tell_of_process(job);
    s.sizes = job.header().tuned != 0 ? tuning::from_words(job.header().tuning) : tuning::read_and_tell();
    s.xpmem = attachments(job);
    s.deaths = &job.header().deaths;
    s.is_dead = &is_dead;
    s.context = &job;
    tell_setup(job, s);
    return std::make_unique<engine>(std::move(s));
}

} // namespace towline::engine
