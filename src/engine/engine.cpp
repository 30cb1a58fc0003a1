// Setup, tables, end.

#include "base/log.hpp"
#include "engine/impl.hpp"
#include "engine/living.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <utility>

namespace towline::engine {

constinit thread_local engine::impl* running_handlers [[gnu::tls_model("initial-exec")]] = nullptr;

engine::impl::impl(engine& self, setup&& s) : face(self), config(std::move(s)), owner_pid(::getpid()), ways_told(config.size)
{
    if (config.size == 0 || config.rank >= config.size)
        throw usage_error(fmt::format("engine: rank {} is outside a world of {}", config.rank, config.size));
    for (auto const& t : config.transports) {
        auto const& caps = t->caps();
        if (!caps.reliable || !caps.ordered)
            throw usage_error(fmt::format(
                "engine: transport {} is not reliable and ordered; it needs a layer below the engine that makes it so", t->name()));
        if (caps.max_eager < wire::least_eager)
            throw usage_error(fmt::format("engine: transport {} carries {} bytes a message, at least {} are needed", t->name(),
                                          caps.max_eager, wire::least_eager));
    }
    peers = std::make_unique<peer_state[]>(config.size);
    counts.attach(config.counters, config.active_ns);
    for (auto const& t : config.transports) {
        if (config.one_thread)
            t->one_thread();
        t->set_failure_handler(&on_failure, this);
        t->set_handler(wire::message, &on_message, this);
        t->set_handler(wire::fragment, &on_fragment, this);
        t->set_handler(wire::done, &on_done, this);
        t->set_handler(wire::pull, &on_pull, this);
        t->set_handler(wire::piece, &on_piece, this);
        t->set_handler(wire::help, &on_help, this);
        t->set_handler(wire::helped, &on_helped, this);
        t->set_handler(wire::push, &on_push, this);
        t->set_handler(wire::pushed, &on_pushed, this);
        for (unsigned id = wire::pushed + 1; id < 256; ++id)
            t->set_handler(static_cast<transport::handler_id>(id), &on_unknown, this);
    }
}

engine::impl::~impl()
{
    stop_background();
}

void engine::impl::end()
{
    for (auto const& kept : pending.everything())
        give_back({kept});
    if (copier != nullptr) {
        copier->stop();
        while (poll_copies() != 0) {
        }
    }
    end_tasks();
    config.transports.clear();  // from here on nothing writes into the destinations of fetches
    for (peer p = 0; p < config.size; ++p)
        fail_fetches(p);
    for (get_job const& g : std::exchange(gets, {}))
        fetch_ended(*g.state, false);
    for (get_context* const g : std::exchange(gets_under_way, {})) {
        fetch_ended(*g->state, false);
        delete g;
    }
    counts.publish();
}

bool engine::impl::in_child() const noexcept
{
    return ::getpid() != owner_pid;
}

void engine::impl::require_open() const
{
    if (!closed.load(std::memory_order_acquire)) [[likely]]
        return;
    if (in_child())
        throw usage_error("this process was forked from a member of the job and is not part of it: only the parent may communicate");
    throw usage_error("the engine of this process has ended: nothing can be sent or waited for any more");
}

void engine::impl::close() noexcept
{
    closed.store(true, std::memory_order_release);
    for (peer p = 0; p < config.size; ++p)
        peers[p].flags.fetch_or(peer_state::closed, std::memory_order_release);
}

engine::engine(setup s) : impl_(std::make_unique<impl>(*this, std::move(s)))
{
    living::add(*impl_);
    try {
        impl_->start_onload();
        if (impl_->helper == nullptr && impl_->config.background && !impl_->config.one_thread && impl_->config.event != nullptr)
            impl_->start_background();
    } catch (...) {
        living::remove(*impl_);
        close();
        impl_->end();
        throw;
    }
}

engine::~engine()
{
    if (impl_->in_child()) {
        // What the transports would take down belongs to the parent too, and threads that the child does not have wait on the rest for
        // ever. The list of the living keeps it.
        (void)impl_.release();
        return;
    }
    living::remove(*impl_);
    close();
    impl_->end();
}

void engine::close() noexcept
{
    impl_->close();
    impl_->stop_background();
    impl_->wake();
}

peer engine::rank() const noexcept
{
    return impl_->config.rank;
}

peer engine::size() const noexcept
{
    return impl_->config.size;
}

bool engine::maps(peer who) noexcept
{
    if (who == rank())
        return true;
    try {
        return impl_->reach(who).maps;
    } catch (...) {
        return false;
    }
}

base::sleeper engine::sleeper(peer who) noexcept
{
    return maps(who) && who != rank() ? impl_->peers[who].via->sleeper(who) : base::sleeper{};
}

bool engine::has_ended(peer who) const noexcept
{
    auto const& c = impl_->config;
    return is_gone(who) || (c.is_dead != nullptr && c.is_dead(c.context, who));
}

bool engine::shares_cores() const noexcept
{
    return impl_->config.oversubscribed;
}

bool engine::is_gone(peer who) const noexcept
{
    return (impl_->peers[who].flags.load(std::memory_order_acquire) & peer_state::dead) != 0;
}

void engine::on_poll(int (*function)(void* context), void* context)
{
    impl_->poll_function = function;
    impl_->poll_context = context;
}

void engine::ask_polls(int change) noexcept
{
    impl_->polls_asked.fetch_add(change, std::memory_order_acq_rel);
}

void engine::count(job::counter which, std::uint64_t amount) noexcept
{
    impl_->counts.add(which, amount);
}

namespace {

/// Nobody polls meanwhile.
class polling_pause {
public:
    explicit polling_pause(engine::impl& m) : m_(m)
    {
        while (!m_.acquire_token())
            std::this_thread::yield();
    }
    ~polling_pause() { m_.release_token(); }
    polling_pause(polling_pause const&) = delete;
    polling_pause& operator=(polling_pause const&) = delete;

private:
    engine::impl& m_;
};

} // namespace

handler_id engine::add_handler(handler function, void* context)
{
    impl_->require_open();
    if (running_handlers != nullptr)
        throw usage_error("engine: handlers are added before the first message, not by a handler");
    // Transports' tables may not change under a poll, and the background thread may be in one.
    polling_pause const pause(*impl_);
    auto& table = impl_->handlers;
    if (table.size() >= 65535)
        throw limit_error("engine: more than 65535 handlers");
    auto const id = static_cast<handler_id>(table.size());
    table.push_back({function, context, this, id});
    if (id < wire::direct_handlers) {
        for (auto const& t : impl_->config.transports)
            t->set_handler(static_cast<transport::handler_id>(wire::first_direct + id), &impl::on_small, &table.back());
    }
    return id;
}

int engine::progress(int budget)
{
    impl& m = *impl_;
    wait_hold::let_go_outer(m);
    if (m.closed.load(std::memory_order_relaxed) || !m.acquire_token())
        return 0;
    int const n = m.poll(budget);
    m.release_token();
    return n;
}

bool engine::wait_slow(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail)
{
    return impl_->wait(ready, context, what, timeout, detail);
}

void engine::notify() noexcept
{
    impl_->wake();
}

bool engine::in_handler() const noexcept
{
    return running_handlers == impl_.get();
}

void engine::on_death(void (*function)(void* context, peer), void* context)
{
    polling_pause const pause(*impl_);  // the background thread may find a death already
    impl_->death_function = function;
    impl_->death_context = context;
}

void engine::on_long_wait(void (*in_wait)(void* context, long_wait const&), bool (*outside)(void* context, bool in_time), void* context)
{
    polling_pause const pause(*impl_);  // the background thread may be about to look
    impl_->long_wait_function = in_wait;
    impl_->long_wait_context = context;
    impl_->outside_look.store(outside, std::memory_order_release);
}

void engine::publish_counts() noexcept
{
    impl_->counts.publish();
}

thresholds::sizes const& engine::sizes() const noexcept
{
    return impl_->config.sizes;
}

void engine::set_sizes(thresholds::sizes const& sizes) noexcept
{
    impl_->config.sizes = sizes;
}

bool engine::drain(std::chrono::nanoseconds timeout)
{
    auto const ended = [&m = *impl_] {
        return m.queued_messages.load(std::memory_order_acquire) == 0 && m.pending.outstanding() == 0;
    };
    bool all = wait(ended, "everything sent to be taken", timeout);
    // Whoever drains is about to use the memory again, or to end: not under a peer's copy, unless it dies or leaves.
    while (!all && timeout > std::chrono::nanoseconds::zero()) {
        auto const who = impl_->pending.copier();
        if (!who)
            break;
        all = wait(ended, "a rank that is copying what was lent to it", thresholds::copier_report);
        if (!all && impl_->pending.copier() == who)
            base::log(base::log_level::warning,
                      "rank {} waits for rank {}, which is in the middle of copying from its memory, and is stopped or gets no processor",
                      rank(), *who);
    }
    if (all)
        outlast_handlers();  // one of them may have made it true, and goes on
    impl_->counts.publish();
    return all;
}

void engine::outlast_handlers()
{
    if (running_handlers == impl_.get())
        return;
    wait_hold::let_go_outer(*impl_);
    polling_pause const others_return(*impl_);
}

} // namespace towline::engine
