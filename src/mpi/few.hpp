#pragma once
// A list with in-place storage for a few entries and a vector for more. Not thread-safe.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace towline::mpi {

template <class T, std::size_t Near>
class few {
public:
    few() = default;
    few(std::initializer_list<T> entries)
    {
        for (T const& entry : entries)
            push_back(entry);
    }

    void push_back(T value)
    {
        if (far_.empty() && size_ < Near) {
            near_[size_++] = std::move(value);
            return;
        }
        if (far_.empty()) {
            far_.reserve(2 * Near);
            for (T& entry : near_)
                far_.push_back(std::move(entry));
        }
        far_.push_back(std::move(value));
        ++size_;
    }
    void clear() noexcept
    {
        for (T& entry : near_)
            entry = T();
        far_.clear();
        size_ = 0;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T const* begin() const noexcept { return far_.empty() ? near_.data() : far_.data(); }
    [[nodiscard]] T const* end() const noexcept { return begin() + size_; }

private:
    std::size_t size_ = 0;
    std::array<T, Near> near_{};
    std::vector<T> far_;
};

} // namespace towline::mpi
