// Whether objects that release memory by free or operator delete may own blocks of the heap.

#include "heap/core.hpp"
#include "heap/heap.hpp"

#include <cstring>
#include <dlfcn.h>

namespace towline::heap {

namespace {

/// The program or library whose definition of a symbol this process uses.
Dl_info definition_of(char const* symbol) noexcept
{
    Dl_info about{};
    void* const address = dlsym(RTLD_DEFAULT, symbol);
    if (address == nullptr || dladdr(address, &about) == 0)
        return {};
    return about;
}

bool preload_allocator_serves() noexcept
{
    // Looks up malloc and free as everybody does: a sanitizer, a checker or another allocator in front of ours is found instead.
    constexpr char const* family[] = {"malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "malloc_usable_size"};
    constexpr char const* mark = "towline_malloc_serves";
    void const* const library = definition_of(mark).dli_fbase;
    if (library == nullptr || !reinterpret_cast<bool (*)()>(dlsym(RTLD_DEFAULT, mark))())
        return false;
    for (char const* const name : family)
        if (definition_of(name).dli_fbase != library)
            return false;
    return true;
}

/// libstdc++'s operators call malloc, aligned_alloc and free. Operators that a program replaces, or links statically, are not trusted.
bool operators_are_the_default() noexcept
{
    constexpr char const* operators[] = {
        "_Znwm", "_ZnwmSt11align_val_t",                     // new
        "_ZdlPv", "_ZdlPvm",                                 // delete
        "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",   // delete of over-aligned objects
    };
    for (char const* const name : operators) {
        char const* const file = definition_of(name).dli_fname;
        if (file == nullptr)
            return false;
        char const* const slash = std::strrchr(file, '/');
        if (std::strncmp(slash != nullptr ? slash + 1 : file, "libstdc++.so", 12) != 0)
            return false;
    }
    return true;
}

} // namespace

bool delete_releases() noexcept
{
    static bool const proven = preload_allocator_serves() && operators_are_the_default();
    return proven && the_core.now.load(std::memory_order_relaxed) == core::phase::ready;
}

} // namespace towline::heap
