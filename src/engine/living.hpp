#pragma once
// The engines of this process, so that a fork can close them in the child.

#include "engine/engine.hpp"

namespace towline::engine::living {

/// The first call installs the fork handler.
void add(engine::impl&);
void remove(engine::impl&) noexcept;

} // namespace towline::engine::living
