// Messages whose end the sender waits for.

#include "engine/impl.hpp"

#include <fmt/format.h>

#include <utility>

namespace towline::engine {
namespace {

constexpr std::uint32_t generation_mask = (1u << 29) - 1;  // with the index and the flags, 64 bits

} // namespace

std::uint64_t outbox::open(sending&& s)
{
    bool const lends = (s.waiting & wire::wants_released) != 0;
    std::lock_guard lock(mutex_);
    std::uint32_t index = free_;
    if (index == no_slot) {
        index = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        free_ = slots_[index].next_free;
    }
    sending& slot = slots_[index];
    s.generation = slot.generation;
    slot = std::move(s);
    if (lends)
        outstanding_.fetch_add(1, std::memory_order_relaxed);
    return std::uint64_t{slot.generation} << 32 | index;
}

sending* outbox::locate(std::uint64_t id, peer from) noexcept
{
    std::uint64_t const index = id & 0xffffffff;
    if (index >= slots_.size())
        return nullptr;
    sending& slot = slots_[index];
    return slot.waiting != 0 && slot.generation == id >> 32 && slot.to == from ? &slot : nullptr;
}

outbox::ended outbox::close(std::uint64_t id, peer from, std::uint64_t what)
{
    ended result;
    std::lock_guard lock(mutex_);
    sending* const slot = locate(id, from);
    if (slot == nullptr)
        return result;
    what &= slot->waiting;
    if (what == 0)
        return result;
    result.known = true;
    if ((what & wire::wants_released) != 0) {
        result.sent = std::exchange(slot->sent, {});
        result.kept = std::exchange(slot->kept, {});
        outstanding_.fetch_sub(1, std::memory_order_release);
    }
    if ((what & wire::wants_delivered) != 0)
        result.delivered = std::exchange(slot->delivered, {});
    slot->waiting &= ~what;
    if (slot->waiting == 0) {
        slot->generation = (slot->generation + 1) & generation_mask;
        slot->next_free = free_;
        free_ = static_cast<std::uint32_t>(id);
    }
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

std::optional<peer> outbox::copier()
{
    std::lock_guard lock(mutex_);
    for (sending const& slot : slots_) {
        if ((slot.waiting & wire::wants_released) != 0 && slot.copied_from)
            return slot.to;
    }
    return std::nullopt;
}

std::vector<std::uint64_t> outbox::of_peer(peer to)
{
    std::vector<std::uint64_t> ids;
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].waiting != 0 && slots_[i].to == to)
            ids.push_back(std::uint64_t{slots_[i].generation} << 32 | i);
    }
    return ids;
}

std::vector<kept_block> outbox::everything()
{
    std::vector<kept_block> all;
    std::lock_guard lock(mutex_);
    for (auto& slot : slots_) {
        if (slot.waiting != 0)
            all.insert(all.end(), slot.kept.begin(), slot.kept.end());
        slot.waiting = 0;
    }
    return all;
}

void engine::impl::complete(completion const& c, bool ok)
{
    if (c.function == nullptr)
        return;
    handler_scope const scope(this);
    c.function(c.context, ok);
}

void engine::impl::give_back(std::vector<kept_block> const& kept)
{
    for (auto const& k : kept) {
        if (k.exposed_by != nullptr)
            k.exposed_by->conceal(k.region);
        if (k.owned)
            heap::deallocate(const_cast<void*>(k.data));
    }
}

void engine::impl::finish(outbox::ended&& e, bool ok)
{
    give_back(e.kept);
    complete(e.sent, ok);
    complete(e.delivered, ok);
}

void engine::impl::on_done(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::done_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("an acknowledgement of {} bytes", payload.size()));
    auto ended = self.pending.close(m->id_flags >> wire::flag_bits, source, m->id_flags & wire::flag_mask);
    if (!ended.known)
        return self.drop(source, fmt::format("an acknowledgement of message {:#x}, which waits for none", m->id_flags >> wire::flag_bits));
    self.finish(std::move(ended), (m->id_flags & wire::was_refused) == 0);
}

} // namespace towline::engine
