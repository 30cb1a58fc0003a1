// Sets the heap up, and allocates from its extents and its pool.

#include "heap/core.hpp"

#include "base/log.hpp"
#include "base/memory_left.hpp"
#include "heap/releases.hpp"
#include "job/job.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <tbb/scalable_allocator.h>
#include <unistd.h>

namespace towline::heap {

constinit core the_core;
constinit std::mutex start_mutex;

namespace {

void* pool_takes(std::intptr_t, std::size_t& bytes)
{
    bytes = (bytes + extents::granule - 1) / extents::granule * extents::granule;
    return the_core.memory.allocate(bytes, extents::granule, extents::kind::region).begin;
}

int pool_gives(std::intptr_t, void* begin, std::size_t)
{
    if (the_core.now.load(std::memory_order_relaxed) == core::phase::forked)
        return 0;  // the pool empties its caches when a process exits
    return the_core.memory.release(begin, extents::kind::region) ? 0 : 1;
}

/// Bytes of the largest cache that is private to a core. A block twice that size evicts everything from it.
std::size_t cache_of_a_core() noexcept
{
    constexpr std::size_t usual = std::size_t{1} << 20;
    long const bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? std::clamp(static_cast<std::size_t>(bytes), usual / 4, 4 * usual) : usual;
}

/// Bytes by which a rank's arena begins later than that of rank 0. Ranks that run the same program have their data at the same offset of
/// their segments, which are mapped at multiples of a high power of two. AMD's level 1 cache predicts the way of a line by an 8-bit hash of
/// address bits 12 to 27: own data and a peer's with the same hash evict each other, and a loop over both takes 1.4 times as long.
/// (M. Lipp et al., "Take A Way: Exploring the Security Implications of AMD's Cache Way Predictors", 2020.) So neighbours begin 144 KiB
/// apart, and any 64 ranks at different places.
std::uint64_t stagger_of(std::uint32_t rank) noexcept
{
    constexpr std::uint64_t places = 64, apart = 9;
    return rank * apart % places * extents::granule;
}

/// The key that pthread_key_create gives next.
pthread_key_t next_key() noexcept
{
    pthread_key_t key = 0;
    if (pthread_key_create(&key, nullptr) == 0)
        pthread_key_delete(key);
    return key;
}

/// The range of pthread keys that the pool made for its per-thread caches.
struct {
    pthread_key_t first = 0;
    pthread_key_t last = 0;
} pool_keys;

} // namespace

int core::start(job::membership const& who, options const& how, char const** failed) noexcept
{
    std::lock_guard const guard(start_mutex);
    if (now.load(std::memory_order_relaxed) != phase::none)
        return 0;
    if (who.forked()) {
        now.store(phase::forked, std::memory_order_release);  // the arena is the parent's
        return 0;
    }
    arena = static_cast<std::uint32_t>(who.rank());
    page_offset = who.header().inbox_bytes;
    arena_begin = (page_offset + sizeof(arena_page) + extents::granule - 1) / extents::granule * extents::granule + stagger_of(arena);
    *failed = "reserving addresses for the shared heap (ulimit -v, or -l after mlockall; a smaller TOWLINE_SEGMENT needs less)";
    if (int const error = addresses.open(who, arena_begin); error != 0)
        return error;
    segment = addresses.segment(arena);
    page = reinterpret_cast<arena_page*>(segment + page_offset);
    commits = how.commit;
    limited = how.limited;
    *failed = "memory for the shared heap, of which the kernel commits no more (vm.overcommit_memory)";
    if (commits && !addresses.commit(segment + page_offset, sizeof(arena_page)))
        return ENOMEM;
    *failed = "memory for the bookkeeping of the shared heap";
    extents::supply from{
        [](std::byte* begin, std::size_t bytes) noexcept { return the_core.addresses.show(begin, bytes); },
        [](std::byte* begin, std::size_t bytes) noexcept { the_core.addresses.hide(begin, bytes); },
        nullptr,
    };
    if (commits || limited)
        from.commit = [](std::byte* begin, std::size_t bytes) noexcept { return the_core.commit(begin, bytes); };
    if (!memory.start(segment + arena_begin, addresses.segment_bytes() - arena_begin, how.keep,
                      std::min(2 * cache_of_a_core(), how.keep / 8), from))
        return ENOMEM;
    look_closer_at_heap();
    now.store(phase::ready, std::memory_order_release);
    return 0;
}

/// At a cgroup's limit the kernel kills the process that touches more memory, however it was allocated. So what cannot fit is refused here.
/// Handed-out bytes count from one reading of the limit to the next, which is due when an eighth of what was left is handed out (other
/// processes take their share, and not everything is touched immediately), and at the earliest after 1 MiB.
bool core::fits(std::size_t bytes) noexcept
{
    constexpr std::int64_t step = std::int64_t{1} << 20;
    constexpr std::int64_t reserve = 4 * step;  // page tables, stacks, plain memory
    auto const wanted = static_cast<std::int64_t>(bytes);
    if (believed_left.fetch_sub(wanted, std::memory_order_relaxed) >= wanted)
        return true;
    std::int64_t left = 0;
    try {
        constexpr std::uint64_t much = std::uint64_t{1} << 62;
        left = static_cast<std::int64_t>(std::min(base::memory_left().value_or(much), much)) - reserve - wanted;
    } catch (std::exception const&) {
        return true;  // no memory to read the limit with: treat it as unknown
    }
    believed_left.store(std::max(left / 8, std::clamp(left, std::int64_t{0}, step)), std::memory_order_relaxed);
    return left >= 0;
}

bool core::commit(std::byte* begin, std::size_t bytes) noexcept
{
    return (!limited || fits(bytes)) && (!commits || addresses.commit(begin, bytes));
}

rml::MemoryPool* core::make_pool() noexcept
{
    std::lock_guard const guard(start_mutex);
    rml::MemoryPool* made = pool.load(std::memory_order_relaxed);
    if (made == nullptr) {
        rml::MemPoolPolicy const policy(pool_takes, pool_gives, std::size_t{1} << 20);
        pool_keys.first = next_key();
        if (rml::pool_create_v1(0, &policy, &made) != rml::POOL_OK)
            return nullptr;
        pool_keys.last = next_key();
        pool.store(made, std::memory_order_release);
    }
    return made;
}

void core::forget_pool() noexcept
{
    for (pthread_key_t key = pool_keys.first; key < pool_keys.last; ++key) {
        auto* const cache = static_cast<std::byte*>(pthread_getspecific(key));
        if (cache != nullptr && cache >= segment + arena_begin && cache < segment + addresses.segment_bytes() &&
            memory.kind_at(cache) == extents::kind::region)
            pthread_setspecific(key, nullptr);
    }
}

void* core::allocate(std::size_t size, std::size_t alignment, bool* clean) noexcept
{
    if (!std::has_single_bit(alignment) || size > extents::max_bytes || alignment > extents::max_bytes)
        return nullptr;
    size = std::max(size, std::size_t{1});
    alignment = std::max(alignment, std::size_t{64});
    bool const is_big = size >= big || alignment > big / 2;
    if (is_big)
        page->returns.expect();
    if (page->returns.any())
        empty_return_box();
    if (is_big)
        return allocate_big(size, alignment, clean);
    if (clean != nullptr)
        *clean = false;
    return allocate_small(size, alignment);
}

void* core::allocate_big(std::size_t size, std::size_t alignment, bool* clean) noexcept
{
    extents::piece const piece = memory.allocate(size, alignment, extents::kind::block);
    if (clean != nullptr)
        *clean = piece.clean;
    return piece.begin;
}

void* core::allocate_small(std::size_t size, std::size_t alignment) noexcept
{
    rml::MemoryPool* from = pool.load(std::memory_order_acquire);
    if (from == nullptr && (from = make_pool()) == nullptr) [[unlikely]]
        return nullptr;
    void* const block = rml::pool_aligned_malloc(from, size, alignment);
    order_reuse();
    return block;
}

void core::deallocate_own(void* block, bool by_peer) noexcept
{
    if (static_cast<std::byte*>(block) >= segment + arena_begin) [[likely]] {
        extents::kind const what = memory.kind_at(block);
        order_reuse();
        if (what == extents::kind::region) {
            rml::pool_free(pool.load(std::memory_order_relaxed), block);
            return;
        }
        if (what == extents::kind::block && memory.release(block, what, by_peer))
            return;
    }
    if (!complained.exchange(true))
        base::log(base::log_level::error, "heap::deallocate of {}, which is not a block, or was given back before", block);
}

std::size_t core::usable(void const* block) const noexcept
{
    switch (memory.kind_at(block)) {
    case extents::kind::block: return memory.bytes_of(block);
    case extents::kind::region: return rml::pool_msize(pool.load(std::memory_order_relaxed), const_cast<void*>(block));
    default: return 0;
    }
}

void core::empty_return_box() noexcept
{
    bool corrupt = false;
    auto const link_of = [&](std::uint64_t offset) -> std::uint64_t* {
        std::byte* const block = segment + offset;
        if (offset >= arena_begin && offset < addresses.segment_bytes() && offset % 64 == 0)
            if (auto const what = memory.kind_at(block);
                what == extents::kind::region || (what == extents::kind::block && memory.begins(block)))
                return reinterpret_cast<std::uint64_t*>(block);
        corrupt = true;
        return nullptr;
    };
    returned.fetch_add(page->returns.take(link_of, [&](std::uint64_t offset) { deallocate_own(segment + offset, true); }),
                       std::memory_order_relaxed);
    if (corrupt && !complained.exchange(true))
        base::log(base::log_level::error, "a peer gave back something that is not a block of this heap; what else it returned may be lost");
}

} // namespace towline::heap
