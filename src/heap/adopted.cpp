// Maps pages of the arena at addresses of the program.

#include "heap/adopted.hpp"

#include "base/log.hpp"
#include "heap/core.hpp"
#include "heap/heap.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

namespace towline::heap {

bool adopted_memory::add(range const& r) noexcept
{
    if (count_ == most)
        return false;
    ranges_[count_++] = r;
    auto const begin = reinterpret_cast<std::uintptr_t>(r.begin);
    std::uintptr_t const end = std::max(bytes_ == 0 ? 0 : begin_ + bytes_, begin + r.bytes);
    begin_ = bytes_ == 0 ? begin : std::min(begin_, begin);
    bytes_ = end - begin_;
    return true;
}

std::byte* adopted_memory::find_range(std::byte const* pointer, std::size_t size) const noexcept
{
    for (range const& r : all()) {
        auto const at = static_cast<std::size_t>(pointer - r.begin);
        if (pointer >= r.begin && at < r.bytes)
            return size <= r.bytes - at ? r.shared + at : nullptr;
    }
    return nullptr;
}

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Initialized data beyond this is not worth its copy: it stays where it is, and .bss is adopted alone.
constexpr std::size_t most_copied = std::size_t{32} << 20;

/// Which pages hold something. Of those that no page table knows nothing has to be copied, where they are no file's.
class page_map {
public:
    page_map() noexcept : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
    page_map(page_map const&) = delete;
    page_map& operator=(page_map const&) = delete;
    ~page_map() { close(fd_); }

    /// Calls f(at) for each page of [begin, end) that is present or swapped. False if that cannot be known.
    template <class F>
    bool for_each_present(std::byte* begin, std::byte* end, F&& f) noexcept
    {
        constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
        std::array<std::uint64_t, 512> entries{};
        for (std::byte* at = begin; at < end;) {
            std::size_t const pages = std::min(entries.size(), static_cast<std::size_t>(end - at) / page);
            auto const bytes = static_cast<ssize_t>(pages * sizeof entries[0]);
            if (pread(fd_, entries.data(), static_cast<std::size_t>(bytes),
                      static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at) / page * sizeof entries[0])) != bytes)
                return false;
            for (std::size_t i = 0; i < pages; ++i)
                if ((entries[i] & present_or_swapped) != 0)
                    f(at + i * page);
            at += pages * page;
        }
        return true;
    }

private:
    int fd_;
};

bool is_zero(std::byte const* at) noexcept
{
    static constexpr std::byte zeros[page]{};
    return std::memcmp(at, zeros, page) == 0;
}

/// Moves the pages of [begin, end) into the own arena; those before `filled` come from a file. False: nothing has changed.
bool adopt(std::byte* begin, std::byte* filled, std::byte* end) noexcept
{
    core& heap = the_core;
    auto const bytes = static_cast<std::size_t>(end - begin);
    // Where huge pages are possible they lie at the same place in the file and in memory.
    bool const may_be_huge = bytes >= 2 * huge_page;
    std::size_t const room = bytes + (may_be_huge ? huge_page : 0);
    extents::piece const extent = heap.memory.allocate(room, extents::granule, extents::kind::block, false);
    if (extent.begin == nullptr)
        return false;
    auto* shared = static_cast<std::byte*>(extent.begin);
    if (may_be_huge)
        shared += (reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(shared)) % huge_page;
    auto const give_up = [&] {
        heap.memory.release(extent.begin, extents::kind::block);
        return false;
    };
    auto const copy = [&](std::byte* at) {
        if (!is_zero(at))
            std::memcpy(shared + (at - begin), at, page);
    };
    if (!extent.clean)
        std::memset(extent.begin, 0, room);
    page_map pages;
    for (std::byte* at = begin; at < filled; at += page)
        copy(at);
    if (!pages.for_each_present(filled, end, copy))
        return give_up();
    // From the copy to here nobody has written to these pages: there is one thread, and it does not come back to the program meanwhile.
    if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, heap.addresses.descriptor(),
             static_cast<off_t>(heap.addresses.file_offset(heap.arena)) + (shared - heap.segment)) == MAP_FAILED)
        return give_up();
    heap.addresses.hide(static_cast<std::byte*>(extent.begin), bytes);  // core dumps have it where the program has it
    (void)heap.adopted.add({begin, bytes, shared});
    return true;
}

/// Static data of one program or library.
void adopt_object(dl_phdr_info const& object) noexcept
{
    auto const round_down = [](std::uintptr_t at) { return at / page * page; };
    auto const round_up = [&](std::uintptr_t at) { return round_down(at + page - 1); };
    std::span const headers(object.dlpi_phdr, object.dlpi_phnum);
    std::uintptr_t sealed = 0;  // the loader protects what it has relocated up to here
    for (auto const& h : headers)
        if (h.p_type == PT_GNU_RELRO)
            sealed = round_down(object.dlpi_addr + h.p_vaddr + h.p_memsz);
    for (auto const& h : headers) {
        if (h.p_type != PT_LOAD || (h.p_flags & (PF_W | PF_X)) != PF_W || the_core.adopted.all().size() == adopted_memory::most)
            continue;
        std::uintptr_t const segment = object.dlpi_addr + h.p_vaddr;
        std::uintptr_t const end = round_up(segment + h.p_memsz), filled = round_up(segment + h.p_filesz);
        std::uintptr_t begin = round_down(segment);
        if (sealed > begin && sealed <= end)
            begin = sealed;
        if (filled - std::min(begin, filled) > most_copied)
            begin = filled;
        if (begin < end)
            (void)adopt(reinterpret_cast<std::byte*>(begin), reinterpret_cast<std::byte*>(std::max(begin, filled)),
                        reinterpret_cast<std::byte*>(end));
    }
}

/// What runs in a forked child before its heap is its own (fork.cpp), or while its pages move.
bool is_needed_by_fork(std::string_view path) noexcept
{
    std::string_view const name = path.substr(path.rfind('/') + 1);
    for (std::string_view const prefix : {"libc.so", "libc-", "ld-linux", "ld64", "libtowline", "libmpi_abi", "libtbbmalloc", "libpthread",
                                          "linux-vdso"})
        if (name.starts_with(prefix))
            return true;
    return false;
}

} // namespace

void adopt_static_data(adoption whose) noexcept
{
    if (whose == adoption::none || !__libc_single_threaded)
        return;
    int const saved = errno;
    bool clean = false;
    void* const opener = allocate_if_launched(core::big, block_alignment, clean);  // opens the heap
    if (opener != nullptr && !the_core.commits && sysconf(_SC_PAGESIZE) == static_cast<long>(page)) {
        dl_iterate_phdr(
            [](dl_phdr_info* object, std::size_t, void* context) {
                bool const is_program = object->dlpi_name == nullptr || *object->dlpi_name == '\0';
                if (is_program || (*static_cast<adoption*>(context) == adoption::libraries && !is_needed_by_fork(object->dlpi_name)))
                    adopt_object(*object);
                return 0;
            },
            &whose);
        base::log(base::log_level::debug, "rank {}: {} KiB of static data lie in the shared heap", the_core.arena, stats().adopted >> 10);
    }
    if (opener != nullptr)
        deallocate(opener);
    errno = saved;
}

} // namespace towline::heap
