"""Generalized requests: what the program carries out itself, completed by any thread, freed by whoever comes last."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_generalized")


class Generalized(JobTest):
    def test_scenarios(self):
        for scenario in ("ends", "freed", "among", "errors", "threads"):
            for ranks in (1, 3):
                with self.subTest(scenario=scenario, ranks=ranks):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, scenario)
                    self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
