// The exchange and the comparison of what ranks call.

#include "collective/call_check.hpp"

#include "base/checking.hpp"
#include "collective/operations.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace towline::collective {
namespace {

using part = call_check::part;

[[nodiscard]] std::string_view name_of(call_card const& c) noexcept
{
    return {c.name.data(), static_cast<std::size_t>(std::ranges::find(c.name, '\0') - c.name.begin())};
}

[[nodiscard]] bool differ(std::uint64_t a, std::uint64_t b) noexcept
{
    return a != b && a != call_card::any && b != call_card::any;
}

[[nodiscard]] std::optional<part> compare(call_card const& a, call_card const& b) noexcept
{
    if (name_of(a) != name_of(b))
        return part::call;
    if (a.root != b.root)
        return part::root;
    if (differ(a.operation, b.operation))
        return part::operation;
    if (differ(a.bytes, b.bytes))
        return part::bytes;
    if (differ(a.type, b.type))
        return part::type;
    return std::nullopt;
}

[[nodiscard]] std::string tell(int rank, call_card const& c)
{
    std::string text = fmt::format("rank {} calls {}", rank, name_of(c));
    if (c.root >= 0)
        text += fmt::format(" with root {}", c.root);
    if (c.bytes != call_card::any)
        text += fmt::format("{} {} bytes", c.root >= 0 ? "," : " with", c.bytes);
    return text;
}

[[nodiscard]] char const* tell(part what) noexcept
{
    switch (what) {
    case part::call: return "these are different operations";
    case part::root: return "the roots differ";
    case part::bytes: return "the numbers of bytes differ";
    case part::type: return "the datatypes differ";
    default: return "the operations of the reduction differ";
    }
}

} // namespace

bool checks_calls()
{
    return base::checking(base::check::collectives);
}

void call_card::set_name(std::string_view text) noexcept
{
    std::ranges::copy(text.substr(0, name.size() - 1), name.begin());
}

call_check::call_check(team const& t, call_card const& mine)
    : team_(t), mine_(mine), cards_(static_cast<std::size_t>(t.is_inter() ? t.remote_size() : t.size()))
{
    if (t.is_inter())  // each group compares with the other, whose roots and blocks are its own
        mine_.root = -1, mine_.bytes = mine_.type = call_card::any;
}

void call_check::build(schedule& s)
{
    collective::build(s, team_, allgather(&mine_, sizeof mine_, cards_.data(), sizeof mine_));
}

std::optional<call_check::difference> call_check::find() const
{
    for (std::size_t r = 0; r < cards_.size(); ++r) {
        call_card const& first = team_.is_inter() ? mine_ : cards_[0];
        if (auto const what = compare(first, cards_[r])) {
            std::string const other = tell(static_cast<int>(r), cards_[r]);
            std::string const one = team_.is_inter() ? tell(team_.rank(), first) : tell(0, first);
            char const* const where = team_.is_inter() ? " of the remote group" : "";
            return difference{*what, fmt::format("{}, and {}{}: {}", one, other, where, tell(*what))};
        }
    }
    return std::nullopt;
}

} // namespace towline::collective
