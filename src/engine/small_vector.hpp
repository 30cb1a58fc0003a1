#pragma once
// A vector whose first N elements need no allocation. For trivial types, on the stack.

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace towline::engine {

template <class T, std::size_t N>
class small_vector {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    void push_back(T const& value)
    {
        if (size_ == N && many_.empty())
            many_.assign(few_.begin(), few_.end());
        if (size_ < N)
            few_[size_] = value;
        else
            many_.push_back(value);
        ++size_;
    }
    void resize(std::size_t n)
    {
        if (n > N)
            many_.resize(n);
        size_ = n;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* data() noexcept { return size_ <= N ? few_.data() : many_.data(); }
    [[nodiscard]] T const* data() const noexcept { return size_ <= N ? few_.data() : many_.data(); }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] T* begin() noexcept { return data(); }
    [[nodiscard]] T* end() noexcept { return data() + size_; }
    [[nodiscard]] T const* begin() const noexcept { return data(); }
    [[nodiscard]] T const* end() const noexcept { return data() + size_; }
    operator std::span<T const>() const noexcept { return {data(), size_}; }

private:
    std::size_t size_ = 0;
    std::array<T, N> few_;
    std::vector<T> many_;
};

} // namespace towline::engine
