#pragma once
// What constructors are made of: something with data and bounds, copies of it in a row, and several of them side by side.

#include "layout/description.hpp"

namespace towline::layout {

[[nodiscard]] inline part const& part_of(datatype const& t) noexcept
{
    return t.describes();
}
/// `count` copies, `stride` bytes apart.
[[nodiscard]] part copies(part const&, std::int64_t count, std::int64_t stride, checked const&);
[[nodiscard]] datatype finished(part&&, checked const&);

/// Parts at displacements, in the order of the stream.
class assembly {
public:
    explicit assembly(checked in) : in_(in) {}
    void add(std::int64_t displacement, part const&);
    void reserve(std::size_t n);
    [[nodiscard]] part finish();

private:
    checked in_;
    part sum_;
    bool mixed_ = false;     ///< not of one predefined datatype
    bool one_tree_ = true;   ///< `bytes_` stands for `typed_`
    gatherer bytes_, typed_;
    std::size_t expected_ = 0;
};

} // namespace towline::layout
