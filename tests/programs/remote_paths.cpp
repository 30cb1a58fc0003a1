// Calls rank 1 with one kind of argument, COUNT times, each with other data, and compares what it answers.
// Usage: program_remote_paths KIND BYTES COUNT on 2 ranks or more; silent and 0 where all was right. paths_test.py counts which way the bytes took.
#include "remote_check.hpp"

#include <towline/towline.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tl = towline;
using vector = tl::rma_vector<std::uint64_t>;

static std::uint64_t sum_of(std::span<std::uint64_t const> v)
{
    std::uint64_t sum = v.size();
    for (std::uint64_t const x : v)
        sum = sum * 31 + x;
    return sum;
}
static std::uint64_t of_handed(vector v) { return sum_of({v.data(), v.size()}); }
static std::uint64_t of_handed_with_text(vector v, std::string const& text) { return sum_of({v.data(), v.size()}) + text.size(); }
static std::uint64_t of_vector(std::vector<std::uint64_t> const& v) { return sum_of(v); }
static std::uint64_t of_view(std::span<std::uint64_t const> v) { return sum_of(v); }
static std::uint64_t of_columns(tl::strided_view<std::uint64_t const, 2> v)
{
    std::uint64_t sum = v.size();
    for (std::size_t i = 0; i < v.extent(0); ++i)
        for (std::size_t k = 0; k < v.extent(1); ++k)
            sum = sum * 31 + v(i, k);
    return sum;
}
static std::uint64_t of_owned_columns(vector v) { return sum_of({v.data(), v.size()}); }
static std::uint64_t of_number(std::uint64_t x) { return x * 31 + 1; }
static std::uint64_t of_words(std::vector<std::string> const& words)
{
    std::uint64_t bytes = 0;
    for (std::string const& w : words)
        bytes += w.size();
    return bytes;
}

template <class Vector>
static Vector filled(std::size_t n, std::uint64_t round)
{
    Vector v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = i * 7 + round;
    return v;
}

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(argc == 4 && w.size() >= 2);
    if (w.rank() != 0)
        return 0;
    std::string const kind = argv[1];
    std::size_t const n = std::strtoull(argv[2], nullptr, 10) / sizeof(std::uint64_t);
    auto const count = std::strtoull(argv[3], nullptr, 10);
    tl::locality const peer = w.next();
    for (std::uint64_t round = 0; round < count; ++round) {
        auto plain = filled<std::vector<std::uint64_t>>(n, round);
        std::uint64_t const expected = sum_of(plain);
        if (kind == "handed") {
            CHECK(tl::async<&of_handed>(peer, filled<vector>(n, round)).get() == expected);
        } else if (kind == "handed_with_text") {
            CHECK(tl::async<&of_handed_with_text>(peer, filled<vector>(n, round), std::string("text")).get() == expected + 4);
        } else if (kind == "shared") {
            vector const v = filled<vector>(n, round);
            CHECK(tl::async<&of_handed>(peer, v).get() == expected);
        } else if (kind == "owned") {
            CHECK(tl::async<&of_vector>(peer, plain).get() == expected);
        } else if (kind == "viewed") {
            CHECK(tl::async<&of_view>(peer, tl::borrow(plain)).get() == expected);
        } else if (kind == "columns_borrowed" || kind == "columns") {
            auto wide = filled<std::vector<std::uint64_t>>(2 * n, round);
            tl::strided_view<std::uint64_t const, 2> const columns(wide.data() + 1, {n / 8, 8}, {16, 2});
            std::uint64_t const sum = of_columns(columns);
            CHECK((kind == "columns" ? tl::async<&of_owned_columns>(peer, columns).get()
                                     : tl::async<&of_columns>(peer, tl::borrow(columns)).get()) == sum);
        } else if (kind == "number") {
            CHECK(tl::async<&of_number>(peer, round).get() == round * 31 + 1);
        } else if (kind == "number_to_all") {
            for (std::uint64_t const answer : tl::async<&of_number>(w.all(), round).get())
                CHECK(answer == round * 31 + 1);
        } else if (kind == "words") {
            std::vector<std::string> const words(n, "a word that fits");
            CHECK(tl::async<&of_words>(peer, words).get() == 16 * n);
        } else {
            std::fprintf(stderr, "no kind %s\n", kind.c_str());
            return 2;
        }
    }
}
