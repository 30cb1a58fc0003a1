#pragma once
// Finds calls that cannot be made remotely before other templates are instantiated: one error that names the cure, and no other follows.
// Internal.

#include <towline/borrow.hpp>
#include <towline/detail/packed.hpp>
#include <towline/detail/signature.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace towline {
template <class T, std::size_t N>
class strided_view;
template <class T, std::size_t N>
class borrowed_view;
}

namespace towline::detail {

template <class T>
inline constexpr bool is_borrowed = false;
template <class T>
inline constexpr bool is_borrowed<borrowed<T>> = true;
template <class T>
inline constexpr bool is_view = false;
template <class T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <class C, class Tr>
inline constexpr bool is_view<std::basic_string_view<C, Tr>> = true;
template <class T, std::size_t N>
inline constexpr bool is_view<strided_view<T, N>> = true;
template <class T>
inline constexpr bool is_writable_view = false;
template <class T, std::size_t N>
inline constexpr bool is_writable_view<std::span<T, N>> = !std::is_const_v<T>;

template <class T, std::size_t N>
inline constexpr bool is_writable_view<strided_view<T, N>> = !std::is_const_v<T>;

/// Parameters and arguments with strides.
template <class T>
struct strided_parts {
    static constexpr std::size_t rank = 0;
};
template <class T, std::size_t N>
struct strided_parts<strided_view<T, N>> {
    static constexpr std::size_t rank = N;
    static constexpr bool lent = false;
    using element = std::remove_const_t<T>;
};
template <class T, std::size_t N>
struct strided_parts<borrowed_view<T, N>> {
    static constexpr std::size_t rank = N;
    static constexpr bool lent = true;
    using element = T;
};
template <class T>
inline constexpr bool is_strided = strided_parts<T>::rank != 0;

/// Contiguous ranges share one encoding: a borrowed range may be read as any range of such elements.
template <class P, class E>
inline constexpr bool passes_borrowed = requires(wire_type<P> const& p) {
    requires std::is_same_v<std::remove_cv_t<typename wire_type<P>::value_type>, E>;
    p.data();
    p.size();
};
/// Readable as a view of as many dimensions, or as any range of the elements.
template <class P, class A>
consteval bool passes_strided()
{
    using to = strided_parts<wire_type<P>>;
    using from = strided_parts<std::remove_cvref_t<A>>;
    if constexpr (from::rank == 0)
        return false;
    else if constexpr (to::rank == 0)
        return passes_borrowed<P, typename from::element>;
    else
        return to::rank == from::rank && std::is_same_v<typename to::element, typename from::element>;
}
template <class P, class A>
inline constexpr bool passes = std::is_convertible_v<A&&, wire_type<P>> || passes_strided<P, A>();
template <class P, class E>
inline constexpr bool passes<P, borrowed<E>> = passes_borrowed<P, E>;
template <class P, class E>
inline constexpr bool passes<P, borrowed<E>&> = passes_borrowed<P, E>;
template <class P, class E>
inline constexpr bool passes<P, borrowed<E> const&> = passes_borrowed<P, E>;

template <class P, class A>
consteval mistake mistake_of_argument()
{
    if constexpr (passes<P, A>)
        return mistake::none;
    else if constexpr (std::is_lvalue_reference_v<A> && passes<P, std::remove_cvref_t<A>>)
        return mistake::not_moved;
    else
        return mistake::not_convertible;
}

template <class P>
consteval mistake mistake_of_parameter()
{
    if constexpr (std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>)
        return mistake::reference;
    else if constexpr (std::is_pointer_v<wire_type<P>>)
        return mistake::pointer;
    else if constexpr (is_writable_view<wire_type<P>>)
        return mistake::writable_span;
    else if constexpr (!std::is_move_constructible_v<wire_type<P>>)
        return mistake::immovable;
    else
        return mistake::none;
}

template <class R>
consteval mistake mistake_of_result()
{
    if constexpr (std::is_pointer_v<wire_type<R>>)
        return mistake::returns_pointer;
    else if constexpr (is_view<wire_type<R>>)
        return mistake::returns_view;
    else if constexpr (!std::is_void_v<R> && !std::is_move_constructible_v<wire_type<R>>)
        return mistake::immovable;
    else
        return mistake::none;
}

consteval mistake first_of(mistake a, mistake b)
{
    return a != mistake::none ? a : b;
}

/// The mistake in calling this with arguments of types A.
template <class Signature, class... A, class... P>
consteval mistake mistake_of_call(type_list<P...>)
{
    mistake m = Signature::wrong;
    ((m = first_of(m, mistake_of_parameter<P>())), ...);
    m = first_of(m, mistake_of_result<typename Signature::result>());
    if constexpr (sizeof...(P) != sizeof...(A))
        return first_of(m, mistake::count);
    else {
        ((m = first_of(m, mistake_of_argument<P, A>())), ...);
        return m;
    }
}

/// Reports a mistake at compile time; true if there is none.
template <mistake M>
consteval bool tell()
{
    static_assert(M != mistake::member,
                  "towline: a member function is called on an object that lives there: make one with towline::create<T>(peer, ...).get() "
                  "and pass that towline::remote<T> in place of the locality");
    static_assert(M != mistake::variadic,
                  "towline: a function with C's variable arguments (...) cannot be called remotely, nobody knows what to send; "
                  "take parameters, or a std::vector");
    static_assert(M != mistake::generic,
                  "towline: a generic lambda or an overloaded operator() has no types to send; write the types of its parameters: "
                  "[](int x) { ... }");
    static_assert(M != mistake::no_function,
                  "towline: async, post: the template argument is not a function; write async<&function>(peer, ...)");
    static_assert(M != mistake::qualified,
                  "towline: a volatile or && member function cannot be called remotely");
    static_assert(M != mistake::count,
                  "towline: this remote call has too few or too many arguments for its function (a default argument is not known here: "
                  "pass it, too)");
    static_assert(M != mistake::reference,
                  "towline: a function with a T& parameter cannot be called remotely, the caller's variable is in another process; "
                  "take T or T const& and return the changed value");
    static_assert(M != mistake::pointer,
                  "towline: a function with a T* parameter cannot be called remotely, the pointer means nothing in another process; "
                  "take T const&, std::span<T const>, std::string_view or towline::remote<T>");
    static_assert(M != mistake::writable_span,
                  "towline: a std::span<T> parameter of a remote call looks into the message; take std::span<T const> (in place of a "
                  "strided_view<T, N> a strided_view<T const, N>)");
    static_assert(M != mistake::immovable,
                  "towline: a parameter or result that cannot be moved (it holds a lock or an atomic, or has its moves deleted) cannot "
                  "travel: send the data in it, or leave it where it is (towline::remote<T>)");
    static_assert(M != mistake::returns_pointer,
                  "towline: a function that returns a pointer cannot be called remotely; return a value, std::string or "
                  "towline::remote<T>");
    static_assert(M != mistake::returns_view,
                  "towline: a function that returns a view cannot be called remotely, what it looks at stays behind; "
                  "return std::vector or std::string");
    static_assert(M != mistake::not_moved,
                  "towline: an argument of this remote call cannot be copied, only moved: write std::move(argument)");
    static_assert(M != mistake::not_convertible,
                  "towline: an argument of this remote call does not convert to its parameter's type");
    return M == mistake::none;
}

/// True if the call can be made; else a compile-time error.
template <class Action, class... A>
consteval bool check_call()
{
    return tell<mistake_of_call<Action, A...>(typename Action::parameters{})>();
}

// Destinations of calls.

template <class T>
struct is_future;  // future.hpp
template <class T>
inline constexpr bool is_remote = false;  // object.hpp

enum class misplaced { rank, waits, object, other };

template <class Where>
consteval misplaced how_misplaced()
{
    if constexpr (std::is_arithmetic_v<Where> || std::is_enum_v<Where>)
        return misplaced::rank;
    else if constexpr (is_future<Where>::value)
        return misplaced::waits;
    else if constexpr (is_remote<Where>)
        return misplaced::object;
    else
        return misplaced::other;
}

template <class Where>
consteval void tell_where()
{
    constexpr misplaced how = how_misplaced<Where>();
    static_assert(how != misplaced::rank, "towline: a number is no place to call: write w.at(rank), or towline::locality(rank)");
    static_assert(how != misplaced::waits, "towline: this future holds the place to call: pass its get()");
    static_assert(how != misplaced::object,
                  "towline: on a remote<T> member functions of T are called: async<&T::member>(object, ...); a free function is called "
                  "at a locality, as object.where() is");
    static_assert(how != misplaced::other, "towline: the first argument is the place to call: w.at(rank), w.next(), w.all(), or a "
                                           "towline::remote<T> for a member function");
}

/// Any argument, as the last overload: calls that mean another function of this name (std::async) select that one.
struct whatever {
    whatever() = default;
    template <class T>
    whatever(T&&)
    {
    }
};

} // namespace towline::detail
