#pragma once
// Parameters and result of callable functions. Internal.

#include <towline/small.hpp>

#include <type_traits>

namespace towline::detail {

template <class... T>
struct type_list {
    static constexpr auto size = sizeof...(T);
};

/// Reasons why a function cannot be called remotely; mistakes.hpp has the cures.
enum class mistake {
    none, member, variadic, generic, no_function, qualified, count, reference, pointer, writable_span, immovable, returns_pointer,
    returns_view, not_moved, not_convertible,
};

template <class R, class... P>
struct signature_of {
    static constexpr mistake wrong = mistake::none;
    using result = R;
    using parameters = type_list<P...>;
};

/// For errors only.
template <mistake M, class R = void>
struct no_signature : signature_of<R> {
    static constexpr mistake wrong = M;
};

template <class F>
struct member_signature : no_signature<mistake::qualified> {  // of a pointer to member function; `object` is its class
    using object = void;
};
#define TOWLINE_MEMBER(QUALIFIERS)                                               \
    template <class R, class C, class... P>                                      \
    struct member_signature<R (C::*)(P...) QUALIFIERS> : signature_of<R, P...> { \
        using object = C;                                                        \
    };
TOWLINE_MEMBER()
TOWLINE_MEMBER(const)
TOWLINE_MEMBER(noexcept)
TOWLINE_MEMBER(const noexcept)
TOWLINE_MEMBER(&)
TOWLINE_MEMBER(const&)
TOWLINE_MEMBER(& noexcept)
TOWLINE_MEMBER(const& noexcept)
#undef TOWLINE_MEMBER

template <class F>
consteval auto find_signature()
{
    if constexpr (requires { &F::operator(); })  // lambdas
        return std::type_identity<member_signature<decltype(&F::operator())>>();
    else if constexpr (std::is_member_function_pointer_v<F>)
        return std::type_identity<no_signature<mistake::member, typename member_signature<F>::result>>();
    else
        return std::type_identity<no_signature<std::is_class_v<F> ? mistake::generic : mistake::no_function>>();
}
template <class F>
struct signature : decltype(find_signature<F>())::type {};
template <class R, class... P>
struct signature<R (*)(P..., ...)> : no_signature<mistake::variadic, R> {};
template <class R, class... P>
struct signature<R (*)(P..., ...) noexcept> : no_signature<mistake::variadic, R> {};
template <class R, class... P>
struct signature<R (*)(P...)> : signature_of<R, P...> {};
template <class R, class... P>
struct signature<R (*)(P...) noexcept> : signature_of<R, P...> {};

template <class Mark>
struct marked;  // the function in an as_small mark
template <auto F>
struct marked<small_function<F>> {
    static constexpr auto function = F;
};

/// The function in an as_small mark, and whether it is marked either way.
template <auto F>
struct target {
    static constexpr auto function = F;
    static constexpr bool is_small = ::towline::small<F>;
};
template <auto F>
    requires requires { marked<std::remove_cv_t<decltype(F)>>::function; }
struct target<F> {
    static constexpr auto function = marked<std::remove_cv_t<decltype(F)>>::function;
    static constexpr bool is_small = true;
};

} // namespace towline::detail
