"""Point-to-point communication, on 1, 2 and 4 ranks, with and without threads."""

import os
import tempfile
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_point_to_point")
SCENARIOS = ["order", "wildcards", "modes", "probes", "big", "truncation", "persistent", "completion", "nobody", "gaps", "freed",
             "errors", "threads", "cancelled_sends"]


class PointToPoint(JobTest):
    def test_scenarios(self):
        for scenario in SCENARIOS:
            for ranks in (1, 2, 4):
                for arguments in ((), ("multiple",)):
                    if scenario == "big" and (ranks == 4 or arguments):
                        continue
                    with self.subTest(scenario=scenario, ranks=ranks, arguments=arguments):
                        code, out, err, _ = self.run_job(ranks, PROGRAM, scenario, *arguments)
                        self.assertEqual((code, out, err), (0, "", ""))

    def test_sends_return_while_the_receiver_is_elsewhere(self):
        for arguments in ((), ("multiple",)):
            with self.subTest(arguments=arguments), tempfile.TemporaryDirectory() as folder:
                env = {**self.env, "BACKLOG": os.path.join(folder, "sent")}
                code, out, err, _ = self.run_job(2, PROGRAM, "backlog", *arguments, env=env)
                self.assertEqual((code, out, err), (0, "", ""))

    def test_a_sender_may_leave_mpi_alone(self):
        for arguments in ((), ("multiple",)):
            with self.subTest(arguments=arguments):
                code, out, err, _ = self.run_job(2, PROGRAM, "left_alone", *arguments)
                self.assertEqual((code, out, err), (0, "", ""))

    def test_an_error_is_explained(self):
        code, _, err, _ = self.run_job(1, PROGRAM, "too_long")
        self.assertNotEqual(code, 0)
        self.assertIn("MPI_Recv failed: the message from rank 0 with tag 6 has 12 bytes, and the buffer has room for 8 (MPI_ERR_TRUNCATE)",
                      err)


if __name__ == "__main__":
    unittest.main()
