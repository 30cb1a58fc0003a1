"""Every collective operation where shared memory is short."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_tight")


class Tight(JobTest):
    def test_every_operation(self) -> None:
        for full in ("none", "some", "all"):
            for ranks in (2, 3, 4):
                with self.subTest(full=full, ranks=ranks):
                    env = {**self.env, "TOWLINE_SEGMENT": "16M", "TOWLINE_LANES": "first"}
                    code, out, err, _ = self.run_job(ranks, PROGRAM, full, env=env)
                    self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
