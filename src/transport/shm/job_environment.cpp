// The environment of a job: its heap and its file.

#include "transport/shm/environment.hpp"

#include "heap/heap.hpp"
#include "job/file.hpp"
#include "job/job.hpp"
#include "towline/error.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/ring_reserve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace towline::transport::shm {

namespace {

static_assert(job::max_ranks <= most_with_doorbells);

/// Two rings for each peer of this node (one and its successor), but at most a 16th of the arena. Addresses only: untouched pages take no
/// memory.
/// One per process, as rings outlive the engine that made them.
[[nodiscard]] ring_reserve& reserve()
{
    static ring_reserve& all = *[] {
        auto const& header = job::membership::instance().header();
        auto const places = std::min<std::size_t>(2 * std::size_t{header.here}, header.segment_bytes / 16 / ring_reserve::place_bytes);
        return new ring_reserve(heap::try_allocate(places * ring_reserve::place_bytes), places);
    }();
    return all;
}

class of_job final : public environment {
public:
    peer rank() const noexcept override { return static_cast<peer>(job_.rank()); }
    peer size() const noexcept override { return static_cast<peer>(job_.size()); }
    base::fence_side fences() const noexcept override { return job_.header().fences; }
    bool has_doorbells() const noexcept override { return job_.is_oversubscribed(); }

    void* allocate(std::size_t bytes) noexcept override
    {
        void* const block = heap::try_allocate(bytes);
        return block != nullptr ? block : reserve_.take(bytes);
    }
    void deallocate(void* block) noexcept override
    {
        if (!reserve_.give_back(block))
            heap::deallocate(block);
    }
    std::uint64_t offset_of(void const* block) const noexcept override
    {
        auto const where = heap::find(block, 1);
        return where ? where->offset : 0;
    }
    void* attach(peer owner, std::uint64_t offset, std::size_t bytes) override
    {
        // A ring lies behind the inbox; the heap checks that it is inside the segment.
        if (offset % cell_bytes != 0 || offset < job_.header().inbox_bytes)
            throw error(fmt::format("rank {} announced a ring at offset {} of its segment, where none can be", owner, offset));
        return heap::attach({.arena = owner, .offset = offset}, bytes);
    }
    std::span<std::byte> inbox(peer p) override { return heap::inbox(static_cast<int>(p)); }
    base::event_count& event(peer p) noexcept override { return job_.slot(static_cast<int>(p)).event; }
    bool gone(peer p) const noexcept override
    {
        auto const state = static_cast<job::rank_state>(job_.slot(static_cast<int>(p)).state.load(std::memory_order_acquire));
        return state == job::rank_state::left || state == job::rank_state::dead;
    }

    bool shares_memory(peer p) const noexcept override { return job_.is_here(static_cast<int>(p)); }

private:
    job::membership& job_ = job::membership::instance();
    ring_reserve& reserve_ = reserve();
};

} // namespace

std::unique_ptr<environment> job_environment()
{
    return std::make_unique<of_job>();
}

} // namespace towline::transport::shm
