// Packing and unpacking of derived datatypes, in one process: 1 MiB of data in blocks of `size` bytes, except where said.
//
//   memcpy    the same bytes in a row: what no datatype can beat by much
//   by_hand   the loop that a program would write, its block size and stride known to the compiler
//   towline   layout::stream; `whole` in one call, `pieces` in calls of 8 KiB as a pipeline makes them
//
// and, from one such layout to another of the same datatype, mode copy: `plan` by a layout::copy_plan, `twice` packed and unpacked.
//
// Cases: strided (blocks at twice their size), strided_64k (the same, 64 KiB of data), listed (blocks at irregular places, by_hand is a
// memcpy per entry of a list), face_x, face_y and face_z (of a cube of 128 doubles a side: 128 KiB), across (columns of a square of 512
// doubles, one after the other: 2 MiB), records (a list of structs of 8, 4 and 24 bytes).

#include "harness.hpp"
#include "layout/copy_plan.hpp"
#include "layout/stream.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace {

using namespace towline;
using i64 = std::int64_t;

constexpr i64 payload = 1 << 20;
constexpr i64 piece = 8 << 10;

struct memory {
    std::vector<std::byte> apart, together, elsewhere;
};

/// Both ways of one datatype, whole and in pieces, and from one such layout to another.
void offer(bench::program& p, std::string const& name, i64 size, layout::datatype const& type, i64 count, memory& m)
{
    layout::stream const s(type, count);
    for (bool const pack : {true, false}) {
        auto move = [&m, s, type, pack](i64 first, i64 last) {
            if (pack)
                s.pack(m.apart.data(), first, last, m.together.data() + first);
            else
                s.unpack(m.apart.data(), first, last, m.together.data() + first);
        };
        std::string const mode = pack ? "pack" : "unpack";
        p.add({.name = name, .size = static_cast<std::uint64_t>(size), .mode = mode, .subject = "towline", .variant = "whole"},
              [=](bench::sampler& b) { b.batch(4, [&] { move(0, s.size()); }); });
        p.add({.name = name, .size = static_cast<std::uint64_t>(size), .mode = mode, .subject = "towline", .variant = "pieces"},
              [=](bench::sampler& b) {
                  b.batch(4, [&] {
                      for (i64 at = 0; at < s.size(); at += piece)
                          move(at, std::min(at + piece, s.size()));
                  });
              });
    }
    layout::placed const tree = layout::elements_of(type, count);
    layout::copy_plan const plan(tree, tree);
    p.add({.name = name, .size = static_cast<std::uint64_t>(size), .mode = "copy", .subject = "towline", .variant = "plan"},
          [&m, plan](bench::sampler& b) { b.batch(4, [&] { plan.copy(m.elsewhere.data(), m.apart.data()); }); });
    p.add({.name = name, .size = static_cast<std::uint64_t>(size), .mode = "copy", .subject = "towline", .variant = "twice"},
          [&m, s, type](bench::sampler& b) {
              b.batch(4, [&] {
                  s.pack(m.apart.data(), 0, s.size(), m.together.data());
                  s.unpack(m.elsewhere.data(), 0, s.size(), m.together.data());
              });
          });
}

template <class Loop>
void by_hand(bench::program& p, std::string const& name, i64 size, bool pack, Loop loop)
{
    p.add({.name = name, .size = static_cast<std::uint64_t>(size), .mode = pack ? "pack" : "unpack", .subject = "by_hand"},
          [=](bench::sampler& b) { b.batch(4, loop); });
}

/// A row of bytes and blocks of it that lie `Stride` bytes apart.
template <i64 Block, i64 Stride>
void offer_strided(bench::program& p, std::string const& name, i64 n, memory& m)
{
    offer(p, name, Block, layout::hvector(n, Block, Stride, layout::datatype::of(layout::kind::byte)), 1, m);
    by_hand(p, name, Block, true, [&m, n] {
        std::byte* to = m.together.data();
        std::byte const* from = m.apart.data();
        for (i64 i = 0; i < n; ++i)
            std::memcpy(to + i * Block, from + i * Stride, Block);
    });
    by_hand(p, name, Block, false, [&m, n] {
        std::byte* to = m.apart.data();
        std::byte const* from = m.together.data();
        for (i64 i = 0; i < n; ++i)
            std::memcpy(to + i * Stride, from + i * Block, Block);
    });
}

template <i64... Blocks>
void offer_blocks(bench::program& p, std::string const& name, i64 bytes, memory& m)
{
    (offer_strided<Blocks, 2 * Blocks>(p, name, bytes / Blocks, m), ...);
}

