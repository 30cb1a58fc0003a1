"""Teams in trouble: rows that were handed over, deaths inside an operation, ranks that do not call the same."""

import os
import re
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "program_remote_team_faults")


class TeamFaults(JobTest):
    def passes(self, ranks: int, *words: str, **more: str) -> None:
        with self.subTest(words=words, ranks=ranks, env=more):
            code, out, err, _ = self.run_job(ranks, PROGRAM, *words, env={**self.env, **more})
            self.assertEqual((code, out, err), (0, "", ""))

    def test_rows_that_were_handed_over(self) -> None:
        for ranks in (2, 3):
            self.passes(ranks, "handed")

    def test_ranks_that_differ(self) -> None:
        for lanes in ("on", "off"):
            self.passes(3, "differ", TOWLINE_LANES=lanes, TOWLINE_CHECK="collectives")

    def test_rows_that_do_not_fit_together(self) -> None:
        for ranks in (1, 2, 3):
            self.passes(ranks, "unfit")
        for more in ({"TOWLINE_LANES": "off"}, {"TOWLINE_CHECK": "collectives"}, {"TOWLINE_CHECK": "collectives", "TOWLINE_LANES": "off"}):
            self.passes(3, "unfit", **more)

    def test_a_row_is_left_before_its_owner_goes_on(self) -> None:
        for words in (("late",), ("late", "started")):
            with self.subTest(words=words):
                _, out, err, _ = self.run_job(3, PROGRAM, *words, options=["--keep-going"])
                returned = re.search(r"^returned (\d+)$", out, re.M)
                slow = re.search(r"^slow until (\d+)$", out, re.M)
                self.assertTrue(returned and slow, out + err)
                self.assertNotIn("not true", err)
                self.assertGreater(int(slow[1]), 0)
                self.assertGreaterEqual(int(returned[1]), int(slow[1]))


if __name__ == "__main__":
    unittest.main()
