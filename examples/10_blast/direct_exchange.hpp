#pragma once
// The exchange within one process: any number of blocks, no library. For tests of the numerics.

#include "exchange.hpp"
#include "layout.hpp"

#include <map>
#include <stdexcept>
#include <tuple>

namespace blast {

class direct_exchange final : public exchange {
public:
    explicit direct_exchange(layout const& l) : layout_(l) {}

    int process() const override { return 0; }
    int processes() const override { return 1; }

    std::span<double> outgoing(int block, int face, std::size_t size) override
    {
        auto& free = free_[{block, face}];
        std::vector<double> buffer;
        if (free.empty()) {
            buffer.resize(size);
            ++allocated_;
        } else {
            buffer = std::move(free.back());
            free.pop_back();
        }
        return filling_[{block, face}] = std::move(buffer);
    }

    void send(int block, int face, std::uint64_t tick) override
    {
        arrived_[{layout_.neighbour(block, face), opposite(face), tick}] = std::move(filling_.at({block, face}));
    }

    bool arrived(int block, int face, std::uint64_t tick) override { return arrived_.contains({block, face, tick}); }

    std::span<double const> incoming(int block, int face, std::uint64_t tick) override
    {
        auto found = arrived_.find({block, face, tick});
        if (found == arrived_.end())
            throw std::logic_error("a face was awaited that nobody sent");
        return found->second;
    }

    void release(int block, int face, std::uint64_t tick) override
    {
        auto node = arrived_.extract({block, face, tick});
        free_[{block, face}].push_back(std::move(node.mapped()));
    }

    void greatest(std::span<double>) override {}

    std::vector<std::vector<std::uint64_t>> gather(std::span<std::uint64_t const> words) override
    {
        return {std::vector<std::uint64_t>(words.begin(), words.end())};
    }

    /// Faces that were sent and not yet released.
    std::size_t in_flight() const { return arrived_.size(); }

    std::size_t allocated() const { return allocated_; } ///< buffers, ever

private:
    layout layout_;
    std::size_t allocated_ = 0;
    std::map<std::pair<int, int>, std::vector<double>> filling_;
    std::map<std::pair<int, int>, std::vector<std::vector<double>>> free_;
    std::map<std::tuple<int, int, std::uint64_t>, std::vector<double>> arrived_;
};

} // namespace blast