void offer_across(bench::program& p, memory& m)
{
    constexpr i64 side = 512;
    using namespace layout;
    datatype const column = resized(vector(side, 1, side, datatype::of(kind::double_c)), 0, 8);
    offer(p, "across", 8, column, side, m);
    for (bool const pack : {true, false})
        by_hand(p, "across", 8, pack, [&m, pack] {
            for (i64 i = 0; i < side; ++i)
                for (i64 k = 0; k < side; ++k) {
                    std::byte *const apart = m.apart.data() + (k * side + i) * 8, *const together = m.together.data() + (i * side + k) * 8;
                    std::memcpy(pack ? together : apart, pack ? apart : together, 8);
                }
        });
}

/// A struct with holes, at every place of a list: what a program of particles sends.
void offer_records(bench::program& p, memory& m, std::vector<i64>& places)
{
    struct record {
        double mass;
        int kind, unused;
        double unsent, at[3];
    };
    constexpr i64 n = payload / 36;
    std::mt19937 random(1);
    for (i64 i = 0, place = 0; i < n; ++i, place += 1 + static_cast<i64>(random()) % 3)
        places.push_back(place);
    using namespace layout;
    i64 const one[]{1, 1, 3}, where[]{0, 8, 24};
    datatype const of[]{datatype::of(kind::double_c), datatype::of(kind::int_c), datatype::of(kind::double_c)};
    offer(p, "records", 36, indexed_block(1, places, resized(structure(one, where, of), 0, sizeof(record))), 1, m);
    for (bool const pack : {true, false})
        by_hand(p, "records", 36, pack, [&m, &places, pack] {
            std::byte* together = m.together.data();
            auto const move = [&together, pack](auto& field) {
                std::memcpy(pack ? static_cast<void*>(together) : &field, pack ? static_cast<void const*>(&field) : together, sizeof field);
                together += sizeof field;
            };
            for (i64 const place : places) {
                auto& r = reinterpret_cast<record*>(m.apart.data())[place];
                move(r.mass), move(r.kind), move(r.at);
            }
        });
}

/// Blocks of 1 to 2 * mean - 1 words (mean > 1), or all alike, with gaps of 1 to 7 words.
void offer_listed(bench::program& p, std::string const& name, i64 mean, bool alike, memory& m, std::vector<i64>& lengths,
                  std::vector<i64>& at)
{
    std::mt19937 random(1);
    for (i64 end = 0, sum = 0; sum < payload / 8;) {
        i64 const length = alike ? mean : 1 + static_cast<i64>(random()) % (2 * mean - 1);
        lengths.push_back(length);
        at.push_back(end);
        end += length + 1 + static_cast<i64>(random()) % 7;
        sum += length;
    }
    offer(p, name, 8 * mean, layout::indexed(lengths, at, layout::datatype::of(layout::kind::double_c)), 1, m);
    for (bool const pack : {true, false})
        by_hand(p, name, 8 * mean, pack, [&m, &lengths, &at, pack] {
            std::byte* together = m.together.data();
            for (std::size_t i = 0; i < at.size(); ++i) {
                std::byte* const apart = m.apart.data() + at[i] * 8;
                auto const bytes = static_cast<std::size_t>(lengths[i] * 8);
                if (pack)
                    std::memcpy(together, apart, bytes);
                else
                    std::memcpy(apart, together, bytes);
                together += bytes;
            }
        });
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "layout", "Packing and unpacking of derived datatypes in one process.");
    memory m{std::vector<std::byte>(16 * payload, std::byte{1}), std::vector<std::byte>(2 * payload, std::byte{2}),
             std::vector<std::byte>(16 * payload, std::byte{3})};
    program.add({.name = "strided", .size = payload, .mode = "pack", .subject = "memcpy"},
                [&m](bench::sampler& b) { b.batch(4, [&] { std::memcpy(m.together.data(), m.apart.data(), payload); }); });
    offer_blocks<1, 4, 8, 16, 24, 32, 40, 48, 64, 256, 512, 1024, 4096>(program, "strided", payload, m);
    offer_blocks<4, 8, 16, 64, 512, 4096>(program, "strided_64k", payload / 16, m);
    constexpr i64 side = 128;
    offer_strided<8, side * 8>(program, "face_x", side * side, m);
    offer_strided<side * 8, side * side * 8>(program, "face_y", side, m);
    offer_strided<side * side * 8, side * side * side * 8>(program, "face_z", 1, m);
    offer_across(program, m);
    std::vector<i64> places;
    offer_records(program, m, places);
    std::vector<i64> lengths[3], at[3];
    offer_listed(program, "listed_alike", 1, true, m, lengths[0], at[0]);
    offer_listed(program, "listed", 4, false, m, lengths[1], at[1]);
    offer_listed(program, "listed", 32, false, m, lengths[2], at[2]);
    return program.run();
}
