#pragma once
// The heap's one object: window, extents, pool of small blocks, return box. Constant-initialized, never destroyed: malloc may need it
// before the first constructor and after the last destructor.

#include "base/unseen_order.hpp"
#include "heap/adopted.hpp"
#include "heap/extents.hpp"
#include "heap/foreign.hpp"
#include "heap/returns.hpp"
#include "heap/window.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace rml { class MemoryPool; }
namespace towline::job { class membership; }

namespace towline::heap {

/// First granule of an arena; in shared memory.
struct arena_page {
    return_box returns;
};

/// For the thread sanitizer: order by the pool's locks and through other processes; passed before a block leaves, and after one comes back.
inline constinit base::unseen_order reuse;
inline void order_reuse() noexcept
{
    reuse.pass();
}

struct core {
    enum class phase : int { none, ready, forked };

    std::atomic<phase> now{phase::none};
    std::uint32_t arena = 0;           ///< the own rank
    std::byte* segment = nullptr;      ///< the own segment; what the extents manage begins `arena_begin` behind it
    std::uint64_t arena_begin = 0;     ///< behind inbox and arena_page
    arena_page* page = nullptr;
    std::uint64_t page_offset = 0;     ///< of the arena_page, in every segment
    std::atomic<rml::MemoryPool*> pool{nullptr};
    std::atomic<std::uint64_t> returned{0};
    std::atomic<bool> complained{false};
    bool commits = false;
    bool limited = false;
    std::atomic<std::int64_t> believed_left{0};  ///< of the cgroup's limit, before it is read again
    window addresses;
    extents memory;
    foreign_blocks foreign;
    adopted_memory adopted;

    /// Blocks of at least this come as extents of their own; smaller ones from the pool.
    static constexpr std::size_t big = std::size_t{32} << 10;

    struct options {
        std::size_t keep = 0;    ///< bytes that stay warm while they are free, at most
        bool commit = false;     ///< pages are allocated when a block is handed out, not by first touch
        bool limited = false;    ///< the cgroup has a limit
    };
    /// Opens the heap of a member of a job, once. 0, or errno and what failed.
    int start(job::membership const& who, options const& how, char const** failed) noexcept;
    /// With options::commit: allocates the pages of untouched memory in any segment. False if there are none.
    [[nodiscard]] bool commit(std::byte* begin, std::size_t bytes) noexcept;

    void* allocate(std::size_t size, std::size_t alignment, bool* clean) noexcept;
    void deallocate_own(void* block, bool by_peer = false) noexcept;
    void empty_return_box() noexcept;
    /// In a forked child: drops this thread's caches in the pool. The pool would empty them when the child exits, and wait for locks that
    /// other threads of the parent held at the fork.
    void forget_pool() noexcept;
    [[nodiscard]] std::size_t usable(void const* block) const noexcept;

private:
    [[nodiscard]] bool fits(std::size_t bytes) noexcept;
    void* allocate_big(std::size_t size, std::size_t alignment, bool* clean) noexcept;
    void* allocate_small(std::size_t size, std::size_t alignment) noexcept;
    rml::MemoryPool* make_pool() noexcept;
};

extern constinit core the_core;
static_assert(std::is_trivially_destructible_v<core>);

/// How long a forked child waits before it copies the heap, in case it executes a program; negative: fork.cpp decides. For tests.
inline constinit std::atomic<long> fork_patience_ns{-1};

/// Held while the heap opens and while the process forks.
extern constinit std::mutex start_mutex;

} // namespace towline::heap
