// Finishes an encoded call: its message head and its blocks.

#include <towline/detail/parcel.hpp>

#include "heap/heap.hpp"

namespace towline::detail {
namespace {

// Unused rooms of this thread. A few suffice: a parcel lives from encoding to sending.
struct rooms {
    parcel_room* free = nullptr;
    unsigned count = 0;
    ~rooms()
    {
        while (free != nullptr)
            delete std::exchange(free, free->next);
        count = ~0u;  // the thread ends: returned rooms are deleted
    }
};
thread_local rooms mine;

constexpr unsigned kept_rooms = 8;
constexpr std::size_t kept_bytes = std::size_t{1} << 20;

// Parcels begin and end on fibers, which change threads. This function is not inlined, so that it loads the thread's variable afresh.
[[gnu::noinline]] parcel_room* take_room()
{
    asm volatile("");
    if (mine.free == nullptr)
        return new parcel_room;
    --mine.count;
    return std::exchange(mine.free, mine.free->next);
}

[[gnu::noinline]] void give_room(parcel_room* room) noexcept
{
    asm volatile("");
    if (mine.count >= kept_rooms || room->bytes.capacity() > kept_bytes) {
        delete room;
        return;
    }
    room->captured.clear();
    room->next = std::exchange(mine.free, room);
    ++mine.count;
}

} // namespace

parcel::parcel(bool shares) : room_(take_room()), writer_(room_->bytes), shares_(shares) {}

parcel::~parcel()
{
    if (!sent_)
        for (chunk const& c : writer_.chunks())
            if (c.kind == chunk_kind::rma_given)
                heap::deallocate(const_cast<void*>(c.data));
    while (held_ != nullptr)
        delete std::exchange(held_, held_->next);
    give_room(room_);
}

std::span<std::byte> parcel::close(std::size_t extra)
{
    std::size_t const begin = static_cast<std::size_t>(writer_.index().data() - room_->bytes.data());
    std::size_t const size = writer_.index().size();
    if (room_->bytes.size() - begin < size + extra)
        room_->bytes.resize(begin + size + extra);
    return std::span(room_->bytes).subspan(begin, size + extra);
}

} // namespace towline::detail
