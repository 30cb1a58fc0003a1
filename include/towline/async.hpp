#pragma once
// Remote calls.
//
//     future<R> f = async<&function>(peer, args...);      runs function(args...) at peer; the future holds its result or what went wrong
//     post<&function>(peer, args...);                     the same without an answer; delivered before the world ends
//     async<&function>(w.all(), args...)                  at many, down a tree: future<std::vector<R>> in the order of the localities
//
// Any function, static member function or lambda without captures that is known at compile time; overloads are chosen by a cast.
// Arguments convert to the parameters' types. Small values are copied. Of big contiguous data (8 KiB and more; less travels in the message)
//   - an lvalue is copied before async returns, so that the caller may change it at once; a std::vector of the callee then owns the copy
//     (under towline run, where the program has no malloc or operator new of its own), into any other object it is copied again;
//   - an rvalue is kept until it was sent, and read once from where it is; a moved rma_vector changes owner instead;
//   - an rma_vector or serialize_buffer that others share, and borrow(x), is read once from where it is: leave it alone until sent().
// A parameter std::span<T const> or std::string_view looks into the message while the function runs.
//
// Threads: any. async and post do not wait for the called function; while a peer takes no more messages for now they make progress for this
// process, which may run small functions here. Errors of a call are thrown by its future's get(): remote_error (the function
// threw), unknown_action_error, peer_error, limit_error, version_error, archive_error. post throws those that are known when it is called.
// Both throw usage_error at once for a rank that is not there, and where there is no world.

#include <towline/detail/invoke.hpp>
#include <towline/future.hpp>
#include <towline/locality.hpp>
#include <towline/remote_error.hpp>
#include <towline/small.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace towline {

/// The future of a call, and the moment from which on what was lent to it may be reused.
template <class R>
class [[nodiscard]] call : public future<R> {
public:
    call() noexcept = default;
    call(future<R> result, detail::state_ref<detail::state<void>> sent) noexcept : future<R>(std::move(result)), sent_(std::move(sent)) {}

    /// Ready when everything that was lent or borrowed may be reused (also when the peer died first).
    [[nodiscard]] future<void> sent() const { return sent_ ? detail::access::make(sent_) : make_ready_future(); }

private:
    detail::state_ref<detail::state<void>> sent_;
};

namespace detail {

/// Encodes and sends; the state of *sent*, or null.
template <class... P, class... A>
state_ref<state<void>> send_call(type_list<P...> parameters, action_entry const& entry, int rank, reply_to reply, A&&... arguments)
{
    constexpr packed_extent extent = extent_of_all<P...>;
    if constexpr (packable<P...>() && (... && lets_blocks_go<P, A>)) {
        std::array<std::uint64_t, extent.handles> places;
        [[maybe_unused]] std::uint64_t* place = places.data();
        [[maybe_unused]] auto const share = [&]<class W>(std::type_identity<W>, auto const& argument) {
            if constexpr (extent_of<W>().handles == 0)
                return true;
            else
                return share_blocks(argument, place, [rank](void const* data, std::size_t n) { return share_block(rank, data, n); });
        };
        if ((... && share(std::type_identity<wire_type<P>>{}, arguments))) {
            std::byte buffer[extent.bytes + footer_bytes];
            pack(parameters, buffer, places.data(), std::forward<A>(arguments)...);
            if (send_packed(entry, rank, reply, buffer, extent.bytes))
                (let_go_of_blocks(arguments), ...);
            return {};
        }
    }
    if constexpr (always_packable<P...>()) {
        return {};
    } else {
        parcel out;
        encode_all(parameters, out, std::forward<A>(arguments)...);
        return send_parcel(entry, rank, reply, out);
    }
}

template <class Action, class... A>
state_ref<state<void>> dispatch(int rank, reply_to reply, A&&... arguments)
{
    return send_call(typename Action::parameters{}, registration<Action>::entry, rank, reply, std::forward<A>(arguments)...);
}

template <class Action, class... A>
call<typename Action::result> begin_call(int rank, A&&... arguments)
{
    using result = typename Action::result;
    auto* const s = new state<result>(2);
    future<result> f = access::make(state_ref<state<result>>(s));
    s->name = registration<Action>::entry.name;
    try {
        auto sent = dispatch<Action>(rank, {s, &complete_call<result>}, std::forward<A>(arguments)...);
        return {std::move(f), std::move(sent)};
    } catch (...) {
        s->release();  // dispatch throws only what came before sending
        throw;
    }
}

template <class... P, class... A>
state_ref<state<void>> send_call_to_all(type_list<P...> parameters, action_entry const& entry, std::span<int const> ranks, state_base* s,
                                        complete_all_function complete, A&&... arguments)
{
    if constexpr (always_packable<P...>()) {
        std::byte buffer[extent_of_all<P...>.bytes + footer_bytes];
        std::byte* const end = pack(parameters, buffer, nullptr, std::forward<A>(arguments)...);
        return send_to_all(entry, ranks, s, complete, {buffer, end}, nullptr);
    } else {
        parcel out(true);
        encode_all(parameters, out, std::forward<A>(arguments)...);
        return send_to_all(entry, ranks, s, complete, {}, &out);
    }
}

template <class Action, class... A>
state_ref<state<void>> dispatch_all(std::span<int const> ranks, state_base* s, complete_all_function complete, A&&... arguments)
{
    return send_call_to_all(typename Action::parameters{}, registration<Action>::entry, ranks, s, complete, std::forward<A>(arguments)...);
}

/// A first argument that says no place; remote<T> has overloads of its own for member functions.
template <class T>
concept no_place = !std::is_convertible_v<T const&, locality> && !std::is_convertible_v<T const&, localities>;

} // namespace detail

