// The result must not depend on the cut, on the instruction set, or on the octant, to the last bit.

#include "runs.hpp"

using namespace blast;
using namespace blast::test;

TEST(decomposition, every_cut_gives_the_same_bits)
{
    deck d = small_deck(24, 0.2);
    run one(d.settings(), 1, start_of(d));
    one.until(d.end_time);
    std::uint64_t const expected = one.s.checksum();
    for (int blocks : {2, 3, 4, 5, 8, 12, 27, 64}) {
        run many(d.settings(), blocks, start_of(d));
        many.until(d.end_time);
        EXPECT_EQ(many.s.checksum(), expected) << blocks << " blocks";
        EXPECT_EQ(many.s.steps(), one.s.steps());
    }
}

TEST(decomposition, one_wrong_bit_changes_the_checksum)
{
    deck d = small_deck(12, 0.1);
    run right(d.settings(), 1, start_of(d));
    run wrong(d.settings(), 1, [&](int x, int y, int z) {
        primitive w = d.initial(x, y, z);
        if (x == 3 && y == 4 && z == 5)
            w[0] = std::nextafter(w[0], 2.0);
        return w;
    });
    run swapped(d.settings(), 1, [&](int x, int y, int z) { return d.initial(x, (y + 1) % 12, z); });
    EXPECT_NE(right.s.checksum(), wrong.s.checksum());
    EXPECT_NE(right.s.checksum(), swapped.s.checksum());
}

TEST(decomposition, instruction_sets_agree)
{
    deck d = small_deck(20, 0.2);
    run plain(d.settings(), 2, start_of(d), sweep_baseline);
    plain.until(d.end_time);
    for (sweep_function* sweep : possible_sweeps()) {
        run other(d.settings(), 2, start_of(d), sweep);
        other.until(d.end_time);
        EXPECT_EQ(other.s.checksum(), plain.s.checksum());
    }
}

TEST(decomposition, octants_mirror_each_other)
{
    deck d = small_deck(20, 0.2);
    run r(d.settings(), 4, start_of(d));
    r.until(d.end_time);
    int const n = d.cells;
    for (int z = 0; z < n / 2; ++z)
        for (int y = 0; y < n / 2; ++y)
            for (int x = 0; x < n / 2; ++x) {
                conserved a = r.cell(x, y, z);
                for (int octant = 1; octant < 8; ++octant) {
                    conserved b = r.cell(octant & 1 ? n - 1 - x : x, octant & 2 ? n - 1 - y : y, octant & 4 ? n - 1 - z : z);
                    for (int k = 1; k <= 3; ++k)
                        b[k] = octant >> (k - 1) & 1 ? -b[k] : b[k];
                    for (int k = 0; k < variables; ++k)
                        ASSERT_EQ(a[k], b[k]) << variable_name(k) << " at " << x << ", " << y << ", " << z << ", octant " << octant;
                }
            }
}

TEST(decomposition, every_sent_face_is_used_and_buffers_circulate)
{
    deck d = small_deck(16, 0.1);
    run r(d.settings(), 8, start_of(d));
    std::size_t const after_start = r.others.in_flight();
    EXPECT_EQ(after_start, 24u); // 12 inner faces, both ways
    for (int i = 0; i < 5; ++i)
        r.s.step(1);
    EXPECT_EQ(r.others.in_flight(), after_start);
    EXPECT_LE(r.others.allocated(), 2 * after_start);
    r.s.finish();
    EXPECT_EQ(r.others.in_flight(), 0u);
}

TEST(layout, blocks_tile_the_grid_and_know_each_other)
{
    for (int blocks : {1, 2, 3, 6, 7, 8, 27, 30}) {
        layout l({24, 30, 28}, blocks);
        ASSERT_EQ(l.count(), blocks);
        std::size_t cells = 0;
        for (int id = 0; id < blocks; ++id) {
            box b = l[id];
            cells += b.volume();
            for (int face = 0; face < faces; ++face) {
                int other = l.neighbour(id, face);
                int axis = face / 2;
                if (other < 0) {
                    EXPECT_EQ(face % 2 == 0 ? b.first[axis] : b.first[axis] + b.cells[axis], face % 2 == 0 ? 0 : l.cells()[axis]);
                    continue;
                }
                EXPECT_EQ(l.neighbour(other, opposite(face)), id);
                box o = l[other];
                EXPECT_EQ(face % 2 == 0 ? o.first[axis] + o.cells[axis] : b.first[axis] + b.cells[axis],
                          face % 2 == 0 ? b.first[axis] : o.first[axis]);
                for (int t = 0; t < 3; ++t)
                    EXPECT_TRUE(t == axis || (b.first[t] == o.first[t] && b.cells[t] == o.cells[t]));
            }
        }
        EXPECT_EQ(cells, 24u * 30 * 28);
    }
    EXPECT_THROW(layout({4, 4, 4}, 64), std::invalid_argument);
    EXPECT_THROW(layout({64, 64, 64}, 67), std::invalid_argument);
}

TEST(layout, every_process_has_blocks)
{
    for (int blocks : {1, 2, 6, 8, 27}) {
        layout l({32, 32, 32}, blocks);
        for (int processes = 1; processes <= blocks; ++processes) {
            int last = 0;
            EXPECT_EQ(l.owner(0, processes), 0);
            for (int id = 0; id < blocks; ++id) {
                EXPECT_TRUE(l.owner(id, processes) == last || l.owner(id, processes) == last + 1);
                last = l.owner(id, processes);
            }
            EXPECT_EQ(last, processes - 1);
        }
    }
}
