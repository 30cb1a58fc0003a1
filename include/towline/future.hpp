#pragma once
// future<T>: a value that arrives later; promise<T>: sets it.
//
// A future has one owner at a time (move only); any thread may set the value. A wait on a worker suspends the handler, and the thread does
// other work. A wait on a plain thread makes progress for the process. Continuations run as tasks on the worker pool, and may wait, too.

#include <towline/detail/state.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace towline {

template <class T>
class future;
template <class T>
class promise;
template <class T>
class call;  // also a future: towline/async.hpp

namespace detail {

template <class T>
struct is_future : std::false_type {};
template <class T>
struct is_future<future<T>> : std::true_type {
    using of = T;
};
template <class T>
struct is_future<call<T>> : is_future<future<T>> {};
template <class T>
struct unwrapped {
    using type = T;
};
template <class T>
struct unwrapped<future<T>> : unwrapped<T> {};
template <class T>
struct unwrapped<call<T>> : unwrapped<T> {};

[[noreturn]] void throw_no_state();
[[nodiscard]] std::exception_ptr broken_promise();

struct access;

} // namespace detail

/// The result of a wait with a time limit.
enum class future_status { ready, timeout };

namespace detail {

[[nodiscard]] std::exception_ptr cancelled(char const* what);

/// The value of a call that does not compile: converts to anything, so that only one error is reported.
struct any_result {
    template <class T>
    operator T() const;
};

} // namespace detail

/// All functions except valid, moves and the destructor throw usage_error if there is no state: default constructed, moved from, after get
/// or then. Waiting in a small function throws usage_error, because it must not wait. The destructor does not wait.
template <class T>
class [[nodiscard]] future {
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T>, "future<T>: T is a value type or void");

public:
    using value_type = T;

    future() noexcept = default;
    future(future&&) noexcept = default;
    future& operator=(future&&) noexcept = default;

    /// False after get, then, or a move.
    [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
    /// True if there is a value or an exception: get will not block.
    [[nodiscard]] bool is_ready() const { return state().ready(); }

    /// Blocks until ready. Does not throw what the value's producer threw.
    void wait() const { state().wait(state().name); }
    /// Blocks at most this long, as std::future does. `if (f.wait_for(10ms) == towline::future_status::ready)`.
    template <class Rep, class Period>
    future_status wait_for(std::chrono::duration<Rep, Period> const& d) const
    {
        // As a floating-point number first: more nanoseconds than an integer holds mean no limit.
        double const ns = std::chrono::duration<double, std::nano>(d).count();
        std::int64_t const limit = ns >= 9e18 ? INT64_MAX : std::chrono::ceil<std::chrono::nanoseconds>(d).count();
        return state().wait_for(state().name, limit) ? future_status::ready : future_status::timeout;
    }
    /// Blocks at most until then, by the time point's clock.
    template <class Clock, class Duration>
    future_status wait_until(std::chrono::time_point<Clock, Duration> const& end) const
    {
        while (!is_ready()) {
            auto const now = Clock::now();
            if (end <= now)
                return future_status::timeout;
            static_cast<void>(wait_for(end - now));
        }
        return future_status::ready;
    }

    /// Requests that the work behind this future is dropped if it has not started: then get throws cancelled_error. Work that runs or has
    /// run is not affected, and its result arrives. Does not block. The future stays valid, and becomes ready in either case. A call (async
    /// to one process) is dropped if it still waits for a worker at the callee. A future of then cancels the future that it continues; one
    /// of when_all each of its futures. A future of when_any becomes ready immediately, and its futures are not affected. No effect on
    /// others (promises, coroutines, calls to many processes).
    void cancel() const { state().cancel(); }

    /// Blocks, then returns the value or throws what the producer threw: remote_error, peer_error, limit_error, ...
    /// Afterwards the future is no longer valid.
    T get()
    {
        state().wait(state().name);
        detail::state_ref<detail::state<T>> const last = std::move(state_);
        return last->take();
    }

    /// Not a conversion: reports the missing call at compile time.
    template <class U>
        requires std::same_as<U, T>
    operator U() const
    {
        static_assert(sizeof(U) == 0, "towline: a future is not yet its value: say get(), which waits for it");
        return state().take();
    }

    /// Runs `f` once this future is ready and returns a future of its result. If f takes the value (void: nothing), exceptions skip it; f
    /// may take the ready future<T> instead. A future returned by f is unwrapped. This future is no longer valid afterwards.
    template <class F>
    auto then(F&& f);

private:
    friend struct detail::access;
    explicit future(detail::state_ref<detail::state<T>> s) noexcept : state_(std::move(s)) {}
    detail::state<T>& state() const
    {
        if (!state_)
            detail::throw_no_state();
        return *state_.get();
    }
    detail::state_ref<detail::state<T>> state_;
};

namespace detail {

struct access {
    template <class T>
    static future<T> make(state_ref<state<T>> s) noexcept
    {
        return future<T>(std::move(s));
    }
    /// A future and its producer's reference to the state.
    template <class T>
    static future<T> make(state<T>* producer) noexcept
    {
        producer->retain();
        return future<T>(state_ref<state<T>>(producer));
    }
    template <class T>
    static state<T>& of(future<T> const& f)
    {
        return f.state();
    }
    template <class T>
    static state_ref<state<T>> detach(future<T>& f)
    {
        static_cast<void>(f.state());
        return std::move(f.state_);
    }
};

} // namespace detail

/// Sets the value. Thread-safe against the future; one owner. If it is destroyed without a value, the future gets an error.
template <class T>
class promise {
public:
    promise() : state_(new detail::state<T>) {}
    promise(promise&&) noexcept = default;
    promise& operator=(promise other) noexcept
    {
        std::swap(state_, other.state_);
        std::swap(set_, other.set_);
        std::swap(taken_, other.taken_);
        return *this;
    }
    ~promise()
    {
        if (state_ && !set_)
            state_->set_error(detail::broken_promise());
    }
    /// May be called once. Throws usage_error after a move or on a second call.
    [[nodiscard]] future<T> get_future()
    {
        if (!state_ || std::exchange(taken_, true))
            detail::throw_no_state();
        return detail::access::make(state_);
    }
    /// Throws usage_error when the promise was set before.
    template <class... Args>
        requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::is_constructible_v<std::conditional_t<std::is_void_v<T>, int, T>, Args...>)
    void set_value(Args&&... args)
    {
        begin();
        state_->set_value(std::forward<Args>(args)...);
        set_ = true;
    }
    /// As set_value; get throws the exception.
    void set_exception(std::exception_ptr e)
    {
        begin();
        state_->set_error(std::move(e));
        set_ = true;
    }

private:
    void begin() const
    {
        if (!state_ || set_)
            detail::throw_no_state();
    }
    detail::state_ref<detail::state<T>> state_;
    bool set_ = false;
    bool taken_ = false;
};

/// A future that is ready.
template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(T&& value)
{
    detail::state_ref s(new detail::state<std::decay_t<T>>);
    s->set_value(std::forward<T>(value));
    return detail::access::make(std::move(s));
}
[[nodiscard]] inline future<void> make_ready_future()
{
    detail::state_ref s(new detail::state<void>);
    s->set_value();
    return detail::access::make(std::move(s));
}
/// A future whose get throws.
template <class T>
[[nodiscard]] future<T> make_exceptional_future(std::exception_ptr e)
{
    detail::state_ref s(new detail::state<T>);
    s->set_error(std::move(e));
    return detail::access::make(std::move(s));
}

} // namespace towline

#include <towline/detail/continuation.hpp>
