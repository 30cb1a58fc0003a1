// Makes the job file.

#include "job/file.hpp"

#include "base/futex.hpp"
#include "base/machine.hpp"
#include "base/printable.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::job {

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
#if defined(TOWLINE_SANITIZED)
constexpr std::uint64_t most_together = 1024 * gib;
#else
constexpr std::uint64_t most_together = 32 * 1024 * gib;
#endif

std::uint64_t soft_limit(int resource)
{
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return ~std::uint64_t{0};
    return limit.rlim_cur;
}

/// The limit on all segments together, and what sets it.
struct bound {
    std::uint64_t bytes;
    char const* why;
};

bound segments_bound(std::uint32_t size)
{
    bound b{most_together, "the address space of a process"};
    std::uint64_t const file = soft_limit(RLIMIT_FSIZE);
    std::uint64_t const control = control_bytes(size);
    if (file < most_together)
        b = {file > control ? file - control : 0, "the limit on file size (ulimit -f)"};
    std::uint64_t const address_space = soft_limit(RLIMIT_AS) / 2;
    if (address_space < b.bytes)
        b = {address_space, "half of the limit on virtual memory (ulimit -v)"};
    return b;
}

void check_size(std::uint32_t size)
{
    if (size < 1 || size > max_ranks)
        throw usage_error(fmt::format("a job has 1 to {} ranks, not {}", max_ranks, size));
}

std::uint64_t chosen_segment_bytes(std::uint32_t size, job_options const& options)
{
    std::uint64_t bytes = options.segment_bytes;
    if (bytes == 0) {
        base::check_setting("TOWLINE_SEGMENT");
        bytes = base::setting_bytes("TOWLINE_SEGMENT", 0);
    }
    if (bytes == 0)
        return default_segment_bytes(size);
    if (!std::has_single_bit(bytes) || bytes < min_segment_bytes)
        throw usage_error(fmt::format("a segment of {} bytes: it has to be a power of two, 16M or more (TOWLINE_SEGMENT)", bytes));
    auto const [most, why] = segments_bound(size);
    if (bytes > most / size)
        throw limit_error(fmt::format("{} segments of {} MiB do not fit: {} allows {} MiB; choose a smaller TOWLINE_SEGMENT", size,
                                      bytes >> 20, why, most >> 20));
    return bytes;
}

void fill_random(void* to, std::size_t size)
{
    auto* bytes = static_cast<unsigned char*>(to);
    while (size > 0) {
        ssize_t const got = getrandom(bytes, size, 0);
        if (got < 0 && errno != EINTR)
            throw system_error("getrandom", errno);
        if (got > 0) {
            bytes += got;
            size -= static_cast<std::size_t>(got);
        }
    }
}

} // namespace

std::array<std::byte, 32> new_key()
{
    std::array<std::byte, 32> key{};
    fill_random(key.data(), key.size());
    return key;
}

std::string new_id()
{
    std::uint64_t number = 0;
    fill_random(&number, sizeof number);
    return fmt::format("{}-{:012x}", getpid(), number >> 16);
}

std::uint64_t default_segment_bytes(std::uint32_t size)
{
    check_size(size);
#if defined(TOWLINE_SANITIZED)
    std::uint64_t const wanted = 8 * gib;
#else
    std::uint64_t const wanted = std::max(64 * gib, std::bit_ceil(4 * base::total_memory()));
#endif
    auto const [most, why] = segments_bound(size);
    std::uint64_t const fits = std::min(wanted, std::bit_floor(most / size));
    if (fits < min_segment_bytes)
        throw limit_error(fmt::format("{} allows {} MiB, but {} ranks need {} MiB: raise it", why, most >> 20, size,
                                      size * (min_segment_bytes >> 20)));
    return fits;
}

