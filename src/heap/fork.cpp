// fork(). Shared mappings stay shared in a child, so it could write into its parent's memory, and would see its parent's later writes. So
// the child gets, at the same addresses, private mappings of the used part of its own arena and of its peers' segments. Such a mapping
// never shows a torn page, not even of the stack that this code may run on, and the child's writes stay its own. But it shows later
// writes of others to pages that the child has not written to, so these have to be copied before fork returns in the parent.
//
// Most children execute another program soon. For them nothing is copied: the child returns from fork immediately, with a second thread
// that waits as long as the copying would take, then copies (by write faults: the kernel copies page by page, whatever the child does).
// fork returns in the parent when that thread has copied, or is gone because the child has executed a program or ended. The thread has a
// descriptor table of its own with nothing but the end of a pipe, which closes when the thread ends, and not by anything that the child
// does to its descriptors. The C library does not know of the thread; it makes system calls only, with all signals blocked.

#include "heap/core.hpp"
#include "heap/releases.hpp"
#include "heap/signal_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace towline::heap {

namespace {

constexpr std::size_t page_bytes = 4096;

/// Long holes of the own arena's part of the file: anonymous memory in the child, which reads as zeros, too. Found by the parent, whose
/// page tables know most of them.
struct hole_list {
    struct hole {
        std::byte* begin;
        std::size_t bytes;
    };
    hole* all = nullptr;
    std::size_t count = 0;
    std::size_t room = 0;

