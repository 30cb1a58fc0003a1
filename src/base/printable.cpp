// Escapes text that another process wrote.

#include "base/printable.hpp"

#include <cstddef>

namespace towline::base {

namespace {

/// Bytes of the well-formed, harmless character that begins there; 0: there is none.
std::size_t character(std::span<char const> text) noexcept
{
    auto const at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    unsigned const first = at(0);
    if (first < 0x80)
        return first >= ' ' && first != 0x7f ? 1 : 0;
    std::size_t const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    unsigned value = length == 2 ? first & 0x1f : length == 3 ? first & 0x0f : first & 0x07;
    for (std::size_t i = 1; i < length; ++i) {
        if ((at(i) & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at(i) & 0x3f);
    }
    bool const overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    bool const control = value < 0xa0 || value == 0x2028 || value == 0x2029 || (value >= 0x202a && value <= 0x202e) ||
                         (value >= 0x2066 && value <= 0x2069);  // C1, line ends, changes of direction
    bool const surrogate = value >= 0xd800 && value < 0xe000;
    return overlong || control || surrogate || value > 0x10ffff ? 0 : length;
}

} // namespace

void make_printable(std::span<char> text) noexcept
{
    while (!text.empty()) {
        std::size_t length = character(text);
        if (length == 0) {
            text[0] = '?';
            length = 1;
        }
        text = text.subspan(length);
    }
}

std::string printable(std::string_view text)
{
    std::string clean(text);
    make_printable(clean);
    return clean;
}

} // namespace towline::base
