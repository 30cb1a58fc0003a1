// A part of an array as the argument of a call that puts it into a part of an array of its own, two ranks under
// `towline run -n 2 --bind core`. Sizes are bytes of data.
//
//   by_hand      a loop into a std::vector that is moved into the call, and a loop out of a std::vector const&: what a program would write
//   view         a strided_view as it is: packed before the call returns, copied by the callee from the message's block
//   borrow_view  a strided_view lent to the call: copied by the callee from the caller's array
//   contiguous   as many bytes in a row, lent to the call: copied by the callee into a row of its own
//
// Cases: face_x (one word of each row of a cube), face_y (one row of each plane), block_64 (every other 8 words). rewritten: the caller
// writes the part before each call (not timed).

#include "harness.hpp"
#include "harness/data.hpp"

#include <towline/towline.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using bench::word;
using part = towline::strided_view<word, 2>;
using part_read = towline::strided_view<word const, 2>;

struct shape {
    std::size_t rows, columns;
    std::ptrdiff_t row, column;
    [[nodiscard]] std::size_t span() const
    {
        return (rows - 1) * static_cast<std::size_t>(row) + (columns - 1) * static_cast<std::size_t>(column) + 1;
    }
    [[nodiscard]] part in(word* data) const { return part(data, {rows, columns}, {row, column}); }
};

/// The array of this rank for such a part; kept, so that its pages stay warm.
part mine(shape const& s)
{
    static std::map<std::size_t, std::vector<word>> all;
    auto& data = all[s.span()];
    data.resize(s.span());
    return s.in(data.data());
}
word corner(part_read v)
{
    return v(v.extent(0) - 1, v.extent(1) - 1);
}

word land_view(part_read from, shape const& s)
{
    part const to = mine(s);
    towline::copy(to, from);
    return corner(to);
}
word land_row(std::span<word const> from, shape const& s)
{
    static std::vector<word> row;
    row.resize(from.size());
    std::ranges::copy(from, row.begin());
    return row[s.rows * s.columns - 1];
}
word land_by_hand(std::vector<word> const& from, shape const& s)
{
    part const to = mine(s);
    std::size_t k = 0;
    for (std::size_t i = 0; i < s.rows; ++i)
        for (std::size_t j = 0; j < s.columns; ++j)
            to(i, j) = from[k++];
    return corner(to);
}

template <class Call>
void offer(bench::program& program, std::string const& name, shape const& s, std::string const& variant, Call call)
{
    for (std::string const mode : bench::modes)
        program.add({.name = name, .size = s.rows * s.columns * sizeof(word), .mode = mode, .subject = "towline", .variant = variant},
                    [=](bench::sampler& b) {
                        part const data = mine(s);
                        word seed = 0;
                        bool good = true;
                        auto const write = [&] {
                            ++seed;
                            for (std::size_t i = 0; i < s.rows; ++i)
                                for (std::size_t j = 0; j < s.columns; ++j)
                                    data(i, j) = seed + i + j;
                        };
                        auto const once = [&] { good = call(data) == seed + s.rows + s.columns - 2 && good; };
                        write();
                        if (mode == "rewritten")
                            b.each(8, write, once);
                        else
                            b.batch(8, once);
                        b.check(good, "the data did not arrive as they were sent");
                    });
}

void offer_all(bench::program& program, std::string const& name, shape const& s, towline::locality peer)
{
    offer(program, name, s, "by_hand", [=](part const& v) {
        std::vector<word> row;
        row.reserve(v.size());
        for (std::size_t i = 0; i < s.rows; ++i)
            for (std::size_t j = 0; j < s.columns; ++j)
                row.push_back(v(i, j));
        return towline::async<&land_by_hand>(peer, std::move(row), s).get();
    });
    offer(program, name, s, "view", [=](part const& v) { return towline::async<&land_view>(peer, v, s).get(); });
    offer(program, name, s, "borrow_view", [=](part const& v) { return towline::async<&land_view>(peer, towline::borrow(v), s).get(); });
    auto const row = std::make_shared<std::vector<word>>(s.rows * s.columns);
    offer(program, name, s, "contiguous", [=](part const& v) {
        row->back() = corner(v);
        return towline::async<&land_row>(peer, towline::borrow(*row), s).get();
    });
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "view", "Part of an array as an argument; run it with `towline run -n 2 --bind core`.");
    towline::world w(argc, argv);
    if (w.size() != 2) {
        std::fprintf(stderr, "view: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    if (w.rank() != 0)
        return 0;
    for (std::size_t const side : {64, 128, 256}) {
        auto const s = static_cast<std::ptrdiff_t>(side);
        offer_all(program, "face_x", {side, side, s * s, s}, w.next());
        offer_all(program, "face_y", {side, side, s * s, 1}, w.next());
        offer_all(program, "block_64", {side * side / 8, 8, 16, 1}, w.next());
    }
    return program.run();
}
