// fork() without exec. Shared mappings stay shared in a child, so it could write into its parent's memory, and would see its parent's later
// writes. So the child replaces its own arena, at the same addresses, by a private copy of what was in use, before fork returns in the
// parent: a private view of the file (which never shows a torn page, not even to the stack that we may stand on) whose pages are then
// copied by the kernel one by one. Peers' segments become private views, copied where blocks were noted as this process's own, and as far as
// the child writes.

#include "heap/core.hpp"
#include "heap/releases.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace towline::heap {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr int patience_ms = 60'000;

/// How the child tells that it has its copy: a pipe, whose end also tells when the child dies; where no descriptor is left, a shared word.
struct signal_line {
    int ends[2] = {-1, -1};
    std::atomic<int>* word = nullptr;

    void make() noexcept
    {
        word = nullptr;
        if (pipe2(ends, O_CLOEXEC) == 0)
            return;
        ends[0] = ends[1] = -1;
        void* const page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        word = page == MAP_FAILED ? nullptr : static_cast<std::atomic<int>*>(page);
    }
    void tell() noexcept
    {
        if (ends[1] >= 0)
            while (write(ends[1], "x", 1) < 0 && errno == EINTR) {}
        if (word != nullptr)
            word->store(1, std::memory_order_release);
    }
    void wait() noexcept
    {
        if (ends[0] >= 0) {
            close(ends[1]);
            ends[1] = -1;
            pollfd look{ends[0], POLLIN, 0};
            while (poll(&look, 1, patience_ms) < 0 && errno == EINTR) {}
        }
        if (word != nullptr)
            for (int i = 0; i < patience_ms * 10 && word->load(std::memory_order_acquire) == 0; ++i) {
                timespec const moment{0, 100'000};
                nanosleep(&moment, nullptr);
            }
    }
    void done() noexcept
    {
        for (int& end : ends) {
            if (end >= 0)
                close(end);
            end = -1;
        }
        if (word != nullptr)
            munmap(word, page_bytes);
        word = nullptr;
    }
};
signal_line line;

[[noreturn]] void give_up(char const* what) noexcept
{
    // Going on would mean to write into the parent's memory.
    constexpr char start[] = "towline: a forked child could not get a private copy of its memory: ";
    (void)!write(2, start, sizeof start - 1);
    (void)!write(2, what, std::strlen(what));
    (void)!write(2, "\n", 1);
    _exit(127);
}

void touch(std::byte* begin, std::size_t bytes) noexcept
{
    if (bytes == 0 || madvise(begin, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (std::size_t i = 0; i < bytes; i += page_bytes) {
        auto* const byte = reinterpret_cast<std::byte volatile*>(begin + i);
        *byte = *byte;
    }
}

/// Copies a block of a peer's segment that belongs to this process, and would change when the parent writes or releases it.
void copy_foreign(std::byte* block, std::size_t bytes) noexcept
{
    window const& all = the_core.addresses;
    auto* const begin = block - all.offset_of(block) % page_bytes;
    std::size_t const length = (static_cast<std::size_t>(block - begin) + bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (madvise(begin, length, MADV_POPULATE_WRITE) == 0)
        return;
    // The view of the segment may be one that cannot be written (window::make_private), or the kernel too old.
    auto const offset = static_cast<off_t>(all.file_offset(all.arena_of(begin)) + all.offset_of(begin));
    if (mmap(begin, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, all.descriptor(), offset) == MAP_FAILED)
        give_up("mmap of a block in a peer's memory");
    touch(begin, length);
}

/// Makes [begin, begin + bytes) of the own segment, seen through a private view, independent of the file: pages that exist are copied,
/// long holes become anonymous memory (which reads as zeros, too, and does not fill the file).
void detach(std::byte* begin, std::size_t bytes) noexcept
{
    constexpr off_t long_hole = off_t{1} << 20;
    int const fd = the_core.addresses.descriptor();
    auto const base = static_cast<off_t>(the_core.addresses.file_offset(the_core.arena));
    off_t at = base + (begin - the_core.segment);
    off_t const end = at + static_cast<off_t>(bytes);
    auto const memory = [&](off_t offset) { return the_core.segment + (offset - base); };
    while (at < end) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0)
            data = errno == ENXIO ? end : at;
        data = data < end ? data : end;
        if (data - at >= long_hole) {
            constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
            if (mmap(memory(at), static_cast<std::size_t>(data - at), PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
                give_up("mmap");
        } else {
            touch(memory(at), static_cast<std::size_t>(data - at));
        }
        if (data == end)
            break;
        off_t hole = lseek(fd, data, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        touch(memory(data), static_cast<std::size_t>(hole - data));
        at = hole;
    }
}

void take_snapshot() noexcept
{
    core& heap = the_core;
    std::size_t used = heap.arena_begin;
    heap.memory.for_each_used([&](std::byte* begin, std::size_t bytes) { used = static_cast<std::size_t>(begin - heap.segment) + bytes; });
    if (mmap(heap.segment, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, heap.addresses.descriptor(),
             static_cast<off_t>(heap.addresses.file_offset(heap.arena))) == MAP_FAILED)
        give_up("mmap");
    std::size_t const all = heap.addresses.segment_bytes();
    if (all > used &&
        mmap(heap.segment + used, all - used, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        give_up("mmap");
    for (std::uint32_t arena = 0; arena < heap.addresses.arenas(); ++arena)
        if (arena != heap.arena && heap.addresses.is_mapped(arena) && heap.addresses.make_private(arena) != 0)
            give_up("mmap of a peer's memory");
    heap.addresses.become_private();
    // Neighbours are copied together.
    std::byte* begin = heap.segment;
    std::byte* end = begin + heap.arena_begin;
    heap.memory.for_each_used([&](std::byte* next, std::size_t bytes) {
        if (next != end) {
            detach(begin, static_cast<std::size_t>(end - begin));
            begin = next;
        }
        end = next + bytes;
    });
    detach(begin, static_cast<std::size_t>(end - begin));
    heap.foreign.for_each(copy_foreign);
}

bool in_use() noexcept
{
    return the_core.now.load(std::memory_order_relaxed) == core::phase::ready;
}

void before() noexcept
{
    start_mutex.lock();
    if (!in_use())
        return;
    the_core.addresses.lock();
    the_core.memory.lock();
    the_core.foreign.lock();
    line.make();
}

void let_go() noexcept
{
    the_core.foreign.unlock();
    the_core.memory.unlock();
    the_core.addresses.unlock();
}

void in_parent() noexcept
{
    if (in_use()) {
        let_go();
        int const saved = errno;
        line.wait();
        line.done();
        errno = saved;
    }
    start_mutex.unlock();
}

void in_child() noexcept
{
    forget_release_watchers();
    if (in_use()) {
        the_core.now.store(core::phase::forked, std::memory_order_relaxed);
        let_go();
        the_core.forget_pool();
        take_snapshot();
        line.tell();
        line.done();
    }
    start_mutex.unlock();
}

struct watch {
    watch() { pthread_atfork(before, in_parent, in_child); }
} const watching;

} // namespace

} // namespace towline::heap
