"""Communicators, on 1 to 5 ranks, with and without threads."""

import os
import signal
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_communicators")
GROUPS = os.path.join(harness.PROGRAMS, "mpi_communicators_groups")
BETWEEN = os.path.join(harness.PROGRAMS, "mpi_communicators_between")


class Communicators(JobTest):
    def silent(self, ranks, *command, options=()):
        with self.subTest(ranks=ranks, command=command):
            code, out, err, _ = self.run_job(ranks, *command, options=options)
            self.assertEqual((code, out, err), (0, "", ""))

    def test_made_of_others(self):
        for scenario in ("dup", "split", "create", "pending", "attributes", "inherits"):
            for ranks in (1, 2, 3, 4):
                self.silent(ranks, PROGRAM, scenario)
            self.silent(3, PROGRAM, scenario, "multiple")

    def test_made_by_some_or_meanwhile_or_by_what_is_shared(self):
        for scenario in ("create_group", "from_groups", "idup", "split_type", "disconnect"):
            for ranks in (1, 2, 3, 4):
                self.silent(ranks, GROUPS, scenario)
            self.silent(3, GROUPS, scenario, "multiple")

    def test_between_groups(self):
        for scenario in ("create", "copies", "merge", "errors", "many"):
            for ranks in (2, 3, 4, 5):
                self.silent(ranks, BETWEEN, scenario)
            self.silent(3, BETWEEN, scenario, "multiple")

    def test_threads(self):
        for ranks in (1, 2, 4):
            self.silent(ranks, PROGRAM, "threads", "multiple")
            self.silent(ranks, GROUPS, "group_threads", "multiple")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core")
    def test_ranks_on_cores_of_their_own(self):
        self.silent(2, GROUPS, "split_bound", options=("--bind", "core"))

    def test_one_hundred_thousand_in_turn(self):
        for ranks in (1, 2, 3):
            self.silent(ranks, PROGRAM, "many")

    def test_twelve_thousand_at_once(self):
        for ranks in (1, 3):
            self.silent(ranks, PROGRAM, "alive")

    def test_a_rank_is_killed_in_the_middle(self):
        for scenario in ("dup", "split", "group", "idup", "inter"):
            for ranks in (2, 3, 4):
                with self.subTest(ranks=ranks, scenario=scenario):
                    code, out, err, _ = self.run_job(ranks, GROUPS, "survive_" + scenario, options=("--keep-going",))
                    self.assertEqual((code, out), (128 + signal.SIGKILL, ""))
                    self.assertNotIn(", line ", err)


if __name__ == "__main__":
    unittest.main()
