// Blocks of the heap that heads tell of: such that change owner, and such that are looked at where they are.

#include "engine/impl.hpp"

#include "base/copy.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

namespace towline::engine {

std::uint64_t engine::share(peer to, void const* data, std::size_t size) noexcept
{
    impl& m = *impl_;
    if (to >= m.config.size)
        return 0;
    peer_state const& p = m.peers[to];
    // Acquire: pairs with whoever chose the transport.
    if ((p.flags.load(std::memory_order_acquire) & ~peer_state::queued) != 0 || (!p.maps && to != m.config.rank))
        return 0;
    auto const where = heap::find(data, size);
    return where ? wire::pack(*where).value_or(0) : 0;
}

void* engine::claim(std::uint64_t where, std::size_t size)
{
    heap::address const a = wire::unpack(where);
    void* const block = heap::attach(a, size);
    impl_->counts.handed_over(size);
    if (impl_->ways_told && a.arena < impl_->config.size) [[unlikely]]
        impl_->ways_told.arrives(a.arena, arrival::taken, size);
    return block;
}

std::byte const* engine::look(std::uint64_t where, std::size_t size)
{
    return static_cast<std::byte const*>(heap::attach(wire::unpack(where), size));
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
