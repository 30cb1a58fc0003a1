#pragma once
// Blocks of one size, each for one packet. Not thread-safe. Never gives memory back before its end: what was needed once will be again.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace towline::transport::datagram {

class block_pool {
public:
    explicit block_pool(std::size_t bytes) : bytes_((bytes + 63) / 64 * 64) {}
    ~block_pool()
    {
        for (std::byte* const s : slabs_)
            ::operator delete[](s, std::align_val_t{64});
    }
    block_pool(block_pool const&) = delete;
    block_pool& operator=(block_pool const&) = delete;

    [[nodiscard]] std::size_t block_bytes() const noexcept { return bytes_; }

    /// Makes sure that the next `n` calls of `take` throw nothing.
    void reserve(std::size_t n)
    {
        while (free_.size() < n)
            grow();
    }
    /// Aligned to 64. Throws std::bad_alloc.
    [[nodiscard]] std::byte* take()
    {
        if (free_.empty())
            grow();
        std::byte* const b = free_.back();
        free_.pop_back();
        return b;
    }
    void give(std::byte* b) noexcept { free_.push_back(b); }  // there is room for all that were ever made

private:
    void grow()
    {
        std::size_t const n = slabs_.empty() ? 32 : 128;
        slabs_.reserve(slabs_.size() + 1);
        made_ += n;
        free_.reserve(made_);
        auto* const slab = static_cast<std::byte*>(::operator new[](n * bytes_, std::align_val_t{64}));
        slabs_.push_back(slab);
        for (std::size_t i = n; i-- != 0;)
            free_.push_back(slab + i * bytes_);
    }

    std::size_t bytes_;
    std::size_t made_ = 0;
    std::vector<std::byte*> free_;
    std::vector<std::byte*> slabs_;
};

} // namespace towline::transport::datagram
