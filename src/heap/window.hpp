#pragma once
// The window: one reservation of addresses for the segments of all ranks, so that pointers and shared addresses are converted by
// arithmetic. The own segment is mapped when it opens, a peer's on first use. Never closed: pointers into it may live until the process
// ends.

#include "heap/heap.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace towline::job { class membership; }

namespace towline::heap {

class window {
public:
    constexpr window() = default;

    /// Reserves the window and maps the own segment, once. 0 or errno.
    [[nodiscard]] int open(job::membership const&) noexcept;

    [[nodiscard]] bool contains(void const* pointer) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(pointer) - base_.load(std::memory_order_relaxed) < bytes_.load(std::memory_order_relaxed);
    }
    /// Of a pointer that the window contains.
    [[nodiscard]] std::uint32_t arena_of(void const* pointer) const noexcept
    {
        return static_cast<std::uint32_t>(position(pointer) >> shift_);
    }
    [[nodiscard]] std::uint64_t offset_of(void const* pointer) const noexcept { return position(pointer) & (segment_bytes() - 1); }
    [[nodiscard]] std::byte* segment(std::uint32_t arena) const noexcept
    {
        return reinterpret_cast<std::byte*>(base_.load(std::memory_order_relaxed)) + (std::uint64_t{arena} << shift_);
    }
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return std::uint64_t{1} << shift_; }
    [[nodiscard]] std::uint32_t arenas() const noexcept
    {
        return static_cast<std::uint32_t>(bytes_.load(std::memory_order_relaxed) >> shift_);
    }
    [[nodiscard]] std::uint32_t attached() const noexcept { return attached_.load(std::memory_order_relaxed); }

    /// Makes an arena accessible. 0 or errno. Costs a load once it is.
    [[nodiscard]] int map(std::uint32_t arena) noexcept
    {
        return mapped_[arena].load(std::memory_order_acquire) ? 0 : map_first(arena);
    }

    // fork; see fork.cpp
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    [[nodiscard]] bool is_mapped(std::uint32_t arena) const noexcept { return mapped_[arena].load(std::memory_order_relaxed); }
    /// In a forked child: replaces the view of a peer's segment (and those attached from now on) by one whose changes stay here. 0 or
    /// errno.
    [[nodiscard]] int make_private(std::uint32_t arena) noexcept;
    void become_private() noexcept { private_ = true; }
    [[nodiscard]] int descriptor() const noexcept { return fd_; }
    [[nodiscard]] std::uint64_t file_offset(std::uint32_t arena) const noexcept
    {
        return segments_begin_ + (std::uint64_t{arena} << shift_);
    }

private:
    [[nodiscard]] std::uint64_t position(void const* pointer) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(pointer) - base_.load(std::memory_order_relaxed);
    }
    int map_first(std::uint32_t arena) noexcept;
    int map_view(std::uint32_t arena, int protection, int flags) noexcept;

    std::atomic<std::uintptr_t> base_{0};
    std::atomic<std::size_t> bytes_{0};
    unsigned shift_ = 0;
    int fd_ = -1;
    bool private_ = false;
    std::uint64_t segments_begin_ = 0;
    std::atomic<bool>* mapped_ = nullptr;
    std::atomic<std::uint32_t> attached_{0};
    std::mutex mutex_;
};

} // namespace towline::heap
