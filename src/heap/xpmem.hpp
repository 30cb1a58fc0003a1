#pragma once
// Memory of another process at addresses of this one, by the XPMEM driver (/dev/xpmem), where a machine has it. We speak to the driver
// itself: its interface is seven ioctl numbers and the structs behind them, the same since 2007.
//
// Each process *makes* one segment over its whole address space and tells the number to the others (in the job file); a peer *gets* access
// to it once, and *attaches* ranges of addresses. An attachment shows what lies at those addresses of the peer, page by page on first
// touch:
//   - where the peer frees or remaps memory, the driver takes the pages out of every attachment, and the next touch finds what is there
//     then: nothing stale can be seen, and attachments may be kept (registration_cache.hpp)
//   - where the peer has nothing at an address, or is gone, a touch is SIGBUS. So only memory that the peer has lent is looked at, and
//     only in jobs that a dead rank ends: with --keep-going cross-memory attach is used instead, which fails without a signal
//   - a part of an attachment must never be unmapped by munmap: the driver kills who does that. `detach` it is.
// A forked child has none of it.

#include "heap/registration_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace towline::heap {

/// The driver, or what stands for it in a test. Each call: 0, or errno. Calls may come from any thread.
class xpmem_device {
public:
    using number = std::int64_t;  ///< of a segment, or of access to one; positive
    virtual ~xpmem_device() = default;
    /// A segment over the calling process's whole address space, for processes of the same user.
    [[nodiscard]] virtual int make(number& segment) noexcept = 0;
    virtual int remove(number segment) noexcept = 0;
    [[nodiscard]] virtual int get(number segment, number& access) noexcept = 0;
    virtual int release(number access) noexcept = 0;
    /// [begin, begin + bytes) of the segment's owner, both multiples of a page; `at` is its first byte here.
    [[nodiscard]] virtual int attach(number access, std::uintptr_t begin, std::size_t bytes, void*& at) noexcept = 0;
    virtual int detach(void* at) noexcept = 0;
};

/// The driver of this machine; null, and errno in `failed` (ENOENT: it is not there; ENOTTY: that is something else).
[[nodiscard]] std::unique_ptr<xpmem_device> open_xpmem(int& failed, char const* path = "/dev/xpmem") noexcept;

/// What this process sees of its peers' address spaces. Thread-safe.
class xpmem {
public:
    /// The number of a peer's segment, or 0: it has none. Called with a lock held, by any thread.
    using segment_of = std::function<xpmem_device::number(std::uint32_t peer)>;

    static constexpr registration_cache::limits usual{.ranges = 512, .bytes = std::size_t{1} << 38, .granule = std::size_t{2} << 20};

    /// Makes this process's segment. Throws system_error where the device refuses.
    xpmem(std::unique_ptr<xpmem_device>, segment_of, registration_cache::limits = usual);
    ~xpmem();
    xpmem(xpmem const&) = delete;
    xpmem& operator=(xpmem const&) = delete;

    /// Of this process; for its peers.
    [[nodiscard]] xpmem_device::number segment() const noexcept { return segment_; }

    /// A peer's memory, for as long as this lives.
    class view {
    public:
        view() noexcept = default;
        explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
        [[nodiscard]] void* data() const noexcept { return data_; }

    private:
        friend class xpmem;
        view(registration_cache::lease l, void* data) noexcept : lease_(std::move(l)), data_(data) {}
        registration_cache::lease lease_;
        void* data_ = nullptr;
    };
    /// [begin, begin + bytes) of a peer; empty where that cannot be (the peer has no segment, or the device refuses). A peer that refused
    /// access is not asked again.
    [[nodiscard]] view look(std::uint32_t peer, std::uintptr_t begin, std::size_t bytes) noexcept;

    /// The peer is gone: nothing of it is found any more; views that live keep their addresses.
    void forget(std::uint32_t peer) noexcept;

    [[nodiscard]] registration_cache::statistics stats() const { return cache_.stats(); }

private:
    class attachments final : public registration_cache::back_end {
    public:
        attachments(xpmem_device& d, segment_of s) : device_(d), segment_of_(std::move(s)) {}
        ~attachments() override;
        std::optional<registration_cache::handle> make(registration_cache::space, std::uintptr_t, std::size_t) noexcept override;
        void drop(registration_cache::space, std::uintptr_t, std::size_t, registration_cache::handle) noexcept override;

    private:
        xpmem_device& device_;
        segment_of segment_of_;
        std::unordered_map<std::uint32_t, xpmem_device::number> access_;  ///< 0: refused
    };

    std::unique_ptr<xpmem_device> device_;
    xpmem_device::number segment_ = 0;
    attachments attachments_;
    registration_cache cache_;
};

} // namespace towline::heap
