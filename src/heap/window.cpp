// Reserves and maps the window of segments.

#include "heap/window.hpp"

#include "job/job.hpp"

#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace towline::heap {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) noexcept
{
    return (bytes + step - 1) / step * step;
}

} // namespace

int window::open(job::membership const& who, std::uint64_t own_bytes) noexcept
{
    if (bytes_.load(std::memory_order_relaxed) != 0)
        return 0;
    auto const& header = who.header();
    auto const arenas = static_cast<std::size_t>(who.size());
    std::size_t const bytes = arenas * header.segment_bytes;
    // Addresses and file offsets agree modulo the size of a huge page, so that huge pages can be mapped.
    void* const reserved = mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return errno;
    auto const begin = reinterpret_cast<std::uintptr_t>(reserved);
    std::uintptr_t const base = (begin + huge_page - 1) / huge_page * huge_page;
    if (base > begin)
        munmap(reserved, base - begin);
    if (std::size_t const behind = begin + huge_page - base; behind > 0)
        munmap(reinterpret_cast<void*>(base + bytes), behind);
    auto const give_back = [&](int error) {
        munmap(reinterpret_cast<void*>(base), bytes);
        base_.store(0, std::memory_order_relaxed);
        return error;
    };
    // mlockall skips inaccessible mappings. A core dump does not: it would read the file and allocate its holes.
    if (mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, who.fd(),
             static_cast<off_t>(header.segments_begin)) == MAP_FAILED)
        return give_back(errno);
    madvise(reinterpret_cast<void*>(base), bytes, MADV_DONTDUMP);
    void* const ends = mmap(nullptr, arenas * sizeof *mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ends == MAP_FAILED)
        return give_back(errno);
    mapped_ = static_cast<std::atomic<std::uint64_t>*>(ends);
    shift_ = static_cast<unsigned>(std::countr_zero(header.segment_bytes));
    fd_ = who.fd();
    own_ = static_cast<std::uint32_t>(who.rank());
    segments_begin_ = header.segments_begin;
    base_.store(base, std::memory_order_relaxed);
    madvise(segment(own_), segment_bytes(), MADV_HUGEPAGE);
    if (!show(segment(own_), own_bytes)) {
        int const error = errno;
        munmap(ends, arenas * sizeof *mapped_);
        return give_back(error);
    }
    bytes_.store(bytes, std::memory_order_release);
    return 0;
}

/// Under the lock: moves the end of the accessible part to `end`. Does not change what core dumps have.
int window::extend(std::uint32_t arena, std::uint64_t end) noexcept
{
    std::uint64_t const had = mapped_[arena].load(std::memory_order_relaxed);
    int const error = private_                                                                         ? map_private(arena, had, end)
                      : mprotect(segment(arena) + had, end - had, PROT_READ | PROT_WRITE) != 0 ? errno : 0;
    if (error == 0)
        mapped_[arena].store(end, std::memory_order_release);
    return error;
}

int window::map_more(std::uint32_t arena, std::uint64_t end) noexcept
{
    std::lock_guard const guard(mutex_);
    std::uint64_t const had = mapped_[arena].load(std::memory_order_relaxed);
    if (end < had || had == segment_bytes())
        return 0;
    std::uint64_t const most = segment_bytes();
    int error = extend(arena, std::min(round_up(end + 1, peer_step), most));
    // The kernel joins whole accessible segments into one mapping: that may still work at the limit of mappings (vm.max_map_count).
    if (error == ENOMEM)
        error = extend(arena, most);
    if (error == 0 && had == 0)
        attached_.fetch_add(1, std::memory_order_relaxed);
    return error;
}

bool window::show(std::byte* begin, std::size_t bytes) noexcept
{
    std::lock_guard const guard(mutex_);
    auto const end = static_cast<std::uint64_t>(begin - segment(own_)) + bytes;
    if (end > mapped(own_) && extend(own_, std::min(round_up(end, own_step), segment_bytes())) != 0)
        return false;
    madvise(begin, bytes, MADV_DODUMP);
    return true;
}

void window::hide(std::byte* begin, std::size_t bytes) noexcept
{
    madvise(begin, bytes, MADV_DONTDUMP);
}

bool window::commit(std::byte* begin, std::size_t bytes) const noexcept
{
    constexpr std::uintptr_t page = 4096;
    std::size_t const before = reinterpret_cast<std::uintptr_t>(begin) % page;
    begin -= before;
    bytes = (bytes + before + page - 1) / page * page;
    int const saved = errno;
    bool done = madvise(begin, bytes, MADV_POPULATE_WRITE) == 0;
    if (!done && (errno == EINVAL || errno == EPERM || errno == ENOSYS)) {  // before Linux 5.14
        auto const at = static_cast<off_t>(file_offset(arena_of(begin)) + offset_of(begin));
        int patience = 100;
        do
            done = fallocate(fd_, 0, at, static_cast<off_t>(bytes)) == 0;
        while (!done && errno == EINTR && --patience > 0);
        done = done || errno == EOPNOTSUPP;
    }
    if (!done)
        madvise(begin, bytes, MADV_REMOVE);
    errno = saved;
    return done;
}

int window::map_private(std::uint32_t arena, std::uint64_t begin, std::uint64_t end) noexcept
{
    auto const view = [&](int protection) {
        void* const made = mmap(segment(arena) + begin, end - begin, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd_,
                                static_cast<off_t>(file_offset(arena) + begin));
        return made == MAP_FAILED ? errno : 0;
    };
    if (begin == end)
        return 0;
    int error = view(PROT_READ | PROT_WRITE);
    // Under strict overcommit accounting the kernel may refuse a writable private mapping; a read-only one is always allowed.
    if (error == ENOMEM)
        error = view(PROT_READ);
    if (error == 0)
        madvise(segment(arena) + begin, end - begin, MADV_DONTDUMP);
    return error;
}

} // namespace towline::heap
