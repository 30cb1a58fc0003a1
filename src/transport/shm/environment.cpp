// Attaches a ring that a peer announced.

#include "transport/shm/environment.hpp"

#include "transport/shm/ring.hpp"

#include <bit>

namespace towline::transport::shm {

attached_ring attach_ring(environment& env, peer producer, peer consumer, std::uint64_t offset)
{
    auto const* const head = static_cast<ring_header const*>(env.attach(producer, offset, sizeof(ring_header)));
    std::uint32_t const capacity = head->capacity;
    if (head->mark != ring_mark || head->producer != producer || head->consumer != consumer || !std::has_single_bit(capacity) ||
        capacity < first_cells || capacity > most_cells)
        return {};
    return {static_cast<ring_header*>(env.attach(producer, offset, ring_bytes(capacity))), capacity};
}

} // namespace towline::transport::shm
