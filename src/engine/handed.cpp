// Blocks that change owner inside a head.

#include "engine/impl.hpp"

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
    void* const block = heap::attach(wire::unpack(where), size);
    impl_->counts.handed_over(size);
    return block;
}

} // namespace towline::engine
