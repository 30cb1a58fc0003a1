// Lent plain memory of peers: where a peer's process is, and reading it, by XPMEM or by process_vm_readv.

#include "engine/attachments.hpp"

#include "base/copy.hpp"
#include "base/log.hpp"
#include "engine/peer_process.hpp"
#include "heap/xpmem.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

namespace towline::engine {

using job::counter;

bool engine::probe_cross_memory_attach(int pid, void const* remote, std::size_t size) noexcept
{
    std::array<std::byte, 64> here{};
    std::size_t const n = std::min(size, here.size());
    iovec const local{here.data(), n};
    iovec const there{const_cast<void*>(remote), n};
    int const saved = errno;
    bool const passed = n != 0 && ::process_vm_readv(pid, &local, 1, &there, 1, 0) == static_cast<ssize_t>(n);
    errno = saved;
    return passed;
}

bool engine::may_read_memory_of(int pid) noexcept
{
    // Permission is checked before the address, and nothing is mapped at the first page.
    std::byte here{};
    iovec const local{&here, 1};
    iovec const there{reinterpret_cast<void*>(8), 1};
    int const saved = errno;
    bool const allowed = ::process_vm_readv(pid, &local, 1, &there, 1, 0) == 1 || errno == EFAULT;
    errno = saved;
    return allowed;
}

std::int32_t attachments::find_process(peer who)
{
    std::int32_t pid = static_cast<std::int32_t>(common_.owner_pid);
    if (common_.config.process_of != nullptr) {
        auto const card = common_.config.process_of(common_.config.context, who);
        if (!card)
            return peer_state::unasked;  // it has not told yet
        if (int const why = prove(*card, common_.config.pid_namespace); why != 0) {
            refuse_process(who, why);
            return peer_state::no_process;
        }
        pid = card->pid;
    }
    common_.peers[who].process.store(pid, std::memory_order_relaxed);
    return pid;
}

void attachments::refuse_process(peer who, int why)
{
    if (common_.peers[who].process.exchange(peer_state::no_process, std::memory_order_relaxed) != peer_state::no_process)
        base::log(base::log_level::info,
                  "rank {}: the memory of rank {} cannot be read by process_vm_readv ({}): plain memory is copied twice between them",
                  common_.config.rank, who,
                  why == ESRCH ? "its pid names no process here, or another one: they are in PID namespaces of their own"
                               : std::strerror(why));
}

pid_t attachments::readable_process(peer who)
{
    if (!common_.config.cross_memory_attach)
        return 0;
    std::int32_t pid = common_.peers[who].process.load(std::memory_order_relaxed);
    if (pid == peer_state::unasked)
        pid = find_process(who);
    // The memory of a dead rank is gone, and its pid may be another process's by now.
    if (pid <= 0 || common_.has_died(who))
        return 0;
    return pid;
}

bool attachments::may_attach(peer to)
{
    if (common_.config.xpmem != nullptr)
        return true;
    if (!common_.config.cross_memory_attach)
        return false;
    // A peer that this process cannot read cannot read it either. One that has not told of itself yet may: if not, it asks for the bytes.
    std::int32_t const pid = common_.peers[to].process.load(std::memory_order_relaxed);
    return (pid == peer_state::unasked ? find_process(to) : pid) != peer_state::no_process;
}

void attachments::cannot_read(message_state const& s, block_state const& b, std::uint64_t left, int why)
{
    if (why == EPERM || why == ENOSYS || why == EACCES)  // a filter came after the proof: that will not go away
        return refuse_process(s.source, why);
    base::log(base::log_level::info, "rank {}: {} of {} bytes lent by rank {} at {} cannot be read ({}); it is asked for them",
              common_.config.rank, left, b.size, s.source, b.data, std::strerror(why));
}

bool attachments::look_attached(message_state const& s, block_state& b, void* destination)
{
    // The driver numbers segments for the whole machine: a peer in another PID namespace is reached, too.
    if (common_.config.xpmem == nullptr || s.source == common_.config.rank)
        return false;
    auto const there = common_.config.xpmem->look(s.source, reinterpret_cast<std::uintptr_t>(b.data), b.size);
    if (!there)
        return false;
    base::copy_block(destination, there.data(), b.size);
    b.counted = true;
    common_.counts.block(counter::copied_once, counter::bytes_copied_once, b.size);
    common_.counts.add(counter::bytes_xpmem, b.size);
    common_.tell_arrival(s.source, arrival::xpmem, b.size);
    return true;
}

bool attachments::read_by_kernel(message_state const& s, block_state const& b, pid_t pid, std::uint64_t done, std::byte* destination)
{
    auto* const begin = static_cast<std::byte*>(b.data);
    while (done != b.size) {
        std::size_t const n = std::min<std::uint64_t>(b.size - done, common_.config.sizes.attach_chunk);
        iovec const local{destination + done, n};
        iovec const there{begin + done, n};
        ssize_t const got = ::process_vm_readv(pid, &local, 1, &there, 1, 0);
        if (got > 0) {
            done += static_cast<std::uint64_t>(got);
            continue;
        }
        int const why = got == 0 ? EFAULT : errno;
        if (why == EINTR)
            continue;
        cannot_read(s, b, b.size - done, why);
        return false;
    }
    return true;
}

bool attachments::read(message_state& s, block_state& b, void* destination)
{
    if (look_attached(s, b, destination))
        return true;
    pid_t const readable = readable_process(s.source);
    // The kernel copies a block that its sender does not rewrite three times as fast as two processes push it; a rewritten one is faster
    // pushed.
    std::uint64_t const block = reinterpret_cast<std::uintptr_t>(b.data) ^ std::uint64_t{s.source} << 48;
    std::uint64_t const pushed = readable == 0 || habit_.is_rewritten(block)
                                     ? windows_.receive_pushed(s, static_cast<std::size_t>(&b - s.blocks), destination)
                                     : 0;
    if (pushed != b.size && (readable == 0 || !read_by_kernel(s, b, readable, pushed, static_cast<std::byte*>(destination))))
        return false;
    if (readable != 0 && b.size >= common_.config.sizes.push_least)
        habit_.note(block, base::sample(destination, b.size));
    b.counted = true;
    auto& counts = common_.counts;
    counts.add(pushed != 0 ? counter::copied_twice : counter::copied_once, 1);
    counts.add(counter::bytes_copied_twice, pushed);
    counts.add(counter::bytes_pushed, pushed);
    counts.add(counter::bytes_copied_once, b.size - pushed);
    counts.add(counter::bytes_cma, b.size - pushed);
    common_.tell_arrival(s.source, pushed != 0 ? arrival::pushed : arrival::attached, b.size);
    common_.count_if_onloaded(b.size);
    return true;
}

void attachments::forget(peer p)
{
    if (common_.config.xpmem != nullptr)
        common_.config.xpmem->forget(p);
}

} // namespace towline::engine
