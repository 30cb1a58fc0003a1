#pragma once
// Reference-counted objects behind handles. A handle holds one reference. Pending operations and other objects hold more, so that an object
// outlives its handle.

#include <atomic>
#include <cstdint>
#include <utility>

namespace towline::mpi {

class object {
public:
    object(object const&) = delete;
    object& operator=(object const&) = delete;

    void hold() const noexcept
    {
        if (alone_)
            references_.store(references_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        else
            references_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() const noexcept
    {
        std::uint32_t before = 0;
        if (alone_) {
            before = references_.load(std::memory_order_relaxed);
            references_.store(before - 1, std::memory_order_relaxed);
        } else {
            before = references_.fetch_sub(1, std::memory_order_acq_rel);
        }
        if (before == 1)
            delete this;
    }

protected:
    /// `alone`: one thread at a time holds and releases it, so that counting needs no locked instruction.
    explicit object(bool alone = false) noexcept : alone_(alone) {}
    virtual ~object() = default;

private:
    mutable std::atomic<std::uint32_t> references_{1};
    bool const alone_;
};

/// Holds one reference.
template <class T>
class ref {
public:
    ref() noexcept = default;
    /// Takes over a reference from the caller.
    static ref adopt(T* object) noexcept
    {
        ref r;
        r.object_ = object;
        return r;
    }
    /// Adds a reference.
    explicit ref(T& object) noexcept : object_(&object) { object.hold(); }
    ref(ref const& other) noexcept : object_(other.object_)
    {
        if (object_ != nullptr)
            object_->hold();
    }
    ref(ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ref& operator=(ref other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~ref()
    {
        if (object_ != nullptr)
            object_->release();
    }

    [[nodiscard]] T* get() const noexcept { return object_; }
    /// Returns the reference to the caller.
    [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    T* object_ = nullptr;
};

template <class T, class... Args>
[[nodiscard]] ref<T> make(Args&&... args)
{
    return ref<T>::adopt(new T(std::forward<Args>(args)...));
}

} // namespace towline::mpi
