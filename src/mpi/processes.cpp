// Initialization and finalization (11.2 to 11.4).

#include "base/log.hpp"
#include "base/settings_table.hpp"
#include "engine/process_engine.hpp"
#include "job/job.hpp"
#include "mpi/calls.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"
#include "mpi/session.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <unistd.h>

namespace towline::mpi {
namespace {

/// Ranks may compute for days between two meetings; a death ends the wait.
constexpr std::chrono::hours for_ever{24 * 365};

/// Serializes MPI_Init, MPI_Finalize and sessions, which run MPI before, between and, while open, after them.
std::mutex starting;
constinit std::atomic<phase> world_phase{phase::before};
int open_sessions = 0;  ///< protected by `starting`
std::atomic<int> level{MPI_THREAD_SINGLE};
std::atomic<pthread_t> main_thread{};

/// The lowest sufficient thread level.
int level_for(int required) noexcept
{
    for (int const l : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED})
        if (required <= l)
            return l;
    return MPI_THREAD_MULTIPLE;
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

char const* name_of_level(int l) noexcept
{
    return l == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : l == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : l == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                        : "MPI_THREAD_MULTIPLE";
}

int level_of_name(std::string_view name)
{
    for (int const l : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE})
        if (name == name_of_level(l))
            return l;
    throw failure(MPI_ERR_INFO_VALUE, fmt::format("thread_level is \"{:.40}\"; it is MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
                                                  "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE", name));
}

process::process() : lane_queue_([](void* self, int change) { static_cast<process*>(self)->engine_->ask_polls(change); }, this) {}

void process::part()
{
    buffer_.detach(*matcher_);
    world_->buffer().detach(*matcher_);
    self_->buffer().detach(*matcher_);
    matcher_->drain(for_ever, "MPI_Finalize");
    meet();
    matcher_->drain(std::chrono::seconds(10), "MPI_Finalize");
}

void process::meet()
{
    // Messages to and from a leader. Unlike the job's fence they make progress, so that transfers that peers still fetch from here
    // complete. Rank 0 leads; if deaths do not end the job, the first living rank.
    communicator& w = *world_;
    bool const goes_on = job::membership::instance().header().keep_going != 0;
    auto const is_there = [goes_on](bool heard, int rank) {
        if (!heard && !goes_on)
            throw ended_early(rank, "MPI_Finalize");
        return heard;
    };
    for (int leader = 0;; ++leader) {
        if (leader != w.rank()) {
            if (is_there(tell(leader, leader) && hear(leader, leader), leader))
                return;
            continue;
        }
        for (int r = 0; r < w.size(); ++r)
            if (r != leader)
                (void)is_there(hear(r, leader), r);
        for (int r = 0; r < w.size(); ++r)
            if (r != leader)
                (void)is_there(tell(r, leader), r);
        return;
    }
}

bool process::tell(int rank, int tag)
{
    communicator& w = *world_;
    try {
        matching::envelope const e{w.context(plane::tagged), w.rank(), tag};
        return matcher_->send(w.peer(rank), e, nullptr, 0, matching::send_mode::standard, "MPI_Finalize").error == matching::outcome::ok;
    } catch (peer_error const&) {
        return false;
    }
}

bool process::hear(int rank, int tag)
{
    communicator& w = *world_;
    matching::peer const peer = w.peer(rank);
    matching::pattern const from{w.context(plane::tagged), rank, tag};
    matching::request r;
    matcher_->start_receive(r, from, peer, {});
    matching::waited const about({matching::operation::receive, from, peer, 0, false});
    (void)engine_->wait([&] { return r.done() || engine_->has_ended(peer); }, "MPI_Finalize", std::chrono::nanoseconds::max(), &about);
    // A rank may have been released by a leader that died then: it has left and sends nothing more. Messages that it,
    // or a rank that died, had sent arrive soon.
    constexpr std::chrono::milliseconds soon{100};
    if (!engine_->wait([&r] { return r.done(); }, "MPI_Finalize", soon) && matcher_->cancel(r))
        return false;
    return r.result().error == matching::outcome::ok;
}

void process::report_leftovers()
{
    // Only operations of the program: those of the library are in other planes.
    auto const of_program = [](std::vector<matching::pending_operation> all, matching::operation what) {
        std::erase_if(all, [what](auto const& o) {
            return o.what != what || (o.about.context & 3) != static_cast<std::uint32_t>(plane::point_to_point);
        });
        return all;
    };
    engine_->progress();
    constexpr std::size_t at_most = 1000;
    auto const receives = of_program(matcher_->pending(at_most), matching::operation::receive);
    auto const messages = of_program(matcher_->unreceived(at_most), matching::operation::none);
    if (receives.empty() && messages.empty())
        return;
    auto const number = [](std::size_t n, char const* noun) {
        return fmt::format("{}{} {}{}", n >= at_most ? "at least " : "", n, noun, n == 1 ? "" : "s");
    };
    std::string text = "MPI_Finalize: ";
    if (!receives.empty()) {
        matching::pattern const& first = receives.front().about;
        text += fmt::format("{} {} begun and got no message (the first from {}, {})", number(receives.size(), "receive"),
                            receives.size() == 1 ? "was" : "were",
                            first.source == matching::any_source ? "any rank" : fmt::format("rank {}", first.source),
                            first.tag == matching::any_tag ? "any tag" : fmt::format("tag {}", first.tag));
    }
    if (!messages.empty()) {
        matching::pending_operation const& first = messages.front();
        text += fmt::format("{}{} {} not received (the first from rank {}, tag {}, {} bytes)", receives.empty() ? "" : "; ",
                            number(messages.size(), "message"), messages.size() == 1 ? "was" : "were", first.about.source, first.about.tag,
                            first.bytes);
    }
    base::log(base::log_level::warning, "{}", text);
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
    base::check_settings();
    auto p = std::unique_ptr<process>(new process);
    job::membership& job = job::membership::instance();
    matching::options o;
    // A helper thread polls and completes requests like another thread of the program. So does the background thread, if packets need
    // answers.
    o.threaded = thread_level == MPI_THREAD_MULTIPLE || engine::process_onload().on || engine::process_uses_network();
    o.eager_outside = matching::thresholds::eager_outside;
    o.way = matching::wished_way();
    p->engine_ = engine::process_engine(false, !o.threaded);
    p->matcher_ = std::make_unique<matching::matcher>(*p->engine_, o);
    p->node_memory_ = collective::heap_memory(*p->engine_);
    p->engine_->on_poll(&poll_lanes, p.get());
    p->numbers_ = std::make_unique<communicator_numbers>(*p->engine_);
    p->wait_teller_ = std::make_unique<wait_teller>(*p->matcher_);
    p->watchdog_ = std::make_unique<engine::watchdog>(job, *p->engine_, *p->wait_teller_, thread_level == MPI_THREAD_MULTIPLE);
    request_table::instance().begin(o.threaded);
    one_thread = !o.threaded;
    try {
        job.fence(for_ever, "MPI_Init");  // no rank sends to one that cannot answer yet
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
    predefined_of<MPI_Info>[1] = env.detach();  // kept, because MPI_INFO_ENV is valid after MPI_Finalize

    level = thread_level;
    main_thread = pthread_self();
    instance_ = p.release();
}

void process::finish()
{
    job::membership& job = job::membership::instance();
    instance().part();
    if (engine::process_uses_network())
        (void)instance().engine_->drain(std::chrono::seconds(10));  // the last messages of part()
    instance().report_leftovers();
    current_phase.store(phase::after, std::memory_order_release);
    predefined_of<MPI_Comm>[1] = nullptr;
    predefined_of<MPI_Comm>[2] = nullptr;
    std::unique_ptr<process> const ended(instance_.exchange(nullptr));
    ended->engine_->close();  // first: a helper thread may be in a handler of the matcher, which is destroyed before the engine
    job.self().marks.fetch_and(~std::uint32_t{job::mark_unfinished});
    job.leave();
    if (job.header().keep_going != 0)
        for (int r = 0; r < job.size(); ++r)
            job.slot(r).event.wake_all();  // see hear()
}

namespace {

/// Starts MPI. Lock held.
void run(int argc, char* const* argv, int thread_level)
{
    if (process::instance_or_null() == nullptr)
        process::start(argc, argv, thread_level);
    job::membership::instance().self().marks.fetch_or(job::mark_unfinished);
    current_phase.store(phase::running, std::memory_order_release);
}

/// Finishes MPI at the exit of a process with sessions and no MPI_Init. Only then it is certain that no further session starts.
void finish_at_exit()
{
    std::scoped_lock const lock(starting);
    if (process::instance_or_null() == nullptr || open_sessions != 0 || world_phase == phase::running)
        return;
    try {
        process::finish();
    } catch (std::exception const& e) {
        base::log_line(e.what());
    }
}

void start_world(int argc, char* const* argv, int thread_level)
{
    std::scoped_lock const lock(starting);
    if (world_phase == phase::running)
        throw failure(MPI_ERR_OTHER, "MPI runs already: MPI_Init and MPI_Init_thread are called once");
    if (world_phase == phase::after)
        throw failure(MPI_ERR_OTHER, "MPI_Finalize was called before: MPI cannot be started again");
    run(argc, argv, thread_level);
    world_phase = phase::running;
}

} // namespace

void begin_session(int thread_level)
{
    std::scoped_lock const lock(starting);
    if (world_phase == phase::after && process::instance_or_null() == nullptr)
        throw failure(MPI_ERR_OTHER, "MPI_Finalize was called before, while no session was open: MPI cannot be started again");
    run(0, nullptr, thread_level);
    static bool const registered = std::atexit(&finish_at_exit) == 0;
    (void)registered;
    ++open_sessions;
}

void end_session()
{
    std::scoped_lock const lock(starting);
    if (--open_sessions != 0 || world_phase == phase::running)
        return;
    if (world_phase == phase::after)
        return process::finish();
    process::instance().matcher().drain(std::chrono::seconds(10), "MPI_Session_finalize");
    current_phase.store(phase::after, std::memory_order_release);
    job::membership::instance().self().marks.fetch_and(~std::uint32_t{job::mark_unfinished});
}

namespace calls {

void init(int* argc, char*** argv)
{
    start_world(argc != nullptr ? *argc : 0, argv != nullptr ? *argv : nullptr, MPI_THREAD_SINGLE);
}

void init_thread(int* argc, char*** argv, int required, int* provided)
{
    start_world(argc != nullptr ? *argc : 0, argv != nullptr ? *argv : nullptr, level_for(required));
    *provided = process::thread_level();
}

void finalize()
{
    // First of all, while MPI still works (11.2.4).
    process::instance().self().attributes().clear(MPI_COMM_SELF);
    process::instance().world().attributes().clear(MPI_COMM_WORLD);

    std::scoped_lock const lock(starting);
    if (world_phase != phase::running)
        throw_not_running();
    if (open_sessions == 0)
        process::finish();
    world_phase = phase::after;
}

void initialized(int* flag)
{
    *flag = world_phase.load(std::memory_order_acquire) != phase::before;
}

void finalized(int* flag)
{
    *flag = world_phase.load(std::memory_order_acquire) == phase::after;
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
    int const code = error_instances::without_instance(errorcode);
    bool const told = code != errorcode;  // the code of a failed call, whose text is kept
    abort_job(code, fmt::format("MPI_Abort was called on {}, with error code {}. The job ends here.",
                                c != nullptr ? c->described() : fmt::format("{:#x}, which is no communicator", bits_of(comm)),
                                told ? error_codes::instance().text_of(errorcode) : std::to_string(errorcode)));
}

} // namespace calls
} // namespace towline::mpi
