#pragma once
// Makes room in a vector for elements that are overwritten next, or lets it own memory that has them already. libstdc++ lets a derived
// class name the three pointers of a vector; with other libraries elements are written twice, and memory is never adopted.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace towline::detail {

#ifdef __GLIBCXX__
template <class E> struct opened_vector : std::vector<E> {
    static auto& pointers(std::vector<E>& v)
    {
        using impl = decltype(opened_vector::_M_impl);
        impl std::vector<E>::*const all = &opened_vector::_M_impl;
        return v.*all;
    }
};
template <class E, class A>
inline constexpr bool opens =
    std::is_same_v<A, std::allocator<E>> && std::is_trivially_copyable_v<E> && std::is_trivially_destructible_v<E>;
#else
template <class E, class A> inline constexpr bool opens = false;
#endif

/// True if a vector of this type can own memory that it did not allocate: its allocator is stateless, and releases by the global operator
/// delete. Vectors of _GLIBCXX_DEBUG have more members than the three pointers.
#ifdef _GLIBCXX_DEBUG
template <class E, class A> inline constexpr bool adopts = false;
#else
template <class E, class A> inline constexpr bool adopts = opens<E, A>;
#endif

/// Makes v own n elements at `block`, which the global operator delete may release; releases its old memory.
template <class E, class A>
    requires adopts<E, A>
void adopt_elements(std::vector<E, A>& v, void* block, std::size_t n) noexcept
{
    std::vector<E, A>().swap(v);
    auto& p = opened_vector<E>::pointers(v);
    p._M_start = static_cast<E*>(block);
    p._M_finish = p._M_end_of_storage = p._M_start + n;
}

/// Sets v.size() to n, at most its capacity, and leaves the elements uninitialised. resize() would write each of them first: a second pass
/// over memory, and for large blocks the one with the page faults.
template <class E, class A> [[gnu::always_inline]] inline void set_size(std::vector<E, A>& v, std::size_t n)
{
#ifdef __GLIBCXX__
    if constexpr (opens<E, A>) {
        auto& p = opened_vector<E>::pointers(v);
        p._M_finish = p._M_start + n;
        return;
    }
#endif
    if (n != v.size()) {
        v.resize(n);
    }
}

/// The same for any n.
template <class E, class A> void resize_for_overwrite(std::vector<E, A>& v, std::size_t n)
{
    if (n > v.capacity()) {
        v.clear();
        v.reserve(n);
    }
    set_size(v, n);
}

} // namespace towline::detail
