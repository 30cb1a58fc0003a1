"""Every pattern of bench/layout in every way, at sizes that are small, once on Towline: its data are compared, and what lies between."""

import os
import pathlib
import tempfile
import unittest

from layout import report
from layout.patterns import QUICK, SIZES, SMALL, cases
from mpi import peers
from mpi.cases import Case
from mpi.conductor import Pair, Wrong
from mpi.peers import program
from mpi.records import Results
from mpi.subjects import Places, subjects

BUILD = pathlib.Path(os.environ["BUILD"])
SANITIZERS = os.environ.get("TOWLINE_SANITIZE", "")
CPUS = sorted(os.sched_getaffinity(0))[:2]


@unittest.skipIf(len(CPUS) < 2, "two processors are needed")
class EveryPattern(unittest.TestCase):
    def test_on_towline(self):
        with tempfile.TemporaryDirectory() as folder:
            places = Places(BUILD, pathlib.Path(folder) / "none", pathlib.Path(folder))
            failed = peers.build(places, [f"-fsanitize={SANITIZERS}"] if SANITIZERS else [], ("layout",))
            self.assertEqual(failed, [])
            towline = subjects(places, tuple(CPUS))[0]
            pair = Pair("towline", towline.command(2, program(places, "abi", "layout")), towline.surroundings(), 120)
            for case in cases(SMALL):
                for way in case.several:
                    with self.subTest(case=case.title(), way=way.name):
                        try:
                            self.assertEqual(len(pair.turn(way.turn, case, 2, 2)), 2)
                        except Wrong as e:
                            self.fail(str(e))
            for turn, size, why in (("nothing:1.type", 8, "no such pattern"), ("vector:8.type", 8, "no such pattern"),
                                    ("lu_y:12.type", 8, "another size"), ("lu_y:12.call", 480, "no such way"), ("lu_y:12", 480, "no way")):
                with self.assertRaisesRegex(Wrong, why):
                    pair.turn(turn, Case("", "", size), 1, 2)
            self.assertIsNone(pair.leave())


class Table(unittest.TestCase):
    def test_every_pattern_is_listed_at_every_scale(self):
        self.assertEqual(SIZES.keys(), QUICK.keys())
        self.assertEqual(SIZES.keys(), SMALL.keys())
        for name, sizes in QUICK.items():
            self.assertLessEqual(set(sizes), set(SIZES[name]), name)

    def test_who_is_behind(self):
        def figure(subject, variant, median, case="mg_x:258:130:130", **more):
            return {"bench": "mpi", "case": case, "size": 131072, "subject": subject, "variant": variant, "unit": "us", "median": median,
                    "spread": 0.1, "rounds": [median], **more}

        results = Results([figure("towline", "type", 10), figure("ompi5-ucx", "type", 5), figure("impi2021-tuned", "type", 50),
                           figure("towline", "hand", 4), figure("towline", "type", 8, mode="dirtied"),
                           figure("towline", "type", 5, case="contiguous:131072"), figure("ompi5-ucx", "type", 20, mode="dirtied")])
        head, *late = report.behind(results)
        self.assertEqual(head[0], "behind")
        self.assertEqual(late, [["mg_x:258:130:130", "131072", "type", "10 us", "5 us ompi5-ucx", "2.00", "2.50"]])
        row = next(r for title, rows in report.sections(results) for r in rows if r.own["median"] == 10)
        self.assertEqual(row.ratios(), {"peer": 2, "Intel": 0.2, "hand": 2.5, "flat": 2})
        self.assertEqual(report.designs(results), [])
        designs = report.designs(Results([*results.records, figure("towline-pack", "type", 20)]))
        self.assertEqual(designs[1:], [["mg_x:258:130:130", "131072", "type", "10 us", "0.50"]])
        self.assertEqual(report.behind(Results([*results.records, figure("towline-pack", "type", 1)]))[1:], late)
        self.assertEqual(report.mean_cells("all", [row])[5:9], ["2.00", "0.20", "2.50", "2.00"])


if __name__ == "__main__":
    unittest.main()
