// Parses TOWLINE_ONLOAD, and chooses the helper's core.

#include "onload/placement.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "onload/inline_engine.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace towline::onload {
namespace {

constexpr int most_cores = 1 << 16;

std::optional<int> number(std::string_view text) noexcept
{
    int value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0 || value >= most_cores)
        return std::nullopt;
    return value;
}

std::string plural(unsigned n, std::string_view word)
{
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

} // namespace

std::optional<request> parse_request(std::string_view text) noexcept
{
    if (text == "auto")
        return request{wish::automatic, -1};
    // 0 and 1 are cores, not switches.
    if (auto const core = number(text))
        return request{wish::core, *core};
    if (text == "on" || text == "off")
        return request{text == "on" ? wish::on : wish::off, -1};
    return std::nullopt;
}

request requested()
{
    base::check_setting("TOWLINE_ONLOAD");
    return parse_request(base::setting("TOWLINE_ONLOAD").value_or("off")).value_or(request{wish::off, -1});
}

placement place(request r, surroundings const& s)
{
    placement p;
    std::vector<int> spare;
    std::copy_if(s.allowed.begin(), s.allowed.end(), std::back_inserter(spare),
                 [&](int c) { return std::find(s.bound.begin(), s.bound.end(), c) == s.bound.end(); });
    unsigned count = s.cores > s.ranks ? s.cores - s.ranks : 0;
    if (!s.bound.empty())
        count = std::min(s.cores, static_cast<unsigned>(spare.size()));
    std::string const there = fmt::format("{} for {}", plural(s.cores, "core"), plural(s.ranks, "rank"));
    switch (r.what) {
    case wish::off:
        p.why = "not asked for";
        return p;
    case wish::core:
        p.on = true;
        p.cores = {r.core};
        p.spare = s.bound.empty() ? count != 0 : std::find(s.bound.begin(), s.bound.end(), r.core) == s.bound.end();
        p.own_core = p.spare && s.ranks == 1;
        p.why = fmt::format("on core {}, by TOWLINE_ONLOAD", r.core);
        return p;
    case wish::automatic:
        if (s.ranks < 2) {
            p.why = "a rank alone has nobody to move data from";
            return p;
        }
        if (count == 0) {
            p.why = there + ": none is spare";
            return p;
        }
        break;
    case wish::on:
        break;
    }
    p.on = true;
    p.spare = count != 0;
    p.own_core = count >= s.ranks;
    if (count == 0) {
        p.why = there + ": none is spare, so ranks and helpers take turns";
        p.cores = s.allowed;
    } else if (s.bound.empty()) {
        p.why = fmt::format("{}: {} spare, the system chooses", there, count);
        p.cores = s.allowed;
    } else {
        p.cores = {spare[s.rank % spare.size()]};
        p.why = fmt::format("{}: {} spare; core {} is this rank's{}", there, count, p.cores.front(),
                            p.own_core ? "" : ", shared with others");
    }
    return p;
}

bool explain(request r, unsigned cores, std::string& text)
{
    switch (r.what) {
    case wish::off:
        text = "no helper threads; TOWLINE_ONLOAD=auto puts them on spare cores";
        return false;
    case wish::core:
        text = fmt::format("by TOWLINE_ONLOAD: helper threads copy big blocks and make progress, on core {}", r.core);
        return true;
    case wish::on:
        text = fmt::format("by TOWLINE_ONLOAD: helper threads copy big blocks and make progress, on spare cores in jobs of less than {}",
                           plural(cores, "rank"));
        return true;
    case wish::automatic:
        break;
    }
    if (cores < 3) {
        text = fmt::format("{} cannot be spare beside two ranks; TOWLINE_ONLOAD=on or a core's number turns helper threads on",
                           cores == 1 ? "one core" : fmt::format("{} cores", cores));
        return false;
    }
    text = fmt::format("in jobs of 2 to {} ranks helper threads on spare cores copy big blocks and make progress; TOWLINE_ONLOAD=off "
                       "turns them off",
                       cores - 1);
    return true;
}

std::unique_ptr<copy_engine> open(placement const& p, helper_options o)
{
    if (!p.on)
        return make_inline();
    o.cores = p.cores;
    std::string why_not;
    if (std::unique_ptr<copy_engine> made = start_helper(o, why_not))
        return made;
    base::log(base::log_level::info, "copies are not on-loaded: {}", why_not);
    return make_inline();
}

std::optional<std::vector<int>> parse_cores(std::string_view text)
{
    std::vector<int> cores;
    while (!text.empty()) {
        std::size_t const comma = std::min(text.find(','), text.size());
        std::string_view const part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        std::size_t const dash = part.find('-');
        auto const first = number(part.substr(0, dash));
        auto const last = dash == part.npos ? first : number(part.substr(dash + 1));
        if (!first || !last || *last < *first)
            return std::nullopt;
        for (int c = *first; c <= *last; ++c)
            cores.push_back(c);
    }
    if (cores.empty())
        return std::nullopt;
    return cores;
}

} // namespace towline::onload
