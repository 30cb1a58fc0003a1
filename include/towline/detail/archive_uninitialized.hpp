#pragma once
// Making room in a vector for elements that are about to be overwritten.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace towline::detail {

/// v.size() becomes n; the elements hold anything. resize() would write each of them first: a second pass over memory, and for a big block
/// the one that takes the page faults. libstdc++ lets a derived class name its three pointers; elsewhere this is resize().
template <class E, class A> [[gnu::always_inline]] inline void resize_for_overwrite(std::vector<E, A>& v, std::size_t n)
{
#ifdef __GLIBCXX__
    if constexpr (std::is_same_v<A, std::allocator<E>> && std::is_trivially_copyable_v<E> && std::is_trivially_destructible_v<E>) {
        struct opened : std::vector<E, A> {
            static void set_size(std::vector<E, A>& v, std::size_t size)
            {
                using impl = decltype(opened::_M_impl);
                impl std::vector<E, A>::*const pointers = &opened::_M_impl;
                (v.*pointers)._M_finish = (v.*pointers)._M_start + size;
            }
        };
        if (n > v.capacity()) {
            v.clear();
            v.reserve(n);
        }
        opened::set_size(v, n);
        return;
    }
#endif
    if (n > v.capacity()) {
        v.clear();
        v.reserve(n);
    }
    if (n != v.size()) {
        v.resize(n);
    }
}

} // namespace towline::detail
