// A message and its request have found each other: its bytes are brought.

#include "matching/deliveries.hpp"

#include "job/counters.hpp"

#include <towline/error.hpp>

namespace towline::matching {

using job::counter;

void deliveries::bring(sink const& to, envelope const& e, peer from, std::uint64_t bytes, here_block const& b, std::uint64_t token,
                       status& result) noexcept
{
    result = {e.source, e.tag, bytes, outcome::ok, false};
    try {
        if (b.form != 0)
            return bring_laid(to, from, bytes, b, token, result);
        std::byte const* const there = common_.engine_.look(b.where, bytes);
        if (to.unpack != nullptr || bytes > to.capacity) [[unlikely]]
            return place(to, e, {there, bytes}, result);
        common_.engine_.bring(to.data, there, bytes);
    } catch (std::exception const& x) {
        common_.tell_loss(from, bytes, x);
        result.error = outcome::lost;
    }
}

void deliveries::bring_laid(sink const& to, peer from, std::uint64_t size_there, here_block const& b, std::uint64_t token,
                            status& result) const
{
    engine::engine& e = common_.engine_;
    if (size_there > to.capacity)
        result.error = outcome::truncated;
    auto const* const form = e.look(b.form, std::size_t{b.words} * sizeof(std::uint64_t));
    if (reinterpret_cast<std::uintptr_t>(form) % alignof(std::uint64_t) != 0)
        throw layout::bad_layout("a layout that is not aligned");
    laid_message const m{{e.look(b.where, b.span), b.span}, {reinterpret_cast<std::uint64_t const*>(form), b.words}, b.meaning, size_there};
    std::uint64_t const bytes = std::min(size_there, to.capacity);
    auto const copy = [&](laid_sink const& where) {
        if (token == 0 || !together_.copy(where, m, from, token))
            copy_laid(where, m);
    };
    if (to.unpack == nullptr) {
        copy({nullptr, static_cast<std::int64_t>(bytes), to.data});
    } else if (to.lay != nullptr) {
        laid_sink where;
        if (!to.lay(to.data, bytes, where) && result.error == outcome::ok)
            result.error = outcome::unlike;
        copy(where);
    } else {
        auto const packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
        copy_laid({nullptr, static_cast<std::int64_t>(bytes), packed.get()}, m);
        to.take({packed.get(), bytes}, result);
    }
    for (auto const c : {counter::bytes_copied_once, counter::bytes_mapped, counter::bytes_laid})
        e.count(c, bytes);
    e.count(counter::copied_once, 1);
}

void deliveries::deliver(request& r, peer from, envelope const& e, engine::incoming& message) noexcept
{
    std::uint64_t const size_there = message.block_size(0);
    sink const to = r.sink_;
    bool const in_pieces = to.unpack != nullptr || size_there > to.capacity;
    if (in_pieces) {
        if (is_to_be_deferred(to, size_there, false) && message.view(0) != nullptr) {
            message.keep();
            return defer(r, {.from = from, .letter = e, .bytes = size_there, .elsewhere = std::move(message)});
        }
        if (void const* const bytes = message.view(0); bytes != nullptr || size_there == 0) {
            place(to, e, {static_cast<std::byte const*>(bytes), size_there}, r.result_);
            return requests_.finish(r);
        }
    }
    r.result_ = {e.source, e.tag, size_there, size_there > to.capacity ? outcome::truncated : outcome::ok, false};
    if (size_there > to.capacity)
        return requests_.finish(r);
    std::unique_ptr<std::byte[]> temporary;
    try {
        if (in_pieces)
            temporary = std::make_unique_for_overwrite<std::byte[]>(size_there);
        message.fetch(0, in_pieces ? temporary.get() : to.data, engine::incoming::pace::may_lag);
    } catch (std::exception const& x) {
        common_.tell_loss(from, size_there, x);
        r.result_.error = outcome::lost;
        return requests_.finish(r);
    }
    if (message.ready()) {
        if (message.failed())
            r.result_.error = outcome::lost;
        else if (in_pieces && is_to_be_deferred(to, size_there, false))
            return defer(r, {.from = from, .letter = e, .bytes = size_there, .temporary = std::move(temporary)});
        else if (in_pieces)
            to.take({temporary.get(), size_there}, r.result_);
        return requests_.finish(r);
    }
    landing* const l = begin(r, {.from = from, .letter = e, .bytes = size_there, .temporary = std::move(temporary)});
    engine::incoming::when_ready(std::move(message), &on_landed, l);
}

landing* deliveries::begin(request& r, landing&& about)
{
    auto* const l = new landing(std::move(about));
    l->owner = this;
    l->target = &r;
    common::guard const g(common_);
    r.behind_ = l;
    landings_.append(*l);
    return l;
}

request* deliveries::end(landing& l, status const* result) noexcept
{
    common::guard const g(common_);
    landings_.remove(l);
    request* const r = std::exchange(l.target, nullptr);
    if (r != nullptr) {
        r->behind_ = nullptr;
        if (result != nullptr)
            r->result_ = *result;
    }
    return r;
}

void deliveries::on_landed(void* context, bool ok, engine::incoming& message)
{
    std::unique_ptr<landing> l(static_cast<landing*>(context));
    deliveries& self = *l->owner;
    {
        // The sender may go on before the receiver does.
        engine::incoming const over(std::move(message));
    }
    if (ok && l->temporary && l->bytes >= thresholds::long_unpacking && self.common_.engine_.in_handler()) {
        return self.common_.engine_.defer(&unpack_deferred, l.release());
    }
    outcome failure = outcome::lost;
    if (!ok) {
        common::guard const g(self.common_);
        if (self.contexts_.is_dead(l->from))
            failure = outcome::peer_died;
    }
    request* const r = self.end(*l, nullptr);
    if (r == nullptr)
        return;
    if (!ok)
        r->result_.error = failure;
    else if (l->temporary)
        r->sink_.take({l->temporary.get(), l->bytes}, r->result_);
    self.requests_.finish(*r);
    self.common_.engine_.notify();
}

void deliveries::defer(request& r, landing&& about)
{
    common_.engine_.defer(&unpack_deferred, begin(r, std::move(about)));
}

void deliveries::unpack(landing& l, sink const& to, status& result)
{
    if (auto const* const here = std::get_if<here_block>(&l.elsewhere)) {
        bring(to, l.letter, l.from, l.bytes, *here, l.token, result);
    } else if (auto const* const block = std::get_if<relayed>(&l.elsewhere)) {
        relays_.take(to, l.letter, l.from, *block, result);
    } else {
        auto* const message = std::get_if<engine::incoming>(&l.elsewhere);
        place(to, l.letter, {message != nullptr ? static_cast<std::byte const*>(message->view(0)) : l.temporary.get(), l.bytes}, result);
    }
}

void deliveries::unpack_deferred(void* context)
{
    std::unique_ptr<landing> l(static_cast<landing*>(context));
    deliveries& self = *l->owner;
    sink to;
    bool is_wanted = false;
    {
        common::guard const g(self.common_);
        if ((is_wanted = l->target != nullptr))
            to = l->target->sink_;
    }
    status result;
    if (is_wanted)
        self.unpack(*l, to, result);
    else if (auto const* const block = std::get_if<relayed>(&l->elsewhere))
        self.relays_.drop(*block);
    if (l->token != 0)
        self.common_.acknowledge(l->from, l->token);
    l->elsewhere = std::monostate{};  // what was lent is the sender's again
    if (request* const r = self.end(*l, &result); r != nullptr)
        self.requests_.finish(*r);
}

void deliveries::deliver(request& r, unexpected_message& m) noexcept
{
    // A synchronous message is acknowledged when it has matched; a here message when its bytes were copied.
    auto const* const here = std::get_if<here_block>(&m.elsewhere);
    if (here != nullptr && is_to_be_deferred(r.sink_, m.bytes, here->form != 0)) {
        defer(r, {.from = m.from, .letter = m.letter, .bytes = m.bytes, .token = m.token, .elsewhere = *here});
        return early_.give_back(m);
    }
    if (auto const* const block = std::get_if<relayed>(&m.elsewhere); block != nullptr && is_to_be_deferred(r.sink_, m.bytes, false)) {
        defer(r, {.from = m.from, .letter = m.letter, .bytes = m.bytes, .elsewhere = *block});
        return early_.give_back(m);
    }
    if (here != nullptr)
        bring(r.sink_, m.letter, m.from, m.bytes, *here, m.token, r.result_);
    if (m.token != 0)
        common_.acknowledge(m.from, m.token);
    if (auto* const lent = std::get_if<engine::incoming>(&m.elsewhere)) {
        engine::incoming message = std::move(*lent);
        peer const from = m.from;
        envelope const e = m.letter;
        early_.give_back(m);
        return deliver(r, from, e, message);
    }
    if (auto const* const block = std::get_if<relayed>(&m.elsewhere))
        relays_.take(r.sink_, m.letter, m.from, *block, r.result_);
    else if (std::holds_alternative<std::monostate>(m.elsewhere))
        place(r.sink_, m.letter, m.data(), r.result_);
    early_.give_back(m);
    requests_.finish_in_start(r);
}

void deliveries::discard(unexpected_message& m) noexcept
{
    if (m.token != 0)
        common_.acknowledge(m.from, m.token);
    if (auto const* const block = std::get_if<relayed>(&m.elsewhere))
        relays_.drop(*block);
    early_.give_back(m);
}

} // namespace towline::matching
