#include "layout/stream.hpp"

#include "layout/copy_blocks.hpp"
#include "layout/description.hpp"

#include <towline/error.hpp>

namespace towline::layout {

stream::stream(datatype const& type, std::int64_t count)
{
    if (count < 0)
        throw usage_error("a message of " + std::to_string(count) + " elements; the count must be 0 or more");
    description const& d = type.describes();
    if (__builtin_mul_overflow(d.size, count, &size_))
        throw limit_error("a message of " + std::to_string(count) + " elements of " + std::to_string(d.size) +
                          " bytes is longer than 2^63 - 1 bytes");
    if (size_ == 0)
        return;
    node const& root = *d.bytes.tree;
    displacement_ = d.bytes.displacement;
    std::int64_t const extent = type.extent();
    if (root.what == form::block && (count == 1 || root.size == extent))
        return;
    std::int64_t whole = 0;
    bool const joins = root.what == form::loop &&
                       (count == 1 || (!__builtin_mul_overflow(root.count, root.stride, &whole) && whole == extent));
    child_ = joins ? root.child.get() : &root;
    stride_ = joins ? root.stride : extent;
}

void stream::pack(void const* buffer, std::int64_t first, std::int64_t last, void* to) const noexcept
{
    if (first >= last)
        return;
    place_t const at = moved(reinterpret_cast<place_t>(buffer), displacement_);
    block_copier<direction::pack> copier(static_cast<std::byte*>(to));
    if (child_ == nullptr)
        copier.block(moved(at, first), last - first, kind::byte);
    else
        walk_loop(*child_, stride_, at, first, last, copier);
}

void stream::unpack(void* buffer, std::int64_t first, std::int64_t last, void const* from) const noexcept
{
    if (first >= last)
        return;
    place_t const at = moved(reinterpret_cast<place_t>(buffer), displacement_);
    block_copier<direction::unpack> copier(static_cast<std::byte const*>(from));
    if (child_ == nullptr)
        copier.block(moved(at, first), last - first, kind::byte);
    else
        walk_loop(*child_, stride_, at, first, last, copier);
}

block stream::at(std::int64_t position) const noexcept
{
    if (child_ == nullptr)
        return {displacement_ + position, size_ - position};
    std::int64_t where = displacement_ + position / child_->size * stride_;
    position %= child_->size;
    for (node const* n = child_;;) {
        switch (n->what) {
        case form::block: return {where + position, n->size - position};
        case form::loop:
            where += position / n->child->size * n->stride;
            position %= n->child->size;
            n = n->child.get();
            break;
        case form::list:
            where += n->displacements[static_cast<std::size_t>(position / n->child->size)];
            position %= n->child->size;
            n = n->child.get();
            break;
        case form::pieces:
        case form::sequence: {
            auto const i = static_cast<std::size_t>(std::upper_bound(n->starts.begin(), n->starts.end(), position) - n->starts.begin() - 1);
            where += n->displacements[i];
            position -= n->starts[i];
            if (n->what == form::pieces)
                return {where + position, n->starts[i + 1] - n->starts[i] - position};
            n = n->children[i].get();
            break;
        }
        }
    }
}

std::size_t stream::blocks(std::int64_t first, std::int64_t last, std::span<block> out, std::int64_t& next) const noexcept
{
    std::size_t used = 0;
    for (next = first; next < last;) {
        block one = at(next);
        one.bytes = std::min(one.bytes, last - next);
        if (used != 0 && out[used - 1].displacement + out[used - 1].bytes == one.displacement)
            out[used - 1].bytes += one.bytes;
        else if (used == out.size())
            break;
        else
            out[used++] = one;
        next += one.bytes;
    }
    return used;
}

} // namespace towline::layout
