#pragma once
// Memory for rings when a program has filled the arena: try_send of a first or longer message must find a ring that holds it.

#include "transport/shm/ring.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace towline::transport::shm {

/// Places for rings of the size that the largest message needs, cut from one block that is allocated at the start. Thread-safe.
class ring_reserve {
public:
    static constexpr std::size_t place_bytes = ring_bytes(capacity_for(max_eager));

    /// `memory` is `places` * place_bytes, aligned to 64; null: there are none.
    ring_reserve(void* memory, std::size_t places);

    /// At least so many bytes, aligned to 64; null if a place is smaller, or all places are taken.
    [[nodiscard]] void* take(std::size_t bytes) noexcept;
    /// False, and nothing happened, if the block is not from this reserve.
    [[nodiscard]] bool give_back(void* block) noexcept;

private:
    std::byte* const begin_;
    std::byte* const end_;
    std::mutex mutex_;
    std::vector<std::byte*> free_;  ///< has capacity for all places: give_back does not allocate
};

inline ring_reserve::ring_reserve(void* memory, std::size_t places)
    : begin_(static_cast<std::byte*>(memory)), end_(memory == nullptr ? begin_ : begin_ + places * place_bytes)
{
    for (std::byte* place = end_; place != begin_;)
        free_.push_back(place -= place_bytes);
}

inline void* ring_reserve::take(std::size_t bytes) noexcept
{
    std::scoped_lock const lock(mutex_);
    if (bytes > place_bytes || free_.empty())
        return nullptr;
    std::byte* const place = free_.back();
    free_.pop_back();
    return place;
}

inline bool ring_reserve::give_back(void* block) noexcept
{
    auto* const place = static_cast<std::byte*>(block);
    if (std::less<>{}(place, begin_) || !std::less<>{}(place, end_))
        return false;
    std::scoped_lock const lock(mutex_);
    free_.push_back(place);
    return true;
}

} // namespace towline::transport::shm
