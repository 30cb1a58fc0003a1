#pragma once
// The engine of a process that is a rank of a job.

#include "engine/engine.hpp"

#include <memory>

namespace towline::engine {

/// Whether copies and progress of this process are on-loaded, where, and why (TOWLINE_ONLOAD). Joins the job. Throws usage_error for a
/// wrong setting.
[[nodiscard]] onload::placement process_onload();

/// Whether packets to other nodes need threads: they are acknowledged, and sent again, while the program computes. Joins the job.
[[nodiscard]] bool process_uses_network();

/// Builds the engine of this process from its membership and the transports that are there. Joins the job if that has not happened.
/// The caller owns it and makes one at a time. `background`: answer peers while no thread of the program polls. `one_thread`: the
/// program promises that one thread at a time calls, and nothing is on-loaded then; otherwise as process_onload says.
/// Throws usage_error where a setting of this process cannot be used, and what membership::instance, the transports and engine::engine
/// throw.
[[nodiscard]] std::unique_ptr<engine> process_engine(bool background = true, bool one_thread = false);

} // namespace towline::engine
