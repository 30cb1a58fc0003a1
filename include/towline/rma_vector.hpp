#pragma once
// rma_vector<T>: a vector in shared memory that changes owner when it is moved into a remote call.

#include <towline/archive.hpp>
#include <towline/detail/packed.hpp>
#include <towline/detail/rma_storage.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace towline {

/// Tag: leaves memory uninitialised for the program to fill.
struct no_init_t {
    explicit no_init_t() = default;
};
inline constexpr no_init_t no_init{};

/// As std::vector<T> for types whose bytes are their value (towline::bitwise<T>), with one great difference:
///
/// **COPIES SHARE THEIR ELEMENTS.** A copy costs nothing; writes through one are visible through all. clone() copies the elements.
///   its own.
///
/// A vector that shares its elements copies them before it changes size or capacity, and shares them no longer. (After Biddiscombe et al.,
/// "Zero Copy Serialization using RMA in the HPX Distributed Task-Based Runtime", 2017.)
///
/// As an argument or result of a remote call on one machine, a moved vector that is not shared hands its block over to the other process:
/// no byte is copied, at any size. Otherwise it is lent, and copied once into the receiver's memory (do not change it until sent()). Memory
/// comes from this process's shared arena (std::bad_alloc if that is full) and returns to the arena that it came from. Thread-safe as
/// std::vector; several threads may use copies if none writes.
template <class T>
class rma_vector {
    static_assert(std::is_trivially_copyable_v<T> && bitwise<T>, "towline: rma_vector<T> is for types whose bytes are their value: no "
                                                                 "pointers, no padding, no bool; use std::vector<T>, or opt a padded "
                                                                 "type in with towline::bitwise<T>");

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = T const&;
    using pointer = T*;
    using const_pointer = T const*;
    using iterator = T*;
    using const_iterator = T const*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    using allocator_type = rma_allocator<T>;
    using shares_on_copy = void;  ///< for remote calls: an lvalue argument is lent, not captured

    rma_vector() noexcept = default;
    explicit rma_vector(size_type n) : rma_vector(n, no_init) { std::fill_n(data_, n, T{}); }
    rma_vector(size_type n, T const& value) : rma_vector(n, no_init) { std::fill_n(data_, n, value); }
    rma_vector(size_type n, no_init_t) : storage_(n == 0 ? detail::rma_storage() : make(n)), data_(first()), size_(n), capacity_(n) {}
    template <std::input_iterator It>
    rma_vector(It begin, It end)
    {
        assign(begin, end);
    }
    rma_vector(std::initializer_list<T> values) : rma_vector(values.begin(), values.end()) {}
    explicit rma_vector(std::span<T const> values) : rma_vector(values.begin(), values.end()) {}
    /// Shares the elements.
    rma_vector(rma_vector const& other) = default;
    rma_vector(rma_vector&& other) noexcept
        : storage_(std::move(other.storage_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0))
    {
    }
    rma_vector& operator=(rma_vector other) noexcept
    {
        swap(other);
        return *this;
    }
    rma_vector& operator=(std::initializer_list<T> values)
    {
        assign(values.begin(), values.end());
        return *this;
    }

    /// A vector with a copy of the elements.
    [[nodiscard]] rma_vector clone() const { return rma_vector(begin(), end()); }
    /// How many vectors of this process share the elements.
    [[nodiscard]] long use_count() const noexcept { return storage_.use_count(); }

