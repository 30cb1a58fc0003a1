#pragma once
// Runs a call at the callee (decode, call, encode the result), and decodes the result at the caller. Internal.

#include <towline/detail/encode.hpp>
#include <towline/future.hpp>
#include <towline/locality.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <typeinfo>
#include <vector>

namespace towline::detail {

/// The type of a call's result on the wire: what the function returns, or the value of the future that it returns.
template <class R>
using result_type = wire_type<typename unwrapped<wire_type<R>>::type>;

/// Answers with an archive of make().
template <class Make>
void reply_with_archive(invocation& in, Make&& make)
{
    parcel out;
    auto& value = out.hold(std::forward<Make>(make));
    in.running = false;  // later errors are not the function's
    out.writer().write(std::move(value));
    out.end_argument(false);
    in.reply(out);
}

/// Answers with packed values; false, and nothing is sent, if a block in them cannot change owner.
template <class R>
bool reply_with_values(invocation& in, R& value)
{
    constexpr packed_extent extent = extent_of<R>();
    std::array<std::uint64_t, extent.handles> places;
    std::uint64_t* place = places.data();
    if (!share_blocks(std::as_const(value), place, [&in](void const* data, std::size_t size) { return in.share(data, size); }))
        return false;
    std::byte bytes[extent.bytes + footer_bytes];
    std::byte* end = bytes;
    std::uint64_t const* next = places.data();
    pack_one(end, value, next);
    if (in.reply_packed(bytes, extent.bytes))
        let_go_of_blocks(value);
    return true;
}

template <class F>
void run_and_reply(invocation& in, F&& call)
{
    using returned = std::invoke_result_t<F>;
    using result = result_type<returned>;
    in.running = true;
    auto const get = [&]() -> result {
        if constexpr (is_future<wire_type<returned>>::value)
            return call().get();
        else
            return call();
    };
    if constexpr (std::is_void_v<result>) {
        get();
        std::byte room[footer_bytes];
        static_cast<void>(in.reply_packed(room, 0));
    } else if constexpr (packable<result>()) {
        result value = get();
        if (!reply_with_values(in, value))
            reply_with_archive(in, [&]() -> result { return std::move(value); });
    } else {
        reply_with_archive(in, get);
    }
}

[[noreturn]] void throw_packing_mismatch();

/// Reads packed values as a tuple.
template <class... P>
std::tuple<wire_type<P>...> unpack(type_list<P...>, message_view& m)
{
    check_packed_size<P...>(m);
    [[maybe_unused]] std::byte const* p = m.bytes.data();
    return std::tuple<wire_type<P>...>{unpack_one<wire_type<P>>(m, p)...};
}

/// Calls f with arguments decoded as the parameters' types.
template <class... P, class F>
void decode_and_run(type_list<P...> parameters, invocation& in, F&& f)
{
    auto const with = [&](std::tuple<wire_type<P>...>& arguments) {
        run_and_reply(in, [&]() -> decltype(auto) {
            return std::apply([&](wire_type<P>&... a) -> decltype(auto) {
                return std::invoke(f, static_cast<std::conditional_t<std::is_reference_v<P>, P, wire_type<P>&&>>(a)...);
            }, arguments);
        });
    };
    if constexpr (packable<P...>()) {
        if (in.packed) {
            auto arguments = unpack(parameters, in);
            return with(arguments);
        }
    }
    if constexpr (always_packable<P...>()) {
        throw_packing_mismatch();
    } else {
        if (in.packed)
            throw_packing_mismatch();
        archive_reader reader(in.bytes, in.chunks, {.max_bytes = in.max_bytes});
        std::tuple<wire_type<P>...> arguments{reader.read<wire_type<P>>()...};
        reader.finish();
        in.wait_for_blocks();
        with(arguments);
    }
}

/// Free functions, static members, lambdas.
template <auto F>
struct function_action {
    using signature = detail::signature<std::remove_cv_t<decltype(target<F>::function)>>;
    using parameters = typename signature::parameters;
    using result = result_type<typename signature::result>;
    static constexpr mistake wrong = signature::wrong;
    static constexpr bool is_small = target<F>::is_small;

    static void run(invocation& in)
    {
        decode_and_run(parameters{}, in, target<F>::function);
    }
    static void const* identity()
    {
        if constexpr (std::is_pointer_v<std::remove_cv_t<decltype(target<F>::function)>>)
            return reinterpret_cast<void const*>(target<F>::function);
        else
            return reinterpret_cast<void const*>(&run);
    }
};

/// The entry of an action: one object per program. A call uses it, so that it is registered before main.
template <class Action>
struct registration {
    inline static action_entry entry{typeid(Action).name(), Action::identity(), &Action::run, Action::is_small};
};

/// Completes the state of a call from its reply.
template <class R>
void complete_call(state_base& base, message_view& m)
{
    auto& s = static_cast<state<R>&>(base);
    if constexpr (std::is_void_v<R>) {
        if (!m.packed || !m.bytes.empty())
            throw_packing_mismatch();
    } else if (packable<R>() && m.packed) {
        if constexpr (packable<R>()) {
            check_packed_size<R>(m);
            s.emplace_from([&] {
                std::byte const* p = m.bytes.data();
                return unpack_one<R>(m, p);
            });
        }
    } else if constexpr (always_packable<R>()) {
        throw_packing_mismatch();
    } else {
        if (m.packed)
            throw_packing_mismatch();
        archive_reader reader(m.bytes, m.chunks, {.max_bytes = m.max_bytes});
        s.emplace_from([&] { return reader.read<R>(); });
        reader.finish();
        m.wait_for_blocks();
    }
    s.complete();
}

/// Completes the state of a broadcast from all its replies.
template <class R>
struct list_of {
    using type = std::vector<R>;
};
template <>
struct list_of<void> {
    using type = void;
};

template <class R>
void complete_broadcast(state_base& base, std::span<message_view* const> replies)
{
    if constexpr (std::is_void_v<R>)
        base.complete();
    else {
        std::vector<R> values;
        values.reserve(replies.size());
        for (message_view* const m : replies) {
            // A temporary state, so that one function decodes both forms of a reply.
            state_ref one(new state<R>);
            complete_call<R>(*one.get(), *m);
            values.push_back(one->take());
        }
        static_cast<state<std::vector<R>>&>(base).set_value(std::move(values));
    }
}

} // namespace towline::detail
