// The meaning of a layout: the sum over all bytes of the stream of x^place * r^position, twice, with other x and r, in the field of
// integers modulo 2^61 - 1. A row of blocks is a geometric series, so the form of a layout does not count, only where its bytes are; and no
// loop has to be walked.

#include "layout/serial.hpp"

#include <array>
#include <memory>
#include <unordered_map>

namespace towline::layout {
namespace {

__extension__ using wide = unsigned __int128;

constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;

[[nodiscard]] std::uint64_t reduced(std::uint64_t a) noexcept
{
    a = (a & modulus) + (a >> 61);
    return a >= modulus ? a - modulus : a;
}
[[nodiscard]] std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept
{
    return reduced(a + b);
}
[[nodiscard]] std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept
{
    wide const product = wide{a} * b;
    return reduced(static_cast<std::uint64_t>(product & modulus) + static_cast<std::uint64_t>(product >> 61));
}
/// e of any sign, as an exponent: powers repeat after modulus - 1.
[[nodiscard]] std::uint64_t exponent(std::int64_t e) noexcept
{
    constexpr auto order = static_cast<std::int64_t>(modulus - 1);
    std::int64_t const rest = e % order;
    return static_cast<std::uint64_t>(rest < 0 ? rest + order : rest);
}
[[nodiscard]] std::uint64_t power(std::uint64_t base, std::uint64_t e) noexcept
{
    std::uint64_t result = 1;
    for (; e != 0; e >>= 1, base = times(base, base))
        if ((e & 1) != 0)
            result = times(result, base);
    return result;
}
[[nodiscard]] std::uint64_t inverse(std::uint64_t a) noexcept
{
    return power(a, modulus - 2);
}
/// 1 + q + q^2 ... n times.
[[nodiscard]] std::uint64_t series(std::uint64_t q, std::int64_t n) noexcept
{
    if (q == 1)
        return reduced(static_cast<std::uint64_t>(n));
    return times(plus(power(q, exponent(n)), modulus - 1), inverse(plus(q, modulus - 1)));
}

/// Powers of one number, found in tables.
class powers {
public:
    explicit powers(std::uint64_t base)
    {
        for (auto& digit : of_) {
            digit[0] = 1;
            for (std::size_t i = 1; i < digit.size(); ++i)
                digit[i] = times(digit[i - 1], base);
            base = times(digit.back(), base);
        }
    }
    [[nodiscard]] std::uint64_t operator()(std::int64_t e) const noexcept
    {
        std::uint64_t const all = exponent(e);
        std::uint64_t result = of_[0][all & 0xff];
        for (std::size_t i = 1; i < of_.size() && all >> 8 * i != 0; ++i)
            result = times(result, of_[i][all >> 8 * i & 0xff]);
        return result;
    }

private:
    std::array<std::array<std::uint64_t, 256>, 8> of_;
};

/// One of the two sums.
class sum {
public:
    sum(std::uint64_t x, std::uint64_t r)
        : place_(x), position_(r), both_(times(x, r)), per_block_(inverse(plus(times(x, r), modulus - 1))) {}

    [[nodiscard]] std::uint64_t block(std::int64_t bytes) const noexcept { return times(plus(both_(bytes), modulus - 1), per_block_); }
    [[nodiscard]] std::uint64_t at(std::int64_t place) const noexcept { return place_(place); }

    template <class Child>
    [[nodiscard]] std::uint64_t of(node const& n, Child child) const
    {
        switch (n.what) {
        case form::block: return block(n.size);
        case form::loop: return times(child(*n.child), series(times(place_(n.stride), position_(n.child->size)), n.count));
        case form::list: {
            std::uint64_t const step = position_(n.child->size);
            std::uint64_t all = 0, position = 1;
            for (std::int64_t const d : n.displacements) {
                all = plus(all, times(place_(d), position));
                position = times(position, step);
            }
            return times(child(*n.child), all);
        }
        case form::pieces:
        case form::sequence: {
            std::uint64_t all = 0;
            for (std::size_t i = 0; i < n.displacements.size(); ++i) {
                std::uint64_t const one = n.what == form::pieces ? block(n.starts[i + 1] - n.starts[i]) : child(*n.children[i]);
                all = plus(all, times(times(place_(n.displacements[i]), position_(n.starts[i])), one));
            }
            return all;
        }
        }
        return 0;
    }

private:
    powers place_, position_, both_;
    std::uint64_t per_block_;
};

/// Of a tree whose parts may be shared: each is looked at once.
class walker {
public:
    explicit walker(sum const& s) noexcept : sum_(s) {}
    [[nodiscard]] std::uint64_t of(node const& n)
    {
        if (n.what == form::block || n.what == form::pieces)
            return sum_.of(n, [](node const&) { return std::uint64_t{0}; });
        if (auto const known = known_.find(&n); known != known_.end())
            return known->second;
        std::uint64_t const value = sum_.of(n, [this](node const& child) { return of(child); });
        known_.emplace(&n, value);
        return value;
    }

private:
    sum const& sum_;
    std::unordered_map<node const*, std::uint64_t> known_;
};

} // namespace

meaning meaning_of(placed const& p)
{
    if (!p.tree)
        return {};
    struct sums {
        sum first{0x1d8e4e27c47d124f & modulus, 0x0b1a3f9c6e5d7a43}, second{0x17a6c1f08b93e5d1 & modulus, 0x0c94d7e2a5f81b37};
    };
    static auto const both = std::make_unique<sums const>();
    return {times(walker(both->first).of(*p.tree), both->first.at(p.displacement)),
            times(walker(both->second).of(*p.tree), both->second.at(p.displacement))};
}

} // namespace towline::layout
