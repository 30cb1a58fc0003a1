#include "layout/identity.hpp"

#include <algorithm>

namespace towline::layout {
namespace {

/// `left`: nodes that may still be looked at.
bool alike(node const& a, node const& b, std::int64_t& left) noexcept
{
    if (&a == &b)
        return true;
    if (--left < 0 || a.what != b.what || a.size != b.size || a.count != b.count || a.stride != b.stride || a.depth != b.depth ||
        a.displacements != b.displacements || a.starts != b.starts)
        return false;
    if (a.child && !alike(*a.child, *b.child, left))
        return false;
    return std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                      [&](node_pointer const& x, node_pointer const& y) { return alike(*x, *y, left); });
}

} // namespace

bool alike(node const& a, node const& b) noexcept
{
    std::int64_t left = 1 << 16;
    return alike(a, b, left);
}

} // namespace towline::layout
