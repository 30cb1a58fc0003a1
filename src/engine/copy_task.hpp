#pragma once
// The task that receiver and sender of a block share while both copy it, each from its own end: one core alone is slower than memory.
//
// The receiver keeps the task in its arena and tells the sender where it is (wire::help). Each side takes a share before it copies: the
// receiver from the front, the sender from the back, whose lines are the likeliest to be in the sender's cache still. A sender that does
// not poll takes nothing, and the receiver copies all. The receiver waits for the shares that the sender took, so that nothing is written
// after the fetch has ended.
//
// The cursor is one word, changed by compare-and-swap: number of the task's use (upper 32 bits), first unit that the sender has (16), first
// unit that is not taken from the front (16). The number changes with each use, and all units of an ended task are taken: a late sender
// finds nothing to take. Neither side trusts what it reads: see `take_front` and `take_back`.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <towline/error.hpp>

namespace towline::engine {

struct alignas(64) copy_task {
    std::atomic<std::uint64_t> cursor{0};
    /// Units that the sender has copied (release, after the bytes).
    alignas(64) std::atomic<std::uint32_t> copied{0};
    /// 1: the receiver went to other work; the sender tells it when it has copied a share (wire::helped).
    std::atomic<std::uint32_t> tell{0};
    /// 1: the receiver writes past the caches (base/copy.hpp), and so does the sender. Set before the cursor.
    std::atomic<std::uint32_t> past_caches{0};

    /// The sender, at the place that the receiver told. Throws usage_error for one that is not aligned.
    [[nodiscard]] static copy_task* at(void* place)
    {
        if (reinterpret_cast<std::uintptr_t>(place) % 64 != 0)
            throw usage_error("a task that is not aligned");
        return static_cast<copy_task*>(place);
    }
};
static_assert(sizeof(copy_task) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

/// How a block is cut into units; both sides compute the same. The last unit may be shorter.
struct copy_units {
    std::uint64_t size;   ///< of the block
    std::uint64_t unit;   ///< bytes
    std::uint32_t count;

    explicit copy_units(std::uint64_t bytes) noexcept : size(bytes), unit(4096), count(0)
    {
        while ((size + unit - 1) / unit > most)
            unit *= 2;
        count = static_cast<std::uint32_t>((size + unit - 1) / unit);
    }
    [[nodiscard]] std::uint64_t begin(std::uint32_t i) const noexcept { return std::min(i * unit, size); }
    [[nodiscard]] std::uint64_t bytes(std::uint32_t first, std::uint32_t n) const noexcept { return begin(first + n) - begin(first); }

    static constexpr std::uint64_t most = 32768;
};

/// Units [first, first + count) that one side copies; none if count is 0.
struct copy_share {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// One side's view of a task. Not thread-safe itself.
class copy_taker {
public:
    /// `largest`: bytes of one share at most; no share is smaller than `smallest` bytes unless little is left.
    copy_taker(copy_task& task, std::uint32_t number, copy_units const& units, std::size_t smallest, std::size_t largest) noexcept
        : task_(task), number_(number), count_(units.count), back_(units.count),
          smallest_(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, smallest / units.unit))),
          largest_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(largest / units.unit, smallest_, copy_units::most)))
    {
    }

    /// The receiver, before it calls the sender: the task begins, with a first share for the receiver.
    [[nodiscard]] copy_share begin() noexcept
    {
        std::uint32_t const n = share_of(count_);
        task_.copied.store(0, std::memory_order_relaxed);
        task_.tell.store(0, std::memory_order_relaxed);
        task_.cursor.store(make(n, count_), std::memory_order_release);
        front_ = n;
        own_ = n;
        return {0, n};
    }
    /// The receiver's next share; none when all are taken, or when the cursor holds what it cannot hold (`damaged`).
    [[nodiscard]] copy_share take_front() noexcept
    {
        std::uint64_t word = task_.cursor.load(std::memory_order_acquire);
        for (;;) {
            std::uint32_t const back = back_of(word);
            if (number_of(word) != number_ || front_of(word) != front_ || back < front_ || back > back_) {
                damaged_ = true;
                return {};
            }
            back_ = back;
            std::uint32_t const n = share_of(back - front_);
            if (n == 0)
                return {};
            if (task_.cursor.compare_exchange_weak(word, make(front_ + n, back), std::memory_order_acq_rel, std::memory_order_acquire)) {
                front_ += n;
                own_ += n;
                return {front_ - n, n};
            }
        }
    }
    /// The sender: nothing is left to take.
    [[nodiscard]] bool is_over() const noexcept
    {
        std::uint64_t const word = task_.cursor.load(std::memory_order_acquire);
        return number_of(word) != number_ || front_of(word) >= back_of(word) || back_of(word) > count_;
    }
    /// The sender's next share; none when all are taken, or when the task is used for another block by now.
    [[nodiscard]] copy_share take_back() noexcept
    {
        std::uint64_t word = task_.cursor.load(std::memory_order_acquire);
        for (;;) {
            std::uint32_t const front = front_of(word);
            std::uint32_t const back = back_of(word);
            if (number_of(word) != number_ || front > back || back > count_)
                return {};
            std::uint32_t const n = share_of(back - front);
            if (n == 0)
                return {};
            if (task_.cursor.compare_exchange_weak(word, make(front, back - n), std::memory_order_acq_rel, std::memory_order_acquire))
                return {back - n, n};
        }
    }
    /// The sender has copied a share. True if the receiver wants to be told.
    [[nodiscard]] bool copied(copy_share s) noexcept
    {
        task_.copied.fetch_add(s.count, std::memory_order_seq_cst);
        return task_.tell.load(std::memory_order_seq_cst) != 0;
    }
    /// The receiver, when nothing is left to take: units that the sender took.
    [[nodiscard]] std::uint32_t senders() const noexcept { return count_ - own_; }
    [[nodiscard]] bool damaged() const noexcept { return damaged_; }
    /// The first unit that the receiver has not taken.
    [[nodiscard]] std::uint32_t front() const noexcept { return front_; }

private:
    [[nodiscard]] std::uint64_t make(std::uint32_t front, std::uint32_t back) const noexcept
    {
        return std::uint64_t{number_} << 32 | std::uint64_t{back} << 16 | front;
    }
    [[nodiscard]] static std::uint32_t number_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }
    [[nodiscard]] static std::uint32_t front_of(std::uint64_t word) noexcept { return word & 0xffff; }
    [[nodiscard]] static std::uint32_t back_of(std::uint64_t word) noexcept { return word >> 16 & 0xffff; }
    /// A third of what is left: the sides meet in small steps, whenever the other one began.
    [[nodiscard]] std::uint32_t share_of(std::uint32_t left) const noexcept
    {
        std::uint32_t const n = std::clamp(left / 3, smallest_, largest_);
        return left < n + smallest_ / 2 ? left : std::min(n, left);
    }

    copy_task& task_;
    std::uint32_t number_;
    std::uint32_t count_;
    std::uint32_t back_;
    std::uint32_t front_ = 0;
    std::uint32_t own_ = 0;
    std::uint32_t smallest_;
    std::uint32_t largest_;
    bool damaged_ = false;
};

} // namespace towline::engine