    void add(std::byte* begin, std::size_t bytes) noexcept
    {
        if (count == room && !grow())
            return;  // the hole is copied instead, as zeros
        all[count++] = {begin, bytes};
    }

private:
    bool grow() noexcept
    {
        std::size_t const more = room == 0 ? page_bytes / sizeof(hole) : 2 * room;
        void* const made = room == 0 ? mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(all, room * sizeof(hole), more * sizeof(hole), MREMAP_MAYMOVE);
        if (made == MAP_FAILED)
            return false;
        all = static_cast<hole*>(made);
        room = more;
        return true;
    }
};
hole_list holes;
std::size_t used = 0;     ///< bytes of the own segment up to the last one in use
std::size_t to_copy = 0;  ///< bytes of it that are in use and not in long holes

/// In a child: from now on its memory changes by its own writes only.
std::atomic<bool> copied{false};

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

/// Calls f(begin, bytes) for the used ranges of the own segment, adjacent ones joined; adopted memory at the program's own addresses.
template <class F>
void for_each_used(F&& f)
{
    core& heap = the_core;
    std::byte* begin = heap.segment;
    std::byte* end = begin + heap.arena_begin;
    for (auto const& r : heap.adopted.all())
        f(r.begin, r.bytes);
    heap.memory.for_each_used([&](std::byte* next, std::size_t bytes) {
        for (auto const& r : heap.adopted.all())
            if (r.shared >= next && r.shared < next + bytes)
                return;
        if (next != end) {
            f(begin, static_cast<std::size_t>(end - begin));
            begin = next;
        }
        end = next + bytes;
    });
    f(begin, static_cast<std::size_t>(end - begin));
}

/// Where the job's file has what for_each_used tells of.
off_t file_position(std::byte const* at) noexcept
{
    core& heap = the_core;
    std::byte const* const adopted = heap.adopted.find(at, 1);
    return static_cast<off_t>(heap.addresses.file_offset(heap.arena)) + ((adopted != nullptr ? adopted : at) - heap.segment);
}

/// In the parent, before it forks.
void find_holes() noexcept
{
    constexpr std::size_t long_hole = std::size_t{1} << 20;
    static unsigned char present[16 << 10];
    int const fd = the_core.addresses.descriptor();
    // A page that is not present may be in swap.
    auto const note = [&](std::byte* begin, std::byte* end) {
        while (begin < end && static_cast<std::size_t>(end - begin) >= long_hole) {
            off_t const at = file_position(begin);
            off_t const data = lseek(fd, at, SEEK_DATA);
            std::byte* const until = data < 0 ? (errno == ENXIO ? end : begin) : std::min(end, begin + (data - at));
            if (static_cast<std::size_t>(until - begin) >= long_hole)
                holes.add(begin, static_cast<std::size_t>(until - begin));
            if (until == end)
                return;
            off_t const hole = lseek(fd, at + (until - begin), SEEK_HOLE);
            if (hole < 0)
                return;
            begin += hole - at;
        }
    };
    holes.count = 0;
    to_copy = 0;
    for_each_used([&](std::byte* begin, std::size_t bytes) {
        if (the_core.adopted.find(begin, 1) == nullptr)
            used = static_cast<std::size_t>(begin - the_core.segment) + bytes;
        to_copy += bytes;
        std::byte* const end = begin + bytes;
        std::byte* empty = nullptr;
        for (std::byte* at = begin; at < end;) {
            std::size_t const pages = std::min(sizeof present, (static_cast<std::size_t>(end - at) + page_bytes - 1) / page_bytes);
            if (mincore(at, pages * page_bytes, present) != 0)
                return;
            for (std::size_t i = 0; i < pages; ++i) {
                if ((present[i] & 1) == 0) {
                    if (empty == nullptr)
                        empty = at + i * page_bytes;
                } else if (empty != nullptr) {
                    note(empty, at + i * page_bytes);
                    empty = nullptr;
                }
            }
            at += pages * page_bytes;
        }
        if (empty != nullptr)
            note(empty, end);
    });
    for (std::size_t i = 0; i < holes.count; ++i)
        to_copy -= holes.all[i].bytes;
}

/// In the child.
void make_views() noexcept
{
    core& heap = the_core;
    auto const offset = static_cast<off_t>(heap.addresses.file_offset(heap.arena));
    int const fd = heap.addresses.descriptor();
    if (mmap(heap.segment, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, offset) == MAP_FAILED)
        give_up("mmap");
    constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    std::size_t const all = heap.addresses.segment_bytes();
    if (all > used && mmap(heap.segment + used, all - used, PROT_NONE, anonymous, -1, 0) == MAP_FAILED)
        give_up("mmap");
    constexpr int own_view = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    for (auto const& r : heap.adopted.all())
        if (mmap(r.begin, r.bytes, PROT_READ | PROT_WRITE, own_view, fd, file_position(r.begin)) == MAP_FAILED)
            give_up("mmap of static data");
    for (std::size_t i = 0; i < holes.count; ++i) {
        auto& [begin, bytes] = holes.all[i];
        off_t const at = file_position(begin);
        if (off_t const data = lseek(fd, at, SEEK_DATA); data >= 0)  // another thread of the parent may have written there before the fork
            bytes = std::min(bytes, static_cast<std::size_t>(data - at));
        if (bytes > 0 && mmap(begin, bytes, PROT_READ | PROT_WRITE, anonymous, -1, 0) == MAP_FAILED)
            give_up("mmap");
    }
    for (std::uint32_t arena = 0; arena < heap.addresses.arenas(); ++arena)
        if (arena != heap.arena && heap.addresses.mapped(arena) > 0 && heap.addresses.make_private(arena) != 0)
            give_up("mmap of a peer's memory");
    heap.addresses.become_private();
    // The view of a peer's segment may be one that cannot be written to (window::make_private).
    heap.foreign.for_each([&](std::byte* block, std::size_t bytes) {
        auto* const begin = block - heap.addresses.offset_of(block) % page_bytes;
        if (heap.addresses.map(heap.addresses.arena_of(block), heap.addresses.offset_of(block) + bytes) != 0)
            give_up("mmap of a block in a peer's memory");
        if (mprotect(begin, static_cast<std::size_t>(block - begin) + bytes, PROT_READ | PROT_WRITE) != 0)
            give_up("mprotect of a block in a peer's memory");
    });
}

// The copying thread shares the C library's state with the child, also errno. So it makes its system calls directly.

#if defined(__x86_64__)
[[gnu::always_inline]] inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) noexcept
{
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    long result = number;
    asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return result;
}
#else
long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) noexcept
{
    long const result = syscall(number, a, b, c, d, e);  // no thread here
    return result < 0 ? -errno : result;
}
#endif

/// Writes to every page without changing it; others may write to it, too.
void touch(std::byte* begin, std::size_t bytes) noexcept
{
    if (bytes == 0 || kernel(SYS_madvise, reinterpret_cast<long>(begin), static_cast<long>(bytes), MADV_POPULATE_WRITE) == 0)
        return;
    for (std::size_t i = 0; i < bytes; i += page_bytes)
        __atomic_fetch_or(reinterpret_cast<unsigned char*>(begin + i), 0, __ATOMIC_RELAXED);
}

