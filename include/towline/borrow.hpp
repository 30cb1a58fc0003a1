#pragma once
// borrow(): an argument that stays where it is.

#include <towline/detail/language.hpp>

#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

namespace towline {

/// A contiguous range lent to a call: it is not copied into the message, and must not change until the call is sent (call::sent). The
/// callee reads it as any contiguous range of T: std::vector<T>, std::span<T const>, serialize_buffer<T>, ...
template <class T> class borrowed {
public:
    explicit borrowed(std::span<T const> elements) noexcept : elements_(elements) {}
    [[nodiscard]] T const* data() const noexcept { return elements_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); } ///< elements

private:
    std::span<T const> elements_;
};

/// Lends a container or span. A temporary container is rejected: it would be destroyed before the call is sent.
template <std::ranges::contiguous_range Range>
    requires std::ranges::sized_range<Range>
[[nodiscard]] auto borrow(Range&& range) noexcept
{
    static_assert(std::ranges::borrowed_range<Range>, "towline: borrow() what outlives the call; move a temporary into the call instead");
    using element = std::ranges::range_value_t<Range>;
    return borrowed<element>(std::span<element const>(std::ranges::data(range), std::ranges::size(range)));
}

} // namespace towline
