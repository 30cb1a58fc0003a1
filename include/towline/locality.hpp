#pragma once
// The destination of a call: one process of the job, or several.

#include <towline/detail/language.hpp>

#include <initializer_list>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace towline {

/// A process of the job, by its rank. A value; may be an argument of calls.
class locality {
public:
    locality() noexcept = default;
    explicit locality(int rank) noexcept : rank_(rank) {}
    [[nodiscard]] int rank() const noexcept { return rank_; }
    friend bool operator==(locality, locality) = default;
    friend auto operator<=>(locality, locality) = default;

    auto members() { return std::tie(rank_); }
    auto members() const { return std::tie(rank_); }

private:
    int rank_ = 0;
};

/// Several processes, each at most once, in the order in which a broadcast returns their results.
class localities {
public:
    localities() = default;
    explicit localities(std::vector<int> ranks) noexcept : ranks_(std::move(ranks)) {}
    localities(std::initializer_list<locality> members)
    {
        for (locality const m : members)
            ranks_.push_back(m.rank());
    }
    [[nodiscard]] std::span<int const> ranks() const noexcept { return ranks_; }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] bool empty() const noexcept { return ranks_.empty(); }
    [[nodiscard]] locality operator[](std::size_t i) const { return locality(ranks_[i]); }

    class iterator {
    public:
        using value_type = locality;
        using difference_type = std::ptrdiff_t;
        iterator() = default;
        explicit iterator(int const* at) : at_(at) {}
        locality operator*() const { return locality(*at_); }
        iterator& operator++()
        {
            ++at_;
            return *this;
        }
        iterator operator++(int) { return iterator(at_++); }
        friend bool operator==(iterator, iterator) = default;

    private:
        int const* at_ = nullptr;
    };
    [[nodiscard]] iterator begin() const { return iterator(ranks_.data()); }
    [[nodiscard]] iterator end() const { return iterator(ranks_.data() + ranks_.size()); }

private:
    std::vector<int> ranks_;
};

} // namespace towline
