// Start and end (11.2 to 11.4).

#include "base/log.hpp"
#include "engine/process_engine.hpp"
#include "job/job.hpp"
#include "mpi/calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <numeric>
#include <unistd.h>

namespace towline::mpi {
namespace {

/// Ranks may compute for days between two meetings; a dead one ends the wait.
constexpr std::chrono::hours for_ever{24 * 365};

std::mutex starting;
std::atomic<int> level{MPI_THREAD_SINGLE};
std::atomic<pthread_t> main_thread{};

/// The least level that is enough.
int level_for(int required) noexcept
{
    for (int const l : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED})
        if (required <= l)
            return l;
    return MPI_THREAD_MULTIPLE;
}

char const* name_of_level(int l) noexcept
{
    return l == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : l == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : l == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                        : "MPI_THREAD_MULTIPLE";
}

int poll_lanes(void* context)
{
    auto& p = *static_cast<process*>(context);
    int const ended = p.lane_queue().poll();
    if (ended != 0)
        p.matcher().note_end();
    return ended;
}

failure ended_early(int rank, char const* call)
{
    return {MPI_ERR_PROC_ABORTED, fmt::format("rank {} ended, and had not called {}", rank, call)};
}

bool is_member(void* members, matching::peer who)
{
    auto const all = static_cast<group const*>(members)->members();
    return std::find(all.begin(), all.end(), static_cast<process_id>(who)) != all.end();
}

} // namespace

process::process() : lane_queue_([](void* self, int change) { static_cast<process*>(self)->engine_->ask_polls(change); }, this) {}

void process::part()
{
    buffer_.detach(*matcher_);
    world_->buffer().detach(*matcher_);
    self_->buffer().detach(*matcher_);
    matcher_->drain(for_ever, "MPI_Finalize");
    // Everybody tells rank 0, and rank 0 everybody: it makes progress, unlike the fence of the job, so that what peers still fetch from
    // here reaches them.
    communicator& w = *world_;
    matching::context_id const context = w.context(plane::tagged);
    auto const hear = [&](int rank) {
        if (matcher_->receive({context, rank, 0}, w.peer(rank), {}, "MPI_Finalize").error != matching::outcome::ok)
            throw ended_early(rank, "MPI_Finalize");
    };
    auto const tell = [&](int rank) {
        try {
            (void)matcher_->send(w.peer(rank), {context, w.rank(), 0}, nullptr, 0, matching::send_mode::standard, "MPI_Finalize");
        } catch (peer_error const&) {
            throw ended_early(rank, "MPI_Finalize");
        }
    };
    if (w.rank() != 0) {
        tell(0);
        hear(0);
    } else {
        for (int r = 1; r < w.size(); ++r)
            hear(r);
        for (int r = 1; r < w.size(); ++r)
            tell(r);
    }
    matcher_->drain(std::chrono::seconds(10), "MPI_Finalize");
}

int process::thread_level() noexcept
{
    return level.load(std::memory_order_acquire);
}

bool process::is_main_thread() noexcept
{
    return pthread_equal(main_thread.load(std::memory_order_acquire), pthread_self()) != 0;
}

void throw_not_running()
{
    if (current_phase.load(std::memory_order_acquire) == phase::after)
        throw failure(MPI_ERR_OTHER, "it was called after MPI_Finalize");
    throw failure(MPI_ERR_OTHER, "it was called before MPI_Init");
}

