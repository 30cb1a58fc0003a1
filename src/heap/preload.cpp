// malloc and its family for programs under the launcher, preloaded: blocks of TOWLINE_HEAP_THRESHOLD bytes (default 32 KiB) and more lie in
// the rank's arena, so that peers read them where they are; everything else is glibc's, at the cost of a compare. Where the process is no
// rank, where the arena is full, or with TOWLINE_HEAP=off, all is glibc's.

#include "base/settings.hpp"
#include "heap/core.hpp"
#include "heap/heap.hpp"
#include "heap/releases.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

// glibc's allocator by the names that are never interposed.
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void __libc_free(void*) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
}

namespace heap = towline::heap;

namespace {

constexpr std::size_t least_threshold = heap::core::big;  // malloc must not use the pool of small blocks, which calls malloc itself
std::size_t threshold = ~std::size_t{0};
std::size_t (*usable_size_of_libc)(void*) = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;

/// The program was linked with Towline, directly or by a library: it is loaded before any constructor runs.
bool is_linked()
{
    void* const library = dlopen(TOWLINE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr && dlclose(library) == 0;
}

void serve()
{
    using namespace towline;
    threshold = std::max<std::size_t>(base::setting_bytes("TOWLINE_HEAP_THRESHOLD", 32 << 10), least_threshold);
    auto const whose = static_cast<heap::adoption>(base::setting_choice("TOWLINE_STATIC_DATA", {"off", "program", "libraries"}, 1));
    if (is_linked()) {  // a shell, a compiler or an interpreter that loads Towline later sends nothing of its own
        inside = true;
        heap::adopt_static_data(whose);
        inside = false;
    }
}

__attribute__((constructor)) void prepare()
{
    usable_size_of_libc = reinterpret_cast<std::size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    try {
        if (std::getenv("TOWLINE_JOB") != nullptr && towline::base::setting_switch("TOWLINE_HEAP", true))
            serve();
    } catch (std::exception const& e) {
        // A bad value does not stop a shell or tool between the launcher and the program; it stops the program, when it opens the heap.
        std::fprintf(stderr, "towline: %s\n", e.what());
    }
}

bool ours(void const* block) noexcept
{
    return heap::the_core.addresses.contains(block);
}

/// A block from the arena, or null. Nested allocations of the heap itself come from glibc.
void* from_arena(std::size_t size, std::size_t alignment, bool& clean) noexcept
{
    if (inside)
        return nullptr;
    int const saved = errno;
    inside = true;
    void* const block = heap::allocate_if_launched(size, alignment, clean);
    inside = false;
    errno = saved;
    return block;
}

[[gnu::noinline]] void* allocate_big(std::size_t size, std::size_t alignment) noexcept
{
    bool clean = false;
    if (void* const block = from_arena(size, alignment, clean))
        return block;
    return alignment <= 16 ? __libc_malloc(size) : __libc_memalign(alignment, size);
}

[[gnu::noinline]] void* allocate_big_zeroed(std::size_t number, std::size_t size) noexcept
{
    bool clean = false;
    void* const block = from_arena(number * size, 16, clean);
    if (block == nullptr)
        return __libc_calloc(number, size);
    return clean ? block : std::memset(block, 0, number * size);
}

[[gnu::noinline]] void release_ours(void* block) noexcept
{
    int const saved = errno;
    heap::deallocate(block);
    errno = saved;
}

/// Reports that a block of glibc's is about to be freed or moved.
void tell_plain(void* block) noexcept
{
    std::size_t const bytes = usable_size_of_libc != nullptr && block != nullptr ? usable_size_of_libc(block) : 0;
    if (bytes >= heap::least_plain)
        heap::tell_release(block, bytes);
}

[[gnu::noinline]] void release_closer(void* block) noexcept
{
    if (ours(block))
        return release_ours(block);
    tell_plain(block);
    __libc_free(block);
}

/// realloc where the old block or the new size belongs to the arena, or releases are watched. Null leaves the old block as it is.
[[gnu::noinline]] void* reallocate(void* block, std::size_t size) noexcept
{
    if (!ours(block)) {
        tell_plain(block);  // if realloc fails the block stays, and a dropped registration is made again
        if (size < threshold)
            return __libc_realloc(block, size);
        bool clean = false;
        void* const fresh = from_arena(size, 16, clean);
        if (fresh == nullptr)
            return __libc_realloc(block, size);
        std::memcpy(fresh, block, std::min(usable_size_of_libc(block), size));
        __libc_free(block);
        return fresh;
    }
    if (size == 0) {
        release_ours(block);
        return nullptr;
    }
    if (size >= threshold && heap::try_resize(block, size))
        return block;
    void* const fresh = malloc(size);
    if (fresh == nullptr)
        return nullptr;
    std::size_t had = heap::usable_size(block);
    if (had == 0) {  // a handed-over block of a peer, not noted: only its owner knows its size, but the whole segment is readable
        heap::window& all = heap::the_core.addresses;
        had = std::min<std::size_t>(all.segment_bytes() - all.offset_of(block), size);
        if (all.map(all.arena_of(block), all.offset_of(block) + had) != 0) {
            free(fresh);
            return nullptr;
        }
    }
    std::memcpy(fresh, block, std::min(had, size));
    release_ours(block);
    return fresh;
}

void* aligned(std::size_t alignment, std::size_t size) noexcept
{
    if (size >= threshold && std::has_single_bit(alignment)) [[unlikely]]
        return allocate_big(size, alignment);
    return __libc_memalign(alignment, size);
}

std::size_t page_size() noexcept
{
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

extern "C" {

/// For heap::delete_releases: its presence says that this allocator is preloaded, its value whether it serves from the arena.
[[gnu::visibility("default")]] bool towline_malloc_serves() noexcept
{
    return threshold != ~std::size_t{0};
}

[[gnu::visibility("default")]] void* malloc(std::size_t size) noexcept
{
    if (size >= threshold) [[unlikely]]
        return allocate_big(size, 16);
    return __libc_malloc(size);
}

[[gnu::visibility("default")]] void free(void* block) noexcept
{
    if (heap::takes_closer_look.at(block)) [[unlikely]]
        return release_closer(block);
    __libc_free(block);
}

[[gnu::visibility("default")]] void* calloc(std::size_t number, std::size_t size) noexcept
{
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(number, size, &bytes) || bytes < threshold) [[likely]]
        return __libc_calloc(number, size);
    return allocate_big_zeroed(number, size);
}

[[gnu::visibility("default")]] void* realloc(void* block, std::size_t size) noexcept
{
    if (block == nullptr)
        return malloc(size);
    if (size >= threshold || heap::takes_closer_look.at(block)) [[unlikely]]
        return reallocate(block, size);
    return __libc_realloc(block, size);
}

[[gnu::visibility("default")]] void* reallocarray(void* block, std::size_t number, std::size_t size) noexcept
{
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(number, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(block, bytes);
}

[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t size) noexcept
{
    return aligned(alignment, size);
}

[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
    return aligned(alignment, size);
}

[[gnu::visibility("default")]] int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept
{
    if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0)
        return EINVAL;
    int const saved = errno;
    void* const made = aligned(alignment, size);
    errno = saved;
    if (made == nullptr)
        return ENOMEM;
    *block = made;
    return 0;
}

[[gnu::visibility("default")]] void* valloc(std::size_t size) noexcept
{
    return aligned(page_size(), size);
}

[[gnu::visibility("default")]] void* pvalloc(std::size_t size) noexcept
{
    std::size_t const page = page_size();
    std::size_t rounded = 0;
    if (__builtin_add_overflow(size, page - 1, &rounded)) {
        errno = ENOMEM;
        return nullptr;
    }
    return aligned(page, std::max(rounded / page * page, page));
}

[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* block) noexcept
{
    if (ours(block))
        return heap::usable_size(block);
    if (usable_size_of_libc == nullptr) [[unlikely]]
        prepare();
    return usable_size_of_libc(block);
}

}
