"""The whole grid of bench/mpi, and what the table says of all sizes together."""

import pathlib
import unittest

from mpi import pictures, report, summary
from mpi.cases import GROUPS, MEMORIES, ROOM, Case, cases
from mpi.dense import SIZES, dense
from mpi.measure import Plan
from mpi.records import Results, record
from mpi.subjects import BEFORE, Places, subjects


def figures(case, medians, subject="towline", **more):
    return [record(case, size, subject, "us", [[m]], batch=1, **more) for size, m in medians.items()]


class Grid(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual((SIZES[0], SIZES[-1], len(SIZES)), (8, 16 << 20, 34))
        self.assertEqual([s for s in SIZES if 200 < s < 2000], [256, 384, 512, 768, 1024, 1536])
        self.assertEqual([s for s in SIZES if s > 500000], [512 << 10, 768 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20])

    def test_every_size_from_every_memory_that_has_room(self):
        grid = list(dense())
        self.assertEqual(len(grid), len({(c.group, c.title()) for c in grid}))
        self.assertEqual({c.group for c in grid}, {*GROUPS, "first"})
        self.assertLessEqual(set(cases(False)), set(grid))
        for memory in MEMORIES:
            for mode in ("untouched", "rewritten"):
                for name in ("latency", "stream", "bcast_barrier", "allreduce", "alltoall"):
                    found = {c.size for c in grid if (c.name, c.mode, c.memory, c.cache) == (name, mode, memory, "warm")}
                    self.assertEqual(found - {0}, {s for s in SIZES if Case("", name, s, memory=memory).fits()}, (memory, mode, name))
        self.assertEqual([c.title() for c in grid if c.name == "first" and c.memory == "small"], ["first 4096 rewritten warm small"])

    def test_what_fits(self):
        def fits(name, size, memory):
            return Case("", name, size, memory=memory).fits()

        self.assertTrue(all(fits("latency", most, memory) and not fits("latency", most + 1, memory) for memory, most in ROOM.items()))
        self.assertEqual([fits("alltoall", s << 20, "static") for s in (8, 9)], [True, False])
        self.assertEqual([fits("stream", s << 10, "static") for s in (256, 257, 1024, 2048)], [True, False, True, False])
        self.assertTrue(fits("stream", 48 << 10, "small"))
        self.assertTrue(fits("stream", 1 << 30, "heap"))

    def test_any_size_may_be_asked_for(self):
        plan = Plan.of(False)
        plan.dense, plan.sizes, plan.only = True, frozenset((20001, 3000)), "^latency .*untouched.*static,^allreduce .*untouched.*heap"
        self.assertEqual([c.title() for g in GROUPS for c in plan.cases(g)],
                         ["latency 3000 untouched warm static", "latency 20001 untouched warm static", "allreduce 3000 untouched warm heap"])
        plan.dense = False
        self.assertEqual([c for g in GROUPS for c in plan.cases(g)], [])


class Tables(unittest.TestCase):
    def test_all_sizes_together(self):
        static = {"mode": "rewritten", "memory": "static"}
        made = figures("latency", {8: 1.0, 1024: 3.0, 3000: 2.0, 4096: 2.005}, **static)
        made += figures("latency", {8: 2.0, 1024: 1.5, 4096: 2.005}, "mpich5", **static) + figures("latency", {8: 4.0}, "ompi5", **static)
        made += figures("latency", {8: 0.1, 1024: 0.1, 4096: 0.1}, "mpich5") + figures("latency", {8: 0.1}, "by_hand", **static)
        made += figures("barrier", {0: 1.0})
        self.assertEqual(summary.lines(Results(made)),
                         [summary.HEAD, ["latency rewritten static", "4", "1.00", "1 KiB", "2.00", "1 KiB (1.50)"]])
        self.assertEqual(summary.exactly(3000), "3000 B")
        self.assertEqual(summary.lines(Results(figures("latency", {8: 1.0}))), [])
        alone = summary.lines(Results(figures("latency", {8: 1.0, 64: 1.0})))
        self.assertEqual(alone[1:], [["latency untouched heap", "2", "", "", "", ""]])

    def test_an_older_build_is_compared(self):
        made = figures("latency", {8: 1.0, 64: 3.0, 4096: 1.0}) + figures("latency", {8: 2.0, 64: 2.0, 1024: 1.0}, BEFORE)
        made += [record("latency", 4096, BEFORE, "us", [[0.5, 0.7, 1.1, 1.5]], batch=1)]  # its spread is more than what was lost
        made += [record("overlap", 64, name, "%", [[share]]) for name, share in (("towline", 90.0), (BEFORE, 45.0))]
        self.assertEqual([(cells[0], *cells[3:]) for cells in summary.before(Results(made))[1:]],
                         [("latency 64 B", "1.50", "0 %", "WORSE"), ("latency 4 KiB", "1.43", "86 %", ""), ("latency 8 B", "0.50", "0 %", ""),
                          ("overlap 64 B", "0.50", "0 %", ""), ("geometric mean", "0.86", "", "1 of 4 worse outside their spread")])
        self.assertEqual(summary.before(Results(figures("latency", {8: 1.0}))), [])
        self.assertIsNone(Results(made).best_peer(case="latency", size=8))

    def test_each_build_runs_on_its_own_library(self):
        builds = {"towline": pathlib.Path("/now"), BEFORE: pathlib.Path("/older")}
        found = {s.name: s for s in subjects(Places(builds["towline"], before=builds[BEFORE]), (0, 1)) if s.name in builds}
        self.assertEqual({n: (s.launcher, dict(s.environment)["LD_LIBRARY_PATH"]) for n, s in found.items()},
                         {n: (b / "bin/mpiexec", str(b / "lib")) for n, b in builds.items()})
        self.assertNotIn(BEFORE, [s.name for s in subjects(Places(), (0, 1))])

    def test_variants_are_compared_with_their_like(self):
        made = []
        for variant, own, peer in (("whole", 2.0, 1.0), ("alone", 1.0, 4.0)):
            for subject, median in (("towline", own), ("mpich5", peer)):
                made += figures("bcast_barrier4", {8: median, 64: median}, subject, mode="untouched", variant=variant)
        self.assertEqual([line[2] for line in summary.lines(Results(made))[1:]], ["2.00", "0.25"])
        self.assertEqual({r.title: r.reached for r in report.iterations(Results(made))},
                         {f"bcast + barrier, {size} B, {v}, 4 ranks": v == "alone" for size in (8, 64) for v in ("whole", "alone")})

    def test_what_is_asked_of_other_memory(self):
        for case, own, heap, reached in (("latency", 1.04, 0.1, True), ("latency", 1.06, 2, False), ("stream", 1.04, 2, False),
                                         ("allreduce", 0.9, 0.8, True), ("allreduce", 0.9, 0.6, False), ("bcast_barrier", 1.1, 2, False)):
            made = figures(case, {4096: own}, memory="static") + figures(case, {4096: 1}, "mpich5", memory="static")
            made += figures(case, {4096: heap}) + figures(case, {4096: 0.1}, "mpich5")
            self.assertEqual([r.reached for r in report.other_memory(Results(made))], [reached], (case, own))

    def test_old_files_are_of_the_heap(self):
        old = record("latency", 8, "towline", "us", [[1.0]], mode="untouched", cache="warm")
        self.assertEqual(len(Results([old]).find(case="latency", memory="heap")), 1)
        self.assertEqual(len(list(report.messages(Results([old, *figures("latency", {8: 2.0}, memory="static")])))), 1)

    def test_pictures_have_the_memory(self):
        made = figures("latency", {8: 1.0, 64: 1.0}, memory="stack") + figures("mixed4", {8: 1.0}, mode="rewritten")
        drawn = pictures.panels(Results(made + figures("bcast_barrier", {8: 1.0})))
        self.assertEqual({name: [p[0] for p in panels] for name, panels in drawn.items()},
                         {"memories": ["bcast + barrier, untouched, from heap", "one way, untouched, from stack"],
                          "mixed": ["mixed, 4 ranks on 2 processors"]})


if __name__ == "__main__":
    unittest.main()
