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
    def counted(self, ranks: int, lanes: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            code, out, err, _ = self.run_job(ranks, PROGRAM, "paths", options=["--stats=" + path], env={**self.env, "TOWLINE_LANES": lanes})
            self.assertEqual((code, out), (0, ""), err)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["total"]

    def test_the_way_of_the_bytes(self) -> None:
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                total = self.counted(ranks, "first")
                self.assertEqual(total["lane_operations"], 21 * ranks)
                self.assertEqual(total["bytes_lanes_posted"], 20 * 100)
                # Every byte of the sum is read from all ranks but one, and written to all but one.
                self.assertEqual(total["bytes_lanes_moved"], 2 * (ranks - 1) << 20)

    def test_without(self) -> None:
        total = self.counted(3, "off")
        self.assertEqual([total[n] for n in ("lane_operations", "bytes_lanes_posted", "bytes_lanes_moved")], [0, 0, 0])

    def test_scenarios(self) -> None:
        for scenario in ("late_receivers", "disagreement", "many_at_once", "several_ways", "short_lives"):
            for ranks in RANKS:
                with self.subTest(scenario=scenario, ranks=ranks):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, scenario, env={**self.env, "TOWLINE_LANES": "first"})
                    self.assertEqual((code, out, err), (0, "", ""))

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
