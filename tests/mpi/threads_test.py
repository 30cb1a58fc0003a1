"""Several threads of each rank: more than it has cores, bound to one core and free."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_threads")


class Threads(JobTest):
    def test_scenarios(self):
        for scenario in ("talk", "others", "many", "waiting"):
            for options in ((), ("--bind", "core")):
                with self.subTest(scenario=scenario, options=options):
                    code, out, err, _ = self.run_job(2, PROGRAM, scenario, options=options)
                    self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
