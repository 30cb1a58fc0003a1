// Finds the nodes of a team.

#include "collective/levels/levels.hpp"

#include <algorithm>
#include <unordered_map>

namespace towline::collective {

levels::levels(int rank, std::span<std::uint64_t const> node_of, bool is_oversubscribed) : is_crowded_(is_oversubscribed)
{
    std::unordered_map<std::uint64_t, int> numbers;
    std::vector<int> counts;
    for (std::uint64_t const name : node_of) {
        int const node = numbers.try_emplace(name, static_cast<int>(counts.size())).first->second;
        if (node == static_cast<int>(counts.size()))
            counts.push_back(0);
        places_.push_back({node, counts[at(node)]++});
    }
    begins_.assign(1, 0);
    for (int const n : counts)
        begins_.push_back(begins_.back() + n);
    fewest_ = *std::ranges::min_element(counts);
    order_.resize(node_of.size());
    for (std::size_t r = 0; r < places_.size(); ++r) {
        int const to = begins_[at(places_[r].node)] + places_[r].index;
        order_[at(to)] = static_cast<int>(r);
        are_in_order_ = are_in_order_ && at(to) == r;
    }
    here_ = places_[at(rank)];
    for (int n = 0; here_.index < fewest_ && n < nodes(); ++n)
        line_.push_back(ranks_of(n)[at(here_.index)]);
}

} // namespace towline::collective
