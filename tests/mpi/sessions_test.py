"""Sessions."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_sessions")


class Sessions(JobTest):
    def test_scenarios(self):
        for scenario in ("alone", "many", "with_world", "sets", "buffers", "errors"):
            for ranks in (1, 3):
                with self.subTest(scenario=scenario, ranks=ranks):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, scenario)
                    self.assertEqual((code, out, err), (0, "", ""))

    def test_a_session_that_stays_open_is_no_good_end(self):
        code, _, err, _ = self.run_job(2, PROGRAM, "open")
        self.assertNotEqual(code, 0)
        self.assertIn("MPI_Finalize", err)


if __name__ == "__main__":
    unittest.main()
