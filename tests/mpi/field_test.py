"""What programs of the field do beside the standard's straight path, and how they are told of mistakes."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_field")


class Field(JobTest):
    def test_scenarios(self):
        for scenario in ("some_outputs", "order_of_any", "order_of_testany", "order_of_some", "nobody_starves", "chars", "removed_names",
                         "no_datatype", "error_texts", "fortran"):
            with self.subTest(scenario=scenario):
                code, out, err, _ = self.run_job(2, PROGRAM, scenario)
                self.assertEqual((code, out, err), (0, "", ""))

    def test_arithmetic_on_char_is_told_of_once_where_asked_for(self):
        code, _, err, _ = self.run_job(1, PROGRAM, "chars", env={**self.env, "TOWLINE_CHECK": "types"})
        self.assertEqual(code, 0)
        self.assertEqual(err.count("MPI_CHAR"), 1, err)
        self.assertIn("MPI_SUM is used on MPI_CHAR, for which the MPI standard does not define it", err)

    def test_the_handler_of_the_world_stands_in_until_that_of_self_is_set(self):
        code, _, err, _ = self.run_job(2, PROGRAM, "handler_of_world")
        self.assertNotEqual(code, 0)
        self.assertIn("MPI_Type_contiguous failed", err)
        self.assertIn("the error handler of MPI_COMM_SELF is MPI_ERRORS_ARE_FATAL", err)

    def test_what_is_left_is_told_of_at_the_end(self):
        code, out, err, _ = self.run_job(2, PROGRAM, "leftovers")
        self.assertEqual((code, out), (0, ""))
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertIn("[0]: MPI_Finalize: 2 receives were begun and got no message (the first from ", lines[0])
        self.assertIn("; 1 message was not received (the first from rank 1, tag 5, 8 bytes)", lines[0])

    def test_an_abort_says_of_which_communicator(self):
        code, _, err, _ = self.run_job(2, PROGRAM, "abort_of_unnamed")
        self.assertEqual(code, 3)
        self.assertIn("MPI_Abort was called on a communicator of 2 ranks, with error code 3", err)


if __name__ == "__main__":
    unittest.main()
