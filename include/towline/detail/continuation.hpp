#pragma once
// Continuations of futures: future::then. Internal; included by towline/future.hpp.

#include <towline/future.hpp>

#include <atomic>
#include <exception>
#include <type_traits>
#include <utility>

namespace towline {

namespace detail {

/// Completes `to` with f(args...): its value, the value of the future that it returns, or its exception.
template <class To, class F, class... Args>
void set_from_call(state<To>& to, F&& f, Args&&... args) noexcept
{
    using result = std::invoke_result_t<F, Args...>;
    std::exception_ptr error;
    try {
        if constexpr (is_future<result>::value) {
            auto inner = std::forward<F>(f)(std::forward<Args>(args)...);
            if constexpr (is_future<typename is_future<result>::of>::value)
                set_from_call(to, [&] { return inner.get(); });
            else
                to.set_from([&] { return inner.get(); });
        } else
            to.set_from([&]() -> result { return std::forward<F>(f)(std::forward<Args>(args)...); });
        return;
    } catch (...) {
        error = std::current_exception();
    }
    to.set_error(std::move(error));
}

template <class F, class T>
struct continuation_result {
    // A generic lambda that accepts both gets the value.
    static constexpr bool by_value = std::is_invocable_v<F&&, T>;
    using type = typename std::conditional_t<by_value, std::invoke_result<F&&, T>, std::invoke_result<F&&, future<T>>>::type;
};
template <class F>
struct continuation_result<F, void> {
    static constexpr bool by_value = std::is_invocable_v<F&&>;
    using type = typename std::conditional_t<by_value, std::invoke_result<F&&>, std::invoke_result<F&&, future<void>>>::type;
};

/// The state of then's future; also the task that runs f and the waiter on the first state. The waiter's reference is the producer's.
template <class To, class T, class F>
class continuation final : public state<To>, private waiter, private task {
public:
    continuation(state_ref<state<T>> from, F f) : state<To>(2), from_(std::move(from)), f_(std::move(f))
    {
        waiter::notify = [](waiter* w) noexcept { schedule(*static_cast<continuation*>(w)); };
        task::run = [](task* t) noexcept { static_cast<continuation*>(t)->call(); };
    }
    void start() noexcept
    {
        if (!from_->add(*this))
            schedule(*this);
    }

private:
    /// `call` takes the preceding state, or `cancel` a copy of it.
    state_ref<state<T>> take_from(bool all) noexcept
    {
        while (from_in_use_.exchange(true, std::memory_order_acquire))
            ;
        state_ref<state<T>> from = all ? std::move(from_) : from_;
        from_in_use_.store(false, std::memory_order_release);
        return from;
    }
    void cancel() override
    {
        if (state_ref<state<T>> const from = take_from(false))
            from->cancel();
    }
    void call() noexcept
    {
        {
            F f = std::move(f_);
            state_ref<state<T>> from = take_from(true);
            if constexpr (!continuation_result<F, T>::by_value)
                set_from_call(*this, std::move(f), access::make(std::move(from)));
            else if (from->error())
                this->set_error(from->take_error());
            else if constexpr (std::is_void_v<T>)
                set_from_call(*this, std::move(f));
            else
                set_from_call(*this, std::move(f), from->take());
        }
        this->release();
    }
    state_ref<state<T>> from_;
    std::atomic<bool> from_in_use_{false};
    F f_;
};

} // namespace detail

template <class T>
template <class F>
auto future<T>::then(F&& f)
{
    using function = std::decay_t<F>;
    using result = typename detail::unwrapped<std::decay_t<typename detail::continuation_result<function, T>::type>>::type;
    static_cast<void>(state());
    auto* c = new detail::continuation<result, T, function>(std::move(state_), std::forward<F>(f));
    detail::state_ref<detail::state<result>> mine(c);
    c->start();
    return detail::access::make(std::move(mine));
}

} // namespace towline
