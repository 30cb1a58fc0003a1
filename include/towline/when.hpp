#pragma once
// Waiting for several futures: when_all, when_any.

#include <towline/future.hpp>

#include <cstddef>
#include <iterator>
#include <tuple>
#include <variant>
#include <vector>

namespace towline {

namespace detail {

/// Counts states down. Each state notifies it directly. Holds the producer's reference to the result.
class countdown {
public:
    explicit countdown(std::size_t n) : left_(n) {}
    virtual ~countdown() = default;
    void arrive() noexcept
    {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            finish();
    }

protected:
    virtual void finish() noexcept = 0;

private:
    std::atomic<std::size_t> left_;
};

struct countdown_waiter : waiter {
    countdown* owner = nullptr;
    void watch(countdown& c, state_base const& s) noexcept
    {
        owner = &c;
        notify = [](waiter* w) noexcept { static_cast<countdown_waiter*>(w)->owner->arrive(); };
        if (!s.add(*this))
            c.arrive();
    }
};

template <class T>
using void_to_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
template <class T>
void_to_monostate<T> take_value(state<T>& s)
{
    if constexpr (std::is_void_v<T>) {
        s.take();
        return {};
    } else
        return s.take();
}

template <class T>
class all_of_range final : public state<std::conditional_t<std::is_void_v<T>, void, std::vector<void_to_monostate<T>>>>, private countdown {
public:
    explicit all_of_range(std::vector<future<T>>& futures)
        : state<std::conditional_t<std::is_void_v<T>, void, std::vector<void_to_monostate<T>>>>(2), countdown(futures.size() + 1),
          waiters_(futures.size())
    {
        states_.reserve(futures.size());
        for (future<T>& f : futures)
            states_.push_back(access::detach(f));
    }
    void start() noexcept
    {
        for (std::size_t i = 0; i < states_.size(); ++i)
            waiters_[i].watch(*this, *states_[i].get());
        arrive();
    }

private:
    void cancel() override
    {
        for (auto const& s : states_)
            s->cancel();
    }
    void finish() noexcept override
    {
        set_from_call(*this, [this] {
            if constexpr (std::is_void_v<T>) {
                for (auto& s : states_)
                    s->take();
            } else {
                std::vector<T> values;
                values.reserve(states_.size());
                for (auto& s : states_)
                    values.push_back(s->take());
                return values;
            }
        });
        this->release();
    }
    std::vector<state_ref<state<T>>> states_;
    std::vector<countdown_waiter> waiters_;
};

template <class... T>
class all_of final : public state<std::tuple<void_to_monostate<T>...>>, private countdown {
public:
    explicit all_of(future<T>&... futures)
        : state<std::tuple<void_to_monostate<T>...>>(2), countdown(sizeof...(T) + 1), states_(access::detach(futures)...)
    {
    }
    void start() noexcept
    {
        std::apply([this](auto&... s) {
            std::size_t i = 0;
            (waiters_[i++].watch(*this, *s.get()), ...);
        }, states_);
        arrive();
    }

private:
    void cancel() override
    {
        std::apply([](auto const&... s) { (s->cancel(), ...); }, states_);
    }
    void finish() noexcept override
    {
        set_from_call(*this, [this] {
            return std::apply([](auto&... s) { return std::tuple<void_to_monostate<T>...>{take_value(*s.get())...}; }, states_);
        });
        this->release();
    }
    std::tuple<state_ref<state<T>>...> states_;
    countdown_waiter waiters_[sizeof...(T) + 1];
};

/// The first of several states to become ready; lives until the last state has released its waiter.
template <class T>
class any_of final : public state<std::size_t> {
    struct entry : waiter {
        any_of* owner = nullptr;
    };

public:
    explicit any_of(std::size_t n) : state<std::size_t>(1), entries_(n) {}
    template <class Futures>
    void start(Futures const& futures) noexcept
    {
        auto const state_of = [&](std::size_t i) -> state_base& { return access::of(static_cast<future<T> const&>(futures[i])); };
        state_base const* first = nullptr;
        std::size_t at = 0;
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (state_base const& s = state_of(i); s.ready() && (first == nullptr || s.order() < first->order())) {
                first = &s;
                at = i;
            }
        if (first != nullptr)
            return won(at);
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            entries_[i].owner = this;
            entries_[i].notify = [](waiter* w) noexcept {
                any_of* const a = static_cast<entry*>(w)->owner;
                a->won(static_cast<std::size_t>(static_cast<entry*>(w) - a->entries_.data()));
                a->release();
            };
            retain();
            if (!state_of(i).add(entries_[i])) {
                won(i);
                release();
                return;
            }
        }
    }

private:
    void cancel() override
    {
        if (!decided_.exchange(true, std::memory_order_acq_rel))
            this->set_error(cancelled("towline::when_any"));
    }
    void won(std::size_t i) noexcept
    {
        if (!decided_.exchange(true, std::memory_order_acq_rel))
            set_value(i);
    }
    std::vector<entry> entries_;
    std::atomic<bool> decided_{false};
};

template <class T, class Futures>
future<std::size_t> first_of_all(Futures const& futures)
{
    if (futures.empty())
        throw usage_error("towline::when_any of no futures would wait for ever");
    for (future<T> const& f : futures)
        static_cast<void>(access::of(f));
    auto* any = new any_of<T>(futures.size());
    future<std::size_t> result = access::make<std::size_t>(any);
    any->start(futures);
    any->release();
    return result;
}

} // namespace detail

