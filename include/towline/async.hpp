#pragma once
// Remote calls.
//
//     future<R> f = async<&function>(peer, args...);      runs function(args...) at peer; the future holds its result or what went wrong
//     post<&function>(peer, args...);                     the same without an answer; delivered before the world ends
//     async<&function>(w.all(), args...)                  at many, down a tree: future<std::vector<R>> in the order of the localities
//
// Callable are functions, static member functions and lambdas without captures that are known at compile time; a cast selects overloads.
// Arguments convert to the parameters' types. Contiguous data below 8 KiB travel in the message. Of larger data,
//   - an lvalue is copied before async returns, and the caller may change it then. A std::vector of the callee owns the copy (under towline
//     run, if the program does not replace malloc or operator new); into any other object it is copied again;
//   - an rvalue is kept until it is sent, and copied once from its memory; a moved rma_vector changes owner instead;
//   - a shared rma_vector or serialize_buffer, and borrow(x), are copied once from their memory: do not change them until sent().
// A parameter std::span<T const> or std::string_view refers to the message while the function runs.
//
// Threads: any. async and post do not wait for the called function. While a peer accepts no more messages, they make progress for this
// process, which may run small functions here. The future's get() throws the errors of a call: remote_error (the function threw),
// unknown_action_error, peer_error, limit_error, version_error, archive_error. post throws those that are known when it is called. Both
// throw usage_error before they return for a rank out of range, and if there is no world.

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

/// The future of a call, which also tells when memory lent to the call may be reused.
template <class R>
class [[nodiscard]] call : public future<R> {
public:
    call() noexcept = default;
    call(future<R> result, detail::state_ref<detail::state<void>> sent) noexcept : future<R>(std::move(result)), sent_(std::move(sent)) {}

    /// Ready when everything that was lent or borrowed may be reused (also if the peer died first).
    [[nodiscard]] future<void> sent() const { return sent_ ? detail::access::make(sent_) : make_ready_future(); }

private:
    detail::state_ref<detail::state<void>> sent_;
};

namespace detail {

/// Encodes and sends; returns the state of *sent*, or null.
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
        s->release();  // dispatch throws only errors before sending
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

/// A first argument that is no place; remote<T> has separate overloads for member functions.
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

/// Calls F at one process without an answer. If F throws, the callee prints the exception.
template <auto F, class... Args>
void post(locality to, Args&&... args)
{
    using action = detail::function_action<F>;
    if constexpr (detail::check_call<action, Args...>())
        detail::dispatch<action>(to.rank(), {}, std::forward<Args>(args)...);
}

/// Calls F at many processes: arguments are encoded once and travel down a tree, results travel up. An exception at any rank becomes the
/// result and names the rank; of several, the first by position. Throws usage_error for ranks out of range or named twice. Without
/// localities it is ready immediately. Nothing changes owner on the way down: moved arguments are lent, and read by many.
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
/// The same without an answer; exceptions are printed at their rank.
template <auto F, class... Args>
void post(localities const& to, Args&&... args)
{
    using action = detail::function_action<F>;
    if constexpr (detail::check_call<action, Args...>())
        detail::dispatch_all<action>(to.ranks(), nullptr, nullptr, std::forward<Args>(args)...);
}

// Overloads that do not compile and say why.

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