    template <std::input_iterator It>
    void assign(It begin, It end)
    {
        if constexpr (std::forward_iterator<It>) {
            rma_vector fresh(static_cast<size_type>(std::distance(begin, end)), no_init);
            std::copy(begin, end, fresh.data_);
            swap(fresh);
        } else {
            rma_vector fresh;
            for (; begin != end; ++begin)
                fresh.push_back(*begin);
            swap(fresh);
        }
    }
    void assign(size_type n, T const& value) { *this = rma_vector(n, value); }
    void assign(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }

    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] T const* data() const noexcept { return data_; }
    [[nodiscard]] size_type size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] size_type capacity() const noexcept { return capacity_; }
    [[nodiscard]] static constexpr size_type max_size() noexcept { return std::numeric_limits<difference_type>::max() / sizeof(T); }

    [[nodiscard]] T& operator[](size_type i) noexcept { return data_[i]; }
    [[nodiscard]] T const& operator[](size_type i) const noexcept { return data_[i]; }
    [[nodiscard]] T& at(size_type i) { return data_[checked(i)]; }
    [[nodiscard]] T const& at(size_type i) const { return data_[checked(i)]; }
    [[nodiscard]] T& front() noexcept { return data_[0]; }
    [[nodiscard]] T const& front() const noexcept { return data_[0]; }
    [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T const& back() const noexcept { return data_[size_ - 1]; }
    [[nodiscard]] iterator begin() noexcept { return data_; }
    [[nodiscard]] iterator end() noexcept { return data_ + size_; }
    [[nodiscard]] const_iterator begin() const noexcept { return data_; }
    [[nodiscard]] const_iterator end() const noexcept { return data_ + size_; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return rbegin(); }
    [[nodiscard]] const_reverse_iterator crend() const noexcept { return rend(); }
    operator std::span<T>() noexcept { return {data_, size_}; }
    operator std::span<T const>() const noexcept { return {data_, size_}; }

    void reserve(size_type n)
    {
        if (n > capacity_)
            reallocate(n);
    }
    void shrink_to_fit()
    {
        if (size_ < capacity_)
            reallocate(size_);
    }
    void resize(size_type n) { resize(n, T{}); }
    void resize(size_type n, T const& value)
    {
        size_type const old = size_;
        T const fill = value;
        resize(n, no_init);
        if (n > old)
            std::fill(data_ + old, data_ + n, fill);
    }
    /// New elements are uninitialised.
    void resize(size_type n, no_init_t)
    {
        if (n != size_)
            own(n);
        size_ = n;
    }
    void clear()
    {
        if (storage_.sole())
            size_ = 0;
        else
            *this = rma_vector();
    }
    void push_back(T const& value)
    {
        T const copy = value;
        own(size_ + 1);
        data_[size_++] = copy;
    }
    template <class... Args>
    T& emplace_back(Args&&... args)
    {
        push_back(T(std::forward<Args>(args)...));
        return back();
    }
    void pop_back() { resize(size_ - 1, no_init); }

    iterator insert(const_iterator at, T const& value) { return insert(at, 1, value); }
    iterator insert(const_iterator at, size_type n, T const& value)
    {
        T const copy = value;
        T* const gap = open(at, n);
        std::fill_n(gap, n, copy);
        return gap;
    }
    template <std::input_iterator It>
    iterator insert(const_iterator at, It begin, It end)
    {
        rma_vector const values(begin, end);  // the range may be in this vector
        T* const gap = open(at, values.size());
        std::copy(values.begin(), values.end(), gap);
        return gap;
    }
    iterator insert(const_iterator at, std::initializer_list<T> values) { return insert(at, values.begin(), values.end()); }
    template <class... Args>
    iterator emplace(const_iterator at, Args&&... args)
    {
        return insert(at, T(std::forward<Args>(args)...));
    }
    iterator erase(const_iterator at) { return erase(at, at + 1); }
    iterator erase(const_iterator from, const_iterator to)
    {
        auto const i = from - data_;
        if (from != to) {
            auto const n = to - from;
            own(size_);
            std::copy(data_ + i + n, data_ + size_, data_ + i);
            size_ -= static_cast<size_type>(n);
        }
        return data_ + i;
    }
    void swap(rma_vector& other) noexcept
    {
        storage_.swap(other.storage_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    friend void swap(rma_vector& a, rma_vector& b) noexcept { a.swap(b); }

    friend bool operator==(rma_vector const& a, rma_vector const& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
    friend auto operator<=>(rma_vector const& a, rma_vector const& b)
        requires std::three_way_comparable<T>
    {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    friend struct serializer<rma_vector>;
    friend struct detail::block_handle<rma_vector>;
    [[nodiscard]] static detail::rma_storage make(size_type n)
    {
        if (n > max_size())
            throw std::length_error("towline::rma_vector: too many elements");
        return detail::rma_storage(n * sizeof(T), alignof(T));
    }
    /// Owns a block of n elements.
    rma_vector(detail::rma_storage&& block, size_type n) noexcept : storage_(std::move(block)), data_(first()), size_(n), capacity_(n) {}
    [[nodiscard]] T* first() const noexcept { return static_cast<T*>(storage_.block()); }
    [[nodiscard]] size_type checked(size_type i) const
    {
        if (i >= size_)
            throw std::out_of_range("towline::rma_vector::at");
        return i;
    }
    void reallocate(size_type n)
    {
        rma_vector fresh(n, no_init);
        std::copy_n(data_, std::min(size_, n), fresh.data_);
        fresh.size_ = size_;
        swap(fresh);
    }
    /// Allocates an unshared block for n elements.
    void own(size_type n)
    {
        if (n > capacity_)
            reallocate(std::max(n, capacity_ + capacity_ / 2 + 4));
        else if (!storage_.sole() && capacity_ != 0)
            reallocate(capacity_);
    }
    T* open(const_iterator at, size_type n)
    {
        auto const i = at - data_;
        own(size_ + n);
        std::copy_backward(data_ + i, data_ + size_, data_ + size_ + n);
        size_ += n;
        return data_ + i;
    }

    detail::rma_storage storage_;
    T* data_ = nullptr;
    size_type size_ = 0;
    size_type capacity_ = 0;
};

} // namespace towline

#include <towline/detail/rma_archive.hpp>