/// Ready when every future is: their values in order (void: future<void>). If some failed, throws the error of the first by position, after
/// all have ended.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>>&& futures)
{
    for (auto const& f : futures)
        static_cast<void>(detail::access::of(f));
    auto* all = new detail::all_of_range<T>(futures);
    using result = std::conditional_t<std::is_void_v<T>, void, std::vector<detail::void_to_monostate<T>>>;
    detail::state_ref<detail::state<result>> mine(all);
    all->start();
    return detail::access::make(std::move(mine));
}

/// The same for the results of async.
template <class T>
[[nodiscard]] auto when_all(std::vector<call<T>>&& calls)
{
    std::vector<future<T>> futures(std::move_iterator(calls.begin()), std::move_iterator(calls.end()));
    return when_all(std::move(futures));
}

/// The same for futures of different types: a tuple of values (void: std::monostate). Both consume the futures. If one has no state, they
/// throw usage_error and consume none.
template <class... Futures>
    requires(sizeof...(Futures) > 0 && (!std::is_lvalue_reference_v<Futures> && ...))
[[nodiscard]] auto when_all(Futures&&... futures)
{
    return [](auto&... f) {
        (static_cast<void>(detail::access::of(f)), ...);
        return [&]<class... T>(future<T>&... g) {
            auto* all = new detail::all_of<T...>(g...);
            detail::state_ref<detail::state<std::tuple<detail::void_to_monostate<T>...>>> mine(all);
            all->start();
            return detail::access::make(std::move(mine));
        }(f...);
    }(futures...);
}

// Futures must be moved: an lvalue cannot be consumed.
template <class Future, class... Futures>
    requires(std::is_lvalue_reference_v<Future> || (std::is_lvalue_reference_v<Futures> || ...))
auto when_all(Future&&, Futures&&...)
{
    static_assert(sizeof...(Futures) == ~std::size_t{0},
                  "towline: when_all uses futures up: pass std::move(future), each, or std::move(vector)");
    return future<detail::any_result>();
}

/// Ready when one of the futures is: its index, the first to become ready. The futures stay with the caller. Throws usage_error for an
/// empty vector.
template <class T>
[[nodiscard]] future<std::size_t> when_any(std::vector<future<T>> const& futures)
{
    return detail::first_of_all<T>(futures);
}

template <class T>
[[nodiscard]] future<std::size_t> when_any(std::vector<call<T>> const& calls)
{
    return detail::first_of_all<T>(calls);
}

} // namespace towline
