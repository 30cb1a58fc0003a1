#pragma once
// The shared state of a future and its promise: a value or an exception that is set once, and the waiters.

#include <towline/detail/pool.hpp>
#include <towline/error.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace towline::detail {

/// Is notified when a state becomes ready. The waiting code owns it and keeps it until `notify` was called.
struct waiter {
    waiter* next = nullptr;
    void (*notify)(waiter*) noexcept = nullptr;  ///< called once, by the completing thread, perhaps inside an engine handler: must not wait
};

/// Runs later on a worker's stack, where it may wait; or directly in `schedule` if there is no worker pool.
struct task {
    task* next = nullptr;
    void (*run)(task*) noexcept = nullptr;
};
/// Queues a task for the current runtime's workers; without a runtime runs it in this call.
void schedule(task&) noexcept;

/// The order number of a state that becomes ready now, larger than all before.
[[nodiscard]] std::uint64_t next_order() noexcept;

/// Thread-safe. Reference counted: the consumer holds one reference, the producer another until it completes the state.
class state_base : public pooled {
public:
    explicit state_base(std::uint32_t references = 1) noexcept : references_(references) {}
    state_base(state_base const&) = delete;
    state_base& operator=(state_base const&) = delete;

    [[nodiscard]] bool ready() const noexcept { return waiters_.load(std::memory_order_acquire) == done(); }

    /// Blocks: suspends the fiber of a handler on a worker; makes progress on a plain thread. Throws usage_error inside a handler on the
    /// polling thread. `what_for` is static text.
    void wait(char const* what_for) const
    {
        if (!ready())
            wait_slow(what_for);
    }
    /// The same with a time limit; true if ready.
    bool wait_for(char const* what_for, std::int64_t nanoseconds) const;

    /// Calls w.notify when the state becomes ready; false (and no call) if it already is.
    [[nodiscard]] bool add(waiter& w) const noexcept
    {
        waiter* head = waiters_.load(std::memory_order_acquire);
        do {
            if (head == done())
                return false;
            w.next = head;
        } while (!waiters_.compare_exchange_weak(head, &w, std::memory_order_acq_rel, std::memory_order_acquire));
        return true;
    }

    void set_error(std::exception_ptr e) noexcept
    {
        error_ = std::move(e);
        complete();
    }
    /// Sets the error without completion; call `complete` next.
    void emplace_error(std::exception_ptr e) noexcept { error_ = std::move(e); }
    [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }
    /// May be called once: the caller is the only owner of the exception then, in its thread.
    [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }
    void throw_if_error()
    {
        if (error_)
            std::rethrow_exception(take_error());
    }

    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept
    {
        // The last owner needs no atomic subtraction.
        if (references_.load(std::memory_order_acquire) == 1 || references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    /// For the watchdog's report of waits; static text.
    char const* name = "a future";

    /// Of two ready states, the one with the smaller number became ready first.
    [[nodiscard]] std::uint64_t order() const noexcept { return order_; }
    /// Sets the number before `complete`, if the caller has one.
    void set_order(std::uint64_t n) noexcept { order_ = n; }

    /// The slot of the call whose reply completes this state, + 1; 0: no call.
    [[nodiscard]] std::uint32_t call_slot() const noexcept { return call_slot_.load(std::memory_order_relaxed); }
    void set_call_slot(std::uint32_t n) noexcept { call_slot_.store(n, std::memory_order_relaxed); }
    /// Requests that the work behind the state does not start. Thread-safe; the caller holds a reference. Throws what sending throws.
    virtual void cancel();

    /// Makes it ready. The caller holds a separate reference, because waiters may release theirs during the call.
    void complete() noexcept
    {
        if (order_ == 0)
            order_ = next_order();
        waiter* w = waiters_.exchange(done(), std::memory_order_acq_rel);
        while (w != nullptr) {
            waiter* const next = w->next;
            w->notify(w);
            w = next;
        }
    }

protected:
    virtual ~state_base() = default;

private:
    void wait_slow(char const* what_for) const;
    /// The list head of a complete state: an address that is no waiter's.
    static waiter* done() noexcept { return reinterpret_cast<waiter*>(std::uintptr_t{1}); }

    mutable std::atomic<waiter*> waiters_{nullptr};
    std::atomic<std::uint32_t> references_;
    std::atomic<std::uint32_t> call_slot_{0};
    std::uint64_t order_ = 0;
    std::exception_ptr error_;
};

template <class T>
class state : public state_base {
public:
    using state_base::state_base;
    ~state() override
    {
        if (full_)
            value()->~T();
    }
    template <class... Args>
    void set_value(Args&&... args)
    {
        emplace(std::forward<Args>(args)...);
        complete();
    }
    /// Sets the value without completion; call `complete` next.
    template <class... Args>
    void emplace(Args&&... args)
    {
        ::new (static_cast<void*>(storage_)) T(std::forward<Args>(args)...);
        full_ = true;
    }
    /// Sets the result of make(), without a move.
    template <class Make>
    void emplace_from(Make&& make)
    {
        ::new (static_cast<void*>(storage_)) T(std::forward<Make>(make)());
        full_ = true;
    }
    template <class Make>
    void set_from(Make&& make)
    {
        emplace_from(std::forward<Make>(make));
        complete();
    }
    /// Ready states only.
    T take()
    {
        throw_if_error();
        return std::move(*value());
    }

private:
    T* value() noexcept { return std::launder(reinterpret_cast<T*>(storage_)); }
    alignas(T) std::byte storage_[sizeof(T)];
    bool full_ = false;
};

template <>
class state<void> : public state_base {
public:
    using state_base::state_base;
    void set_value() noexcept { complete(); }
    template <class Make>
    void set_from(Make&& make)
    {
        std::forward<Make>(make)();
        complete();
    }
    void take() { throw_if_error(); }
};

/// A counted reference to a state.
template <class State>
class state_ref {
public:
    state_ref() noexcept = default;
    /// Takes over a reference from the caller.
    explicit state_ref(State* adopted) noexcept : state_(adopted) {}
    state_ref(state_ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    state_ref(state_ref const& other) noexcept : state_(other.state_)
    {
        if (state_ != nullptr)
            state_->retain();
    }
    template <class Derived>
        requires std::is_base_of_v<State, Derived> && (!std::is_same_v<State, Derived>)
    state_ref(state_ref<Derived>&& other) noexcept : state_(other.detach()) {}
    state_ref& operator=(state_ref other) noexcept
    {
        std::swap(state_, other.state_);
        return *this;
    }
    ~state_ref()
    {
        if (state_ != nullptr)
            state_->release();
    }
    State* operator->() const noexcept { return state_; }
    State* get() const noexcept { return state_; }
    State* detach() noexcept { return std::exchange(state_, nullptr); }
    explicit operator bool() const noexcept { return state_ != nullptr; }

private:
    State* state_ = nullptr;
};

} // namespace towline::detail
