// The callee's side: requests arrive, run in the handler or as a task, and are answered.

#include "remote/message.hpp"

#include "base/log.hpp"

#include <cstring>
#include <fmt/format.h>

namespace towline::remoting {

incoming_call::incoming_call(runtime& r, engine::incoming& m, wire::request_footer const& f, patience p) noexcept
    : runtime_(r), message_(m), id_{f.slot, f.generation}, source_(m, 0, m.blocks(), p)
{
    bytes = m.head().first(m.head().size() - sizeof f);
    packed = (f.flags & wire::packed) != 0;
    chunks = &source_;
    max_bytes = r.max_message();
    source = static_cast<int>(m.source());
}

void incoming_call::wait_for_blocks()
{
    source_.start();
    remoting::wait_for_blocks(runtime_, message_);
}

void* incoming_call::claim(std::uint64_t where, std::size_t size)
{
    return runtime_.engine().claim(where, size);
}

std::uint64_t incoming_call::share(void const* data, std::size_t size)
{
    return runtime_.engine().share(message_.source(), data, size);
}

bool incoming_call::reply_packed(std::byte* values, std::size_t size)
{
    replied_ = true;
    if (id_.generation == 0)
        return false;
    wire::reply_footer const f{id_.slot, id_.generation, wire::status::ok, wire::packed, 0};
    std::memcpy(values + size, &f, sizeof f);
    runtime_.send_bytes(source, wire::reply, {values, size + sizeof f});
    return true;
}

void incoming_call::reply(detail::parcel& p)
{
    replied_ = true;
    if (id_.generation == 0)
        return;
    bool given = true;
    for (chunk const& c : p.writer().chunks())
        given = given && c.kind == chunk_kind::rma_given;
    wire::reply_footer const f{id_.slot, id_.generation, wire::status::ok, static_cast<std::uint16_t>(given ? wire::all_given : 0), 0};
    static_cast<void>(runtime_.send_parcel(source, wire::reply, p, wire::bytes_of(f)));
}

void incoming_call::run(action_entry const& e) noexcept
{
    try {
        e.run(*this);
    } catch (...) {
        if (replied_)
            return;  // the answer could not be sent: the caller died, and its own runtime reported that
        try {
            caught const c = describe_current_exception(runtime_, running);
            if (id_.generation == 0)
                base::log(base::log_level::warning, "a posted {} from rank {} failed with {}: {}", e.name, source, c.type, c.text);
            else
                runtime_.reply_error(source, id_, c.outcome, c.where, c.type, c.text);
        } catch (...) {
            runtime_.reply_error(source, id_, wire::status::limit, runtime_.rank(), "", "not enough memory to describe an exception");
        }
    }
}

void runtime::reply_error(int rank, call_id id, wire::status status, int where, std::string_view type, std::string_view text) noexcept
{
    if (id.generation == 0)
        return;
    try {
        std::vector<std::byte> bytes = encode_error(where, type, text);
        wire::reply_footer const f{id.slot, id.generation, status, 0, 0};
        std::span<std::byte const> const tail = wire::bytes_of(f);
        bytes.insert(bytes.end(), tail.begin(), tail.end());
        send_bytes(rank, wire::reply, bytes);
    } catch (std::exception const& e) {
        if (alive(rank))
            base::log(base::log_level::error, "an error could not be reported to rank {}: {}", rank, e.what());
    }
}

namespace {

/// A call that is queued for a worker, with its message.
class call_task final : public task, public detail::pooled {
public:
    call_task(runtime& r, engine::incoming&& m, wire::request_footer const& f, action_entry const& e)
        : runtime_(r), message_(std::move(m)), footer_(f), entry_(e)
    {
        task::run = &begin;
    }
    /// The call task of a task, if it is one with this source and id.
    [[nodiscard]] static call_task* from(task& t, int source, call_id id) noexcept
    {
        if (t.run != &begin)
            return nullptr;
        auto& c = static_cast<call_task&>(t);
        bool const named = c.footer_.slot == id.slot && c.footer_.generation == id.generation;
        return named && static_cast<int>(c.message_.source()) == source ? &c : nullptr;
    }

private:
    static void begin(task* t) noexcept
    {
        auto* const self = static_cast<call_task*>(t);
        self->call();
        delete self;
    }
    void call() noexcept
    {
        if (fiber* const f = fiber::current())
            f->rename(entry_.name, static_cast<int>(message_.source()));
        incoming_call c(runtime_, message_, footer_, patience::may_wait);
        if (workers::out_of_stacks())
            return runtime_.reply_error(
                c.source, {footer_.slot, footer_.generation}, wire::status::limit, runtime_.rank(), "",
                "no stack for another handler: too many calls are waiting inside handlers (see vm.max_map_count, TOWLINE_STACK)");
        c.run(entry_);
    }
    runtime& runtime_;
    engine::incoming message_;
    wire::request_footer footer_;
    action_entry const& entry_;
};

} // namespace

void runtime::on_cancel(int source, call_id id)
{
    workers* const p = pool_.load(std::memory_order_acquire);
    if (p == nullptr || id.generation == 0)
        return;
    p->withdraw([&](task& t) { return call_task::from(t, source, id) != nullptr; },
                [&](task& t) {
                    reply_error(source, id, wire::status::cancelled, rank(), "", "cancelled by its caller before it ran");
                    delete static_cast<call_task*>(&t);
                });
}

void runtime::on_request(engine::incoming& m)
{
    int const source = static_cast<int>(m.source());
    auto const f = wire::tail<wire::request_footer>(m.head());
    if (!f || !active()) {
        ++hostile_;
        return;
    }
    if (f->action >= actions().size()) {
        reply_error(source, {f->slot, f->generation}, wire::status::unknown_action, rank(), "",
                    fmt::format("there is no function {} in this rank's table of {}", f->action, actions().size()));
        return handled(source);
    }
    action_entry const& e = actions()[f->action];
    if (e.small && blocks_in_reach(m)) {
        incoming_call c(*this, m, *f, patience::none);
        c.run(e);
        return handled(source);
    }
    m.keep();
    pool().push(*new call_task(*this, std::move(m), *f, e));
    handled(source);
}

} // namespace towline::remoting
