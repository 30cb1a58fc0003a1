#pragma once
// Parameters and result of whatever can be called remotely. Internal.

#include <towline/small.hpp>

#include <type_traits>

namespace towline::detail {

template <class... T>
struct type_list {
    static constexpr auto size = sizeof...(T);
};

template <class R, class... P>
struct signature_of {
    using result = R;
    using parameters = type_list<P...>;
};

template <class F>
struct member_signature;  // of a pointer to member function; `object` is its class
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
struct signature : member_signature<decltype(&F::operator())> {  // lambdas
    static_assert(std::is_empty_v<F>, "towline: a lambda that is called remotely must not capture; pass what it needs as arguments");
};
template <class R, class... P>
struct signature<R (*)(P...)> : signature_of<R, P...> {};
template <class R, class... P>
struct signature<R (*)(P...) noexcept> : signature_of<R, P...> {};

template <class Mark>
struct marked;  // of an as_small mark: the function in it
template <auto F>
struct marked<small_function<F>> {
    static constexpr auto function = F;
};

/// The function behind an as_small mark, and whether it is marked either way.
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