base::unique_fd create_job_file(std::uint32_t size, job_options const& options)
{
    check_size(size);
    std::uint64_t const segment = chosen_segment_bytes(size, options);
    std::uint64_t const control = control_bytes(size);

    base::unique_fd file(memfd_create("towline-job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file)
        throw system_error("memfd_create", errno);
    if (ftruncate(file.get(), static_cast<off_t>(control + size * segment)) != 0)
        throw system_error(
            fmt::format("making a job file of {} MiB (sparse; ulimit -f, TOWLINE_SEGMENT)", (control + size * segment) >> 20), errno);

    std::size_t const mapped = mapped_bytes(size);
    // Before the first touch, which is SIGBUS if there is no memory.
    if (fallocate(file.get(), 0, 0, static_cast<off_t>(mapped)) != 0 && (errno == ENOSPC || errno == ENOMEM))
        throw system_error("memory for the control block of a job (vm.overcommit_memory, the cgroup's limit)", errno);
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED)
        throw system_error("mapping the control block", errno);
    auto& header = *static_cast<control_header*>(memory);  // the file reads as zeros, the initial value of every other field
    header.version = control_version;
    header.size = size;
    header.segments_begin = control;
    header.segment_bytes = segment;
    header.inbox_bytes = inbox_bytes_for(size);
    header.cores = options.cores != 0 ? options.cores : base::usable_cores();
    header.beside = options.beside;
    header.keep_going = options.keep_going ? 1 : 0;
    header.bound = options.bound ? 1 : 0;
    header.nodes = 1;
    header.here = size;
    auto* const slots = reinterpret_cast<rank_slot*>(&header + 1);
    if (!options.node_of.empty()) {
        header.node = options.node;
        header.here = static_cast<std::uint32_t>(std::ranges::count(options.node_of, options.node));
        header.nodes = *std::ranges::max_element(options.node_of) + 1;
        for (std::size_t r = 0; r < options.node_of.size(); ++r)
            slots[r].node = options.node_of[r];
        options.addresses.copy(header.addresses.data(), header.addresses.size() - 1);
        auto const names = std::string_view(options.hosts).substr(0, header.hosts.size() - 1);
        names.substr(0, names.rfind('\0') + 1).copy(header.hosts.data(), header.hosts.size() - 1);
    }
    header.tuned = options.tuning.empty() ? 0 : 1;
    std::copy_n(options.tuning.begin(), std::min(options.tuning.size(), header.tuning.size()), header.tuning.begin());
    bool const barrier = base::setting_switch("TOWLINE_MEMBARRIER", true) && base::register_membarrier();
    header.fences = barrier ? base::fence_side::sleeper_fences : base::fence_side::notifier_fences;
    try {
        header.key = options.key != nullptr ? *options.key : new_key();
        (options.id.empty() ? new_id() : options.id).copy(header.job_id.data(), header.job_id.size() - 1);
    } catch (...) {
        munmap(memory, mapped);
        throw;
    }
    header.magic = control_magic;
    munmap(memory, mapped);

    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        throw system_error("sealing the job file", errno);
    return file;
}

std::uint64_t pid_namespace() noexcept
{
    struct stat about {};
    return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

char const* check_control(control_header const& header, std::uint64_t file_bytes) noexcept
{
    if (header.magic != control_magic)
        return "it is not a job file";
    if (header.version != control_version)
        return "the launcher is of another version of Towline";
    if (header.size < 1 || header.size > max_ranks)
        return "its number of ranks is impossible";
    if (!std::has_single_bit(header.segment_bytes) || header.segment_bytes < min_segment_bytes)
        return "its segment size is impossible";
    if (header.segments_begin != control_bytes(header.size))
        return "its segments begin in the wrong place";
    if (header.segment_bytes > (~std::uint64_t{0} - header.segments_begin) / header.size ||
        header.segments_begin + header.size * header.segment_bytes != file_bytes)
        return "it has the wrong length";
    if (header.inbox_bytes != inbox_bytes_for(header.size))
        return "its inboxes have the wrong size";
    if (std::memchr(header.job_id.data(), 0, header.job_id.size()) == nullptr)
        return "its name has no end";
    if (header.fences != base::fence_side::sleeper_fences && header.fences != base::fence_side::notifier_fences)
        return "its kind of fences is unknown";
    if (header.cores == 0)
        return "it has no cores";
    if (header.node >= header.nodes || header.here > header.size)
        return "its nodes are impossible";
    if (std::memchr(header.addresses.data(), 0, header.addresses.size()) == nullptr)
        return "its addresses have no end";
    return nullptr;
}

checked_header read_header(int job_fd)
{
    struct stat about {};
    if (fstat(job_fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < static_cast<off_t>(sizeof(control_header)))
        throw error("it is not a job file");
    int const seals = fcntl(job_fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        throw error("it is not a sealed file");
    // Check a copy, and use the copy: ranks may change the file at any moment.
    alignas(control_header) std::array<std::byte, sizeof(control_header)> copy{};
    std::size_t have = 0;
    while (have < copy.size()) {
        ssize_t const got = pread(job_fd, copy.data() + have, copy.size() - have, static_cast<off_t>(have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            throw system_error("reading the control block", got == 0 ? EIO : errno);
        have += static_cast<std::size_t>(got);
    }
    auto const& header = *reinterpret_cast<control_header const*>(copy.data());
    if (char const* const wrong = check_control(header, static_cast<std::uint64_t>(about.st_size)); wrong != nullptr)
        throw error(wrong);
    std::vector<std::string> hosts;
    std::string_view names(header.hosts.data(), header.hosts.size());
    for (std::size_t end; !names.starts_with('\0') && (end = names.find('\0')) != names.npos; names.remove_prefix(end + 1))
        hosts.push_back(base::printable(names.substr(0, end)));
    return {header.size, base::printable(header.job_id.data()), header.node, header.nodes, std::move(hosts)};
}

control_view::control_view(int job_fd)
{
    checked_header about = read_header(job_fd);
    size_ = about.size;
    id_ = std::move(about.id);
    void* memory = mmap(nullptr, mapped_bytes(size_), PROT_READ | PROT_WRITE, MAP_SHARED, job_fd, 0);
    if (memory == MAP_FAILED)
        throw system_error("mapping the control block", errno);
    header_ = static_cast<control_header*>(memory);
}

control_view::~control_view()
{
    munmap(header_, mapped_bytes(size_));
}

bool control_view::mark_dead(int rank, int status) noexcept
{
    auto const all = slots();
    auto& slot = all[static_cast<std::size_t>(rank)];
    slot.status.store(status, std::memory_order_relaxed);
    if (slot.state.exchange(static_cast<std::uint32_t>(rank_state::dead), std::memory_order_seq_cst) ==
        static_cast<std::uint32_t>(rank_state::dead))
        return false;
    header_->deaths.fetch_add(1, std::memory_order_seq_cst);
    wake_fences();
    for (auto& other : all)
        other.event.wake_all();
    return true;
}

void control_view::wake_fences() noexcept
{
    header_->fence_generation.fetch_add(1, std::memory_order_seq_cst);
    base::futex_wake_all(header_->fence_generation);
}

} // namespace towline::job
