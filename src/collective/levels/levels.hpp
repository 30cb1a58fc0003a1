#pragma once
// The nodes of a team whose ranks are on several: who shares memory with whom. What an operation in two levels is composed of
// (composition.cpp): operations within a node, over its lanes where it has any, and messages between ranks of equal index on their nodes.
//
// All ranks of the team know the same, but for what is said to be of "this rank".

#include "collective/lanes/lanes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace towline::collective {

class levels {
public:
    /// `node_of` says for each rank on which node it is, in any numbers. `lanes`: those of this rank's node; null: it has none, so that its
    /// ranks exchange messages.
    levels(int rank, std::span<std::uint64_t const> node_of, bool is_oversubscribed);
    void set_lanes(std::unique_ptr<collective::lanes> l) noexcept { lanes_ = std::move(l); }

    /// Nodes are numbered by their lowest ranks, ranks within a node (their index) in their order in the team.
    [[nodiscard]] int nodes() const noexcept { return static_cast<int>(begins_.size()) - 1; }
    [[nodiscard]] int ranks_on(int node) const noexcept { return begins_[at(node) + 1] - begins_[at(node)]; }
    [[nodiscard]] std::span<int const> ranks_of(int node) const noexcept
    {
        return std::span(order_).subspan(at(begins_[at(node)]), at(ranks_on(node)));
    }
    /// Ranks on the nodes before this one.
    [[nodiscard]] int begin_of(int node) const noexcept { return begins_[at(node)]; }
    /// All ranks, node by node.
    [[nodiscard]] std::span<int const> order() const noexcept { return order_; }
    /// The fewest ranks on any node: indexes that every node has.
    [[nodiscard]] int fewest() const noexcept { return fewest_; }
    /// All nodes have as many.
    [[nodiscard]] bool are_even() const noexcept { return static_cast<std::size_t>(fewest_ * nodes()) == order_.size(); }
    /// The ranks of each node follow each other, so that `order` is their order in the team.
    [[nodiscard]] bool are_in_order() const noexcept { return are_in_order_; }

    /// A rank on its node.
    struct place {
        int node, index;
    };
    [[nodiscard]] place place_of(int rank) const noexcept { return places_[at(rank)]; }
    [[nodiscard]] place here() const noexcept { return here_; }
    /// The ranks that have this rank's index on their nodes, in the order of these. Only where index < fewest().
    [[nodiscard]] std::span<int const> line() const noexcept { return line_; }

    /// Of this rank's node.
    [[nodiscard]] collective::lanes* lanes() const noexcept { return lanes_.get(); }
    /// More ranks than cores on this rank's node.
    [[nodiscard]] bool is_crowded() const noexcept { return is_crowded_; }

private:
    [[nodiscard]] static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    std::vector<int> order_;
    std::vector<int> begins_;
    std::vector<place> places_;
    std::vector<int> line_;
    place here_{};
    int fewest_ = 0;
    bool are_in_order_ = true;
    bool const is_crowded_;
    std::unique_ptr<collective::lanes> lanes_;
};

} // namespace towline::collective
