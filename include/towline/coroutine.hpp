#pragma once
// Coroutines: `co_await` on a future, and future<T> as a coroutine's return type.
//
// A coroutine resumes as a task on the worker pool. GCC 12 destroys braced aggregates and capturing lambdas twice if they are temporaries
// inside a co_await expression: give such arguments names first.

#include <towline/future.hpp>

#include <coroutine>

namespace towline {

namespace detail {

template <class T>
class awaiter final : private waiter, private task {
public:
    explicit awaiter(state_ref<state<T>> s) noexcept : state_(std::move(s))
    {
        waiter::notify = [](waiter* w) noexcept { schedule(*static_cast<awaiter*>(w)); };
        task::run = [](task* t) noexcept { static_cast<awaiter*>(t)->handle_.resume(); };
    }
    awaiter(awaiter&&) = delete;
    [[nodiscard]] bool await_ready() const noexcept { return state_->ready(); }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept
    {
        handle_ = h;
        return state_->add(*this);
    }
    T await_resume() { return state_->take(); }

private:
    state_ref<state<T>> state_;
    std::coroutine_handle<> handle_;
};

template <class T>
struct coroutine_promise_base {
    state_ref<state<T>> result{new state<T>};
    future<T> get_return_object() { return access::make(result); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    /// The future becomes ready here, after the coroutine's locals are destroyed.
    std::suspend_never final_suspend() noexcept
    {
        result->complete();
        return {};
    }
    void unhandled_exception() noexcept { result->emplace_error(std::current_exception()); }
};
template <class T>
struct coroutine_promise : coroutine_promise_base<T> {
    template <class U>
    void return_value(U&& value)
    {
        this->result->emplace(std::forward<U>(value));
    }
};
template <>
struct coroutine_promise<void> : coroutine_promise_base<void> {
    void return_void() noexcept {}
};

} // namespace detail

template <class T>
[[nodiscard]] detail::awaiter<T> operator co_await(future<T>&& f)
{
    return detail::awaiter<T>(detail::access::detach(f));
}
template <class T>
[[nodiscard]] detail::awaiter<T> operator co_await(future<T>& f)
{
    return detail::awaiter<T>(detail::access::detach(f));
}

} // namespace towline

template <class T, class... Args>
struct std::coroutine_traits<towline::future<T>, Args...> {
    using promise_type = towline::detail::coroutine_promise<T>;
};
