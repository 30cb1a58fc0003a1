"""The watchdog: a job in which nobody goes on says who waits for whom."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time

import harness
from harness import Job, JobTest, TOWLINE, wait_until

MPIEXEC = os.path.join(os.path.dirname(TOWLINE), "mpiexec")
STUCK = os.path.join(harness.PROGRAMS, "mpi_stuck")
CALLS = harness.program("remote_stuck")
SLOW = 5 if harness.SANITIZED else 1


class WatchdogTest(JobTest):
    def setUp(self):
        super().setUp()
        self.env["TOWLINE_WATCHDOG"] = str(SLOW)

    def launch(self, ranks, scenario, options=(), **rest):
        rest.setdefault("stdin", subprocess.DEVNULL)
        return Job([MPIEXEC, "-n", str(ranks), *options, STUCK, scenario], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   text=True, **rest)

    def told(self, ranks, scenario, cycles, lines=None):
        """What the watchdog says, without times, up to its last line; the job is ended then. `cycles`: how many it names."""
        said = []
        with self.launch(ranks, scenario) as process:
            self.first(process.stderr.readline())
            while sum("they wait for each other" in line for line in said) < cycles or (lines is not None and len(said) < lines):
                line = process.stderr.readline()
                self.assertTrue(line.startswith("towline[0]: "), line)
                said.append(re.sub(r", for [0-9.]+( to [0-9.]+)? s", "", line.removeprefix("towline[0]: ").rstrip("\n")))
            process.terminate()
            out, err = process.communicate(timeout=30)
            self.assertEqual((process.returncode, err), (143, ""), out)
        return said

    def ranks(self, process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            keeper = int(file.read())
        with open(f"/proc/{keeper}/task/{keeper}/children") as file:
            return [int(word) for word in file.read().split()]

    def first(self, line):
        self.assertEqual(line, f"towline[0]: watchdog: nothing has moved for {SLOW} s, and every rank that runs waits in a call:\n")


class Said(WatchdogTest):
    def test_two_that_wait_for_each_other(self):
        self.assertEqual(self.told(2, "cycle", 1), [
            "  rank 0 waits in MPI_Recv for rank 1, tag 7 (MPI_COMM_WORLD)",
            "  rank 1 waits in MPI_Recv for rank 0, tag 9 (MPI_COMM_WORLD)",
            "they wait for each other: rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, tag 9"])

    def test_a_ring_of_more_ranks_than_cores(self):
        said = self.told(8, "ring", 1)
        behind = "; 1 message came that no receive asks for"
        self.assertEqual(said[:8], [f"  rank {r} waits in MPI_Ssend for rank {(r + 1) % 8}, tag 3 (MPI_COMM_WORLD){behind}" for r in range(8)])
        self.assertEqual(said[8], "they wait for each other: " + "; ".join(f"rank {r} waits in MPI_Ssend for rank {(r + 1) % 8}, tag 3"
                                                                          for r in range(8)))

    def test_oneself(self):
        self.assertEqual(self.told(1, "self", 1), ["  rank 0 waits in MPI_Recv for itself, tag 5 (MPI_COMM_SELF)",
                                                   "they wait for each other: rank 0 waits in MPI_Recv for itself, tag 5"])
        with subprocess.Popen([STUCK, "self"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline()
            process.kill()
        self.assertIn("nothing has moved", line)

    def test_anybody(self):
        self.assertEqual(self.told(3, "any", 0, 1), ["  ranks 0 to 2 wait in MPI_Recv for any rank, tag 5 (MPI_COMM_WORLD); 1 message came that "
                                                     "no receive asks for"])

    def test_probes(self):
        self.assertEqual(self.told(2, "probe", 1)[:2], ["  rank 0 waits in MPI_Probe for rank 1, any tag (MPI_COMM_WORLD)",
                                                        "  rank 1 waits in MPI_Probe for rank 0, any tag (MPI_COMM_WORLD)"])

    def test_requests(self):
        said = self.told(3, "requests", 1)
        behind = " (MPI_COMM_WORLD); 1 message came that no receive asks for"
        self.assertEqual(said[0], "  rank 0 waits in MPI_Waitall for 3 operations: a send to rank 1, tag 3; a receive from rank 1, tag 1; "
                                  "a receive from any rank, tag 2" + behind)
        self.assertEqual(said[1], "  rank 1 waits in MPI_Wait for a send to rank 2, tag 3" + behind)
        self.assertIn("  rank 2 waits in MPI_Waitany for 3 operations: a send to rank 0, tag 3;", said[2])

    def test_other_communicators(self):
        said = self.told(4, "split", 2)
        self.assertEqual(said, ["  rank 0 waits in MPI_Recv for rank 2 (1 in even), tag 6 (even)", "  rank 1 waits in MPI_Recv for rank 3 (1 in odd), tag 6 (odd)",
                                "  rank 2 waits in MPI_Recv for rank 0, tag 6 (even)", "  rank 3 waits in MPI_Recv for rank 1 (0 in odd), tag 6 (odd)",
                                "they wait for each other: rank 0 waits in MPI_Recv for rank 2 (1 in even), tag 6; rank 2 waits in MPI_Recv for rank 0, tag 6",
                                "they wait for each other: rank 1 waits in MPI_Recv for rank 3 (1 in odd), tag 6; rank 3 waits in MPI_Recv for rank 1 (0 in odd), tag 6"])

    def test_a_collective_operation(self):
        said = self.told(4, "barrier", 1)
        self.assertTrue(any(re.match(r"  rank 3 waits in MPI_Recv for rank 0, tag 1 \(MPI_COMM_WORLD\)", line) for line in said), said)
        self.assertTrue(any(re.match(r"  ranks? .* waits? in MPI_Barrier for ranks? .*3.* \(MPI_COMM_WORLD\)", line) for line in said), said)
        self.assertIn("MPI_Barrier for rank", said[-1])
        self.assertIn("rank 3 waits in MPI_Recv for rank 0, tag 1", said[-1])

    def test_finalize(self):
        said = self.told(3, "finalize", 1)
        self.assertIn("  ranks 1 and 2 wait in MPI_Finalize for rank 0 (MPI_COMM_WORLD)", said)
        self.assertEqual(said[-1], "they wait for each other: rank 0 waits in MPI_Recv for rank 1, tag 2; rank 1 waits in MPI_Finalize for rank 0")

    def test_messages_of_the_library_are_not_the_programs(self):
        """Three operations of the others wait at rank 0, as messages: nobody has forgotten to receive them."""
        self.env["TOWLINE_LANES"] = "off"
        said = self.told(2, "behind", 1)
        self.assertEqual(said[0], "  rank 0 waits in MPI_Recv for rank 1, tag 1 (MPI_COMM_WORLD)")
        self.assertEqual(said[1], "  rank 1 waits in MPI_Recv for rank 0, tag 2 (MPI_COMM_WORLD); 1 message came that no receive asks for")

    def test_threads(self):
        said = self.told(2, "threads", 1)
        self.assertIn("a receive from rank 1, tag 7", said[0])
        self.assertIn("a receive from rank 1, tag 8", said[0])
        self.assertIn("; 2 of its threads wait", said[0])


class Calls(WatchdogTest):
    """The same for remote calls and teams."""

    def launch(self, ranks, scenario, options=(), **rest):
        rest.setdefault("stdin", subprocess.DEVNULL)
        return Job([MPIEXEC, "-n", str(ranks), *options, CALLS, scenario], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   text=True, **rest)

    def test_two_that_wait_for_each_other(self):
        said = self.told(2, "cycle", 1)
        for r in range(2):
            self.assertEqual(said[r], f"  rank {r} waits for a future of door::pass at rank {1 - r}; door::pass, called by rank {1 - r}, waits here "
                                      "for a future")
        self.assertEqual(said[2], "they wait for each other: rank 0 waits for a future of door::pass at rank 1; rank 1 waits for a future of "
                                  "door::pass at rank 0")

    def test_calls_that_wait_for_calls(self):
        said = self.told(3, "handlers", 0, 3)
        self.assertEqual(said[0], "  rank 0 waits for a future of door::pass_on at rank 1")
        self.assertEqual(said[1], "  rank 1 waits for the end of the world; not answered: door::pass at rank 2; door::pass_on, called by rank 0, "
                                  "waits here for a future of door::pass at rank 2")
        self.assertEqual(said[2], "  rank 2 waits for the end of the world; door::pass, called by rank 1, waits here for a future")

    def test_a_future_that_is_made_of_others(self):
        said = self.told(3, "all", 0, 1)
        self.assertRegex(said[0], r"^  rank 0 waits for a future; not answered: door::pass at rank [12], door::pass at rank [12]$")

    def test_a_barrier(self):
        said = self.told(2, "barrier", 1)
        self.assertEqual(said[0], "  rank 0 waits in world::barrier for rank 1; door::pass, called by rank 1, waits here for a future")
        self.assertEqual(said[2], "they wait for each other: rank 0 waits in world::barrier for rank 1; rank 1 waits for a future of door::pass at "
                                  "rank 0")

    def test_a_team(self):
        for lanes in ("on", "off"):
            self.env["TOWLINE_LANES"] = lanes
            said = self.told(3, "team", 1)
            self.assertTrue(any(re.match(r"  ranks? .*0.* waits? in team::barrier for ", line) for line in said), said)
            self.assertRegex(said[-1], "rank 0 waits in team::barrier for ranks? .*rank 1 waits for a future of door::pass at rank 0")

    def test_the_job_ends_where_that_is_asked(self):
        self.env["TOWLINE_WATCHDOG_ABORT"] = "on"
        with self.launch(2, "cycle") as process:
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 124)
        self.first(err.splitlines(True)[0])
        self.assertEqual(err.splitlines()[-1], "towline[0]: The job ends here, because TOWLINE_WATCHDOG_ABORT is on.")


class Silent(WatchdogTest):
    """What must not be taken for a standstill: nothing is said in several times the patience."""

    def quiet(self, ranks, scenario, seconds=3.5 * SLOW, meanwhile=contextlib.nullcontext, **rest):
        with self.launch(ranks, scenario, **rest) as process:
            for _ in range(ranks):
                process.stdout.readline()
            with meanwhile():
                time.sleep(seconds)
            self.assertIsNone(process.poll())
            process.terminate()
            _, err = process.communicate(timeout=30)
            self.assertEqual(err, "")

    def test_a_rank_that_computes(self):
        self.quiet(2, "computes")

    def test_a_thread_that_computes(self):
        self.quiet(2, "threads-compute")

    def test_a_thread_that_hardly_gets_a_turn(self):
        """It computes on a core that somebody else has, but for a thirtieth."""
        core = {min(os.sched_getaffinity(0))}

        @contextlib.contextmanager
        def crowded():
            time.sleep(SLOW)  # both wait by then
            with subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, core)) as hog:
                try:
                    yield
                finally:
                    hog.kill()
        self.quiet(2, "threads-compute", meanwhile=crowded, preexec_fn=lambda: (os.sched_setaffinity(0, core), os.nice(15)))

    def test_off(self):
        self.env["TOWLINE_WATCHDOG"] = "off"
        self.quiet(2, "cycle")

    def test_a_stopped_rank(self):
        """It waits, as all do; but somebody has stopped it and may let it go on."""
        with self.launch(2, "cycle") as process:
            for _ in range(2):
                process.stdout.readline()
            stopped = self.ranks(process)[1]
            time.sleep(0.3)
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(3 * SLOW)
            self.assertIsNone(process.poll())
            self.assertEqual(select.select([process.stderr], [], [], 0)[0], [])
            os.kill(stopped, signal.SIGCONT)
            self.first(process.stderr.readline())
            process.terminate()
            process.communicate(timeout=30)

    def test_a_rank_that_is_still_to_come(self):
        with self.launch(2, "init") as process:
            self.assertTrue(wait_until(lambda: process.poll() is not None, 3.5 * SLOW) is False)
            process.terminate()
            self.assertEqual(process.communicate(timeout=30)[1], "")

    def test_long_waits_that_end(self):
        self.env["TOWLINE_WATCHDOG"] = "2.5" if not harness.SANITIZED else "20"
        with self.launch(3, "moves") as process:
            _, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (0, ""))


class SilentCalls(Silent):
    launch = Calls.launch

    def test_a_rank_that_computes(self):
        self.quiet(2, "runs")

    def test_a_thread_that_computes(self):
        self.quiet(2, "runs-while-main-computes")

    def test_a_thread_that_hardly_gets_a_turn(self):
        self.quiet(2, "sleeps-in-a-call")

    def test_a_rank_that_is_still_to_come(self):
        with self.launch(2, "late") as process:
            self.assertTrue(wait_until(lambda: process.poll() is not None, 3.5 * SLOW) is False)
            process.terminate()
            self.assertEqual(process.communicate(timeout=30)[1], "")

    def test_ranks_that_serve(self):
        self.quiet(3, "serve")

    def test_long_waits_that_end(self):
        self.env["TOWLINE_WATCHDOG"] = "2.5" if not harness.SANITIZED else "20"
        with self.launch(3, "long") as process:
            _, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (0, ""))


class Ends(WatchdogTest):
    def test_the_job_ends_where_that_is_asked(self):
        self.env["TOWLINE_WATCHDOG_ABORT"] = "on"
        with self.launch(5, "ring") as process:
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 124)
        lines = err.splitlines(True)
        self.first(lines[0])
        self.assertEqual(lines[-1], "towline[0]: The job ends here, because TOWLINE_WATCHDOG_ABORT is on.\n")

    def test_a_job_that_goes_on_after_all(self):
        with self.launch(2, "resumes", options=["-stdin", "1"], stdin=subprocess.PIPE) as process:
            time.sleep(2.5 * SLOW)  # rank 1 reads: it is not in a call
            _, err = process.communicate("go\n", timeout=60)
        self.assertEqual((process.returncode, err), (0, ""))

    def test_a_rank_that_is_killed_while_all_stand_still(self):
        with self.launch(4, "ring") as process:
            self.first(process.stderr.readline())
            os.kill(self.ranks(process)[2], signal.SIGKILL)
            _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.assertIn("rank 2", err)
        self.assertIn("SIGKILL", err)

    def test_the_timeout_tells_the_same(self):
        self.env["TOWLINE_WATCHDOG"] = "off"
        with self.launch(2, "cycle", options=["--timeout", str(2 * SLOW)]) as process:
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 124)
        self.assertIn("towline:   they wait for each other: rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, tag 9\n", err)

    def test_settings_are_checked(self):
        for value in ("soon", "0.1", "-1"):
            self.env["TOWLINE_WATCHDOG"] = value
            with self.launch(1, "none") as process:
                _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(f"TOWLINE_WATCHDOG='{value}' is not off, or a time from 0.5 s on", err)


if __name__ == "__main__":
    harness.main()
