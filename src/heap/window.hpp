#pragma once
// The window: one reservation of addresses for the segments of all ranks, so that pointers and shared addresses are converted by
// arithmetic. It is one mapping of the job file, inaccessible at first. Each segment becomes accessible from its start on, as far as it is
// used: so mlockall populates, and a core dump writes, the used parts and not the whole file. Never unmapped: pointers into it may live
// until the process ends.

#include "heap/heap.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace towline::job { class membership; }

namespace towline::heap {

class window {
public:
    /// Bytes of a segment that one system call makes accessible, at least.
    static constexpr std::uint64_t own_step = std::uint64_t{2} << 20;
    static constexpr std::uint64_t peer_step = std::uint64_t{8} << 20;

    constexpr window() = default;

    /// Reserves the window and opens the first `own_bytes` of the own segment, once. 0 or errno.
    [[nodiscard]] int open(job::membership const&, std::uint64_t own_bytes) noexcept;

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

    /// Makes the first `end` bytes of a segment accessible, and the byte behind them if there is one. 0 or errno. A load and a compare if
    /// they are accessible already.
    [[nodiscard]] int map(std::uint32_t arena, std::uint64_t end) noexcept
    {
        return end < mapped_[arena].load(std::memory_order_acquire) ? 0 : map_more(arena, end);
    }
    /// Makes a part of the own segment accessible, and part of core dumps. False where the kernel refuses.
    [[nodiscard]] bool show(std::byte* begin, std::size_t bytes) noexcept;
    /// A part of the own segment is unused now: excludes it from core dumps.
    void hide(std::byte* begin, std::size_t bytes) noexcept;

    /// Allocates the pages of an accessible part of any segment. False, and nothing is allocated, if the kernel refuses.
    [[nodiscard]] bool commit(std::byte* begin, std::size_t bytes) const noexcept;

    // fork; see fork.cpp
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    /// How much of a segment is accessible.
    [[nodiscard]] std::uint64_t mapped(std::uint32_t arena) const noexcept { return mapped_[arena].load(std::memory_order_relaxed); }
    /// In a forked child: replaces the accessible part of a peer's segment by a private mapping. 0 or errno.
    [[nodiscard]] int make_private(std::uint32_t arena) noexcept { return map_private(arena, 0, mapped(arena)); }
    /// Parts that become accessible later are private, too.
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
    int map_more(std::uint32_t arena, std::uint64_t end) noexcept;
    int extend(std::uint32_t arena, std::uint64_t end) noexcept;
    int map_private(std::uint32_t arena, std::uint64_t begin, std::uint64_t end) noexcept;

    std::atomic<std::uintptr_t> base_{0};
    std::atomic<std::size_t> bytes_{0};
    unsigned shift_ = 0;
    int fd_ = -1;
    bool private_ = false;
    std::uint32_t own_ = 0;
    std::uint64_t segments_begin_ = 0;
    std::atomic<std::uint64_t>* mapped_ = nullptr;  ///< of each segment: bytes from its start
    std::atomic<std::uint32_t> attached_{0};
    std::mutex mutex_;
};

} // namespace towline::heap
