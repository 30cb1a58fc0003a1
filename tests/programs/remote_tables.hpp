#pragma once
// Two programs in one job share some functions; OWN is what only this one has.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <string>

namespace common {
inline int shared(int x) { return x + 1; }
inline std::string text(std::string const& s) { return s + "!"; }
} // namespace common

template <auto Own>
int run(int argc, char** argv, char const* name)
{
    namespace tl = towline;
    tl::world w(argc, argv);
    CHECK(tl::async<Own>(w.here(), 1).get() == 1);
    CHECK(tl::async<&common::shared>(w.next(), 1).get() == 2);
    CHECK(tl::async<&common::text>(w.next(), "a").get() == "a!");
    CHECK(tl::async<&common::shared>(w.all(), 1).get() == std::vector<int>(static_cast<std::size_t>(w.size()), 2));
    THROWS(tl::unknown_action_error, name, static_cast<void>(tl::async<Own>(w.next(), 1).get()));
    THROWS(tl::unknown_action_error, name, tl::post<Own>(w.next(), 1));
    THROWS(tl::unknown_action_error, name, static_cast<void>(tl::async<Own>(w.all(), 1).get()));
    CHECK(tl::async<&common::shared>(w.next(), 2).get() == 3);
    return 0;
}