void copy_all() noexcept
{
    // Short holes are copied, too; long ones are anonymous memory, which nobody else changes.
    std::size_t next = 0;
    for_each_used([&](std::byte* begin, std::size_t bytes) {
        std::byte* const end = begin + bytes;
        for (; next < holes.count && holes.all[next].begin >= begin && holes.all[next].begin < end; ++next) {
            touch(begin, static_cast<std::size_t>(holes.all[next].begin - begin));
            begin = holes.all[next].begin + holes.all[next].bytes;
        }
        touch(begin, static_cast<std::size_t>(end - begin));
    });
    the_core.foreign.for_each([](std::byte* block, std::size_t bytes) {
        auto* const begin = block - the_core.addresses.offset_of(block) % page_bytes;
        touch(begin, (static_cast<std::size_t>(block - begin) + bytes + page_bytes - 1) / page_bytes * page_bytes);
    });
    copied.store(true, std::memory_order_release);
}

#if defined(__x86_64__) && !defined(TOWLINE_SANITIZED)  // sanitizers want to know every thread

struct {
    int end;               ///< of the pipe
    timespec patience;     ///< before it copies
    unsigned char stack[32 << 10];
} copier;

[[noreturn, gnu::noinline]] void copier_body() noexcept
{
    // Inherited descriptors would keep open what the child closes.
    if (copier.end > 0)
        kernel(SYS_close_range, 0, copier.end - 1);
    kernel(SYS_close_range, copier.end + 1, ~0u);
    timespec left = copier.patience;
    while (kernel(SYS_nanosleep, reinterpret_cast<long>(&left), reinterpret_cast<long>(&left)) == -EINTR) {}
    copy_all();
    kernel(SYS_write, copier.end, reinterpret_cast<long>("x"), 1);
    for (;;)
        kernel(SYS_exit, 0);
}

/// Starts a thread with a descriptor table of its own, unknown to the C library. False if the kernel refuses.
[[gnu::noinline]] bool start_copier(int end) noexcept
{
    constexpr long flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    // As long as the copying is expected to take: so no fork takes more than twice as long as if it copied immediately.
    constexpr long ns_per_page = 2'000;
    constexpr long most = 100'000'000;
    long const asked = fork_patience_ns.load(std::memory_order_relaxed);
    long const patience = asked >= 0 ? asked : std::min(static_cast<long>(to_copy / page_bytes) * ns_per_page, most);
    copier.end = end;
    copier.patience = {patience / 1'000'000'000, patience % 1'000'000'000};
    std::uint64_t const all_signals = ~std::uint64_t{0};
    std::uint64_t before_it = 0;
    kernel(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all_signals), reinterpret_cast<long>(&before_it), sizeof before_it);
    auto const top = reinterpret_cast<std::uintptr_t>(copier.stack + sizeof copier.stack) & ~std::uintptr_t{63};
    long result = SYS_clone;
    void (*const body)() noexcept = copier_body;
    asm volatile("syscall\n\t"
                 "test %%rax, %%rax\n\t"
                 "jnz 1f\n\t"
                 "xor %%ebp, %%ebp\n\t"
                 "call *%[body]\n\t"
                 "ud2\n"
                 "1:"
                 : "+a"(result)
                 : "D"(flags), "S"(top), "d"(0L), [body] "b"(body)
                 : "rcx", "r11", "memory", "cc");
    kernel(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before_it), 0, sizeof before_it);
    return result > 0;
}

#else

bool start_copier(int) noexcept
{
    return false;
}

#endif

bool in_use() noexcept
{
    return the_core.now.load(std::memory_order_relaxed) == core::phase::ready;
}

void before() noexcept
{
    start_mutex.lock();
    if (the_core.now.load(std::memory_order_relaxed) == core::phase::forked && the_core.segment != nullptr &&
        !copied.load(std::memory_order_acquire))
        copy_all();  // a child that forks itself: nobody would copy for its own child
    if (!in_use())
        return;
    the_core.memory.lock();  // in the order in which they are taken elsewhere
    the_core.addresses.lock();
    the_core.foreign.lock();
    int const saved = errno;
    find_holes();
    errno = saved;
    line.make();
}

void let_go() noexcept
{
    the_core.foreign.unlock();
    the_core.addresses.unlock();
    the_core.memory.unlock();
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
        make_views();
        // Copying takes no longer than starting the thread.
        constexpr std::size_t little = std::size_t{1} << 20;
        if (to_copy < little || line.ends[1] < 0 || !start_copier(line.ends[1])) {
            copy_all();
            line.tell();
        }
        line.done();
    }
    start_mutex.unlock();
}

struct watch {
    watch() { pthread_atfork(before, in_parent, in_child); }
} const watching;

} // namespace

} // namespace towline::heap
