// Lent plain memory of peers: where a peer's process is, and reading it, by XPMEM or by process_vm_readv.

#include "engine/impl.hpp"

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

std::int32_t engine::impl::find_process(peer who)
{
    std::int32_t pid = static_cast<std::int32_t>(owner_pid);
    if (config.process_of != nullptr) {
        auto const card = config.process_of(config.context, who);
        if (!card)
            return peer_state::unasked;  // it has not told yet
        if (int const why = prove(*card, config.pid_namespace); why != 0) {
            refuse_process(who, why);
            return peer_state::no_process;
        }
        pid = card->pid;
    }
    peers[who].process.store(pid, std::memory_order_relaxed);
    return pid;
}

void engine::impl::refuse_process(peer who, int why)
{
    if (peers[who].process.exchange(peer_state::no_process, std::memory_order_relaxed) != peer_state::no_process)
        base::log(base::log_level::info,
                  "rank {}: the memory of rank {} cannot be read by process_vm_readv ({}): plain memory is copied twice between them",
                  config.rank, who,
                  why == ESRCH ? "its pid names no process here, or another one: they are in PID namespaces of their own"
                               : std::strerror(why));
}

pid_t engine::impl::readable_process(peer who)
{
    if (!config.cross_memory_attach)
        return 0;
    std::int32_t pid = peers[who].process.load(std::memory_order_relaxed);
    if (pid == peer_state::unasked)
        pid = find_process(who);
    // What a dead rank lent is gone, and its pid may be another's by now.
    if (pid <= 0 || (config.is_dead != nullptr && config.is_dead(config.context, who)))
        return 0;
    return pid;
}

bool engine::impl::may_attach(peer to)
{
    if (config.xpmem != nullptr)
        return true;
    if (!config.cross_memory_attach)
        return false;
    // Whom we cannot read does not read us. Who has not told of itself yet is believed: if it cannot read, it asks for the bytes.
    std::int32_t const pid = peers[to].process.load(std::memory_order_relaxed);
    return (pid == peer_state::unasked ? find_process(to) : pid) != peer_state::no_process;
}

void engine::impl::cannot_read(message_state const& s, block_state const& b, std::uint64_t left, int why)
{
    if (why == EPERM || why == ENOSYS || why == EACCES)  // a filter came after the proof: that will not go away
        return refuse_process(s.source, why);
    base::log(base::log_level::info, "rank {}: {} of {} bytes lent by rank {} at {} cannot be read ({}); it is asked for them", config.rank,
              left, b.size, s.source, b.data, std::strerror(why));
}

bool engine::impl::look_attached(message_state const& s, block_state& b, void* destination)
{
    // The number of a peer's segment is the driver's, and the same in all namespaces.
    if (config.xpmem == nullptr || s.source == config.rank)
        return false;
    auto const there = config.xpmem->look(s.source, reinterpret_cast<std::uintptr_t>(b.data), b.size);
    if (!there)
        return false;
    base::copy_block(destination, there.data(), b.size);
    b.counted = true;
    counts.block(counter::copied_once, counter::bytes_copied_once, b.size);
    counts.add(counter::bytes_xpmem, b.size);
    if (ways_told) [[unlikely]]
        ways_told.arrives(s.source, arrival::xpmem, b.size);
    return true;
}

bool engine::impl::read_attached(message_state& s, block_state& b, void* destination)
{
    if (look_attached(s, b, destination))
        return true;
    pid_t const readable = readable_process(s.source);
    // The kernel brings what nobody writes three times as fast as two processes push it; what is written each time they push faster.
    std::uint64_t const block = reinterpret_cast<std::uintptr_t>(b.data) ^ std::uint64_t{s.source} << 48;
    std::uint64_t const here = readable == 0 || habit.is_rewritten(block)
                                   ? receive_pushed(s, static_cast<std::size_t>(&b - s.blocks), destination)
                                   : 0;
    pid_t const pid = here != b.size ? readable : 0;
    if (here != b.size && pid == 0)
        return false;
    auto* to = static_cast<std::byte*>(destination) + here;
    auto* from = static_cast<std::byte*>(b.data) + here;
    std::uint64_t left = b.size - here;
    while (left != 0) {
        std::size_t const n = std::min<std::uint64_t>(left, config.sizes.attach_chunk);
        iovec const local{to, n};
        iovec const there{from, n};
        ssize_t const got = ::process_vm_readv(pid, &local, 1, &there, 1, 0);
        if (got <= 0) {
            int const why = got == 0 ? EFAULT : errno;
            if (why == EINTR)
                continue;
            cannot_read(s, b, left, why);
            return false;
        }
        to += got;
        from += got;
        left -= static_cast<std::uint64_t>(got);
    }
    if (readable != 0 && b.size >= config.sizes.push_least)
        habit.note(block, base::sample(destination, b.size));
    b.counted = true;
    counts.add(here != 0 ? counter::copied_twice : counter::copied_once, 1);
    counts.add(counter::bytes_copied_twice, here);
    counts.add(counter::bytes_pushed, here);
    counts.add(counter::bytes_copied_once, b.size - here);
    counts.add(counter::bytes_cma, b.size - here);
    if (ways_told) [[unlikely]]
        ways_told.arrives(s.source, here != 0 ? arrival::pushed : arrival::attached, b.size);
    count_if_onloaded(b.size);
    return true;
}

void engine::impl::forget_attachments(peer p)
{
    if (config.xpmem != nullptr)
        config.xpmem->forget(p);
}

} // namespace towline::engine