/// Calls F at one process.
template <auto F, class... Args>
auto async(locality to, Args&&... args)
{
    using action = detail::function_action<F>;
    if constexpr (detail::check_call<action, Args...>())
        return detail::begin_call<action>(to.rank(), std::forward<Args>(args)...);
    else
        return call<typename action::result>();
}

/// Calls F at one process; no answer, no word of what it threw (that is printed at the callee).
template <auto F, class... Args>
void post(locality to, Args&&... args)
{
    using action = detail::function_action<F>;
    if constexpr (detail::check_call<action, Args...>())
        detail::dispatch<action>(to.rank(), {}, std::forward<Args>(args)...);
}

/// Calls F at many processes: the arguments are encoded once and travel down a tree, the results up again. An exception anywhere becomes
/// the result, naming the rank; the first by position if there are several. Throws usage_error for a rank that is not there or there twice;
/// no localities: ready at once. Nothing changes owner on the way down: what is moved is lent, and read by many.
template <auto F, class... Args>
auto async(localities const& to, Args&&... args)
{
    using action = detail::function_action<F>;
    using one = typename action::result;
    using all = typename detail::list_of<one>::type;
    if constexpr (detail::check_call<action, Args...>()) {
        auto* const s = new detail::state<all>(2);
        future<all> f = detail::access::make(detail::state_ref<detail::state<all>>(s));
        try {
            auto sent = detail::dispatch_all<action>(to.ranks(), s, &detail::complete_broadcast<one>, std::forward<Args>(args)...);
            return call<all>(std::move(f), std::move(sent));
        } catch (...) {
            s->release();
            throw;
        }
    } else
        return call<all>();
}
/// The same without an answer; what a function throws is printed at its rank.
template <auto F, class... Args>
void post(localities const& to, Args&&... args)
{
    using action = detail::function_action<F>;
    if constexpr (detail::check_call<action, Args...>())
        detail::dispatch_all<action>(to.ranks(), nullptr, nullptr, std::forward<Args>(args)...);
}

// What does not compile, with the reason.

template <auto F, class Where, class... Args>
    requires(detail::no_place<Where>)
auto async(Where const&, Args&&...)
{
    detail::tell_where<Where>();
    return call<typename detail::function_action<F>::result>();
}
template <auto F, class Where, class... Args>
    requires(detail::no_place<Where>)
void post(Where const&, Args&&...)
{
    detail::tell_where<Where>();
}
template <class Never = void>
call<detail::any_result> async(detail::whatever, detail::whatever = {}, detail::whatever = {}, detail::whatever = {},
                               detail::whatever = {}, detail::whatever = {}, detail::whatever = {}, detail::whatever = {})
{
    static_assert(!std::is_void_v<Never>,
                  "towline: the function is a template argument: async<&function>(peer, arguments...); of lambdas only those without "
                  "captures: async<[](int x) { return x; }>(peer, 1)");
    return {};
}
template <class Never = void>
void post(detail::whatever, detail::whatever = {}, detail::whatever = {}, detail::whatever = {}, detail::whatever = {},
          detail::whatever = {}, detail::whatever = {}, detail::whatever = {})
{
    static_assert(!std::is_void_v<Never>,
                  "towline: the function is a template argument: post<&function>(peer, arguments...); of lambdas only those without "
                  "captures: post<[](int x) { }>(peer, 1)");
}

} // namespace towline
