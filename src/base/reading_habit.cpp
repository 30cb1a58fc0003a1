// Measures whether the program reads what was copied for it.

#include "base/reading_habit.hpp"

#include "base/clock.hpp"
#include "base/coldness.hpp"

#include <cerrno>

#include <sys/uio.h>
#include <unistd.h>

namespace towline::base {

bool reading_habit::passes(std::byte const* block, std::size_t bytes, std::uint64_t moved) noexcept
{
    if (moved < next_.load(std::memory_order_relaxed) || busy_.test_and_set(std::memory_order_acquire))
        return passes_.load(std::memory_order_relaxed);
    bool tries = false;
    if (trial_ != nullptr) {
        outcome const o = look_(trial_, trial_bytes_);
        trial_ = nullptr;
        judge(o, moved);
    }
    if (moved >= next_.load(std::memory_order_relaxed)) {
        trial_ = block;
        trial_bytes_ = bytes;
        next_.store(moved + bytes + soon_, std::memory_order_relaxed);
        tries = true;
    }
    bool const result = tries || passes_.load(std::memory_order_relaxed);
    busy_.clear(std::memory_order_release);
    return result;
}

void reading_habit::judge(outcome o, std::uint64_t moved) noexcept
{
    unread_ = o == outcome::unread ? unread_ + 1 : 0;
    bool const now = passes_.load(std::memory_order_relaxed);
    bool const then = unread_ >= (now ? 1 : 2);
    passes_.store(then, std::memory_order_relaxed);
    bool const once_more = unread_ == 1 && !now;
    next_.store(moved + (once_more ? 0 : then ? often_ : seldom_), std::memory_order_relaxed);
}

reading_habit::outcome look_for_readers(std::byte const* block, std::size_t bytes) noexcept
{
    constexpr std::size_t pages = 5;
    constexpr std::size_t page = 4096;
    std::uint64_t const far = ticks_of_memory();
    if (far == 0 || bytes < (pages + 2) * page)
        return reading_habit::outcome::unknown;
    int const saved = errno;
    auto const ticks_to_read = [](std::byte const* line) noexcept -> std::uint64_t {
        std::byte here{};
        iovec const local{&here, 1};
        iovec const there{const_cast<std::byte*>(line), 1};
        std::uint64_t const begin = ticks();
        return ::process_vm_readv(::getpid(), &local, 1, &there, 1, 0) == 1 ? ticks() - begin : 0;
    };
    std::size_t warm = 0, looked = 0;
    for (std::size_t i = 0; i < pages; ++i) {
        // The first read warms the kernel's own data on the page; the second is of a line far away, the third of the same line again.
        std::byte const* const at = block + (i + 1) * (bytes / (pages + 2));
        std::uint64_t const page_known = ticks_to_read(at), first = ticks_to_read(at + 2048 + 448), again = ticks_to_read(at + 2048 + 448);
        if (page_known == 0 || first == 0 || again == 0)
            break;
        ++looked;
        warm += first < again + far / 2;
    }
    errno = saved;
    return looked < pages ? reading_habit::outcome::unknown
           : warm > pages / 2 ? reading_habit::outcome::read
                              : reading_habit::outcome::unread;
}

} // namespace towline::base
