#pragma once
// What a keeper tells of its ranks to another node that asked: CBOR, docs/wire.md "Front and agents".

#include "job/control.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>

namespace towline::tools {

/// Of the ranks on that node: state, marks, process, and what they wait for. Takes 20 ms where some seem to sleep.
[[nodiscard]] nlohmann::json views_of(std::span<job::rank_slot const>, std::uint32_t node);
/// Writes them into the slots as the answer to that question. Of ranks on `own` nothing is taken. Throws where they are no views.
void take_views(std::span<job::rank_slot>, nlohmann::json const& views, std::uint32_t question, std::uint32_t own);

} // namespace towline::tools
