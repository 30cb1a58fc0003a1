// The heap of a job as memory for lanes.

#include "collective/lanes/node_memory.hpp"
#include "collective/thresholds.hpp"

#include "engine/engine.hpp"
#include "heap/heap.hpp"
#include "job/control.hpp"
#include "job/job.hpp"

namespace towline::collective {
namespace {

class engine_memory final : public node_memory {
public:
    engine_memory(engine::engine& e, bool (*has_left)(void*, matching::peer), void* context)
        : engine_(e), has_left_(has_left), context_(context)
    {
    }

    void* allocate(std::uint64_t bytes) noexcept override { return heap::try_allocate(bytes); }
    void deallocate(void* block) noexcept override { heap::deallocate(block); }
    std::uint64_t find(void const* data, std::uint64_t bytes) const noexcept override { return heap::find_packed(data, bytes); }
    std::byte* attach(std::uint64_t word, std::uint64_t bytes) override
    {
        return static_cast<std::byte*>(heap::attach(heap::unpack(word), bytes));
    }
    bool is_shared_with(matching::peer p) noexcept override { return engine_.maps(p); }
    std::uint64_t node_of(matching::peer p) const noexcept override
    {
        return job::membership::instance().slot(static_cast<int>(p)).node;
    }
    base::sleeper sleeper(matching::peer p) noexcept override { return engine_.sleeper(p); }
    base::fence_side fences() const noexcept override { return job::membership::instance().header().fences; }
    bool is_tight() const noexcept override { return job::membership::instance().header().segment_bytes < thresholds::tight_segment; }
    bool is_gone(matching::peer p) const noexcept override
    {
        return engine_.is_gone(p) || (has_left_ != nullptr && has_left_(context_, p));
    }
    std::atomic<std::uint64_t> const& sleeps() const noexcept override { return engine_.sleeps(); }
    void note(counts const& c) noexcept override
    {
        engine_.count(job::counter::collectives_shared, c.operations);
        engine_.count(job::counter::bytes_offered, c.posted);
        engine_.count(job::counter::bytes_in_place, c.moved);
    }

private:
    engine::engine& engine_;
    bool (*has_left_)(void*, matching::peer);
    void* context_;
};

} // namespace

std::unique_ptr<node_memory> heap_memory(engine::engine& e, bool (*has_left)(void* context, matching::peer), void* context)
{
    return std::make_unique<engine_memory>(e, has_left, context);
}

} // namespace towline::collective
