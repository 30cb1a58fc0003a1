#include "heap/window.hpp"

#include "job/job.hpp"

#include <bit>
#include <cerrno>
#include <sys/mman.h>

namespace towline::heap {

namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
}

int window::open(job::membership const& who) noexcept
{
    if (bytes_.load(std::memory_order_relaxed) != 0)
        return 0;
    auto const& header = who.header();
    auto const arenas = static_cast<std::size_t>(who.size());
    std::size_t const bytes = arenas * header.segment_bytes;
    // Addresses agree with file offsets in their low bits where segments begin at a huge page, so that huge pages can be mapped.
    void* const reserved = mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return errno;
    auto const begin = reinterpret_cast<std::uintptr_t>(reserved);
    std::uintptr_t const base = (begin + huge_page - 1) / huge_page * huge_page;
    if (base > begin)
        munmap(reserved, base - begin);
    if (std::size_t const behind = begin + huge_page - base; behind > 0)
        munmap(reinterpret_cast<void*>(base + bytes), behind);
    void* const flags = mmap(nullptr, arenas * sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (flags == MAP_FAILED) {
        int const error = errno;
        munmap(reinterpret_cast<void*>(base), bytes);
        return error;
    }
    mapped_ = static_cast<std::atomic<bool>*>(flags);
    shift_ = static_cast<unsigned>(std::countr_zero(header.segment_bytes));
    fd_ = who.fd();
    segments_begin_ = header.segments_begin;
    base_.store(base, std::memory_order_relaxed);
    int const error = map_view(static_cast<std::uint32_t>(who.rank()), PROT_READ | PROT_WRITE, MAP_SHARED);
    if (error != 0) {
        munmap(reinterpret_cast<void*>(base), bytes);
        munmap(flags, arenas * sizeof(std::atomic<bool>));
        return error;
    }
    madvise(segment(static_cast<std::uint32_t>(who.rank())), segment_bytes(), MADV_HUGEPAGE);
    mapped_[who.rank()].store(true, std::memory_order_release);
    bytes_.store(bytes, std::memory_order_release);
    return 0;
}

int window::map_view(std::uint32_t arena, int protection, int flags) noexcept
{
    void* const view = mmap(segment(arena), segment_bytes(), protection, flags | MAP_FIXED | MAP_NORESERVE, fd_,
                            static_cast<off_t>(file_offset(arena)));
    return view == MAP_FAILED ? errno : 0;
}

int window::map_first(std::uint32_t arena) noexcept
{
    std::lock_guard const guard(mutex_);
    if (mapped_[arena].load(std::memory_order_relaxed))
        return 0;
    if (int const error = private_ ? make_private(arena) : map_view(arena, PROT_READ | PROT_WRITE, MAP_SHARED); error != 0)
        return error;
    madvise(segment(arena), segment_bytes(), MADV_DONTDUMP);
    attached_.fetch_add(1, std::memory_order_relaxed);
    mapped_[arena].store(true, std::memory_order_release);
    return 0;
}

int window::make_private(std::uint32_t arena) noexcept
{
    int const error = map_view(arena, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    // Under strict accounting of memory a writable view of a whole segment may be too much to promise; reading is always allowed.
    return error == ENOMEM ? map_view(arena, PROT_READ, MAP_PRIVATE) : error;
}

} // namespace towline::heap
