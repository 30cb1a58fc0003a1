"""A rank dies inside a collective operation while another is slow: a third one's call returns when the slow one has let go of what it lent."""

import concurrent.futures
import os
import re
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_late_use")
OPERATIONS = ("bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce", "allreduce",
              "reduce_scatter", "scan", "exscan", "neighbor_allgather", "neighbor_alltoall")


class LateUse(JobTest):
    def one(self, case: tuple[int, str, str]) -> tuple[tuple[int, str, str], str, str]:
        ranks, operation, way = case
        _, out, err, _ = self.run_job(ranks, PROGRAM, operation, way, options=["--keep-going"],
                                      env={**self.env, "TOWLINE_LANES": "first"})
        return case, out, err

    def test_what_was_lent_is_left_before_its_owner_returns(self) -> None:
        cases = [(4, operation, way) for operation in OPERATIONS for way in "01"]
        cases += [(2, operation, way) for operation in ("gather", "gatherv") for way in "01"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they sleep, most of the time
            for case, out, err in pool.map(self.one, cases):
                with self.subTest(case=case):
                    returned = re.search(r"^lender returned (\d+) 1$", out, re.M)
                    slow = re.search(r"^slow until (\d+)$", out, re.M)
                    self.assertTrue(returned and slow, out + err)
                    self.assertNotRegex(err, r"rank \d+, line \d+")
                    self.assertGreater(int(slow[1]), 0, "the slow rank was not slow")
                    self.assertGreaterEqual(int(returned[1]), int(slow[1]), "used after its owner's call had returned")


if __name__ == "__main__":
    unittest.main()
