#include "layout/parts.hpp"

namespace towline::layout {

part copies(part const& p, std::int64_t count, std::int64_t stride, checked const& in)
{
    part made;
    made.limits.take(p.limits, 0, count, stride, in);
    made.size = in.mul(p.size, count, "size");
    made.external_size = in.mul(p.external_size, count, "size");
    made.elements = in.mul(p.elements, count, "number of elements");
    made.bytes = repeat(p.bytes, count, stride);
    made.typed = p.has_one_tree() ? made.bytes : repeat(p.typed, count, stride);
    if (made.size != 0)
        made.uniform = p.uniform;
    return made;
}

datatype finished(part&& p, checked const& in)
{
    auto made = std::make_shared<description>();
    made->lb = p.limits.lb();
    made->ub = p.limits.ub(in);
    static_cast<void>(in.sub(made->ub, made->lb, "extent"));
    static_cast<part&>(*made) = std::move(p);
    return datatype(std::move(made));
}

void assembly::reserve(std::size_t n)
{
    bytes_.reserve(n);
    expected_ = n;
}

void assembly::add(std::int64_t displacement, part const& p)
{
    sum_.limits.take(p.limits, displacement, 1, 0, in_);
    if (p.size == 0)
        return;
    mixed_ = mixed_ || (sum_.size != 0 && sum_.uniform != p.uniform) || !p.uniform;
    sum_.uniform = p.uniform;
    sum_.size = in_.add(sum_.size, p.size, "size");
    sum_.external_size = in_.add(sum_.external_size, p.external_size, "size");
    sum_.elements = in_.add(sum_.elements, p.elements, "number of elements");
    if (one_tree_ && (mixed_ || !p.has_one_tree())) {
        typed_.reserve(expected_);
        typed_ = bytes_;
        bytes_.forget_units();
        one_tree_ = false;
    }
    bytes_.add(displacement, p.bytes);
    if (!one_tree_)
        typed_.add(displacement, p.typed);
}

part assembly::finish()
{
    if (mixed_)
        sum_.uniform.reset();
    sum_.bytes = bytes_.finish();
    sum_.typed = one_tree_ ? sum_.bytes : typed_.finish();
    return std::move(sum_);
}

} // namespace towline::layout
