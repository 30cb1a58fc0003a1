#pragma once
// A rank to itself: one ring in private memory. Handlers run from `poll`, never inside `try_send`.

#include "base/event_count.hpp"
#include "transport/transport.hpp"

#include <memory>

namespace towline::transport::self {

/// The component by which `rank` talks to itself. `event` is where the rank's own threads sleep (null: they do not); not owned.
[[nodiscard]] std::unique_ptr<component> make(peer rank, base::event_count* event = nullptr,
                                              base::fence_side fences = base::fence_side::notifier_fences);

} // namespace towline::transport::self
