// The engine as its callers see it: setup, handlers, questions, the end.

#include "base/copy.hpp"
#include "base/log.hpp"
#include "engine/impl.hpp"
#include "engine/living.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace towline::engine {

engine::impl::impl(engine& self, setup&& s) : poller(self, std::move(s))
{
    for (auto const& t : config.transports) {
        auto const& caps = t->caps();
        if (!caps.reliable || !caps.ordered)
            throw usage_error(fmt::format(
                "engine: transport {} is not reliable and ordered; it needs a layer below the engine that makes it so", t->name()));
        if (caps.max_eager < wire::least_eager)
            throw usage_error(fmt::format("engine: transport {} carries {} bytes a message, at least {} are needed", t->name(),
                                          caps.max_eager, wire::least_eager));
    }
    for (auto const& t : config.transports) {
        if (config.one_thread)
            t->one_thread();
        in.install(*t);
        pending.install(*t);
        fetches.install(*t);
        tasks.install(*t);
        windows.install(*t);
    }
}

engine::impl::~impl()
{
    behind.stop();
}

void engine::impl::end()
{
    pending.clear();
    helpers.stop();
    tasks.end_tasks();
    packets_owned.reset();
    config.transports.clear();  // from here on nothing writes into the destinations of fetches
    fetches.clear();
    counts.publish();
}

void engine::impl::close() noexcept
{
    close_peers();
}

engine::engine(setup s) : impl_(std::make_unique<impl>(*this, std::move(s)))
{
    living::add(*impl_);
    try {
        impl_->packets_owned = packet_watch::make(*impl_);
        impl_->packets = impl_->packets_owned.get();
        impl_->helpers.start();
        if (impl_->helper == nullptr && impl_->config.background && !impl_->config.one_thread && impl_->config.event != nullptr)
            impl_->behind.start();
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
        // What the transports would take down belongs to the parent, too, and the rest would wait for threads that the child does not have.
        // The list of the living keeps it.
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
    impl_->behind.stop();
    impl_->wake();
    impl_->wake_berths();
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
    return is_gone(who) || impl_->has_died(who);
}

bool engine::outlast(copy_task const& task, std::uint32_t units, peer from) const
{
    return impl_->outlast(task, units, from);
}

job::way_board* engine::ways() const noexcept
{
    return impl_->config.ways;
}

bool engine::is_oversubscribed() const noexcept
{
    return impl_->config.oversubscribed;
}

bool engine::is_gone(peer who) const noexcept
{
    return impl_->is_dead(who, std::memory_order_acquire);
}

std::atomic<std::uint64_t> const& engine::sleeps() const noexcept
{
    return impl_->sleeps;
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

/// Keeps other threads from polling for a scope.
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
    return impl_->in.add(function, context);
}

int engine::progress(int budget)
{
    return impl_->progress(budget);
}

bool engine::wait_slow(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail)
{
    return impl_->wait(ready, context, what, timeout, detail);
}

void engine::notify() noexcept
{
    impl_->wake();
}

void engine::wake(berth& b) noexcept
{
    impl_->wake(b);
}

bool engine::in_handler() const noexcept
{
    return impl_->in_handler();
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
    impl_->behind.outside_look.store(outside, std::memory_order_release);
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
        return m.queued_messages.load(std::memory_order_acquire) == 0 && m.pending.outstanding() == 0 &&
               std::ranges::all_of(m.config.transports, [](auto const& t) { return t->drained(); });
    };
    bool all = wait(ended, "everything sent to be taken", timeout);
    // The caller is about to reuse the memory, or to end: not while a peer copies from it, unless that peer dies or leaves.
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
    if (impl_->in_handler())
        return;
    wait_hold::let_go_outer(*impl_);
    {
        polling_pause const others_return(*impl_);
    }
    impl_->outlast_deferred();
}

void engine::defer(void (*function)(void* context), void* context)
{
    impl_->defer(function, context);
}

void engine::attend(transfer what) noexcept
{
    impl_->helpers.attend(what);
}

bool engine::onloads() const noexcept
{
    return impl_->helper != nullptr;
}

// Blocks of the heap whose address travels in a head: they change owner, or are read where they are.

std::uint64_t engine::share(peer to, void const* data, std::size_t size) noexcept
{
    impl& m = *impl_;
    if (to >= m.config.size)
        return 0;
    peer_state const& p = m.peers[to];
    // Acquire: pairs with the thread that chose the transport.
    if ((p.flags.load(std::memory_order_acquire) & ~peer_state::queued) != peer_state::open || (!p.maps && to != m.config.rank))
        return 0;
    return heap::find_packed(data, size);
}

void* engine::claim(std::uint64_t where, std::size_t size)
{
    heap::address const a = heap::unpack(where);
    void* const block = heap::attach(a, size);
    impl_->counts.handed_over(size);
    if (a.arena < impl_->config.size)
        impl_->tell_arrival(a.arena, arrival::taken, size);
    return block;
}

std::byte const* engine::look(std::uint64_t where, std::size_t size)
{
    return static_cast<std::byte const*>(heap::attach(heap::unpack(where), size));
}

std::uint64_t engine::offer(peer to, void* data, std::size_t size) noexcept
{
    std::uint64_t const where = share(to, data, size);
    auto const& c = impl_->config;
    return where != 0 && (c.shared_arena || heap::unpack(where).arena == c.rank) ? where : 0;
}

std::byte* engine::enter(peer whose, std::uint64_t where, std::size_t size)
{
    return static_cast<std::byte*>(impl_->writable(whose, where, size));
}

void engine::bring(void* to, std::byte const* from, std::size_t size) noexcept
{
    impl& m = *impl_;
    if (size <= m.config.sizes.take_alone && base::is_rewritten(from, size))
        base::copy_taking(to, from, size);
    else
        base::copy_block(to, from, size);
    m.counts.block(job::counter::copied_once, job::counter::bytes_copied_once, size);
    m.counts.add(job::counter::bytes_mapped, size);
    m.count_if_onloaded(size);
}

} // namespace towline::engine
