// Reads PMI_process_mapping.

#include "job/launch/process_mapping.hpp"

#include <array>
#include <charconv>
#include <unordered_map>

namespace towline::job::launch {

namespace {

bool skip(std::string_view& text, std::string_view what)
{
    if (!text.starts_with(what))
        return false;
    text.remove_prefix(what.size());
    return true;
}

bool number(std::string_view& text, std::uint32_t& value)
{
    auto const [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (bad != std::errc{})
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace

std::optional<std::vector<std::uint32_t>> parse_process_mapping(std::string_view text, std::uint32_t size)
{
    if (!skip(text, "(vector"))
        return std::nullopt;
    std::vector<std::array<std::uint32_t, 3>> blocks;
    while (skip(text, ",")) {
        std::array<std::uint32_t, 3> b{};
        if (!skip(text, "(") || !number(text, b[0]) || !skip(text, ",") || !number(text, b[1]) || !skip(text, ",") || !number(text, b[2]) ||
            !skip(text, ")") || b[1] == 0 || b[2] == 0)
            return std::nullopt;
        blocks.push_back(b);
    }
    if (text != ")" || blocks.empty())
        return std::nullopt;
    std::vector<std::uint64_t> nodes;
    while (nodes.size() < size)
        for (auto const& [first, count, ranks] : blocks)
            for (std::uint32_t n = 0; n < count && nodes.size() < size; ++n)
                for (std::uint32_t r = 0; r < ranks && nodes.size() < size; ++r)
                    nodes.push_back(std::uint64_t{first} + n);
    return numbered_anew(nodes);
}

std::vector<std::uint32_t> numbered_anew(std::vector<std::uint64_t> const& nodes)
{
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    std::vector<std::uint32_t> result;
    for (std::uint64_t const n : nodes)
        result.push_back(numbers.try_emplace(n, static_cast<std::uint32_t>(numbers.size())).first->second);
    return result;
}

} // namespace towline::job::launch
