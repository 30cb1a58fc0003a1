#include "collective/team.hpp"

#include "base/settings.hpp"

namespace towline::collective {

bool wished_in_order()
{
    static bool const keep = base::setting_switch("TOWLINE_DETERMINISTIC", false);
    return keep;
}

} // namespace towline::collective
