#include "transport/datagram/faults.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace towline::transport::datagram {

std::optional<faults> parse_faults(std::string_view text) noexcept
{
    faults f;
    while (!text.empty()) {
        std::string_view const item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        std::size_t const equals = item.find('=');
        if (equals == std::string_view::npos)
            return std::nullopt;
        std::string_view const name = item.substr(0, equals);
        char const* const begin = item.data() + equals + 1;
        char const* const end = item.data() + item.size();
        auto const read = [&](auto& value) {
            auto const [at, failed] = std::from_chars(begin, end, value);
            return failed == std::errc{} && at == end && value >= 0;
        };
        bool good = false;
        for (auto const& [known, value] : {std::pair{"loss", &f.loss}, {"duplicate", &f.duplicate}, {"reorder", &f.reorder},
                                           {"corrupt", &f.corrupt}, {"burst", &f.burst}}) {
            if (name == known)
                good = read(*value) && *value <= 1;
        }
        if (name == "burst_length")
            good = read(f.burst_length) && f.burst_length > 0;
        else if (name == "delay_ns")
            good = read(f.delay_ns);
        else if (name == "late_ns")
            good = read(f.late_ns);
        else if (name == "seed")
            good = read(f.seed);
        if (!good)
            return std::nullopt;
    }
    return f;
}

} // namespace towline::transport::datagram
