"""What one rank refuses, or finds wrong alone: the operations behind it are right on all ranks."""

import os
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_refused")


class Refused(JobTest):
    def test_scenarios(self) -> None:
        for scenario in ("refused", "own_block", "nothing", "alias"):
            for ranks in (2, 3, 5):
                # As messages, ranks that disagree about the number of elements may wait for messages that nobody sends.
                for lanes in ("first",) if scenario == "nothing" else ("on", "first", "off"):
                    with self.subTest(scenario=scenario, ranks=ranks, lanes=lanes):
                        code, out, err, _ = self.run_job(ranks, PROGRAM, scenario, env={**self.env, "TOWLINE_LANES": lanes})
                        # Who gives nothing looks at nobody, and is told.
                        told = scenario == "nothing"
                        self.assertEqual((code, out, harness.without_late_words(err) if told else err), (0, "", ""))
                        self.assertEqual(bool(err), told)

    def test_messages_that_end_inside_an_element(self) -> None:
        for more in ({}, {"TOWLINE_LANES": "off"}):
            code, out, err, _ = self.run_job(2, PROGRAM, "cut", env={**self.env, **more})
            self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
