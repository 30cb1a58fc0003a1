// Messages whose end the sender waits for.

#include "engine/outbox.hpp"

#include "heap/heap.hpp"

#include <fmt/format.h>

#include <utility>

namespace towline::engine {

void outbox::install(transport::component& t)
{
    handle<&outbox::on_done>(t, wire::done, *this);
}

std::uint64_t outbox::open(sending&& s)
{
    bool const lends = (s.waiting & wire::wants_released) != 0;
    std::lock_guard lock(mutex_);
    sending& slot = slots_.claim();
    slot = std::move(s);
    if (lends)
        outstanding_.fetch_add(1, std::memory_order_relaxed);
    return slots_.number_of(slot);
}

sending* outbox::locate(std::uint64_t id, peer from) noexcept
{
    sending* const slot = slots_.find(id);
    return slot != nullptr && slot->to == from ? slot : nullptr;
}

outbox::ended outbox::close(std::uint64_t id, peer from, std::uint64_t what, bool ok)
{
    ended result;
    std::lock_guard lock(mutex_);
    sending* const slot = locate(id, from);
    if (slot == nullptr)
        return result;
    what &= slot->waiting & ~slot->late;
    if (what == 0)
        return result;
    result.known = true;
    if (slot->loans != 0) {
        slot->late |= what;
        slot->late_ok = slot->late_ok && ok;
        return result;
    }
    if ((what & wire::wants_released) != 0) {
        result.sent = std::exchange(slot->sent, {});
        result.kept = std::exchange(slot->kept, {});
        outstanding_.fetch_sub(1, std::memory_order_release);
    }
    if ((what & wire::wants_delivered) != 0)
        result.delivered = std::exchange(slot->delivered, {});
    slot->waiting &= ~what;
    if (slot->waiting == 0)
        slots_.free(*slot);
    return result;
}

std::optional<kept_block> outbox::find(std::uint64_t id, peer from, std::uint64_t block)
{
    std::lock_guard lock(mutex_);
    sending* const slot = locate(id, from);
    if (slot == nullptr || block >= slot->kept.size() || slot->kept[block].data == nullptr)
        return std::nullopt;
    slot->copied_from = true;
    return slot->kept[block];
}

void outbox::add_loan(std::uint64_t id, peer to)
{
    std::lock_guard lock(mutex_);
    if (sending* const slot = locate(id, to); slot != nullptr)
        ++slot->loans;
}

void outbox::end_loan(std::uint64_t id, peer to)
{
    std::uint64_t late = 0;
    bool ok = true;
    {
        std::lock_guard lock(mutex_);
        sending* const slot = locate(id, to);
        if (slot == nullptr || --slot->loans != 0)
            return;
        late = std::exchange(slot->late, 0);
        ok = slot->late_ok;
    }
    if (late != 0)
        finish(close(id, to, late), ok);
}

std::optional<peer> outbox::copier()
{
    std::optional<peer> found;
    std::lock_guard lock(mutex_);
    slots_.for_each([&](sending const& slot) {
        if ((slot.waiting & wire::wants_released) != 0 && slot.copied_from && !found)
            found = slot.to;
    });
    return found;
}

void outbox::complete(completion const& c, bool ok)
{
    if (c.function == nullptr)
        return;
    handler_scope const scope(common_);
    c.function(c.context, ok);
}

void outbox::give_back(std::vector<kept_block> const& kept)
{
    for (auto const& k : kept) {
        if (k.exposed_by != nullptr)
            k.exposed_by->conceal(k.region);
        if (k.owned)
            heap::deallocate(const_cast<void*>(k.data));
    }
}

void outbox::finish(ended&& e, bool ok)
{
    give_back(e.kept);
    complete(e.sent, ok);
    complete(e.delivered, ok);
}

void outbox::fail(peer to)
{
    std::vector<std::uint64_t> ids;
    {
        std::lock_guard lock(mutex_);
        slots_.for_each([&](sending const& slot) {
            if (slot.to == to)
                ids.push_back(slots_.number_of(slot));
        });
    }
    for (std::uint64_t const id : ids)
        finish(close(id, to, wire::wants_delivered | wire::wants_released, false), false);
}

void outbox::clear()
{
    std::vector<kept_block> all;
    {
        std::lock_guard lock(mutex_);
        slots_.for_each([&](sending& slot) {
            all.insert(all.end(), slot.kept.begin(), slot.kept.end());
            slots_.free(slot);
        });
    }
    give_back(all);
}

void outbox::on_done(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::done_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("an acknowledgement of {} bytes", payload.size()));
    bool const ok = (m->id_flags & wire::was_refused) == 0;
    auto e = close(m->id_flags >> wire::flag_bits, source, m->id_flags & wire::flag_mask, ok);
    if (!e.known)
        return common_.drop(source,
                            fmt::format("an acknowledgement of message {:#x}, which waits for none", m->id_flags >> wire::flag_bits));
    finish(std::move(e), ok);
}

} // namespace towline::engine
