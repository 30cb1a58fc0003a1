#pragma once
// A block of the shared heap that several handles in this process share. Internal.

#include <towline/detail/pool.hpp>
#include <towline/rma_allocator.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace towline::detail {

/// A counted reference to a block. The count is not in the block, so that the block can be handed over from its first byte. It is allocated
/// with the second reference, since most blocks never have one.
class rma_storage {
    struct owners : pooled {
        std::atomic<std::uint32_t> count{2};
    };

public:
    rma_storage() noexcept = default;
    rma_storage(std::size_t bytes, std::size_t alignment) : block_(rma_allocate(bytes, alignment)) {}
    /// Takes over a block from the caller.
    [[nodiscard]] static rma_storage adopt(void* block) noexcept
    {
        rma_storage s;
        s.block_ = block;
        return s;
    }
    /// Several threads may copy one handle at a time. Throws std::bad_alloc.
    rma_storage(rma_storage const& other) : block_(other.block_), owners_(other.one_more()) {}
    rma_storage(rma_storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)), owners_(other.take_owners()) {}
    rma_storage& operator=(rma_storage other) noexcept
    {
        swap(other);
        return *this;
    }
    ~rma_storage()
    {
        if (block_ == nullptr)
            return;
        owners* const all = owners_.load(std::memory_order_relaxed);
        if (all != nullptr && all->count.fetch_sub(1, std::memory_order_acq_rel) != 1)
            return;
        rma_deallocate(block_);
        delete all;
    }
    void swap(rma_storage& other) noexcept
    {
        std::swap(block_, other.block_);
        owners* const mine = take_owners();
        owners_.store(other.take_owners(), std::memory_order_relaxed);
        other.owners_.store(mine, std::memory_order_relaxed);
    }
    [[nodiscard]] void* block() const noexcept { return block_; }
    /// True if no other handle refers to the block.
    [[nodiscard]] bool sole() const noexcept
    {
        owners const* const all = owners_.load(std::memory_order_acquire);
        return block_ != nullptr && (all == nullptr || all->count.load(std::memory_order_acquire) == 1);
    }
    [[nodiscard]] long use_count() const noexcept
    {
        owners const* const all = owners_.load(std::memory_order_acquire);
        return block_ == nullptr ? 0 : all == nullptr ? 1 : static_cast<long>(all->count.load(std::memory_order_relaxed));
    }
    /// Passes the block to the caller. Only for sole owners.
    [[nodiscard]] void* release() noexcept
    {
        delete take_owners();
        return std::exchange(block_, nullptr);
    }

private:
    owners* one_more() const
    {
        if (block_ == nullptr)
            return nullptr;
        owners* all = owners_.load(std::memory_order_acquire);
        if (all == nullptr) {
            auto* const first = new owners;
            if (owners_.compare_exchange_strong(all, first, std::memory_order_acq_rel, std::memory_order_acquire))
                return first;
            delete first;
        }
        all->count.fetch_add(1, std::memory_order_relaxed);
        return all;
    }
    owners* take_owners() noexcept
    {
        owners* const all = owners_.load(std::memory_order_relaxed);
        owners_.store(nullptr, std::memory_order_relaxed);
        return all;
    }

    void* block_ = nullptr;
    mutable std::atomic<owners*> owners_{nullptr};
};

} // namespace towline::detail
