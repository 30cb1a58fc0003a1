#pragma once
// The archive of the unordered maps and sets. Elements travel in the order of iteration: equal containers may give different bytes.

#include <towline/detail/archive_associative.hpp>

#include <unordered_map>
#include <unordered_set>

namespace towline::detail {

template <class K, class T, class H, class E, class A>
struct codec<std::unordered_map<K, T, H, E, A>> : map_codec<std::unordered_map<K, T, H, E, A>, true> {};
template <class K, class T, class H, class E, class A>
struct codec<std::unordered_multimap<K, T, H, E, A>> : map_codec<std::unordered_multimap<K, T, H, E, A>, false> {};
template <class K, class H, class E, class A>
struct codec<std::unordered_set<K, H, E, A>> : set_codec<std::unordered_set<K, H, E, A>, true> {};
template <class K, class H, class E, class A>
struct codec<std::unordered_multiset<K, H, E, A>> : set_codec<std::unordered_multiset<K, H, E, A>, false> {};

} // namespace towline::detail
