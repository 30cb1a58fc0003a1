#pragma once
// The copy engine without a core of its own: copies inside submit.

#include "onload/copy_engine.hpp"

#include <memory>

namespace towline::onload {

[[nodiscard]] std::unique_ptr<copy_engine> make_inline();

} // namespace towline::onload
