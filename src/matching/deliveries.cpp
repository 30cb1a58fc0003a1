// A message and its request have found each other: its bytes are brought.

#include "matching/deliveries.hpp"

#include "job/counters.hpp"

#include <towline/error.hpp>

namespace towline::matching {

using job::counter;

void deliveries::bring(sink const& to, envelope const& e, peer from, std::uint64_t bytes, here_block const& b, status& result) noexcept
{
    result = {e.source, e.tag, bytes, outcome::ok, false};
    try {
        if (b.form != 0)
            return bring_laid(to, bytes, b, result);
        std::byte const* const there = common_.engine_.look(b.where, bytes);
        if (to.unpack != nullptr || bytes > to.capacity) [[unlikely]]
            return place(to, e, {there, bytes}, result);
        common_.engine_.bring(to.data, there, bytes);
    } catch (std::exception const& x) {
        common_.tell_loss(from, bytes, x);
        result.error = outcome::lost;
    }
}

void deliveries::bring_laid(sink const& to, std::uint64_t size_there, here_block const& b, status& result) const
{
    engine::engine& e = common_.engine_;
    if (size_there > to.capacity)
        result.error = outcome::truncated;
    auto const* const form = e.look(b.form, std::size_t{b.words} * sizeof(std::uint64_t));
    if (reinterpret_cast<std::uintptr_t>(form) % alignof(std::uint64_t) != 0)
        throw layout::bad_layout("a layout that is not aligned");
    laid_message const m{{e.look(b.where, b.span), b.span}, {reinterpret_cast<std::uint64_t const*>(form), b.words}, b.meaning, size_there};
    std::uint64_t const bytes = std::min(size_there, to.capacity);
    if (to.unpack == nullptr) {
        copy_laid({nullptr, static_cast<std::int64_t>(bytes), to.data}, m);
    } else if (to.lay != nullptr) {
        laid_sink where;
        if (!to.lay(to.data, bytes, where) && result.error == outcome::ok)
            result.error = outcome::unlike;
        copy_laid(where, m);
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
        else if (in_pieces)
            to.take({temporary.get(), size_there}, r.result_);
        return requests_.finish(r);
    }
    auto l = std::make_unique<landing>(landing{this, &r, {}, from, e, size_there, std::move(temporary)});
    {
        common::guard const g(common_);
        r.behind_ = l.get();
        landings_.append(*l);
    }
    engine::incoming::when_ready(std::move(message), &on_landed, l.release());
}

void deliveries::on_landed(void* context, bool ok, engine::incoming& message)
{
    std::unique_ptr<landing> const l(static_cast<landing*>(context));
    deliveries& self = *l->owner;
    {
        // The sender may go on before the receiver does.
        engine::incoming const over(std::move(message));
    }
    request* r = nullptr;
    {
        common::guard const g(self.common_);
        self.landings_.remove(*l);
        r = std::exchange(l->target, nullptr);
        if (r != nullptr) {
            r->behind_ = nullptr;
            if (!ok)
                r->result_.error = self.contexts_.is_dead(l->from) ? outcome::peer_died : outcome::lost;
        }
    }
    if (r == nullptr)
        return;
    if (ok && l->temporary)
        r->sink_.take({l->temporary.get(), l->bytes}, r->result_);
    self.requests_.finish(*r);
    self.common_.engine_.notify();
}

void deliveries::deliver(request& r, unexpected_message& m) noexcept
{
    // A synchronous message is acknowledged when it has matched; a here message when its bytes were copied.
    if (auto const* const here = std::get_if<here_block>(&m.elsewhere))
        bring(r.sink_, m.letter, m.from, m.bytes, *here, r.result_);
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
