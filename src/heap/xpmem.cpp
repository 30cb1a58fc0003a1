// Speaks to the XPMEM driver.

#include "heap/xpmem.hpp"

#include "base/unique_fd.hpp"
#include "towline/error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <new>
#include <sys/ioctl.h>

namespace towline::heap {

namespace {

// The driver's interface, as it stands in the kernel module: _IO numbers (no size in them), structs in the layout of 64-bit processes.
namespace driver {

constexpr unsigned long request(unsigned number) { return _IO('x', number); }
constexpr unsigned long version = request(0), make = request(1), remove = request(2), get = request(3), release = request(4),
                        attach = request(5), detach = request(6);

constexpr std::size_t whole_address_space = ~std::size_t{0};
constexpr int read_and_write = 2;
constexpr int by_mode = 1;                       ///< access is granted as to a file of this mode
constexpr std::uint64_t owner_only = 0600;

struct make_arguments {
    std::uint64_t address;
    std::size_t size;
    int permit_type;
    std::uint64_t permit_value;
    std::int64_t segment;  ///< out
};
struct get_arguments {
    std::int64_t segment;
    int flags;
    int permit_type;
    std::uint64_t permit_value;
    std::int64_t access;  ///< out
};
struct attach_arguments {
    std::int64_t access;
    std::int64_t offset;
    std::size_t size;
    std::uint64_t address;  ///< in: where (0: anywhere); out: where
    int file;
    int flags;
};
static_assert(sizeof(make_arguments) == 40 && sizeof(get_arguments) == 32 && sizeof(attach_arguments) == 40);

} // namespace driver

class kernel_device final : public xpmem_device {
public:
    explicit kernel_device(base::unique_fd file) noexcept : file_(std::move(file)) {}

    int make(number& segment) noexcept override
    {
        driver::make_arguments a{0, driver::whole_address_space, driver::by_mode, driver::owner_only, 0};
        if (int const failed = call(driver::make, &a))
            return failed;
        segment = a.segment;
        return a.segment > 0 ? 0 : EPROTO;
    }
    int remove(number segment) noexcept override { return call(driver::remove, &segment); }
    int get(number segment, number& access) noexcept override
    {
        driver::get_arguments a{segment, driver::read_and_write, driver::by_mode, 0, 0};
        if (int const failed = call(driver::get, &a))
            return failed;
        access = a.access;
        return a.access > 0 ? 0 : EPROTO;
    }
    int release(number access) noexcept override { return call(driver::release, &access); }
    int attach(number access, std::uintptr_t begin, std::size_t bytes, void*& at) noexcept override
    {
        driver::attach_arguments a{access, static_cast<std::int64_t>(begin), bytes, 0, file_.get(), 0};
        if (int const failed = call(driver::attach, &a))
            return failed;
        at = reinterpret_cast<void*>(a.address);
        return 0;
    }
    int detach(void* at) noexcept override
    {
        std::uint64_t address = reinterpret_cast<std::uintptr_t>(at);
        return call(driver::detach, &address);
    }

private:
    [[nodiscard]] int call(unsigned long request, void* arguments) const noexcept
    {
        int const saved = errno;
        int failed = 0;
        do
            failed = ::ioctl(file_.get(), request, arguments) < 0 ? errno : 0;
        while (failed == EINTR);
        errno = saved;
        return failed;
    }
    base::unique_fd file_;
};

} // namespace

std::unique_ptr<xpmem_device> open_xpmem(int& failed, char const* path) noexcept
{
    int const saved = errno;
    failed = 0;
    base::unique_fd file(::open(path, O_RDWR | O_CLOEXEC));
    if (!file || ::ioctl(file.get(), driver::version, nullptr) < 0) {
        failed = errno;
        errno = saved;
        return nullptr;
    }
    std::unique_ptr<xpmem_device> device(new (std::nothrow) kernel_device(std::move(file)));
    if (device == nullptr)
        failed = ENOMEM;
    return device;
}

std::optional<registration_cache::handle> xpmem::attachments::make(registration_cache::space peer, std::uintptr_t begin,
                                                                   std::size_t bytes) noexcept
try {
    auto const [at, first] = access_.try_emplace(peer, 0);
    if (first) {
        auto const segment = segment_of_(peer);
        if (segment == 0) {
            access_.erase(at);  // it may tell later
            return std::nullopt;
        }
        xpmem_device::number access = 0;
        if (device_.get(segment, access) == 0)
            at->second = access;
    }
    void* here = nullptr;
    if (at->second == 0 || device_.attach(at->second, begin, bytes, here) != 0)
        return std::nullopt;
    return reinterpret_cast<registration_cache::handle>(here);
} catch (...) {
    return std::nullopt;
}

void xpmem::attachments::drop(registration_cache::space, std::uintptr_t, std::size_t, registration_cache::handle h) noexcept
{
    device_.detach(reinterpret_cast<void*>(h));
}

xpmem::attachments::~attachments()
{
    for (auto const& [peer, access] : access_)
        if (access != 0)
            device_.release(access);
}

xpmem::xpmem(std::unique_ptr<xpmem_device> d, segment_of s, registration_cache::limits l)
    : device_(std::move(d)), attachments_(*device_, std::move(s)), cache_(attachments_, l)
{
    if (int const failed = device_->make(segment_); failed != 0)
        throw system_error("making an XPMEM segment", failed);
}

xpmem::~xpmem()
{
    device_->remove(segment_);
}

xpmem::view xpmem::look(std::uint32_t peer, std::uintptr_t begin, std::size_t bytes) noexcept
{
    auto lease = cache_.acquire(peer, begin, bytes);
    if (!lease)
        return {};
    auto* const data = reinterpret_cast<std::byte*>(lease.made()) + (begin - lease.begin());
    return {std::move(lease), data};
}

void xpmem::forget(std::uint32_t peer) noexcept
{
    (void)cache_.invalidate_space(peer);
}

} // namespace towline::heap
