"""Start and end of MPI, with and without a launcher."""

import os
import random
import subprocess
import unittest

import harness
from harness import JobTest

LIFE = os.path.join(harness.PROGRAMS, "mpi_life")


class Life(JobTest):
    def alone(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if k != "TOWLINE_JOB"}
        done = subprocess.run([LIFE, *arguments], capture_output=True, text=True, timeout=60, env=environment)
        return done.returncode, done.stdout, done.stderr

    def test_states(self):
        code, out, err = self.alone("states")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), ["before: initialized 0, finalized 0", "class 4, a time 1",
                                            "running: initialized 1, finalized 0", "after: initialized 1, finalized 1"])

    def test_ranks(self):
        self.assertEqual(self.alone("ranks"), (0, "rank 0 of 1\n", ""))
        for ranks in (1, 5):
            code, out, err, _ = self.run_job(ranks, LIFE, "ranks")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), [f"rank {r} of {ranks}" for r in range(ranks)])

    def test_misuse_is_explained(self):
        for scenario, words in (("before", "MPI_Comm_size failed: it was called before MPI_Init"),
                                ("after", "MPI_Comm_size failed: it was called after MPI_Finalize"),
                                ("again", "MPI_Init failed: MPI_Finalize was called before: MPI cannot be started again")):
            code, out, err = self.alone(scenario)
            self.assertEqual((code, out), (16, ""))
            self.assertIn(f"towline: {words} (MPI_ERR_OTHER).", err)
            self.assertIn("because the initial error handler is MPI_ERRORS_ARE_FATAL.", err)
            self.assertEqual(err.count("\n"), 1)
        self.assertEqual(self.alone("twice"), (0, "second MPI_Init: 1\n", ""))

    def test_attributes_are_deleted_while_mpi_works(self):
        code, out, err, _ = self.run_job(2, LIFE, "attributes")
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        running = "initialized 1, finalized 0"
        self.assertEqual(sorted(lines), sorted(2 * [f"deleted second on a communicator of 1: {running}",
                                                    f"deleted first on a communicator of 1: {running}",
                                                    f"deleted world on a communicator of 2: {running}"]))
        self.assertEqual([line.split()[1] for line in self.alone("attributes")[1].splitlines()], ["second", "first", "world"])

    def test_thread_levels(self):
        for asked, given in ((0, 0), (1024, 1024), (2048, 2048), (4096, 4096), (1, 1024), (9999, 4096), (-5, 0)):
            self.assertEqual(self.alone("thread", str(asked)), (0, f"provided {given}\nagain {given}, main 1\nother thread: main 0\n", ""))

    def test_abort_ends_the_job_with_its_code(self):
        code, out, err, _ = self.run_job(3, LIFE, "abort")
        self.assertEqual(code, 7)
        self.assertIn("towline[2]: MPI_Abort was called on MPI_COMM_WORLD, with error code 7.", err)
        self.assertIn("printed before", out)
        code, out, err = self.alone("abort")
        self.assertEqual((code, out), (7, "printed before\n"))

    def test_after_finalize_a_program_may_go(self):
        code, out, err, _ = self.run_job(3, LIFE, "quit")
        self.assertEqual((code, out, err), (0, "", ""))
        code, _, err, _ = self.run_job(2, LIFE, "unfinished")
        self.assertNotEqual(code, 0)

    def test_deaths_end_the_job(self):
        code, _, err, _ = self.run_job(3, LIFE, "killed")
        self.assertEqual(code, 137)
        self.assertIn("rank 2", err)
        self.assertIn("SIGKILL", err)

    def fewer(self, who, *more):
        """Those that live end well, whoever dies when; the launcher names the dead, and nobody else."""
        code, out, err, _ = self.run_job(len(who), LIFE, "fewer", who, *more, options=("--keep-going",))
        self.assertEqual(code, 137, (who, more, err))
        self.assertEqual(sorted(out.splitlines()), [f"rank {r} ended" for r, how in enumerate(who) if how == "-"], (who, more, err))
        dead = [r for r, how in enumerate(who) if how != "-"]
        self.assertEqual(sorted(int(line.split()[2]) for line in err.splitlines()), dead, (who, more, err))
        for line in err.splitlines():
            self.assertIn(" was killed by signal 9 ", line)

    def test_where_dead_ranks_do_not_end_the_job_the_living_end_well(self):
        for who in ("-0", "0-", "-01-", "00--", "1-", "1--", "-1-", "0-1-", "01--", "--11"):
            self.fewer(who)

    def test_sends_to_a_dead_rank_begin_well_and_end_with_the_error(self):
        code, out, err, _ = self.run_job(2, LIFE, "dead_receiver", options=("--keep-going",))
        self.assertEqual((code, out), (137, "all of them\n"), err)

    def test_a_leader_may_die_while_all_end(self):
        seed = int(os.environ.get("TOWLINE_TEST_SEED", random.randrange(1 << 30)))
        print(f"TOWLINE_TEST_SEED={seed}")
        times = random.Random(seed)
        for _ in range(40):
            self.fewer(times.choice(("2---", "2--", "02--", "22---", "-2--")), str(times.randrange(400)))

    def test_a_rank_that_never_starts_mpi_is_named(self):
        code, _, err, _ = self.run_job(3, LIFE, "absent")
        self.assertNotEqual(code, 0)
        self.assertIn("MPI_Init failed: rank 1 ended, and had not called MPI_Init (MPI_ERR_PROC_ABORTED)", err)

    def test_a_rank_that_forgets_to_finalize_is_named(self):
        code, _, err, _ = self.run_job(3, LIFE, "forgetful")
        self.assertNotEqual(code, 0)
        self.assertIn("towline: rank 1 ", err)
        self.assertIn("ended with exit code 0, and has not called MPI_Finalize; the job is ended", err)

    def test_finalize_waits_for_all(self):
        code, out, err, _ = self.run_job(2, LIFE, "late")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("rank 1 waited 1", out)


if __name__ == "__main__":
    unittest.main()
