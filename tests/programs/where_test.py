"""`towline where`: what the ranks of a running job do, told from outside."""

import os
import re
import signal
import subprocess
import sys
import time
from shlex import quote

import harness
from harness import Job, JobTest, TOWLINE, program, wait_until

MPIEXEC = os.path.join(os.path.dirname(TOWLINE), "mpiexec")
STUCK = os.path.join(harness.PROGRAMS, "mpi_stuck")
CALLS = program("remote_stuck")


# Programs that are linked with Towline join before main, unless malloc is a sanitizer's.
NOT_YET = r"(?m)^  rank 1 (has not joined the job|sleeps( \(in nanosleep\))?, and has not communicated yet)$"


class WhereTest(JobTest):
    def where(self, *words, **rest):
        done = subprocess.run([TOWLINE, "where", *words], capture_output=True, text=True, timeout=60, env=self.env, **rest)
        return done.returncode, done.stdout, done.stderr

    def launch(self, *words, **rest):
        rest.setdefault("stdin", subprocess.DEVNULL)
        return Job([MPIEXEC, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **rest)

    def keeper(self, process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return int(file.read())

    def eventually(self, which, pattern, seconds=60):
        """Asks until the answer has it; the answer."""
        seen = [""]

        def there():
            code, seen[0], err = self.where(str(which))
            return code == 0 and re.search(pattern, seen[0], re.MULTILINE) is not None
        self.assertTrue(wait_until(there, seconds), seen[0])
        return seen[0]


class Jobs(WhereTest):
    def test_are_found_by_every_name(self):
        with self.launch("-n", "3", STUCK, "ring") as process:
            for _ in range(3):
                self.assertEqual(process.stdout.readline(), "up\n")
            answer = self.eventually(process.pid, "they wait for each other: ")
            lines = answer.splitlines()
            found = re.match(r"job ([0-9]+-[0-9a-f]+): 3 ranks, runs for \d+ s: (.*)$", lines[0])
            self.assertIsNotNone(found, lines[0])
            self.assertIn("mpi_stuck ring", found[2])
            for r in range(3):
                self.assertRegex(lines[1 + r], rf"^  rank {r} waits in MPI_Ssend for rank {(r + 1) % 3}, tag 3 \(MPI_COMM_WORLD\), for [0-9.]+ s")
            ranks = lines[-1].removeprefix("  pids of the ranks: ").split()
            self.assertEqual(len(ranks), 3)
            for name in (found[1], str(self.keeper(process)), ranks[2]):
                code, out, err = self.where(name)
                self.assertEqual((code, err), (0, ""))
                self.assertTrue(out.startswith(f"job {found[1]}: "), out)
            code, out, err = self.where()
            self.assertEqual((code, err), (0, ""))
            mine = [line.split() for line in out.splitlines() if line.split()[0] == str(process.pid)]
            self.assertEqual([line[1] for line in mine], ["3"])
            self.assertIn(found[1], mine[0])
            self.assertIsNone(process.poll())  # it was not disturbed
            process.terminate()
            self.assertEqual(process.communicate(timeout=30)[1], "")
        self.assertEqual(self.where(found[1])[0], 1)

    def test_that_are_not_there(self):
        for name in ("1", "nonsense", "99999999999999999999", str(os.getpid())):
            code, out, err = self.where(name)
            self.assertEqual((code, out), (1, ""))
            self.assertTrue(err.startswith(f"towline where: {name}: no job of this name runs here"), err)

    def test_without_a_launcher(self):
        with subprocess.Popen([STUCK, "self"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            answer = self.eventually(process.pid, "rank 0 waits in MPI_Recv for itself, tag 5")
            process.kill()
        self.assertIn("1 rank, ", answer)

    def test_more_ranks_than_cores(self):
        with self.launch("-n", "32", STUCK, "barrier") as process:
            for _ in range(32):
                process.stdout.readline()
            answer = self.eventually(process.pid, r"rank 31 waits in MPI_Recv for rank 0, tag 1")
            self.assertRegex(self.eventually(process.pid, r"waits? in MPI_Barrier for"), r"32 ranks")
            process.terminate()
            process.communicate(timeout=60)


class Ranks(WhereTest):
    def test_that_compute(self):
        with self.launch("-n", "3", STUCK, "computes") as process:
            answer = self.eventually(process.pid, r"^  rank 1 computes, outside the library, for [0-9.]+ s$")
            answer = self.eventually(process.pid, r"^  ranks 0 and 2 wait in MPI_Recv for rank 1, tag 2 \(MPI_COMM_WORLD\), for ")
            first = float(re.search(r"rank 1 computes, outside the library, for ([0-9.]+) s", answer)[1])
            self.eventually(process.pid, rf"rank 1 computes, outside the library, for {int(first) + 2}")  # time goes by
            process.terminate()
            process.communicate(timeout=30)

    def test_that_sleep(self):
        with self.launch("-n", "3", STUCK, "sleeps") as process:
            self.eventually(process.pid, r"^  rank 1 sleeps outside the library( \(in nanosleep\))?, for [0-9.]+ s$")
            process.terminate()
            process.communicate(timeout=30)

    def test_that_are_stopped(self):
        with self.launch("-n", "3", STUCK, "computes") as process:
            answer = self.eventually(process.pid, r"^  rank 1 computes, outside the library")
            pids = [int(word) for word in answer.splitlines()[-1].removeprefix("  pids of the ranks: ").split()]
            os.kill(pids[1], signal.SIGSTOP)
            self.eventually(process.pid, r"^  rank 1 is stopped \(SIGSTOP\)$")
            self.eventually(process.pid, r"^  ranks 0 and 2 wait in MPI_Recv")
            os.kill(pids[2], signal.SIGSTOP)
            self.eventually(process.pid, r"^  rank 2 waits in MPI_Recv for rank 1, tag 2 .*; it is stopped \(SIGSTOP\)$")
            os.kill(pids[1], signal.SIGCONT)
            self.eventually(process.pid, r"^  rank 1 computes, outside the library")
            process.kill()
            process.communicate(timeout=30)

    def test_the_timeout_tells_the_same(self):
        for scenario, told in (("sleeps", r"rank 1 sleeps outside the library"), ("computes", "rank 1 computes, outside the library")):
            with self.launch("-n", "2", "-timeout", "2", STUCK, scenario) as process:
                _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 124)
            self.assertRegex(err, f"(?m)^towline:   {told}")

    def test_that_have_not_come(self):
        with self.launch("-n", "3", STUCK, "init") as process:
            self.eventually(process.pid, r"^  ranks 0 and 2 wait in MPI_Init for rank 1, for ")
            self.assertRegex(self.eventually(process.pid, "rank 1"), NOT_YET)
            process.terminate()
            process.communicate(timeout=30)

    def test_that_have_left(self):
        with self.launch("-n", "2", "sh", "-c", f"test $TOWLINE_RANK = 0 && exec {quote(program('member'))} join leave sleep 30000; "
                         f"exec {quote(program('member'))} join sleep 30000") as process:
            self.eventually(process.pid, r"^  rank 0 has left the job in order$")
            process.terminate()
            process.communicate(timeout=30)

    def test_that_wait_without_mpi(self):
        with self.launch("-n", "2", program("member"), "join", "@1", "spin", "fence") as process:
            self.eventually(process.pid, r"^  rank 0 waits for fence 1: rank 1 is not there yet$")
            process.kill()
            process.communicate(timeout=30)

    def test_that_go_on_again(self):
        with self.launch("-n", "2", "-stdin", "1", STUCK, "resumes", stdin=subprocess.PIPE) as process:
            self.eventually(process.pid, r"^  rank 0 waits in MPI_Recv for rank 1, tag 7")
            _, err = process.communicate("go\n", timeout=30)
            self.assertEqual((process.returncode, err), (0, ""))


class Calls(WhereTest):
    """Remote calls: at which rank a future is waited for, and what runs there."""

    def seen(self, scenario, *patterns, ranks=3):
        with self.launch("-n", str(ranks), CALLS, scenario) as process:
            for pattern in patterns:
                answer = self.eventually(process.pid, pattern)
            process.kill()
            process.communicate(timeout=30)
        return answer

    def test_that_wait_for_each_other(self):
        self.seen("cycle", r"^  they wait for each other: rank 0 waits for a future of door::pass at rank 1; rank 1 waits for a future of "
                           r"door::pass at rank 0$", r"^  rank 2 waits for the end of the world, for [0-9.]+ s$")

    def test_that_run(self):
        self.seen("runs", r"^  rank 0 waits for a future of work::compute at rank 1, for [0-9.]+ s$",
                  r"^  rank 1 (waits for the end of the world, for [0-9.]+ s; )?runs work::compute, called by rank 0$")

    def test_that_run_while_the_main_thread_computes(self):
        self.seen("runs-while-main-computes", r"^  rank 1 runs work::compute, called by rank 0$")

    def test_that_sleep_in_a_call(self):
        self.seen("sleeps-in-a-call", r"^  rank 1 (waits for the end of the world, for [0-9.]+ s; )?runs work::sleep_long, called by rank 0$")

    def test_that_wait_in_a_call(self):
        self.seen("handlers", r"^  rank 0 waits for a future of door::pass_on at rank 1, for ",
                  r"^  rank 1 waits for the end of the world; not answered: door::pass at rank 2, for [0-9.]+ s; door::pass_on, called by rank 0, "
                  r"waits here for a future of door::pass at rank 2$",
                  r"^  rank 2 waits for the end of the world, for [0-9.]+ s; door::pass, called by rank 1, waits here for a future$")

    def test_that_wait_with_all(self):
        self.seen("barrier", r"^  rank 0 waits in world::barrier for rank 1, for ", ranks=2)
        self.seen("team", r"^  rank 0 waits in team::barrier for ranks? ", ranks=2)

    def test_that_serve(self):
        self.seen("serve", r"^  ranks 1 and 2 wait in world::serve, for ")

    def test_that_sleep(self):
        self.seen("sleep", r"^  rank 1 sleeps outside the library( \(in nanosleep\))?, for ")

    def test_that_have_not_come(self):
        self.seen("late", r"^  ranks 0 and 2 wait in towline::world for rank 1, for ", NOT_YET)


class Rights(WhereTest):
    @harness.unittest.skipIf(os.geteuid() != 0, "only root can become somebody else")
    def test_others_see_nothing(self):
        with self.launch("-n", "2", STUCK, "cycle") as process:
            self.eventually(process.pid, "they wait for each other")
            done = subprocess.run([sys.executable, "-c", f"""
import os, subprocess
os.setgroups([]); os.setgid(65534); os.setuid(65534)
done = subprocess.run([{TOWLINE!r}, "where", "{process.pid}"], capture_output=True, text=True)
print(done.returncode, done.stdout, end="")
"""], capture_output=True, text=True, timeout=60, env=self.env)
            self.assertIn(done.stdout, ("1 ", ""), done.stderr)  # "": the tool lies where nobody else may look
            process.terminate()
            process.communicate(timeout=30)


if __name__ == "__main__":
    harness.main()