void process::start(int argc, char* const* argv, int thread_level)
{
    std::scoped_lock const lock(starting);
    if (current_phase.load() == phase::running)
        throw failure(MPI_ERR_OTHER, "MPI runs already: MPI_Init and MPI_Init_thread are called once");
    if (current_phase.load() == phase::after)
        throw failure(MPI_ERR_OTHER, "MPI_Finalize was called before: MPI cannot be started again");

    auto p = std::unique_ptr<process>(new process);
    job::membership& job = job::membership::instance();
    matching::options o;
    // A helper thread polls, and ends requests, as another thread of the program would.
    o.threaded = thread_level == MPI_THREAD_MULTIPLE || engine::process_onload().on;
    o.eager_outside = 8192;  // with its envelope one message of the transport
    p->engine_ = engine::process_engine(false, !o.threaded);
    p->matcher_ = std::make_unique<matching::matcher>(*p->engine_, o);
    p->node_memory_ = collective::heap_memory(*p->engine_);
    p->engine_->on_poll(&poll_lanes, p.get());
    p->numbers_ = std::make_unique<communicator_numbers>(*p->engine_);
    p->watchdog_ = std::make_unique<watchdog>(job, *p->matcher_, thread_level);
    request_table::instance().begin(o.threaded);
    one_thread = !o.threaded;
    try {
        job.fence(for_ever, "MPI_Init");  // nobody sends to a rank that cannot answer yet
    } catch (peer_error const& e) {
        p->engine_->close();
        throw ended_early(e.rank(), "MPI_Init");
    }

    std::vector<process_id> everybody(static_cast<std::size_t>(job.size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    ref<errhandler> const handler = initial_handler().get();
    p->world_ = make<communicator>(make<group>(std::move(everybody), job.rank()), ref<group>(), *handler, 0);
    p->self_ = make<communicator>(make<group>(std::vector<process_id>{job.rank()}, job.rank()), ref<group>(), *handler, 1);
    for (communicator* const c : {p->world_.get(), p->self_.get()})
        for (plane const use : {plane::point_to_point, plane::collective, plane::internal, plane::tagged})
            p->matcher_->set_members(c->context(use), &is_member, &c->local());
    p->world_->set_name("MPI_COMM_WORLD");
    p->world_->set_handle(MPI_COMM_WORLD);
    p->self_->set_name("MPI_COMM_SELF");
    p->self_->set_handle(MPI_COMM_SELF);
    predefined_of<MPI_Comm>[1] = p->world_.get();
    predefined_of<MPI_Comm>[2] = p->self_.get();

    ref<info> env = info::of_environment(argc, argv);
    env->set("thread_level", name_of_level(thread_level));
    predefined_of<MPI_Info>[1] = env.detach();  // stays: MPI_INFO_ENV may be asked after MPI_Finalize

    job.self().marks.fetch_or(job::mark_unfinished);
    level = thread_level;
    main_thread = pthread_self();
    instance_ = p.release();
    current_phase.store(phase::running, std::memory_order_release);
}

void process::finish()
{
    // The first action of all, while MPI still works (11.2.4).
    instance().self_->attributes().clear(MPI_COMM_SELF);
    instance().world_->attributes().clear(MPI_COMM_WORLD);

    std::scoped_lock const lock(starting);
    job::membership& job = job::membership::instance();
    instance().part();
    current_phase.store(phase::after, std::memory_order_release);
    predefined_of<MPI_Comm>[1] = nullptr;
    predefined_of<MPI_Comm>[2] = nullptr;
    std::unique_ptr<process> const ended(instance_.exchange(nullptr));
    ended->engine_->close();  // a helper thread may be in a handler of the matcher, which ends before the engine
    job.self().marks.fetch_and(~std::uint32_t{job::mark_unfinished});
    job.leave();
}

namespace calls {

void init(int* argc, char*** argv)
{
    process::start(argc != nullptr ? *argc : 0, argv != nullptr ? *argv : nullptr, MPI_THREAD_SINGLE);
}

void init_thread(int* argc, char*** argv, int required, int* provided)
{
    int const l = level_for(required);
    process::start(argc != nullptr ? *argc : 0, argv != nullptr ? *argv : nullptr, l);
    *provided = l;
}

void finalize()
{
    process::finish();
}

void initialized(int* flag)
{
    *flag = current_phase.load(std::memory_order_acquire) != phase::before;
}

void finalized(int* flag)
{
    *flag = current_phase.load(std::memory_order_acquire) == phase::after;
}

void query_thread(int* provided)
{
    *provided = process::thread_level();
}

void is_thread_main(int* flag)
{
    *flag = process::is_main_thread();
}

void abort(MPI_Comm comm, int errorcode)
{
    communicator* const c = find(comm);
    abort_job(errorcode, fmt::format("MPI_Abort was called on {}, with error code {}. The job ends here.",
                                     c != nullptr ? c->name() : fmt::format("{:#x}, which is no communicator", bits_of(comm)), errorcode));
}

} // namespace calls
} // namespace towline::mpi
