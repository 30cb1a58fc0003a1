"""Partitioned communication."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_partitioned")


class Partitioned(JobTest):
    def test_scenarios(self):
        for scenario in ("rounds", "pairs", "threads", "errors"):
            with self.subTest(scenario=scenario):
                code, out, err, _ = self.run_job(2, PROGRAM, scenario)
                self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
