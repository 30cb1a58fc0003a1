"""Random messages, calls and collective operations over packets that get lost, doubled, late, damaged: every byte is checked (soak.cpp,
tests/mpi/soak.c). Some seconds in `make test`; `make soak` sets TOWLINE_TEST_SOAK. The seed is printed; TOWLINE_TEST_SEED repeats it."""

import os
import random
import signal
import time
import unittest

import harness
from harness import JobTest, SANITIZED, program

SECONDS = float(os.environ.get("TOWLINE_TEST_SOAK", "0"))  # 0: each pair below once, shortly
SEED = int(os.environ.get("TOWLINE_TEST_SEED", "0")) or random.SystemRandom().getrandbits(32)

FAULTS = {
    "none": "",
    "loss": "loss=0.01",
    "much_loss": "loss=0.2",
    "bursts": "burst=0.005,burst_length=8",
    "doubled": "duplicate=0.2",
    "late": "reorder=0.2,late_ns=2000000",
    "far": "loss=0.005,delay_ns=1000000",
    "damaged": "corrupt=0.02",
    "everything": "loss=0.03,duplicate=0.05,reorder=0.05,corrupt=0.01",
}
JOBS = {  # ranks, options, environment
    "two_hosts": (2, ("--hosts", "localhost:1,127.0.0.1:1"), {}),
    "two_hosts_of_two": (4, ("--hosts", "localhost:2,127.0.0.1:2"), {}),
    "three_hosts": (3, ("--hosts", "localhost:1,127.0.0.1:1,127.0.0.2:1"), {}),
    "one_host": (3, (), {"TOWLINE_TRANSPORT": "^shm"}),
}
PROGRAMS = {"mpi": os.path.join(harness.PROGRAMS, "mpi_soak"), "calls": program("soak")}
SHORT = (  # every job and program, both securities, and faults of every kind
    ("mpi", "two_hosts_of_two", "everything", "authenticate"),
    ("calls", "two_hosts", "everything", "encrypt"),
    ("mpi", "one_host", "bursts", "encrypt"),
    ("calls", "one_host", "much_loss", "authenticate"),
    ("mpi", "three_hosts", "far", "encrypt"),
    ("calls", "two_hosts_of_two", "late", "authenticate"),
)


class Soak(JobTest):
    def soak(self, what, job, faults, security, seconds, seed):
        ranks, options, extra = JOBS[job]
        env = {**self.env, **extra, "TOWLINE_SECURITY": security}
        if FAULTS[faults]:
            env["TOWLINE_TEST_DATAGRAM_FAULTS"] = f"{FAULTS[faults]},seed={seed}"
        code, out, err, took = self.run_job(ranks, PROGRAMS[what], str(seconds), str(seed), options=options, env=env,
                                            timeout=120 + 10 * seconds)
        told = f"{what} over {job}, {faults}, {security}, seed {seed}"
        self.assertEqual((code, err), (0, ""), f"{told}: {out}")
        print(f"{told}: {out.strip()} in {took:.1f} s", flush=True)

    @unittest.skipIf(SECONDS, "the long one runs")
    def test_shortly(self):
        for number, case in enumerate(SHORT):
            with self.subTest(case=case, seed=SEED + number):
                self.soak(*case, 0.7, SEED + number)

    @unittest.skipIf(SECONDS, "the long one runs")
    def test_a_rank_that_is_killed(self):
        """Under loss, too, its death is told on all hosts at once."""
        for what in PROGRAMS:
            env = {**self.env, "TOWLINE_TEST_DATAGRAM_FAULTS": f"loss=0.2,seed={SEED}"}
            options = JOBS["two_hosts_of_two"][1]
            with self.subTest(program=what), self.start(4, PROGRAMS[what], "60", str(SEED), options=options, env=env) as job:
                time.sleep(1)
                self.assertIsNone(job.poll())
                ranks = []
                for pid in harness.processes_with(self.mark):
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if file.read().startswith(PROGRAMS[what].encode()):
                            ranks.append(pid)
                self.assertEqual(len(ranks), 4)
                os.kill(max(ranks), signal.SIGKILL)
                begin = time.monotonic()
                _, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 128 + signal.SIGKILL, err)
            self.assertRegex(err, r"towline: rank \d \(pid \d+ on (localhost|127\.0\.0\.1)\) was killed by signal 9")
            self.assertLess(time.monotonic() - begin, 30 if SANITIZED else 5)

    @unittest.skipUnless(SECONDS, "make soak")
    def test_long(self):
        print(f"TOWLINE_TEST_SEED={SEED}", flush=True)
        draw, end, number = random.Random(SEED), time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            case = [draw.choice(sorted(of)) for of in (PROGRAMS, JOBS, FAULTS, ("authenticate", "encrypt"))]
            self.soak(*case, 2 if SANITIZED else min(10, max(1, SECONDS / 30)), SEED + number)
            number += 1


if __name__ == "__main__":
    harness.main()
