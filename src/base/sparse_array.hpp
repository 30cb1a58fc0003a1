#pragma once
// An array with an element for every rank of a job, most of which are never used: memory is taken where an element was written only.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <type_traits>

namespace towline::base {

/// Elements that begin as zero bytes, and keep their addresses. T() must write nothing but zeros; the first array of a T checks that.
/// Big arrays take pages of the kernel when they are written: reading an element that nobody wrote costs no memory. What walks over all
/// elements must therefore read before it writes, and leave those alone that are as they began.
///
/// Creating one throws std::bad_alloc. Threads: as a plain array.
template <class T>
class sparse_array {
public:
    explicit sparse_array(std::size_t size) : size_(size)
    {
        require_zeros();
        if (bytes() == 0)
            return;
        void* memory = nullptr;
        if (is_big()) {
            memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED)
                throw std::bad_alloc();
        } else {
            memory = ::operator new(bytes(), alignment);
            std::memset(memory, 0, bytes());
        }
        all_ = static_cast<T*>(memory);
    }
    ~sparse_array()
    {
        if (all_ == nullptr)
            return;
        if constexpr (!std::is_trivially_destructible_v<T>) {
            for (std::size_t i = 0; i < size_; ++i)
                if (!is_zero(all_[i]))
                    all_[i].~T();
        }
        if (is_big())
            ::munmap(all_, bytes());
        else
            ::operator delete(all_, alignment);
    }
    sparse_array(sparse_array const&) = delete;
    sparse_array& operator=(sparse_array const&) = delete;

    [[nodiscard]] T& operator[](std::size_t i) noexcept { return all_[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return all_[i]; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t big = std::size_t{64} << 10;  ///< less is not worth a mapping
    static constexpr std::align_val_t alignment{alignof(T) > 64 ? alignof(T) : 64};

    [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
    [[nodiscard]] bool is_big() const noexcept { return bytes() >= big; }

    [[nodiscard]] static bool is_zero(T const& element) noexcept
    {
        auto const* const begin = reinterpret_cast<unsigned char const*>(&element);
        return begin[0] == 0 && std::memcmp(begin, begin + 1, sizeof(T) - 1) == 0;
    }
    static void require_zeros()
    {
        static bool const zeros = [] {
            alignas(T) std::byte memory[sizeof(T)];
            std::memset(memory, 0, sizeof memory);
            T* const made = ::new (static_cast<void*>(memory)) T();
            bool const zero = is_zero(*made);
            made->~T();
            return zero;
        }();
        if (!zeros)
            throw std::logic_error("a sparse_array of objects that do not begin as zeros");
    }

    std::size_t size_;
    T* all_ = nullptr;
};

} // namespace towline::base
