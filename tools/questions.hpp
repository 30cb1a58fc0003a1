#pragma once
// The front's part in questions about what ranks wait for: it passes them to all nodes but the asking one, and knows who has not answered.

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace towline::tools {

/// Bookkeeping alone: who sends what is the front's.
class questions {
public:
    struct question {
        std::uint32_t from;    ///< the node that asks, or `front`
        std::uint32_t number;
        std::set<std::uint32_t> open;  ///< nodes that have not answered
        bool operator==(question const&) const = default;
    };
    static constexpr std::uint32_t front = ~std::uint32_t{0};

    /// Replaces an earlier question of the same node.
    void begin(std::uint32_t from, std::uint32_t number, std::set<std::uint32_t> of)
    {
        std::erase_if(all_, [&](question const& q) { return q.from == from; });
        all_.push_back({from, number, std::move(of)});
    }
    void answered(std::uint32_t from, std::uint32_t number, std::uint32_t by)
    {
        for (auto& q : all_)
            if (q.from == from && q.number == number)
                q.open.erase(by);
    }
    /// The node is gone: it answers nothing, and asks nothing.
    void lost(std::uint32_t node)
    {
        std::erase_if(all_, [&](question const& q) { return q.from == node; });
        for (auto& q : all_)
            q.open.erase(node);
    }
    /// Takes out those to which all have answered.
    [[nodiscard]] std::vector<question> take_complete()
    {
        std::vector<question> done;
        std::erase_if(all_, [&](question const& q) {
            if (q.open.empty())
                done.push_back(q);
            return q.open.empty();
        });
        return done;
    }
    [[nodiscard]] bool is_open(std::uint32_t from) const
    {
        for (auto const& q : all_)
            if (q.from == from)
                return true;
        return false;
    }

private:
    std::vector<question> all_;
};

} // namespace towline::tools
