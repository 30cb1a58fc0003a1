#pragma once
// The text by which PMI tells where ranks run: "(vector,(0,2,4))".

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace towline::job::launch {

/// The node of each of `size` ranks. A block (first, nodes, ranks) puts so many ranks on each of so many nodes; the list of blocks is gone
/// round until all ranks have a node. Nodes are numbered anew from 0, in the order of ranks. Nothing where the text is not of that form.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_process_mapping(std::string_view text, std::uint32_t size);

/// Numbers nodes from 0 in the order of ranks, whatever their numbers were.
[[nodiscard]] std::vector<std::uint32_t> numbered_anew(std::vector<std::uint64_t> const& nodes);

} // namespace towline::job::launch
