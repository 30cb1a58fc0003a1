// A message at its receiver.

#include "engine/impl.hpp"

#include "base/copy.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace towline::engine {
namespace {

using job::counter;

block_state& block_at(message_state* s, std::size_t i)
{
    if (s == nullptr || i >= s->count)
        throw usage_error(fmt::format("block {} of a message that has {}", i, s == nullptr ? 0 : s->count));
    return s->blocks[i];
}

} // namespace

void block_state::count(ledger& counts, bool copied) noexcept
{
    if (counted || size == 0)
        return;
    counted = true;
    switch (how) {
    case wire::how::given:
    case wire::how::given_here:
        if (copied) {
            counts.block(counter::copied_once, counter::bytes_copied_once, size);
            counts.add(counter::bytes_mapped, size);
        } else {
            counts.block(counter::handed_over, counter::bytes_handed_over, size);
        }
        break;
    case wire::how::staged:
    case wire::how::staged_here:
        counts.block(copied ? counter::copied_twice : counter::copied_once,
                       copied ? counter::bytes_copied_twice : counter::bytes_copied_once, size);
        counts.add(counter::bytes_staged, size);
        break;
    case wire::how::mapped:
    case wire::how::mapped_here:
        if (copied) {
            counts.block(counter::copied_once, counter::bytes_copied_once, size);
            counts.add(counter::bytes_mapped, size);
        }
        break;
    default:
        break;
    }
}

message_state* incoming::state::promote()
{
    auto* const s = new state;
    s->owner = owner;
    s->source = source;
    s->on_heap = true;
    s->kept = kept;
    s->id_flags = id_flags;
    s->count = count;
    s->few = few;
    s->many = std::move(many);
    s->blocks = s->many ? s->many.get() : s->few.data();
    s->copy = std::move(copy);
    s->failed.store(failed.load(std::memory_order_relaxed), std::memory_order_relaxed);
    count = 0;
    id_flags = 0;
    return s;
}

void incoming::state::finish(std::uint64_t also) noexcept
{
    engine::impl& e = *owner->impl_;
    for (std::uint32_t i = 0; i < count; ++i) {
        block_state& b = blocks[i];
        if (b.owned() || b.fetched)
            b.count(e.counts, b.fetched);
        if (b.owned() && !b.taken)
            heap::deallocate(b.data);
    }
    std::uint64_t const ends = (id_flags & wire::wants_released) | also;
    if (ends != 0)
        e.out.post_control(source, wire::done, wire::done_message{(id_flags & ~wire::flag_mask) | ends});
    if (on_heap)
        delete this;
}

void incoming::state::arrive(state* s)
{
    if (s->then == nullptr)
        return s->finish(0);  // the message has ended before
    auto const then = std::exchange(s->then, nullptr);
    s->running.store(1, std::memory_order_relaxed);
    incoming message(s->owner, s->source, {s->head, s->head_size}, s);
    handler_scope const scope(*s->owner->impl_);
    then(s->then_context, !s->failed.load(std::memory_order_relaxed), message);
}

