#pragma once
// The archive of std::map, std::multimap, std::set and std::multiset.

#include <towline/detail/archive_associative.hpp>

#include <map>
#include <set>

namespace towline::detail {

template <class K, class T, class C, class A> struct codec<std::map<K, T, C, A>> : map_codec<std::map<K, T, C, A>, true> {};
template <class K, class T, class C, class A> struct codec<std::multimap<K, T, C, A>> : map_codec<std::multimap<K, T, C, A>, false> {};
template <class K, class C, class A> struct codec<std::set<K, C, A>> : set_codec<std::set<K, C, A>, true> {};
template <class K, class C, class A> struct codec<std::multiset<K, C, A>> : set_codec<std::multiset<K, C, A>, false> {};

} // namespace towline::detail
