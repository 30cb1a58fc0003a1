#pragma once
// An XPMEM driver for tests: the "address spaces" are regions over memfds, so that an attachment is at other addresses than what it shows,
// and what was detached faults. Owners are numbers; all may live in one process.

#include "heap/xpmem.hpp"

#include <cerrno>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace fake {

namespace heap = towline::heap;

class world {
public:
    using number = heap::xpmem_device::number;

    ~world()
    {
        for (auto const& r : regions_) {
            munmap(r.begin, r.bytes);
            close(r.fd);
        }
    }

    /// Memory that can be attached, as the owner sees it.
    std::byte* allocate(std::uint32_t owner, std::size_t bytes)
    {
        std::lock_guard const lock(mutex_);
        int const fd = memfd_create("fake-xpmem", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
            std::abort();
        void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (begin == MAP_FAILED)
            std::abort();
        regions_.push_back({owner, static_cast<std::byte*>(begin), bytes, fd});
        return static_cast<std::byte*>(begin);
    }
    /// The owner's memory changes pages under the same addresses, and the driver sees to it that attachments follow.
    void remap(std::byte* begin)
    {
        std::lock_guard const lock(mutex_);
        for (auto& r : regions_) {
            if (r.begin != begin)
                continue;
            int const fd = memfd_create("fake-xpmem", MFD_CLOEXEC);
            if (fd < 0 || ftruncate(fd, static_cast<off_t>(r.bytes)) != 0 ||
                mmap(r.begin, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
                std::abort();
            close(r.fd);
            r.fd = fd;
            for (auto const& [at, a] : attached_)
                if (a.owner == r.owner)
                    show(at, a.begin, a.bytes, r);
        }
    }

    // What the test wants to go wrong: errno.
    int make_fails = 0;
    int get_fails = 0;
    int attach_fails = 0;
    std::size_t largest = ~std::size_t{0};  ///< attachments
    // What was asked for.
    int gets = 0;
    int attaches = 0;
    int detaches = 0;
    int wrong = 0;  ///< calls that no correct program makes

    [[nodiscard]] std::size_t attached() const { return attached_.size(); }
    [[nodiscard]] std::size_t segments() const { return segments_.size(); }
    [[nodiscard]] std::size_t accesses() const { return accesses_.size(); }

private:
    friend class device;
    struct region {
        std::uint32_t owner;
        std::byte* begin;
        std::size_t bytes;
        int fd;
    };
    struct attachment {
        std::uint32_t owner;
        std::uintptr_t begin;
        std::size_t bytes;
    };
    static void show(std::byte* at, std::uintptr_t begin, std::size_t bytes, region const& r)
    {
        auto const first = std::max(begin, reinterpret_cast<std::uintptr_t>(r.begin));
        auto const last = std::min(begin + bytes, reinterpret_cast<std::uintptr_t>(r.begin) + ((r.bytes + 4095) & ~std::size_t{4095}));
        if (first < last && mmap(at + (first - begin), last - first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r.fd,
                                 static_cast<off_t>(first - reinterpret_cast<std::uintptr_t>(r.begin))) == MAP_FAILED)
            std::abort();
    }

    std::mutex mutex_;
    std::vector<region> regions_;
    std::map<number, std::uint32_t> segments_;
    std::map<number, std::uint32_t> accesses_;  ///< to the owner
    std::map<std::byte*, attachment> attached_;
    number last_ = 100;
};

class device final : public heap::xpmem_device {
public:
    device(world& w, std::uint32_t owner) : world_(w), owner_(owner) {}

    int make(number& segment) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        if (world_.make_fails != 0)
            return world_.make_fails;
        segment = ++world_.last_;
        world_.segments_[segment] = owner_;
        return 0;
    }
    int remove(number segment) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        auto const at = world_.segments_.find(segment);
        if (at == world_.segments_.end() || at->second != owner_)
            return bad(EINVAL);
        world_.segments_.erase(at);
        return 0;
    }
    int get(number segment, number& access) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        ++world_.gets;
        if (world_.get_fails != 0)
            return world_.get_fails;
        auto const at = world_.segments_.find(segment);
        if (at == world_.segments_.end())
            return ENOENT;
        access = ++world_.last_;
        world_.accesses_[access] = at->second;
        return 0;
    }
    int release(number access) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        return world_.accesses_.erase(access) == 1 ? 0 : bad(EINVAL);
    }
    int attach(number access, std::uintptr_t begin, std::size_t bytes, void*& at) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        ++world_.attaches;
        auto const to = world_.accesses_.find(access);
        if (to == world_.accesses_.end() || begin % 4096 != 0 || bytes % 4096 != 0)
            return bad(EINVAL);
        if (world_.attach_fails != 0 || bytes > world_.largest)
            return world_.attach_fails != 0 ? world_.attach_fails : EINVAL;
        void* const here = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (here == MAP_FAILED)
            return ENOMEM;
        at = here;
        world_.attached_[static_cast<std::byte*>(here)] = {to->second, begin, bytes};
        for (auto const& r : world_.regions_)
            if (r.owner == to->second)
                world::show(static_cast<std::byte*>(here), begin, bytes, r);
        return 0;
    }
    int detach(void* at) noexcept override
    {
        std::lock_guard const lock(world_.mutex_);
        ++world_.detaches;
        auto const a = world_.attached_.find(static_cast<std::byte*>(at));
        if (a == world_.attached_.end())
            return bad(EINVAL);
        munmap(a->first, a->second.bytes);
        world_.attached_.erase(a);
        return 0;
    }

private:
    int bad(int error)
    {
        ++world_.wrong;
        return error;
    }
    world& world_;
    std::uint32_t owner_;
};

} // namespace fake
