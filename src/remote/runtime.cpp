// Sends calls, and runs those that arrive.

#include "remote/runtime.hpp"

#include "base/log.hpp"
#include "base/unseen_order.hpp"
#include "job/control.hpp"
#include "remote/team_ground.hpp"

#include <towline/error.hpp>
#include <towline/remote_error.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace towline::remoting {
namespace {

std::atomic<runtime*> process_runtime{nullptr};
std::atomic<int> scopes{0};  // only tests give threads their own runtime
thread_local runtime* thread_runtime = nullptr;
base::unseen_order through_peers;  // a peer's message may answer one of another thread

[[gnu::noinline]] runtime*& thread_slot() noexcept
{
    asm volatile("");
    return thread_runtime;
}

} // namespace

runtime* runtime::current_or_null() noexcept
{
    if (scopes.load(std::memory_order_relaxed) != 0)
        if (runtime* const r = thread_slot())
            return r;
    return process_runtime.load(std::memory_order_acquire);
}

runtime& runtime::current()
{
    if (runtime* const r = current_or_null())
        return *r;
    throw usage_error("remote calls need a towline::world: make one in main, and call from nowhere after its end");
}

void runtime::set_process(runtime* r) noexcept
{
    process_runtime.store(r, std::memory_order_release);
}

void runtime::adopt_thread(runtime* r) noexcept
{
    thread_slot() = r;
}

runtime::scope::scope(runtime* r) noexcept : before_(thread_slot())
{
    scopes.fetch_add(1, std::memory_order_relaxed);
    thread_slot() = r;
}

runtime::scope::~scope()
{
    thread_slot() = before_;
    scopes.fetch_sub(1, std::memory_order_relaxed);
}

runtime::runtime(engine::engine& e, action_table const* actions)
    : engine_(e), actions_(actions != nullptr ? *actions : action_table::process()), peers_(e.size()),
      reports_(e.size())
{
    sent_[engine::shared_shard].store(new sent_counts(e.size()), std::memory_order_release);
    // Handlers run in the scope of this runtime, whichever thread polls.
    auto const install = [this]<void (runtime::*Handler)(engine::incoming&)>(wire::handler id) {
        ids_[id] = engine_.add_handler([](void* self, engine::engine&, engine::incoming& m) {
            through_peers.pass();
            auto* const r = static_cast<runtime*>(self);
            if (scopes.load(std::memory_order_relaxed) == 0) [[likely]]
                return (r->*Handler)(m);
            scope const mine(r);
            (r->*Handler)(m);
        }, this);
    };
    install.operator()<&runtime::on_request>(wire::request);
    install.operator()<&runtime::on_reply>(wire::reply);
    install.operator()<&runtime::on_tree>(wire::tree_request);
    install.operator()<&runtime::on_control>(wire::control);
    teams_ = std::make_unique<team_ground>(*this);
    engine_.on_death([](void* self, engine::peer p) {
        auto* const r = static_cast<runtime*>(self);
        scope const mine(r);
        r->on_death(static_cast<int>(p), false);
    }, this);
}

runtime::~runtime()
{
    stop_workers();
    scope const mine(this);
    objects_.clear();
    for (auto& of_shard : sent_)
        delete of_shard.load(std::memory_order_relaxed);
}

void runtime::add_first_sent(unsigned shard, int rank, std::uint64_t amount) noexcept
{
    auto const at = static_cast<std::size_t>(rank);
    sent_counts* fresh = nullptr;
    try {
        fresh = new sent_counts(engine_.size());
    } catch (std::bad_alloc const&) {  // without memory, counted in the shared array
        return engine::add_to_shard(engine::shared_shard, (*sent_[engine::shared_shard].load(std::memory_order_acquire))[at], amount);
    }
    engine::add_to_shard(shard, (*fresh)[at], amount);
    sent_[shard].store(fresh, std::memory_order_release);  // one thread writes a shard
}

