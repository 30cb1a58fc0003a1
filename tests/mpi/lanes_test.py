"""Collective operations over lanes: which way the bytes take, late ranks, wrong counts, deaths."""

import json
import os
import tempfile
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_lanes")
RANKS = (2, 3, 4, 12)


class Lanes(JobTest):
    def counted(self, ranks: int, lanes: str, scenario: str = "paths") -> dict:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            code, out, err, _ = self.run_job(ranks, PROGRAM, scenario, options=["--stats=" + path],
                                             env={**self.env, "TOWLINE_LANES": lanes})
            self.assertEqual((code, out), (0, ""), err)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["total"]

    def test_the_way_of_the_bytes(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                total = self.counted(ranks, "first")
                self.assertEqual(total["collectives_shared"], 21 * ranks)
                self.assertEqual(total["bytes_offered"], 20 * 100)
                # Every byte of the sum is read from all ranks but one, and written to all but one.
                self.assertEqual(total["bytes_in_place"], 2 * (ranks - 1) << 20)

    def test_the_way_of_blocks_of_any_size(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                total = self.counted(ranks, "first", "lists")
                self.assertEqual(total["collectives_shared"], 14 * ranks)
                rooted, all_to_all, neighbours = 2 * (ranks - 1), 3 * ranks * (ranks - 1), 2 * ranks
                # What all neighbours get is copied once, and read by each.
                self.assertEqual(total["bytes_offered"], 100 * (rooted + all_to_all + neighbours + ranks))
                self.assertEqual(total["bytes_in_place"], (rooted + all_to_all + 2 * neighbours) << 17)

    def test_persistent_operations_in_one_order(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                # 20 turns of four persistent operations and a broadcast.
                self.assertEqual(self.counted(ranks, "first", "persistent")["collectives_shared"], 20 * 5 * ranks)
                self.assertEqual(self.counted(ranks, "off", "persistent")["collectives_shared"], 0)

    def test_without(self) -> None:
        for scenario in ("paths", "lists"):
            total = self.counted(3, "off", scenario)
            self.assertEqual([total[n] for n in ("collectives_shared", "bytes_offered", "bytes_in_place")], [0, 0, 0])

    def test_scenarios(self) -> None:
        for scenario in ("lists_that_disagree", "late_receivers", "disagreement", "many_at_once", "several_ways", "short_lives"):
            for ranks in RANKS:
                with self.subTest(scenario=scenario, ranks=ranks):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, scenario, env={**self.env, "TOWLINE_LANES": "first"})
                    disagrees = "disagree" in scenario
                    self.assertEqual((code, out, harness.without_late_words(err) if disagrees else err), (0, "", ""))

    def test_the_same_bits_in_every_way(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                said = set()
                for more in ({"TOWLINE_LANES": "off"}, {"TOWLINE_LANES": "on"}, {"TOWLINE_LANES": "first"}, {"TOWLINE_HEAP": "off"}):
                    env = {**self.env, "TOWLINE_DETERMINISTIC": "1", **more}
                    code, out, err, _ = self.run_job(ranks, PROGRAM, "bits", env=env)
                    self.assertEqual((code, err), (0, ""))
                    self.assertEqual(len(out.splitlines()), ranks)
                    said.add(tuple(sorted(out.splitlines())))
                self.assertEqual(len(said), 1, said)

    def test_a_death(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                code, _, err, seconds = self.run_job(ranks, PROGRAM, "death", env={**self.env, "TOWLINE_LANES": "first"})
                self.assertNotEqual(code, 0)
                self.assertRegex(err, r"rank 1 \(pid \d+ on .*\)")
                self.assertLess(seconds, 30)


if __name__ == "__main__":
    unittest.main()
