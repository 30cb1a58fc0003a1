#pragma once
// The members of an aggregate as references, by structured bindings: visit_members(object, f) calls f(first, second, ...).
// A table, because C++20 has no pack of bindings.

#include <towline/detail/members_count.hpp>

#include <cstddef>

namespace towline::detail {

template <class T, class F> [[gnu::always_inline]] constexpr decltype(auto) visit_members(T& object, F&& f)
{
    constexpr std::size_t count = member_count<std::remove_const_t<T>>;
    static_assert(count <= max_members, "towline: an aggregate may have up to 64 members; group some, or write a members() function");
    // clang-format off
    if constexpr (count == 0) {
        return f();
    } else if constexpr (count == 1) {
        auto& [a] = object; return f(a);
    } else if constexpr (count == 2) {
        auto& [a, b] = object; return f(a, b);
    } else if constexpr (count == 3) {
        auto& [a, b, c] = object; return f(a, b, c);
    } else if constexpr (count == 4) {
        auto& [a, b, c, d] = object; return f(a, b, c, d);
    } else if constexpr (count == 5) {
        auto& [a, b, c, d, e] = object; return f(a, b, c, d, e);
    } else if constexpr (count == 6) {
        auto& [a, b, c, d, e, g] = object; return f(a, b, c, d, e, g);
    } else if constexpr (count == 7) {
        auto& [a, b, c, d, e, g, h] = object; return f(a, b, c, d, e, g, h);
    } else if constexpr (count == 8) {
        auto& [a, b, c, d, e, g, h, i] = object; return f(a, b, c, d, e, g, h, i);
    } else if constexpr (count == 9) {
        auto& [a, b, c, d, e, g, h, i, j] = object; return f(a, b, c, d, e, g, h, i, j);
    } else if constexpr (count == 10) {
        auto& [a, b, c, d, e, g, h, i, j, k] = object; return f(a, b, c, d, e, g, h, i, j, k);
    } else if constexpr (count == 11) {
        auto& [a, b, c, d, e, g, h, i, j, k, m] = object; return f(a, b, c, d, e, g, h, i, j, k, m);
    } else if constexpr (count == 12) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n);
    } else if constexpr (count == 13) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n, p);
    } else if constexpr (count == 14) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q);
    } else if constexpr (count == 15) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r);
    } else if constexpr (count == 16) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s);
    } else if constexpr (count == 17) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t] = object; return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t);
    } else if constexpr (count == 18) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u);
    } else if constexpr (count == 19) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v);
    } else if constexpr (count == 20) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w);
    } else if constexpr (count == 21) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x);
    } else if constexpr (count == 22) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y);
    } else if constexpr (count == 23) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z);
    } else if constexpr (count == 24) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa);
    } else if constexpr (count == 25) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab);
    } else if constexpr (count == 26) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac);
    } else if constexpr (count == 27) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad);
    } else if constexpr (count == 28) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae);
    } else if constexpr (count == 29) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag);
    } else if constexpr (count == 30) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah);
    } else if constexpr (count == 31) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai);
    } else if constexpr (count == 32) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj);
    } else if constexpr (count == 33) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak);
    } else if constexpr (count == 34) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am);
    } else if constexpr (count == 35) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am,
               an] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an);
    } else if constexpr (count == 36) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap);
    } else if constexpr (count == 37) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq);
    } else if constexpr (count == 38) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar);
    } else if constexpr (count == 39) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as);
    } else if constexpr (count == 40) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at);
    } else if constexpr (count == 41) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au);
    } else if constexpr (count == 42) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av);
    } else if constexpr (count == 43) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw);
    } else if constexpr (count == 44) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax);
    } else if constexpr (count == 45) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay);
    } else if constexpr (count == 46) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az);
    } else if constexpr (count == 47) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba);
    } else if constexpr (count == 48) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb);
    } else if constexpr (count == 49) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc);
    } else if constexpr (count == 50) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd);
    } else if constexpr (count == 51) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be);
    } else if constexpr (count == 52) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg);
    } else if constexpr (count == 53) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh);
    } else if constexpr (count == 54) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi);
    } else if constexpr (count == 55) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj);
    } else if constexpr (count == 56) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk);
    } else if constexpr (count == 57) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm);
    } else if constexpr (count == 58) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn);
    } else if constexpr (count == 59) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp);
    } else if constexpr (count == 60) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq);
    } else if constexpr (count == 61) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br);
    } else if constexpr (count == 62) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs);
    } else if constexpr (count == 63) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs, bt] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs, bt);
    } else if constexpr (count == 64) {
        auto& [a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an,
            ap, aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs, bt, bu] = object;
        return f(a, b, c, d, e, g, h, i, j, k, m, n, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, ag, ah, ai, aj, ak, am, an, ap,
                 aq, ar, as, at, au, av, aw, ax, ay, az, ba, bb, bc, bd, be, bg, bh, bi, bj, bk, bm, bn, bp, bq, br, bs, bt, bu);
    }
    // clang-format on
}

} // namespace towline::detail
