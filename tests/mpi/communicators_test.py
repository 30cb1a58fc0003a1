"""Communicators, on 1 to 4 ranks, with and without threads."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_communicators")
SCENARIOS = ["dup", "split", "create", "pending", "attributes", "inherits"]


class Communicators(JobTest):
    def silent(self, ranks, *arguments):
        with self.subTest(ranks=ranks, arguments=arguments):
            code, out, err, _ = self.run_job(ranks, PROGRAM, *arguments)
            self.assertEqual((code, out, err), (0, "", ""))

    def test_scenarios(self):
        for scenario in SCENARIOS:
            for ranks in (1, 2, 3, 4):
                self.silent(ranks, scenario)
            self.silent(3, scenario, "multiple")

    def test_threads(self):
        for ranks in (1, 2, 4):
            self.silent(ranks, "threads", "multiple")

    def test_one_hundred_thousand_in_turn(self):
        for ranks in (1, 2, 3):
            self.silent(ranks, "many")

    def test_twelve_thousand_at_once(self):
        for ranks in (1, 3):
            self.silent(ranks, "alive")


if __name__ == "__main__":
    unittest.main()
