"""Topologies, on 1 to 6 ranks."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_topologies")


class Topologies(JobTest):
    def test_scenarios(self):
        for scenario in ("cart", "sub", "graph", "distributed", "errors"):
            for ranks in (1, 2, 3, 4, 6):
                with self.subTest(scenario=scenario, ranks=ranks):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, scenario)
                    self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