void incoming::state::handler_returned(incoming& message, state& built, std::uint64_t id_flags)
{
    std::uint64_t const delivered = id_flags & wire::wants_delivered;
    state* const s = std::exchange(message.state_, nullptr);
    if (s == &built)
        return s->finish(delivered);
    if (s != nullptr && s->running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        return s->finish(delivered);
    // The message, or a fetch, lives on.
    if (delivered != 0)
        built.owner->impl_->out.post_control(built.source, wire::done, wire::done_message{(id_flags & ~wire::flag_mask) | delivered});
}

void incoming::release() noexcept
{
    state* const s = std::exchange(state_, nullptr);
    if (!s->on_heap)
        s->finish(0);
    else if (s->running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        state::arrive(s);
}

std::size_t incoming::blocks() const noexcept
{
    return state_ == nullptr ? 0 : state_->count;
}

std::uint64_t incoming::block_size(std::size_t i) const
{
    return block_at(state_, i).size;
}

void const* incoming::view(std::size_t i)
{
    block_state& b = block_at(state_, i);
    if (!b.in_reach() || b.taken)
        return nullptr;
    return b.data;
}

void* incoming::take(std::size_t i)
{
    block_state& b = block_at(state_, i);
    if (!b.owned() || b.taken || b.fetched)
        return nullptr;
    b.taken = true;
    b.count(owner_->impl_->counts, false);
    return b.data;
}

void incoming::fetch(std::size_t i, void* destination, pace p)
{
    {
        block_state& b = block_at(state_, i);
        if (b.fetched || b.taken)
            throw usage_error(fmt::format("block {} was {} before", i, b.taken ? "taken" : "fetched"));
        b.fetched = true;
        if (b.size == 0)
            return;
    }
    if (p == pace::may_lag && owner_->impl_->helpers.submit_copy(state_, i, destination))
        return;
    {
        block_state& b = state_->blocks[i];  // the state may have moved
        if (b.in_reach()) {
            engine::impl& e = *owner_->impl_;
            bool const takes = b.is_shared() && b.size <= e.config.sizes.take_alone && base::is_rewritten(b.data, b.size);
            if (!takes && p != pace::now && e.tasks.may_cooperate(*state_, b, destination)) {
                if (state* const s = e.tasks.copy_together(*state_, i, destination))
                    state_ = s;
                else
                    b.count(e.counts, true);
                return;
            }
            if (takes)
                base::copy_taking(destination, b.data, b.size);
            else
                base::copy_block(destination, b.data, b.size);
            e.tell_arrival(source_, arrival::copied, b.size);
            e.count_if_onloaded(b.size);
            return b.count(e.counts, true);
        }
    }
    engine::impl& e = *owner_->impl_;
    if (state_->blocks[i].how == wire::how::attached && e.attached.read(*state_, state_->blocks[i], destination))
        return;
    // The fetch outlives this call: its state must not move.
    if (!state_->on_heap)
        state_ = state_->promote();
    if (state_->blocks[i].how == wire::how::exposed)
        e.fetches.start_get(*state_, i, destination);
    else
        e.fetches.start_pull(*state_, i, destination);
}

bool incoming::ready() const noexcept
{
    return state_ == nullptr || state_->running.load(std::memory_order_acquire) == 1;
}

bool incoming::failed() const noexcept
{
    return state_ != nullptr && state_->failed.load(std::memory_order_acquire);
}

void incoming::when_ready(incoming&& message, void (*then)(void* context, bool ok, incoming& message), void* context)
{
    incoming m(std::move(message));
    if (m.ready()) {
        then(context, !m.failed(), m);
        return;
    }
    m.keep();
    state* const s = std::exchange(m.state_, nullptr);
    s->then = then;
    s->then_context = context;
    s->head = m.head_;
    s->head_size = m.head_size_;
    // The last to end, this call or a fetch, sees what the others wrote.
    if (s->running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        state::arrive(s);
}

void incoming::keep()
{
    if (state_ == nullptr) {
        if (head_size_ == 0)
            return;
        auto s = std::make_unique<state>();
        s->owner = owner_;
        s->source = source_;
        s->on_heap = true;
        state_ = s.release();
    } else if (!state_->on_heap) {
        state_ = state_->promote();
    }
    if (state_->kept)
        return;
    std::uint64_t words = wire::padded(head_size_) / 8;
    for (std::uint32_t i = 0; i < state_->count; ++i) {
        if (state_->blocks[i].how == wire::how::inside)
            words += wire::padded(state_->blocks[i].size) / 8;
    }
    state_->copy = std::make_unique_for_overwrite<std::uint64_t[]>(words);
    state_->kept = true;
    auto* at = reinterpret_cast<std::byte*>(state_->copy.get());
    auto const capture = [&at](void const* data, std::uint64_t size) {
        std::byte* const begin = at;
        if (size != 0)
            std::memcpy(begin, data, size);
        at += wire::padded(size);
        return begin;
    };
    head_ = capture(head_, head_size_);
    for (std::uint32_t i = 0; i < state_->count; ++i) {
        if (block_state& b = state_->blocks[i]; b.how == wire::how::inside)
            b.data = capture(b.data, b.size);
    }
}

} // namespace towline::engine
