#include "profile.hpp"

#include <algorithm>
#include <cmath>

namespace blast {

radial_profile profile_of(solver const& s, exchange& others, solver_settings const& settings)
{
    struct shell {
        exact_sum density;
        exact_sum radius;
        std::uint64_t cells = 0;
    };
    triple const cells = settings.cells;
    auto count = static_cast<std::size_t>(std::min({cells[0], cells[1], cells[2]}) / 2);
    std::vector<shell> shells(count);
    for (block const& b : s.blocks()) {
        box const& where = b.where();
        for (int z = where.first[2]; z < where.first[2] + where.cells[2]; ++z)
            for (int y = where.first[1]; y < where.first[1] + where.cells[1]; ++y) {
                double const* row = b.row(0, y, z);
                for (int x = 0; x < where.cells[0]; ++x) {
                    double dx = where.first[0] + x + 0.5 - 0.5 * cells[0];
                    double dy = y + 0.5 - 0.5 * cells[1];
                    double dz = z + 0.5 - 0.5 * cells[2];
                    double r = std::sqrt(dx * dx + dy * dy + dz * dz);
                    auto i = static_cast<std::size_t>(r);
                    if (i >= count)
                        continue;
                    shells[i].density.add(row[x]);
                    shells[i].radius.add(r);
                    ++shells[i].cells;
                }
            }
    }
    constexpr std::size_t each = 2 * exact_sum::written + 1;
    std::vector<std::uint64_t> words(count * each);
    for (std::size_t i = 0; i < count; ++i) {
        shells[i].density.write(&words[i * each]);
        shells[i].radius.write(&words[i * each + exact_sum::written]);
        words[i * each + each - 1] = shells[i].cells;
    }
    radial_profile profile;
    auto parts = others.gather(words);
    if (parts.empty())
        return profile;
    for (std::size_t i = 0; i < count; ++i) {
        shell all;
        for (std::vector<std::uint64_t> const& one : parts) {
            exact_sum part;
            part.read(&one[i * each]);
            all.density += part;
            part.read(&one[i * each + exact_sum::written]);
            all.radius += part;
            all.cells += one[i * each + each - 1];
        }
        if (all.cells == 0)
            continue;
        profile.radius.push_back(all.radius.value() / static_cast<double>(all.cells) * settings.width);
        profile.density.push_back(all.density.value() / static_cast<double>(all.cells));
    }
    return profile;
}

double shock_radius(radial_profile const& profile, double undisturbed)
{
    auto peak = std::max_element(profile.density.begin(), profile.density.end());
    if (peak == profile.density.end() || !(*peak > undisturbed))
        return 0;
    double half = undisturbed + 0.5 * (*peak - undisturbed);
    for (auto i = static_cast<std::size_t>(peak - profile.density.begin()) + 1; i < profile.density.size(); ++i) {
        if (profile.density[i] > half)
            continue;
        double part = (profile.density[i - 1] - half) / (profile.density[i - 1] - profile.density[i]);
        return profile.radius[i - 1] + part * (profile.radius[i] - profile.radius[i - 1]);
    }
    return 0; // the shock has left
}

} // namespace blast