std::uint64_t runtime::sent_to(int rank) const noexcept
{
    std::uint64_t n = 0;
    for (auto const& of_shard : sent_)
        if (auto const* const counts = of_shard.load(std::memory_order_acquire))
            n += (*counts)[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    return n;
}

void runtime::check_rank(int rank) const
{
    if (rank < 0 || rank >= size())
        throw usage_error(fmt::format("there is no rank {} in a world of {} (0 to {})", rank, size(), size() - 1));
    if (!active())
        throw usage_error("the world has ended: no calls after serve returned or its destructor began");
}

void runtime::check_callable(int rank) const
{
    peer_info const& p = peers_[static_cast<std::size_t>(rank)];
    if (p.is_foreign)
        throw version_error(
            fmt::format("rank {} speaks version {} of remote calls, this rank version {}: link both programs with the same towline", rank,
                        p.version, wire::format_version));
    if (p.gone.load(std::memory_order_acquire))
        std::rethrow_exception(death(rank, nullptr));
}

void runtime::cancel(state_base& s)
{
    auto const call = calls_.find(s);
    if (!call || !active())
        return;
    wire::control_message m{};
    m.kind = wire::control_kind::cancel;
    m.a = call->id.slot;
    m.b = call->id.generation;
    send_control(static_cast<int>(call->peer), m);
}

std::exception_ptr runtime::death(int rank, char const* doing) const
{
    bool const left = peers_[static_cast<std::size_t>(rank)].left.load(std::memory_order_acquire);
    std::string const how = left ? "left its world because of an exception"
                                 : "died" + (setup_.describe_death != nullptr ? " (" + setup_.describe_death(rank) + ")" : std::string());
    return std::make_exception_ptr(peer_error(doing != nullptr ? fmt::format("rank {} {} before it answered {}", rank, how, doing)
                                                               : fmt::format("rank {} {}", rank, how), rank));
}

std::uint32_t runtime::index_at(action_entry const& entry, int rank) const
{
    peer_info const& p = peers_[static_cast<std::size_t>(rank)];
    if (entry.index == action_entry::none)
        throw usage_error(
            fmt::format("{} belongs to a library that was loaded after the world began; load it before", readable_name(entry.mangled)));
    if (!p.translation) [[likely]]
        return entry.index;
    std::uint32_t const theirs = (*p.translation)[entry.index];
    if (theirs == action_entry::none)
        throw unknown_action_error(fmt::format("rank {} runs another program, which has no {}", rank, entry.name));
    return theirs;
}

void runtime::send_bytes(int rank, wire::handler h, std::span<std::byte const> head, std::span<engine::block const> blocks,
                         engine::completion sent)
{
    through_peers.pass();
    if (blocks.empty() && sent.function == nullptr)
        return engine_.send_small(static_cast<engine::peer>(rank), ids_[h], head);
    engine::outgoing out;
    out.to = static_cast<engine::peer>(rank);
    out.handler = ids_[h];
    out.head = head;
    out.blocks = blocks;
    out.sent = sent;
    engine_.send(out);
}

namespace {

/// Passes the error of a failed send to the call's state; throws it for a post.
template <class Send>
auto with_reply(call_table& calls, detail::reply_to to, action_entry const& entry, int rank, Send&& send)
{
    call_id id;
    if (to.state != nullptr) {
        id = calls.acquire({to.state, to.complete, &entry}, static_cast<std::uint32_t>(rank));
        to.state->set_call_slot(id.slot + 1);
    }
    try {
        return send(id);
    } catch (...) {
        if (to.state == nullptr)
            throw;
        if (auto const call = calls.take(id, static_cast<std::uint32_t>(rank))) {
            call->state->set_error(std::current_exception());
            call->state->release();
            calls.ended();
        }
        return decltype(send(id))();
    }
}

} // namespace

bool runtime::send_packed(action_entry const& entry, int rank, detail::reply_to to, std::byte* arguments, std::size_t size)
{
    check_rank(rank);
    return with_reply(calls_, to, entry, rank, [&](call_id id) {
        check_callable(rank);
        wire::request_footer const footer{index_at(entry, rank), id.slot, id.generation, wire::packed, 0};
        std::memcpy(arguments + size, &footer, sizeof footer);
        count_sent(rank);
        try {
            send_bytes(rank, wire::request, {arguments, size + sizeof footer});
            return true;
        } catch (...) {
            count_unsent(rank);
            throw;
        }
    });
}

detail::state_ref<detail::state<void>> runtime::send_parcel(action_entry const& entry, int rank, detail::reply_to to, detail::parcel& p)
{
    check_rank(rank);
    return with_reply(calls_, to, entry, rank, [&](call_id id) {
        check_callable(rank);
        wire::request_footer const footer{index_at(entry, rank), id.slot, id.generation, 0, 0};
        count_sent(rank);
        try {
            return send_parcel(rank, wire::request, p, wire::bytes_of(footer));
        } catch (...) {
            count_unsent(rank);
            throw;
        }
    });
}

namespace {

/// Lives until the engine reports that no block of a message is lent any more.
struct sending final : detail::state<void> {
    explicit sending(detail::held* objects) : state<void>(2), held(objects) {}
    ~sending() override { free_held(); }
    void free_held() noexcept
    {
        while (held != nullptr)
            delete std::exchange(held, held->next);
    }
    static void on_sent(void* self, bool) noexcept
    {
        auto* const s = static_cast<sending*>(self);
        s->free_held();
        s->complete();
        s->release();
    }
    detail::held* held;
};

} // namespace

detail::state_ref<detail::state<void>> runtime::send_parcel(int rank, wire::handler h, detail::parcel& p, std::span<std::byte const> footer)
{
    std::span<std::byte> const head = p.close(footer.size());
    std::memcpy(head.data() + head.size() - footer.size(), footer.data(), footer.size());
    std::span<chunk const> const chunks = p.writer().chunks();
    if (chunks.empty()) {
        send_bytes(rank, h, head);
        return {};
    }
    std::array<engine::block, 8> few;
    std::vector<engine::block> many(chunks.size() > few.size() ? chunks.size() : 0);
    std::span<engine::block> const blocks = many.empty() ? std::span(few).first(chunks.size()) : std::span(many);
    bool lent = false;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        auto const how = chunks[i].kind == chunk_kind::rma_given ? engine::lending::give
                         : p.captured(i)                         ? engine::lending::copy
                                                                 : engine::lending::lend;
        lent = lent || how == engine::lending::lend;
        blocks[i] = {chunks[i].data, chunks[i].size, how, chunks[i].viewed};
    }
    p.given_away();  // also if sending fails
    if (!lent) {
        send_bytes(rank, h, head, blocks);
        return {};
    }
    detail::state_ref<sending> s(new sending(p.release_held()));
    engine::completion const sent{[](void* c, bool ok) { sending::on_sent(c, ok); }, s.get()};
    try {
        send_bytes(rank, h, head, blocks, sent);
    } catch (...) {
        s->release();  // the engine's reference
        throw;
    }
    return s;
}

