// Copies the ranges of a task.

#include "onload/move.hpp"

#include "base/copy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/uio.h>

namespace towline::onload {
namespace {

/// Ranges that one system call moves; a fault costs no more than these, and the arrays fit the stack.
constexpr std::size_t batch = 64;

std::byte* at(void const* base, std::uint64_t offset) noexcept
{
    return const_cast<std::byte*>(static_cast<std::byte const*>(base)) + offset;
}

/// Moves what the two lists describe; they describe equally many bytes.
moved move_across(std::array<iovec, batch>& here, std::array<iovec, batch>& there, std::size_t count, reach where, int pid) noexcept
{
    moved result;
    std::size_t first = 0;
    while (first < count) {
        auto const call = where == reach::reads_peer ? &::process_vm_readv : &::process_vm_writev;
        ssize_t const got = call(pid, &here[first], count - first, &there[first], count - first, 0);
        if (got <= 0) {
            if (got < 0 && errno == EINTR)
                continue;
            result.error = got == 0 ? EFAULT : errno;
            return result;
        }
        result.bytes += static_cast<std::uint64_t>(got);
        auto left = static_cast<std::size_t>(got);
        while (first < count && left >= here[first].iov_len) {
            left -= here[first].iov_len;
            ++first;
        }
        if (left != 0 && first < count) {  // in the middle of a range: what stopped it is met again by the next call
            here[first] = {at(here[first].iov_base, left), here[first].iov_len - left};
            there[first] = {at(there[first].iov_base, left), there[first].iov_len - left};
        }
    }
    return result;
}

} // namespace

moved move_part(std::span<range const> ranges, std::uint64_t begin, std::uint64_t bytes, reach where, int pid) noexcept
{
    int const saved = errno;
    moved result;
    std::array<iovec, batch> here;
    std::array<iovec, batch> there;
    std::size_t count = 0;
    for (range const& r : ranges) {
        if (bytes == 0 || result.error != 0)
            break;
        if (begin >= r.bytes) {
            begin -= r.bytes;
            continue;
        }
        std::size_t const n = std::min<std::uint64_t>(r.bytes - begin, bytes);
        std::byte* const to = at(r.to, begin);
        std::byte* const from = at(r.from, begin);
        begin = 0;
        bytes -= n;
        if (where == reach::here) {
            base::copy_block(to, from, n);
            result.bytes += n;
            continue;
        }
        here[count] = {where == reach::reads_peer ? to : from, n};
        there[count] = {where == reach::reads_peer ? from : to, n};
        if (++count == batch || bytes == 0) {
            moved const part = move_across(here, there, std::exchange(count, 0), where, pid);
            result.bytes += part.bytes;
            result.error = part.error;
        }
    }
    if (count != 0 && result.error == 0) {
        moved const part = move_across(here, there, count, where, pid);
        result.bytes += part.bytes;
        result.error = part.error;
    }
    errno = saved;
    return result;
}

} // namespace towline::onload
