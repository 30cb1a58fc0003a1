// Random remote calls and operations of teams, every byte checked. soak SECONDS SEED; rank 0 prints what was done.
//
// In each phase every rank calls random others for a while, some calls at the same time; then all do operations of a team, drawn from
// numbers that all have. Bytes are drawn from a seed that travels with them.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

std::uint64_t mix(std::uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t draw() { return mix(state_ += 0x9e3779b97f4a7c15); }
    std::size_t below(std::size_t n) { return draw() % n; }
    /// As many small ones as long ones; below `most`, a power of two.
    std::size_t size(std::size_t most)
    {
        std::size_t const bits = below(static_cast<std::size_t>(std::countr_zero(most)) + 1);
        return draw() & ((std::size_t{1} << bits) - 1);
    }

private:
    std::uint64_t state_;
};

template <class T, class Container = std::vector<T>> Container drawn(std::uint64_t seed, std::size_t n)
{
    Container c(n, T{});
    for (std::size_t i = 0; i < n; ++i)
        c[i] = static_cast<T>(mix(seed + i));
    return c;
}
template <class Container> bool is_drawn(Container const& c, std::uint64_t seed, std::size_t n)
{
    if (c.size() != n)
        return false;
    for (std::size_t i = 0; i < n; ++i)
        if (c[i] != static_cast<std::decay_t<decltype(c[i])>>(mix(seed + i)))
            return false;
    return true;
}

// ---- what is called

bool arrives(std::uint64_t seed, std::vector<std::uint8_t> const& bytes)
{
    return is_drawn(bytes, seed, bytes.size());
}

std::string made(std::uint64_t seed, std::size_t n)
{
    return drawn<char, std::string>(seed, n);
}

/// There and back; each element grows.
towline::rma_vector<std::uint64_t> grown(std::uint64_t seed, towline::rma_vector<std::uint64_t> v)
{
    CHECK(is_drawn(v, seed, v.size()));
    for (auto& x : v)
        ++x;
    return v;
}

struct parcel {
    std::uint64_t seed = 0;
    std::map<std::string, std::vector<std::uint16_t>> parts{};
    std::vector<std::string> names{};
    double weight = 0;
    friend bool operator==(parcel const&, parcel const&) = default;
};
parcel packed(std::uint64_t seed)
{
    numbers random(seed);
    parcel p{.seed = seed};
    for (std::size_t i = random.below(12); i != 0; --i)
        p.parts[made(random.draw(), random.size(64))] = drawn<std::uint16_t>(random.draw(), random.size(4096));
    for (std::size_t i = random.below(30); i != 0; --i)
        p.names.push_back(made(random.draw(), random.size(512)));
    p.weight = static_cast<double>(random.draw() % 1000) / 8;
    return p;
}
parcel passed_on(parcel p)
{
    CHECK(p == packed(p.seed));
    return p;
}

/// Some calls to one rank at the same time, then their answers.
void calls(numbers& random, towline::locality to)
{
    std::size_t const most = random.below(30) == 0 ? 1 << 20 : 1 << 17;
    std::uint64_t const seed = random.draw();
    switch (random.below(4)) {
    case 0: {
        std::vector<towline::future<bool>> answers;
        for (std::size_t i = 0, n = 1 + random.below(16); i < n; ++i)
            answers.push_back(towline::async<&arrives>(to, seed + i, drawn<std::uint8_t>(seed + i, random.size(most))));
        for (auto& a : answers)
            CHECK(a.get());
        break;
    }
    case 1: {
        std::vector<std::size_t> sizes;
        std::vector<towline::future<std::string>> answers;
        for (std::size_t i = 0, n = 1 + random.below(16); i < n; ++i) {
            sizes.push_back(random.size(most));
            answers.push_back(towline::async<&made>(to, seed + i, sizes.back()));
        }
        for (std::size_t i = 0; i < sizes.size(); ++i)
            CHECK(is_drawn(answers[i].get(), seed + i, sizes[i]));
        break;
    }
    case 2: {
        std::size_t const n = random.size(most);
        towline::rma_vector<std::uint64_t> v(n);
        for (std::size_t i = 0; i < n; ++i)
            v[i] = mix(seed + i);
        v = towline::async<&grown>(to, seed, std::move(v)).get();
        CHECK(v.size() == n);
        for (std::size_t i = 0; i < n; ++i)
            CHECK(v[i] == mix(seed + i) + 1);
        break;
    }
    default:
        CHECK(towline::async<&passed_on>(to, packed(seed)).get() == packed(seed));
    }
}

/// Operations of all: the same numbers everywhere.
void together(numbers& random, towline::team& all)
{
    std::size_t const n = random.size(1 << 16);
    std::uint64_t const seed = random.draw();
    auto const ranks = static_cast<std::size_t>(all.size());
    auto const rank = static_cast<std::size_t>(all.rank());
    switch (random.below(3)) {
    case 0: {
        std::size_t const root = random.below(ranks);
        auto v = rank == root ? drawn<std::uint32_t>(seed, n) : std::vector<std::uint32_t>(n);
        all.broadcast(std::span(v), static_cast<int>(root));
        CHECK(is_drawn(v, seed, n));
        break;
    }
    case 1: {
        auto v = drawn<std::uint64_t>(seed + rank, n);
        all.all_reduce(std::span(v));
        for (std::size_t i = 0; i < n; ++i) {
            std::uint64_t sum = 0;
            for (std::size_t r = 0; r < ranks; ++r)
                sum += mix(seed + r + i);
            CHECK(v[i] == sum);
        }
        break;
    }
    default: {
        auto const mine = drawn<std::uint8_t>(seed + rank, n);
        std::vector<std::uint8_t> every(n * ranks);
        all.all_gather(std::span(mine), std::span(every));
        for (std::size_t r = 0; r < ranks; ++r)
            CHECK(is_drawn(std::span(every).subspan(r * n, n), seed + r, n));
    }
    }
}

} // namespace

int main(int argc, char** argv)
try {
    using clock = std::chrono::steady_clock;
    CHECK(argc == 3);
    auto const end = clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
    std::uint64_t const seed = std::strtoull(argv[2], nullptr, 10);
    towline::world w(argc, argv);
    towline::team all(w);
    numbers own(seed ^ mix(static_cast<std::uint64_t>(w.rank()) + 1)), common(seed);
    std::uint64_t done = 0;
    for (bool more = true; more;) {
        for (auto const until = clock::now() + std::chrono::milliseconds(300); clock::now() < until; ++done)
            calls(own, w.at(static_cast<int>(own.below(static_cast<std::size_t>(w.size())))));
        w.barrier();
        for (int i = 0; i < 20; ++i)
            together(common, all);
        more = all.broadcast(clock::now() < end ? 1 : 0) != 0;
    }
    if (std::uint64_t const sum = all.all_reduce(done); w.rank() == 0)
        std::printf("%llu rounds of calls of %d ranks\n", static_cast<unsigned long long>(sum), w.size());
    w.barrier();
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "soak: %s\n", e.what());
    return 3;
}