void runtime::check_may_wait(char const* what) const
{
    if (engine_.in_handler())
        throw usage_error(
            fmt::format("waiting for {} inside a function that runs on the polling thread: remove its mark towline::small (or as_small), "
                        "so that it runs on a worker, where it may wait",
                        what));
}

void runtime::flush_counters() noexcept
{
    engine_.publish_counts();
    std::scoped_lock lock(flush_mutex_);
    std::uint64_t sent = 0, handled = 0;
    for (int r = 0; r < size(); ++r) {
        sent += sent_to(r);
        handled += peers_[static_cast<std::size_t>(r)].handled.load(std::memory_order_relaxed);
    }
    if (!setup_.counters.empty()) {
        setup_.counters[static_cast<std::size_t>(job::counter::calls_sent)].fetch_add(sent - flushed_sent_, std::memory_order_relaxed);
        setup_.counters[static_cast<std::size_t>(job::counter::calls_handled)].fetch_add(handled - flushed_handled_,
                                                                                         std::memory_order_relaxed);
    }
    flushed_sent_ = sent;
    flushed_handled_ = handled;
}

} // namespace towline::remoting

namespace towline::detail {

bool send_packed(action_entry const& entry, int rank, reply_to to, std::byte* arguments, std::size_t size)
{
    return remoting::runtime::current().send_packed(entry, rank, to, arguments, size);
}
state_ref<state<void>> send_parcel(action_entry const& entry, int rank, reply_to to, parcel& p)
{
    return remoting::runtime::current().send_parcel(entry, rank, to, p);
}
std::uint64_t share_block(int rank, void const* data, std::size_t size)
{
    return remoting::runtime::current().engine().share(static_cast<engine::peer>(rank), data, size);
}
int current_rank()
{
    return remoting::runtime::current().rank();
}
int current_size()
{
    return remoting::runtime::current().size();
}

} // namespace towline::detail
