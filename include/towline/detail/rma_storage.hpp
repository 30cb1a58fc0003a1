#pragma once
// A block of the shared heap that several handles in this process may share. Internal.

#include <towline/detail/pool.hpp>
#include <towline/rma_allocator.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace towline::detail {

/// A counted reference to a block. The count is not in the block: the block's first byte is the data's, so that the block can be given
/// away.
class rma_storage {
    struct owners : pooled {
        std::atomic<std::uint32_t> count{1};
    };

public:
    rma_storage() noexcept = default;
    rma_storage(std::size_t bytes, std::size_t alignment) : owners_(new owners)
    {
        try {
            block_ = rma_allocate(bytes, alignment);
        } catch (...) {
            delete owners_;
            throw;
        }
    }
    /// Takes a block over that the caller owns.
    [[nodiscard]] static rma_storage adopt(void* block)
    {
        rma_storage s;
        s.block_ = block;
        s.owners_ = new owners;
        return s;
    }
    rma_storage(rma_storage const& other) noexcept : block_(other.block_), owners_(other.owners_)
    {
        if (owners_ != nullptr)
            owners_->count.fetch_add(1, std::memory_order_relaxed);
    }
    rma_storage(rma_storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)), owners_(std::exchange(other.owners_, nullptr))
    {
    }
    rma_storage& operator=(rma_storage other) noexcept
    {
        swap(other);
        return *this;
    }
    ~rma_storage()
    {
        if (owners_ != nullptr && owners_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            rma_deallocate(block_);
            delete owners_;
        }
    }
    void swap(rma_storage& other) noexcept
    {
        std::swap(block_, other.block_);
        std::swap(owners_, other.owners_);
    }
    [[nodiscard]] void* block() const noexcept { return block_; }
    /// No other handle refers to the block.
    [[nodiscard]] bool sole() const noexcept { return owners_ != nullptr && owners_->count.load(std::memory_order_acquire) == 1; }
    [[nodiscard]] long use_count() const noexcept
    {
        return owners_ == nullptr ? 0 : static_cast<long>(owners_->count.load(std::memory_order_relaxed));
    }
    /// The caller owns the block from now on. Sole owners only.
    [[nodiscard]] void* release() noexcept
    {
        delete std::exchange(owners_, nullptr);
        return std::exchange(block_, nullptr);
    }

private:
    void* block_ = nullptr;
    owners* owners_ = nullptr;
};

} // namespace towline::detail
